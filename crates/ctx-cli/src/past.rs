//! What was changed before in the git repository of a folder, for the verbs that search.

use std::error::Error as _;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use ctx::assemble::Cancel;
use ctx::git::{GitChanges, GitError};
use ctx::retrieve::Strategy;

use crate::failure::Failure;
use crate::place;
use crate::progress::Progress;
use crate::report::{self, Report};

/// What the file of changes is called in the folder of an index.
const FILE: &str = "changes";

/// Whether the file of changes is called so, or one that it is written to first.
pub(crate) fn is_file(name: &str) -> bool {
    name.strip_prefix(FILE)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(".tmp-"))
}

/// The changes that are known of the repository that `root` is in, if one of `strategies` asks for them; `None` too if it is in none, or in
/// one that cannot be read, which is told: files are found without them.
///
/// # Errors
/// See [`place::index_folder`].
pub(crate) fn open(
    root: &Path,
    strategies: &[Strategy],
    report: Report,
) -> Result<Option<GitChanges>, Failure> {
    if !strategies.contains(&Strategy::Changes) {
        return Ok(None);
    }
    let file = place::index_folder(root)?.join(FILE);
    match GitChanges::open(root, &file) {
        Ok(None) => Ok(None),
        Ok(Some((changes, wrong))) => {
            if let Some(wrong) = wrong {
                report.note(&format!(
                    "the saved git history cannot be used, and is read again when it is needed: {wrong}"
                ));
            }
            Ok(Some(changes))
        }
        Err(error) => {
            warn(&error);
            Ok(None)
        }
    }
}

/// The same, up to date.
///
/// # Errors
/// Those of [`open`], and it was cancelled.
pub(crate) fn up_to_date(
    root: &Path,
    strategies: &[Strategy],
    report: Report,
    cancel: &Cancel,
) -> Result<Option<GitChanges>, Failure> {
    let Some(changes) = open(root, strategies, report)? else {
        return Ok(None);
    };
    let progress = Progress::start("reading git history", 0);
    let updated = changes.update(&mut |it| {
        progress.set(it.done, it.of);
        if cancel.is_cancelled() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    match updated {
        Ok(updated) => {
            if let Some(why) = updated.unsaved {
                report.detail(&format!("git history is not saved: {why}"));
            }
        }
        Err(GitError::Cancelled) => return Err(Failure::cancelled()),
        Err(error) => warn(&error),
    }
    Ok(Some(changes))
}

fn warn(error: &GitError) {
    let mut text = format!("git history is not used: failed to {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    report::warning(&text);
}
