//! Warnings about files that a question names and that are not searched.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ctx::index::{Index, Reason, SkippedFile, Updated};
use ctx::model::{Warning, WarningCode, join_first};
use ctx::retrieve::is_same_path;
use ctx::secrets::is_secret_file;
use ctx::service::{Answer, FILES_NAMED, no_such_file};
use ctx::source::{LeftOut, Root};

use crate::report;
use crate::settings::Settings;
use crate::skipped;
use crate::walk::shown;

/// The files of a folder that are not searched, as far as known.
#[derive(Default)]
pub(crate) struct Missed {
    /// The skipped files, by path.
    passed: Vec<SkippedFile>,
    /// What could not be read, as was reported.
    unread: Vec<PathBuf>,
}

/// A file that a question names, and why it is not searched.
#[derive(PartialEq)]
struct Named {
    path: PathBuf,
    why: Why,
}

#[derive(PartialEq)]
enum Why {
    /// It was skipped.
    Skipped(Reason),
    /// A walk does not reach it, because it or a folder that it is in is left out.
    LeftOut(PathBuf, LeftOut),
    /// It could not be read.
    Unread,
}

impl Missed {
    pub(crate) fn of(updated: Updated) -> Self {
        Missed {
            passed: updated.skipped_files,
            unread: updated.unread,
        }
    }

    /// How many files have no text.
    pub(crate) fn without_text(&self) -> usize {
        let is_it = |it: &&SkippedFile| it.reason == Reason::NoText;
        self.passed.iter().filter(is_it).count()
    }

    /// Reports why files that the question names were not searched, if nothing was found in their
    /// place; if nothing was found at all, how many files are generated or vendored; and that no
    /// files have the names in `unknown`. Returns the warnings for the receipt.
    pub(crate) fn tell(
        &self,
        answer: &Answer,
        index: &Index,
        settings: &Settings,
        mut unknown: Vec<&str>,
    ) -> Vec<Warning> {
        let named = self.named(answer, index);
        // A file that is reported as skipped exists.
        unknown.retain(|name| !named.iter().any(|it| is_end_of(name, &it.path)));
        let (generated, others): (Vec<_>, Vec<_>) =
            named.iter().partition(|it| it.why.is_generated());
        let is_generated = |it: &&SkippedFile| it.reason.is_generated();
        let all = self.passed.iter().filter(is_generated).count();
        let detail = match &generated[..] {
            [] if all > 0
                && answer.material.retrieved.found.is_empty()
                && unknown.is_empty()
                && others.is_empty() =>
            {
                Some(skipped::say_generated(all))
            }
            [] => None,
            [it] => Some(format!(
                "{} is not searched, because it is generated or vendored; --include-generated includes such files",
                shown(&it.path)
            )),
            files => Some(format!(
                "{} are not searched, because they are generated or vendored; --include-generated includes such files",
                join_first(files.iter().map(|it| shown(&it.path)), FILES_NAMED)
            )),
        };
        let generated = detail.map(|it| Warning::new(WarningCode::GeneratedNotSearched, it));
        let (unread, others): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|it| it.why == Why::Unread);
        let warning = |it: &&Named| Warning::new(WarningCode::FileNotSearched, it.detail(settings));
        let mut told: Vec<Warning> = generated
            .into_iter()
            .chain(others.iter().take(FILES_NAMED).map(warning))
            .chain(no_such_file(&unknown))
            .collect();
        for warning in &told {
            report::warning(&warning.detail);
        }
        // Standard error has these already, among what is not indexed.
        told.extend(unread.iter().take(FILES_NAMED).map(warning));
        told
    }

    /// The files that the question of `answer` names and that exist, but were not searched.
    fn named(&self, answer: &Answer, index: &Index) -> Vec<Named> {
        let found = &answer.material.retrieved.found;
        let is_found = |end: &Path| {
            let mut paths = found.iter().map(|it| Path::new(&it.part.path));
            paths.any(|it| is_end_of(end, it))
        };
        let root = Root::open(index.root()).ok();
        let query = &answer.material.query;
        let places = query.mentions.files.iter().map(|it| &it.path);
        let spaced = query.mentions.spaced_names.iter();
        let spaced = spaced.filter(|it| !it.ends_with('/'));
        let mut named: Vec<Named> = Vec::new();
        for name in places.chain(&query.mentions.file_names).chain(spaced) {
            let end = Path::new(name.strip_prefix("./").unwrap_or(name));
            if end.as_os_str().is_empty() || is_found(end) {
                continue;
            }
            let passed = self.passed.iter().find(|it| is_end_of(end, &it.path));
            let passed = passed.map(|it| Named {
                path: it.path.clone(),
                why: Why::Skipped(it.reason),
            });
            let left_out = || {
                let root = root.as_ref()?;
                let is_there = root.stamp(end).is_ok() && index.hash_of(name).is_none();
                let (path, why) = is_there.then(|| root.left_out(end)).flatten()?;
                // Nothing that takes it in would have it indexed.
                let is_secret = is_secret_file(name);
                Some(Named {
                    path: end.to_owned(),
                    why: if is_secret {
                        Why::Skipped(Reason::Secret)
                    } else {
                        Why::LeftOut(path, why)
                    },
                })
            };
            let unread = || {
                let path = self.unread.iter().find(|it| is_end_of(end, it))?;
                Some(Named {
                    path: path.clone(),
                    why: Why::Unread,
                })
            };
            if let Some(it) = passed.or_else(unread).or_else(left_out)
                && !named.contains(&it)
            {
                named.push(it);
            }
        }
        named
    }
}

