//! Why a server cannot start, or stops.

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ctx_hosts::HostsError;

/// Why a server cannot start. `Display` is a fragment that follows "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address is taken, or not ours.
    #[error("listen on {addr}")]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The server is given no name, or one that no request could have.
    #[error(transparent)]
    Hosts(#[from] HostsError),
    /// The folder of the data cannot be made, opened or written.
    #[error("use the data folder {}", folder.display())]
    DataFolder {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// Another process has the folder of the data.
    #[error("use the data folder {}: {} has it", folder.display(), holder(*process))]
    Busy {
        /// The folder.
        folder: PathBuf,
        /// The number of the process, where it is known.
        process: Option<u32>,
    },
    /// The database cannot be had, or its tables cannot be used.
    #[error("use the database at {host}")]
    Database {
        /// Where it is, without user, password and all else.
        host: String,
        /// What is wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file of tokens cannot be read.
    #[error("read the tokens in {}", path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// A file of tokens has none: nobody could be let in.
    #[error("read the tokens in {}: there is none", path.display())]
    NoToken {
        /// The file.
        path: PathBuf,
    },
    /// A line of the file of tokens is none.
    #[error("read line {line_number} of the tokens{}: {what}", within(path.as_deref()))]
    TokenLine {
        /// The file, where they were read from one.
        path: Option<PathBuf>,
        /// Counted from 1.
        line_number: usize,
        /// What is wrong with it.
        what: Cow<'static, str>,
    },
    /// The system gives no random bytes.
    #[error("make a token: the system gives no random bytes ({0})")]
    Random(getrandom::Error),
}

fn within(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |it| format!(" in {}", it.display()))
}

fn holder(process: Option<u32>) -> String {
    process.map_or("another process".to_owned(), |it| format!("process {it}"))
}
