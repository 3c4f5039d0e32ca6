//! What can be wrong with a repository.

use std::error::Error;
use std::path::{Path, PathBuf};

use ctx_model::with_causes;
use ctx_retrieve::PortError;

/// Why the changes of a repository could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// The repository cannot be opened, or what it points to is not there.
    #[error("read the git repository {}", path.display())]
    Repository {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// What stands in place of a file of the repository is none, and reading it might never end.
    #[error(
        "read {}: it is {what}, not a file; delete it and restore the repository, such as by cloning it again",
        path.display()
    )]
    NotAFile {
        /// Where it is.
        path: PathBuf,
        /// What it is: "a pipe", "a socket", "a device" or "something else".
        what: &'static str,
    },
    /// A file of the repository is larger than any such file is.
    #[error(
        "read {}: it is larger than {limit} bytes; restore the repository, such as by cloning it again",
        path.display()
    )]
    TooLarge {
        /// Where it is.
        path: PathBuf,
        /// So many bytes it may have.
        limit: u64,
    },
    /// The repository has no such commit.
    #[error("find the commit {commit:?} in the git repository {}", path.display())]
    Commit {
        /// Where the repository is.
        path: PathBuf,
        /// What was looked for.
        commit: String,
    },
    /// The caller asked to stop.
    #[error("finish: it was cancelled")]
    Cancelled,
}

impl GitError {
    pub(crate) fn repository(
        path: &Path,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> GitError {
        GitError::Repository {
            path: path.to_owned(),
            source: source.into(),
        }
    }
}

/// What whoever asks for the changes is told.
impl From<&GitError> for PortError {
    fn from(error: &GitError) -> Self {
        PortError::new(format!("failed to {}", with_causes(error)))
    }
}