/// Whether `path` ends with `end`, in any normal form of Unicode.
fn is_end_of(end: impl AsRef<Path>, path: &Path) -> bool {
    let mut names = path.iter().rev();
    let mut ends = end.as_ref().iter().rev();
    ends.all(|end| {
        let name = names.next();
        let is_same = |it: &OsStr| Some(is_same_path(end.to_str()?, it.to_str()?));
        name.is_some_and(|it| it == end || is_same(it) == Some(true))
    })
}

impl Why {
    fn is_generated(&self) -> bool {
        matches!(self, Why::Skipped(reason) if reason.is_generated())
    }
}

impl Named {
    /// Why it is not searched, and what to do about it.
    fn detail(&self, settings: &Settings) -> String {
        let path = shown(&self.path);
        let (why, then) = match &self.why {
            Why::Skipped(reason) => (skipped::why(*reason, settings), remedy(*reason, &path)),
            Why::LeftOut(at, why) => {
                let (what, it) = if *at == self.path {
                    ("it".to_owned(), "it")
                } else {
                    (shown(at), "that folder")
                };
                let line = at.to_string_lossy().replace('\\', "/");
                let then = format!("; the line !/{line} at the end of .ctxignore includes {it}");
                match why {
                    LeftOut::Git => (format!("{what} is git's own"), String::new()),
                    LeftOut::Ignored { file, rule } => {
                        let file = shown(file);
                        (format!("the rule {rule} in {file} excludes {what}"), then)
                    }
                    _ => (format!("{what} is hidden"), then),
                }
            }
            Why::Unread => ("it cannot be read".to_owned(), String::new()),
        };
        format!("{path} is not searched: {why}{then}")
    }
}

/// What to do about the file at `path`, to be appended to the reason.
fn remedy(reason: Reason, path: &str) -> String {
    let remedy = match reason {
        Reason::TooLarge => "; a larger --max-file-size includes it",
        // A hidden one is not packed unless it is named.
        Reason::Secret => return format!("; `ctx pack {path} --keep-secrets` shows it"),
        Reason::NoText => "; convert it to text to have it searched",
        Reason::Link => "; name the file that it leads to",
        _ => "",
    };
    remedy.to_owned()
}
