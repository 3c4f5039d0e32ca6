//! What is said about files that were passed over, and about those that were changed.

use crate::report::{self, Report};
use crate::walk::{Reason, Skipped};

/// Says what was passed over: each loss by name, the rest in numbers unless every name is wanted.
pub(crate) fn report(skipped: &[Skipped], report: Report) {
    for file in skipped {
        if file.reason.is_loss() {
            report::warning(&format!("{} is left out: {}", file.shown, file.detail));
        } else {
            report.detail(&format!("{} is passed over: {}", file.shown, file.detail));
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
        let more = if report.is_verbose() {
            ""
        } else {
            " (--verbose names them)"
        };
        report.note(&format!("passed over: {}{more}", counts.join(", ")));
    }
}

/// Says which files were decoded, each a path and what was done.
pub(crate) fn report_converted(converted: &[(String, String)], report: Report) {
    for (path, what) in converted {
        report.detail(&format!("{path}: {what}"));
    }
    match converted.len() {
        0 => {}
        1 => report.note("decoded 1 file that is not UTF-8"),
        n => report.note(&format!("decoded {n} files that are not UTF-8")),
    }
}

/// Says which lines of ignore files were not understood: files may be there because of it.
pub(crate) fn report_faults(faults: &[String]) {
    for fault in faults {
        report::warning(&format!(
            "an ignore file has a line that makes no sense: {fault}"
        ));
    }
}
