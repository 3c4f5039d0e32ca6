//! What can be wrong with the names that a server is given.

use std::net::SocketAddr;

/// Why a server cannot be reached as it is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostsError {
    /// What is given is none that a request could have.
    #[error("{0:?} is no name without a scheme and a port")]
    Name(String),
    /// Others reach the address, and under which names is not said.
    #[error("no name of the server is given, and others reach {0}")]
    None(SocketAddr),
    /// What is given as a site is none that a browser could name.
    #[error("{0:?} is no site, such as https://ctx.example or http://localhost:3000")]
    Site(String),
}
