//! Errors of reading a repository.

use std::error::Error;
use std::path::{Path, PathBuf};

use ctx_model::error_chain;
use ctx_retrieve::PortError;

/// Why the changes of a repository could not be read. `Display` is a fragment that follows "failed
/// to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// The repository cannot be opened, or something it refers to is missing.
    #[error("read the git repository {}", path.display())]
    Repository {
        /// The path of the repository or file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A pipe, socket or device is in place of a file of the repository; reading it might never
    /// end.
    #[error(
        "read {}: it is {what}, not a file; delete it and restore the repository, such as by cloning it again",
        path.display()
    )]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it is: "a pipe", "a socket", "a device" or "something else".
        what: &'static str,
    },
    /// A file of the repository exceeds the limit for its kind.
    #[error(
        "read {}: it is larger than {limit} bytes; restore the repository, such as by cloning it again",
        path.display()
    )]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// The most bytes allowed.
        limit: u64,
    },
    /// The repository has no such commit.
    #[error("find the commit {commit:?} in the git repository {}", path.display())]
    Commit {
        /// The path of the repository.
        path: PathBuf,
        /// The commit that was not found.
        commit: String,
    },
    /// The caller asked to stop.
    #[error("finish: it was cancelled")]
    Cancelled,
    /// There was no more time.
    #[error("finish: it took too long")]
    Late,
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

/// The error that queries return.
impl From<&GitError> for PortError {
    fn from(error: &GitError) -> Self {
        PortError::new(format!("failed to {}", error_chain(error)))
    }
}
