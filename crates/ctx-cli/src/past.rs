//! The changes in the git repository of a folder, for the verbs that search.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ctx::assemble::Cancel;
use ctx::git::{GitChanges, GitError};
use ctx::retrieve::{PortError, Retriever, Strategy};

use crate::emit::counted;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::{self, Report};
use crate::user_dirs;

/// The name of the file of changes in the folder of an index.
const FILE: &str = "changes";

/// Whether the file of changes is called so, or one that it is written to first, or its lock.
pub(crate) fn is_file(name: &str) -> bool {
    name.strip_prefix(FILE)
        .is_some_and(|rest| matches!(rest, "" | ".lock") || rest.starts_with(".tmp-"))
}

/// The known changes of a repository.
pub(crate) enum Past {
    Known(Arc<GitChanges>),
    /// The repository cannot be read; the search goes on without it.
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

    /// Makes `retriever` search the changes, or report that they cannot be read.
    pub(crate) fn add_to(&self, retriever: Retriever) -> Retriever {
        match self {
            Past::Known(changes) => retriever.with_changes(changes.clone()),
            Past::Unreadable(why) => retriever.without_changes(why.clone()),
        }
    }

    /// Warns if they cannot be read, for the verbs that do not search.
    pub(crate) fn warn(&self) {
        if let Some(why) = self.failure() {
            report::warning(&format!("git history is not used: {why}"));
        }
    }
}

/// The stored changes of the repository that contains `root`, if one of `strategies` searches them;
/// also `None` if there is no repository.
///
/// # Errors
/// See [`user_dirs::index_folder`].
pub(crate) fn open(
    root: &Path,
    strategies: &[Strategy],
    report: Report,
) -> Result<Option<Past>, Failure> {
    if !strategies.contains(&Strategy::Changes) {
        return Ok(None);
    }
    let file = user_dirs::index_folder(root)?.join(FILE);
    Ok(match GitChanges::open(root, &file) {
        Ok(None) => None,
        Ok(Some(changes)) => {
            if let Some(wrong) = changes.discarded() {
                report.note(&format!(
                    "the saved git history cannot be used, and will be read again: {wrong}"
                ));
            }
            Some(Past::Known(Arc::new(changes)))
        }
        Err(error) => Some(Past::Unreadable((&error).into())),
    })
}

/// Same as [`open`], and whether all changes are known. Nothing is changed; a repository that could
/// not be read now is unreadable.
///
/// # Errors
/// Those of [`open`].
pub(crate) fn look(
    root: &Path,
    strategies: &[Strategy],
    report: Report,
) -> Result<Option<(Past, bool)>, Failure> {
    let Some(past) = open(root, strategies, report)? else {
        return Ok(None);
    };
    let is_all = match &past {
        Past::Known(changes) => changes.is_up_to_date(),
        Past::Unreadable(_) => Ok(false),
    };
    Ok(Some(match is_all {
        Ok(is_all) => (past, is_all),
        Err(error) => (Past::Unreadable((&error).into()), false),
    }))
}

/// Same as [`open`], with the changes brought up to date.
///
/// # Errors
/// Those of [`open`], and it was cancelled.
pub(crate) fn up_to_date(
    root: &Path,
    strategies: &[Strategy],
    report: Report,
    cancel: &Cancel,
    most: Option<Duration>,
) -> Result<Option<Past>, Failure> {
    let opened = open(root, strategies, report)?;
    let Some(Past::Known(changes)) = &opened else {
        return Ok(opened);
    };
    let progress = Progress::start("reading git history", 0, report);
    let mut told = |it: ctx::git::Progress| {
        progress.set(it.done, it.of);
        if cancel.is_cancelled() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let updated = match most {
        Some(most) => changes.update_within(most, &mut told),
        None => changes.update(&mut told),
    };
    match updated {
        Ok(updated) => {
            if let Some(why) = updated.unsaved {
                report.detail(&format!("git history is not saved: {why}"));
            }
            Ok(opened)
        }
        Err(GitError::Late) => {
            report::warning(&format!(
                "git history is read in part, {} so far: the next question reads more, and `ctx index` reads all of it",
                counted(changes.count() as u64, "commit")
            ));
            Ok(opened)
        }
        Err(GitError::Cancelled) => Err(Failure::cancelled()),
        Err(error) => Ok(Some(Past::Unreadable((&error).into()))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ctx_testkit::git::Repository;

    use super::*;
    use crate::report::Verbosity;

    #[test]
    fn commits_for_which_there_is_no_time_are_read_by_the_next() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(".ctx")).unwrap();
        fs::write(root.path().join(".ctx/kept"), "").unwrap();
        let mut repository = Repository::init(root.path());
        for text in ["1", "2", "3"] {
            repository.commit("Mend it", &[("a.rs", Some(text))]);
        }
        let report = Report::new(Verbosity::Quiet);
        let read = |most| {
            let strategies = [Strategy::Changes];
            let past = up_to_date(root.path(), &strategies, report, &Cancel::new(), most);
            past.ok().flatten().and_then(|it| it.count())
        };
        assert!(read(Some(Duration::ZERO)) <= Some(2));
        assert_eq!(read(Some(Duration::from_mins(10))), Some(2));
        assert_eq!(read(None), Some(2));
    }
}
