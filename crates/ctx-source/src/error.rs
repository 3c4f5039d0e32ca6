//! Errors of paths and files.

use std::io;

/// Why a file could not be read. Each variant names the file as the caller did. `Display` follows a
/// statement of what failed: "failed to show: …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The folder itself cannot be opened.
    #[error("the folder {path:?} cannot be opened")]
    Root {
        /// The folder.
        path: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The path could lead out of the folder, or names no file.
    #[error("{path:?} {fault}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        fault: PathFault,
    },
    /// There is no such file.
    #[error("{path:?} does not exist")]
    NotFound {
        /// The path.
        path: String,
    },
    /// It is a link whose target does not exist.
    #[error("{path:?} is a link to something that is not there")]
    DeadLink {
        /// The path.
        path: String,
    },
    /// It is a folder, a pipe, a device or a socket.
    #[error("{path:?} is {what}, not a file")]
    NotAFile {
        /// The path.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// It has more bytes than may be read.
    #[error("{path:?} is larger than {limit} bytes")]
    TooLarge {
        /// The path.
        path: String,
        /// The most bytes that were allowed.
        limit: u64,
    },
    /// Its name, or that of the file it links to, says that it holds secrets: see
    /// [`Root::is_secret_file`](crate::Root::is_secret_file).
    #[error("{path:?} is a file of keys or settings, as its name says, and may hold secrets")]
    Secret {
        /// The path.
        path: String,
    },
    /// It is not text.
    #[error("{path:?} holds no text")]
    Binary {
        /// The path.
        path: String,
    },
    /// Its bytes do not match its expected hash.
    #[error("{path:?} is damaged: its content does not match its hash")]
    Damaged {
        /// The path.
        path: String,
    },
    /// It leads out of the folder, permission is denied, or the system failed.
    #[error("{path:?} cannot be read")]
    Io {
        /// The path.
        path: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl SourceError {
    /// Whether a retry may soon succeed: the storage behind the file or behind
    /// [`Files`](crate::Files) was late or unreachable, by the kind of the I/O error.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        use io::ErrorKind::{
            ConnectionAborted, ConnectionRefused, ConnectionReset, HostUnreachable, NetworkDown,
            NetworkUnreachable, NotConnected, TimedOut,
        };
        let SourceError::Io { source, .. } = self else {
            return false;
        };
        matches!(
            source.kind(),
            ConnectionAborted
                | ConnectionRefused
                | ConnectionReset
                | HostUnreachable
                | NetworkDown
                | NetworkUnreachable
                | NotConnected
                | TimedOut
        )
    }
}

/// What is wrong with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathFault {
    /// It is empty, or names the folder itself.
    #[error("names no file")]
    Empty,
    /// It begins at the root of the file system, or of a drive.
    #[error("is absolute, but must be relative to the folder")]
    Absolute,
    /// It has a `..` in it.
    #[error("has a \"..\" in it")]
    Parent,
    /// It has a NUL in it.
    #[error("has a NUL in it")]
    Nul,
    /// It has more than 4,096 bytes.
    #[error("is longer than 4096 bytes")]
    TooLong,
}
