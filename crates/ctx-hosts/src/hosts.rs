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
        let host = host.map(|it| it.to_str().unwrap_or("?"));
        let host = host.or_else(|| target.authority().map(Authority::as_str));
        let host = host.ok_or(Foreign::Unnamed)?;
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
mod tests {
    use http::Request;
    use proptest::prelude::*;

    use super::*;

    fn hosts(address: &str, given: &[&str]) -> Result<Hosts, HostsError> {
        let given = given.iter().map(|&it| it.to_owned()).collect();
        Hosts::at(address.parse().unwrap(), given)
    }

    fn asked(hosts: &Hosts, target: &str, named: &[&[u8]]) -> Result<(), Foreign> {
        let request = named
            .iter()
            .fold(Request::get(target), |it, &host| it.header(HOST, host));
        let request = request.body(()).unwrap();
        hosts.check(request.headers(), request.uri())
    }

    #[test]
    fn a_server_has_names_that_requests_can_have() {
        for address in ["0.0.0.0:0", "[::]:80"] {
            let none = HostsError::None(address.parse().unwrap());
            assert_eq!(hosts(address, &[]).unwrap_err(), none);
        }
        for host in [
            "",
            "ctx.example:80",
            "http://ctx.example",
            "a b",
            "me@ctx.example",
            "::1",
            "x/",
        ] {
            let refused = hosts("127.0.0.1:0", &["ctx.example", host]).unwrap_err();
            assert_eq!(refused, HostsError::Name(host.to_owned()));
        }
        for host in ["ctx.example", "10.0.0.7", "[::1]", ANY_HOST] {
            assert!(hosts("0.0.0.0:0", &[host]).is_ok(), "{host}");
        }
    }

    #[test]
    fn requests_to_other_names_are_refused() {
        let local = hosts("127.0.0.3:80", &["ctx.example"]).unwrap();
        for host in [
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.3",
            "localhost:1",
            "LocalHost",
            "[::1]",
            "[::1]:80",
            "ctx.example:443",
        ] {
            assert_eq!(asked(&local, "/", &[host.as_bytes()]), Ok(()), "{host}");
            assert_eq!(
                asked(&local, "http://ctx.example/", &[host.as_bytes()]),
                Ok(()),
                "{host}"
            );
            let other = Err(Foreign::Other(host.to_owned()));
            assert_eq!(
                asked(&local, "http://evil.example/", &[host.as_bytes()]),
                other,
                "{host}"
            );
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "127.0.0.2",
            "0.0.0.0",
            "::1",
            "a@localhost",
            "localhost:80:80",
            "localhost:a",
            "localhost.",
            "http://localhost",
            "*",
            "localhost,evil.example",
            "[::1",
        ] {
            let other = Err(Foreign::Other(host.to_owned()));
            assert_eq!(asked(&local, "/", &[host.as_bytes()]), other);
        }
        let is_text = [0xE9, b'.', b'e'];
        assert_eq!(
            asked(&local, "/", &[&is_text]),
            Err(Foreign::Other("?".to_owned()))
        );
        assert_eq!(asked(&local, "/", &[]), Err(Foreign::Unnamed));
        assert_eq!(
            asked(&local, "/", &[b"localhost", b"localhost"]),
            Err(Foreign::Several)
        );
        assert_eq!(asked(&local, "http://localhost/", &[]), Ok(()));
        assert_eq!(
            asked(&local, "http://evil.example/", &[]),
            Err(Foreign::Other("evil.example".to_owned()))
        );
        let public = hosts("0.0.0.0:80", &["ctx.example"]).unwrap();
        assert_eq!(
            asked(&public, "/", &[b"localhost"]),
            Err(Foreign::Other("localhost".to_owned()))
        );
        let any = hosts("0.0.0.0:80", &[ANY_HOST]).unwrap();
        assert_eq!(asked(&any, "/", &[b"whatever:80"]), Ok(()));
        assert_eq!(asked(&any, "/", &[]), Err(Foreign::Unnamed));
    }

    #[test]
    fn its_own_pages_are_of_its_names_and_port() {
        let local = hosts("127.0.0.1:0", &["ctx.example", ANY_HOST]).unwrap();
        let at = |port| local.origins(port);
        assert!(at(81).contains(&"http://ctx.example:81".to_owned()));
        assert!(
            at(81)
                .iter()
                .all(|it| it.ends_with(":81") && !it.contains('*'))
        );
        assert!(at(80).contains(&"http://localhost".to_owned()));
        assert!(at(80).contains(&"http://localhost:80".to_owned()));
    }

    proptest! {
        #[test]
        fn only_a_name_with_or_without_a_port_is_let_in(host in "[ -~]{0,4}(localhost|ctx\\.example)?[ -~]{0,4}") {
            let local = hosts("127.0.0.1:0", &["ctx.example"]).unwrap();
            let named = asked(&local, "/", &[host.as_bytes()]);
            let name = host.split_once(':').map_or(&*host, |(name, port)| {
                if port.bytes().all(|it| it.is_ascii_digit()) { name } else { "" }
            });
            let ours = ["localhost", "127.0.0.1", "ctx.example"];
            let is_ours = ours.iter().any(|it| it.eq_ignore_ascii_case(name));
            prop_assert_eq!(named.is_ok(), is_ours, "{}", host);
        }
    }
}
