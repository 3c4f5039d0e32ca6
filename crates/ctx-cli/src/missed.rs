//! Warnings about files that a question names and that are not searched.

use std::path::{Path, PathBuf};

use ctx::index::{Index, Reason, SkippedFile};
use ctx::model::{Warning, WarningCode, join_first};
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
}

impl Missed {
    pub(crate) fn of(passed: Vec<SkippedFile>) -> Self {
        Missed { passed }
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
        unknown.retain(|name| !named.iter().any(|it| it.path.ends_with(name)));
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
                "{} is not searched, as it is generated or vendored; --include-generated takes such files in",
                shown(&it.path)
            )),
            files => Some(format!(
                "{} are not searched, as they are generated or vendored; --include-generated takes such files in",
                join_first(files.iter().map(|it| shown(&it.path)), FILES_NAMED)
            )),
        };
        let generated = detail.map(|it| Warning::new(WarningCode::GeneratedNotSearched, it));
        let others = others.iter().take(FILES_NAMED);
        let others =
            others.map(|it| Warning::new(WarningCode::FileNotSearched, it.detail(settings)));
        let told: Vec<Warning> = generated
            .into_iter()
            .chain(others)
            .chain(no_such_file(&unknown))
            .collect();
        for warning in &told {
            report::warning(&warning.detail);
        }
        told
    }

    /// The files that the question of `answer` names and that exist, but were not searched.
    fn named(&self, answer: &Answer, index: &Index) -> Vec<Named> {
        let found = &answer.material.retrieved.found;
        let is_found = |end: &Path| {
            let mut paths = found.iter().map(|it| Path::new(&it.part.path));
            paths.any(|it| it.ends_with(end))
        };
        let root = Root::open(index.root()).ok();
        let mentioned = answer
            .material
            .query
            .mentions
            .files
            .iter()
            .map(|it| &it.path);
        let mut named: Vec<Named> = Vec::new();
        for name in mentioned.chain(&answer.material.query.mentions.file_names) {
            let end = Path::new(name.strip_prefix("./").unwrap_or(name));
            if end.as_os_str().is_empty() || is_found(end) {
                continue;
            }
            let passed = self.passed.iter().find(|it| it.path.ends_with(end));
            let passed = passed.map(|it| Named {
                path: it.path.clone(),
                why: Why::Skipped(it.reason),
            });
            let left_out = || {
                let root = root.as_ref()?;
                let is_there = root.stamp(end).is_ok() && index.hash_of(name).is_none();
                let (path, why) = is_there.then(|| root.left_out(end)).flatten()?;
                Some(Named {
                    path: end.to_owned(),
                    why: Why::LeftOut(path, why),
                })
            };
            if let Some(it) = passed.or_else(left_out)
                && !named.contains(&it)
            {
                named.push(it);
            }
        }
        named
    }
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
            Why::Skipped(reason) => (skipped::why(*reason, settings), remedy(*reason).to_owned()),
            Why::LeftOut(at, why) => {
                let (what, it) = if *at == self.path {
                    ("it".to_owned(), "it")
                } else {
                    (shown(at), "that folder")
                };
                let why = match why {
                    LeftOut::Ignored { file, rule } => {
                        format!("the line {rule} of {} leaves {what} out", shown(file))
                    }
                    _ => format!("{what} is hidden"),
                };
                let line = at.to_string_lossy().replace('\\', "/");
                let then = format!("; the line !/{line} at the end of .ctxignore takes {it} in");
                (why, then)
            }
        };
        format!("{path} is not searched: {why}{then}")
    }
}

/// What to do about it, to be appended to the reason.
fn remedy(reason: Reason) -> &'static str {
    match reason {
        Reason::TooLarge => "; a larger --max-file-size takes it in",
        Reason::Secret => "; `ctx pack --keep-secrets` shows it",
        Reason::NoText => "; a copy of it as text is searched",
        Reason::Link => "; ask for the file that it leads to",
        _ => "",
    }
}
