//! Why a server cannot start.

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ctx_hosts::HostsError;

/// Why a server cannot start. `Display` is a fragment that follows "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address is in use, or does not belong to this machine.
    #[error("listen on {addr}")]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The server has no name, or one that no request could have.
    #[error(transparent)]
    Hosts(#[from] HostsError),
    /// The data folder cannot be created, opened or written.
    #[error("use the data folder {}", folder.display())]
    DataFolder {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Another process has locked the data folder.
    #[error("use the data folder {}: {} has it", folder.display(), holder(*process))]
    Busy {
        /// The folder.
        folder: PathBuf,
        /// The id of that process, if known.
        process: Option<u32>,
    },
    /// The database is unreachable, or its tables cannot be used.
    #[error("use the database at {host}")]
    Database {
        /// Its host, without user, password and the rest of the URL.
        host: String,
        /// What is wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The token file cannot be read.
    #[error("read the tokens in {}", path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A token file contains no token: every request would be rejected.
    #[error("read the tokens in {}: there is none", path.display())]
    NoToken {
        /// The file.
        path: PathBuf,
    },
    /// A line of the token file is invalid.
    #[error("read line {line_number} of the tokens{}: {what}", within(path.as_deref()))]
    TokenLine {
        /// The file, if the lines were read from one.
        path: Option<PathBuf>,
        /// The line number, from 1.
        line_number: usize,
        /// What is wrong with the line.
        what: Cow<'static, str>,
    },
    /// The system provides no random bytes.
    #[error("make a token: the system gives no random bytes ({0})")]
    Random(getrandom::Error),
}

fn within(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |it| format!(" in {}", it.display()))
}

fn holder(process: Option<u32>) -> String {
    process.map_or("another process".to_owned(), |it| format!("process {it}"))
}
