//! Reports about files that were skipped, and about those that were converted.

use std::collections::BTreeMap;

use ctx::index::{self, SkippedFile};

use crate::emit;
use crate::report::{self, Report};
use crate::settings::{self, Settings};
use crate::walk::{Reason, Skipped, shown};

/// Why a link is skipped.
pub(crate) const LINK: &str = "links are not followed";
/// Why a pipe, a device or a socket is skipped.
pub(crate) const SPECIAL: &str = "it is neither a file nor a folder";

/// Reports what was skipped: each loss by name, and the rest in numbers unless every name is
/// requested.
pub(crate) fn report(skipped: &[Skipped], report: Report) {
    for file in skipped {
        if file.reason.is_loss() {
            report::warning(&format!("{} is left out: {}", file.shown, file.detail));
        } else {
            report.detail(&format!("skipped {}: {}", file.shown, file.detail));
        }
    }
    let quiet = |reason: &Reason| !reason.is_loss();
    let counts: Vec<_> = Reason::ALL
        .into_iter()
        .filter(quiet)
        .filter_map(|reason| {
            let n = skipped.iter().filter(|file| file.reason == reason).count();
            (n > 0).then(|| format!("{n} {}", reason.noun(n > 1)))
        })
        .collect();
    if !counts.is_empty() {
        let more = more(report);
        report.note(&format!("skipped: {}{more}", counts.join(", ")));
    }
}

/// Reports what is not indexed: each by name if every name is requested, and in any case how many
/// files are too large, or have a name that no index can hold and that `ctx pack` shows.
pub(crate) fn report_skipped(passed: &[SkippedFile], settings: &Settings, report: Report) {
    for file in passed {
        let (path, why) = (shown(&file.path), why(file.reason, settings));
        report.detail(&format!("skipped {path}: {why}"));
    }
    let more = more(report);
    let count = |reason| passed.iter().filter(|it| it.reason == reason).count();
    let large = count(index::Reason::TooLarge);
    if large > 0 {
        let (files, limit) = (counted(large), settings.say(settings::MAX_FILE_SIZE));
        report.note(&format!("{files} too large to be indexed: {limit}{more}"));
    }
    let unnamed = count(index::Reason::Unnamed);
    if unnamed > 0 {
        let files = counted(unnamed);
        report.note(&format!(
            "{files} not indexed: names that are not UTF-8{more}"
        ));
    }
}

/// How many files are skipped because they are generated or vendored.
pub(crate) fn count_generated(passed: &[SkippedFile]) -> usize {
    passed.iter().filter(|it| it.reason.is_generated()).count()
}

/// The number of generated or vendored files, and the flag that includes them.
pub(crate) fn say_generated(n: usize) -> String {
    let files = emit::counted(n as u64, "generated or vendored file");
    let (are, them) = if n == 1 {
        ("is", "it")
    } else {
        ("are", "them")
    };
    format!("{files} {are} not indexed; --include-generated includes {them}")
}

/// Reports how many files are skipped because they are generated or vendored.
pub(crate) fn report_generated(passed: &[SkippedFile], report: Report) {
    let n = count_generated(passed);
    if n > 0 {
        report.note(&format!("{}{}", say_generated(n), more(report)));
    }
}

/// Why nothing is indexed: the number of skipped files for each reason, and the setting behind it.
pub(crate) fn skipped_summary(passed: &[SkippedFile], settings: &Settings) -> String {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for file in passed {
        *reasons.entry(why(file.reason, settings)).or_default() += 1;
    }
    let told = reasons
        .iter()
        .map(|(why, n)| format!("; skipped {}: {why}", counted(*n)));
    told.collect()
}

fn counted(n: usize) -> String {
    emit::counted(n as u64, "file")
}

fn more(report: Report) -> &'static str {
    if report.is_verbose() {
        ""
    } else {
        " (--verbose names them)"
    }
}

/// The reason as a clause about a file.
pub(crate) fn why(reason: index::Reason, settings: &Settings) -> String {
    match reason {
        index::Reason::TooLarge => {
            format!("it is too large, {}", settings.say(settings::MAX_FILE_SIZE))
        }
        index::Reason::Generated => format!(
            "it is generated, {}",
            settings.say(settings::INCLUDE_GENERATED)
        ),
        index::Reason::Vendored => format!(
            "it is vendored, {}",
            settings.say(settings::INCLUDE_GENERATED)
        ),
        index::Reason::Secret => "its name says that it holds secrets".to_owned(),
        index::Reason::NoText => "it holds no text".to_owned(),
        index::Reason::Empty => "it is empty".to_owned(),
        index::Reason::Link => LINK.to_owned(),
        index::Reason::Special => SPECIAL.to_owned(),
        _ => "its name is not UTF-8".to_owned(),
    }
}

/// The reason as a word for programs.
pub(crate) fn code(reason: index::Reason) -> &'static str {
    match reason {
        index::Reason::TooLarge => Reason::TooLarge.code(),
        index::Reason::Secret => Reason::Secret.code(),
        index::Reason::NoText => Reason::Binary.code(),
        index::Reason::Empty => Reason::Empty.code(),
        index::Reason::Link => Reason::Link.code(),
        index::Reason::Special => Reason::Special.code(),
        index::Reason::Generated => "generated",
        index::Reason::Vendored => "vendored",
        _ => "unnamed",
    }
}

/// Reports which files are indexed by lines only, each with the reason.
pub(crate) fn report_by_lines(files: &[String], report: Report) {
    for file in files {
        report.detail(&format!("indexed by lines only: {file}"));
    }
    if !files.is_empty() {
        let (files, more) = (counted(files.len()), more(report));
        report.note(&format!(
            "{files} too hard to parse, indexed by lines only{more}"
        ));
    }
}

/// Reports which files were decoded: each path, and how.
pub(crate) fn report_converted(converted: &[(String, String)], report: Report) {
    for (path, what) in converted {
        report.detail(&format!("{path}: {what}"));
    }
    match converted.len() {
        0 => {}
        1 => report.note("decoded 1 file that is not UTF-8, or ends its lines with CR"),
        n => report.note(&format!(
            "decoded {n} files that are not UTF-8, or end their lines with CR"
        )),
    }
}

/// Reports faults of ignore files, because of which files may be included.
pub(crate) fn report_faults(faults: &[String]) {
    for fault in faults {
        report::warning(fault);
    }
}
