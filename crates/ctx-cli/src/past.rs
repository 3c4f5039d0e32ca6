//! What was changed before in the git repository of a folder, for the verbs that search.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use ctx::assemble::Cancel;
use ctx::git::{GitChanges, GitError};
use ctx::retrieve::{PortError, Retriever, Strategy};

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

/// What is known of the changes of a repository.
pub(crate) enum Past {
    Known(Arc<GitChanges>),
    /// It cannot be read: files are found without it.
    Unreadable(PortError),
}

impl Past {
    /// How many changes are known.
    pub(crate) fn count(&self) -> Option<usize> {
        match self {
            Past::Known(changes) => Some(changes.count()),
            Past::Unreadable(_) => None,
        }
    }

    /// Why they cannot be read, if so.
    pub(crate) fn failure(&self) -> Option<String> {
        match self {
            Past::Known(_) => None,
            Past::Unreadable(why) => Some(why.on_one_line()),
        }
    }

    /// Has `retriever` ask for them, and tell of it where they cannot be read.
    pub(crate) fn told_to(&self, retriever: Retriever) -> Retriever {
        match self {
            Past::Known(changes) => retriever.with_changes(changes.clone()),
            Past::Unreadable(why) => retriever.without_changes(why.clone()),
        }
    }

    /// Warns where they cannot be read, for the verbs that ask nothing.
    pub(crate) fn warn(&self) {
        if let Some(why) = self.failure() {
            report::warning(&format!("git history is not used: {why}"));
        }
    }
}

/// The changes that are known of the repository that `root` is in, if one of `strategies` asks for them; `None` too if it is in
/// none.
///
/// # Errors
/// See [`place::index_folder`].
pub(crate) fn open(
    root: &Path,
    strategies: &[Strategy],
    report: Report,
) -> Result<Option<Past>, Failure> {
    if !strategies.contains(&Strategy::Changes) {
        return Ok(None);
    }
    let file = place::index_folder(root)?.join(FILE);
    Ok(match GitChanges::open(root, &file) {
        Ok(None) => None,
        Ok(Some((changes, wrong))) => {
            if let Some(wrong) = wrong {
                report.note(&format!(
                    "the saved git history cannot be used, and is read again when it is needed: {wrong}"
                ));
            }
            Some(Past::Known(Arc::new(changes)))
        }
        Err(error) => Some(Past::Unreadable((&error).into())),
    })
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
) -> Result<Option<Past>, Failure> {
    let opened = open(root, strategies, report)?;
    let Some(Past::Known(changes)) = &opened else {
        return Ok(opened);
    };
    let progress = Progress::start("reading git history", 0, report);
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
            Ok(opened)
        }
        Err(GitError::Cancelled) => Err(Failure::cancelled()),
        Err(error) => Ok(Some(Past::Unreadable((&error).into()))),
    }
}
