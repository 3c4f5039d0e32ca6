//! Errors in the names that a server is given.

use std::net::SocketAddr;

/// Why a server's names or sites are invalid. `Display` follows a statement of what failed: "failed
/// to serve: …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostsError {
    /// This is not a name that a request could have.
    #[error("{0:?} is no name without a scheme and a port")]
    Name(String),
    /// The server listens on an address that other machines can reach, and no name is given.
    #[error("no name of the server is given, and others reach {0}")]
    None(SocketAddr),
    /// This is not a site that a browser could send as an origin.
    #[error("{0:?} is no site, such as https://ctx.example or http://localhost:3000")]
    Site(String),
}
