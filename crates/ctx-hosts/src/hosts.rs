//! The names of a server: requests under other names are refused.

use std::net::SocketAddr;
use std::sync::Arc;

use http::header::HOST;
use http::uri::Authority;
use http::{HeaderMap, Uri};

use crate::HostsError;

/// As a name of a server, accepts requests under any name: for a server behind a proxy that checks
/// the names.
pub const ANY_HOST: &str = "*";

/// The names of a server. Clones share one list.
#[derive(Clone, Debug)]
pub struct Hosts(Arc<[String]>);

impl Hosts {
    /// The names of a server that listens at `address`: the `given` ones, without a port, and those
    /// of the loopback if it listens there. [`ANY_HOST`] accepts any name.
    ///
    /// # Errors
    /// [`HostsError`].
    pub fn at(address: SocketAddr, given: Vec<String>) -> Result<Self, HostsError> {
        if let Some(host) = given.iter().find(|it| !is_host(it)) {
            return Err(HostsError::Name(host.clone()));
        }
        let mut hosts = given;
        if address.ip().is_loopback() {
            hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
            if address.is_ipv4() {
                hosts.push(address.ip().to_string());
            }
        }
        if hosts.is_empty() {
            return Err(HostsError::None(address));
        }
        Ok(Hosts(hosts.into()))
    }

    /// Checks that a request with these headers and this target is for one of the names.
    ///
    /// # Errors
    /// Why it is not, as [`Foreign`].
    pub fn check(&self, headers: &HeaderMap, target: &Uri) -> Result<(), Foreign> {
        let mut named = headers.get_all(HOST).iter();
        let (host, another) = (named.next(), named.next());
        if another.is_some() {
            return Err(Foreign::Several);
        }
        let host = host
            .map(|it| it.to_str().unwrap_or("?"))
            .or_else(|| target.authority().map(Authority::as_str))
            .ok_or(Foreign::Unnamed)?;
        if self.is_named(host) && target.host().is_none_or(|it| self.has(it)) {
            Ok(())
        } else {
            Err(Foreign::Other(host.to_owned()))
        }
    }

    /// The origins of the server's own pages if it listens on `port`, as browsers write them in
    /// `Origin`.
    pub fn origins(&self, port: u16) -> Vec<String> {
        let hosts = self.0.iter().filter(|it| *it != ANY_HOST);
        let with_port = hosts.clone().map(|it| format!("http://{it}:{port}"));
        let mut origins: Vec<String> = with_port.collect();
        if port == 80 {
            // Browsers omit the default port.
            origins.extend(hosts.map(|it| format!("http://{it}")));
        }
        origins
    }

    /// Whether `host` is one of the names, with or without a port.
    fn is_named(&self, host: &str) -> bool {
        // An authority may have a user before the name, and any text as its port.
        let parsed = host.parse::<Authority>();
        parsed.is_ok_and(|it| {
            let port = host.strip_prefix(it.host());
            let is_port = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
            let is_port = |it: &str| it.is_empty() || it.strip_prefix(':').is_some_and(is_port);
            port.is_some_and(is_port) && self.has(it.host())
        })
    }

    fn has(&self, host: &str) -> bool {
        let mut hosts = self.0.iter();
        hosts.any(|it| it == ANY_HOST || it.eq_ignore_ascii_case(host))
    }
}

/// Whether a request can have this name: not a site, and without a port.
fn is_host(given: &str) -> bool {
    let parsed = given.parse::<Authority>();
    given == ANY_HOST || parsed.is_ok_and(|it| it.host() == given)
}

/// Why a request is not for this server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Foreign {
    /// It has more than one `Host`.
    #[error("there is more than one Host")]
    Several,
    /// It has none.
    #[error("there is no Host")]
    Unnamed,
    /// Its `Host` or its target has this name.
    #[error("{0:?} is no name of this server")]
    Other(String),
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
