//! Addresses of databases, and how the way there is kept from listeners.

use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::StoreError;

/// How a connection is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// Not at all.
    None,
    /// Against those who listen, whoever the server is.
    Unverified,
    /// The server shows a certificate for its name, by one of those in this file, or of the system's.
    Verified(Option<PathBuf>),
}

/// An address, taken apart.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) config: Config,
    pub(crate) encryption: Encryption,
}

impl Address {
    /// Reads `url`: `postgres://user:password@host/name?sslmode=verify-full&sslrootcert=/path`, or the same as
    /// `host=… sslmode=…`.
    pub(crate) fn of(url: &str) -> Result<Self, StoreError> {
        let (mut mode, mut root) = (None, None);
        let mut known = |key: &str, value: String| match key {
            "sslmode" => mode = Some(value),
            _ => root = Some(PathBuf::from(value)),
        };
        let rest = if url.contains("://") {
            without(url, &mut known)
        } else {
            let words = words(url);
            let mut kept = Vec::new();
            for word in words {
                match word.split_once('=') {
                    Some((key @ ("sslmode" | "sslrootcert"), value)) => {
                        known(key, value.trim_matches('\'').to_owned());
                    }
                    _ => kept.push(word),
                }
            }
            kept.join(" ")
        };
        let mut config: Config = rest.parse().map_err(StoreError::Address)?;
        let encryption = match (mode.as_deref(), root) {
            (None | Some("disable" | "allow" | "prefer"), _) => Encryption::None,
            (Some("require"), None) => Encryption::Unverified,
            (Some("require" | "verify-full"), root) => Encryption::Verified(root),
            (Some(_), _) => {
                return Err(StoreError::Invalid {
                    what: "the sslmode of the database",
                    why: "it is one of disable, require and verify-full",
                });
            }
        };
        config.ssl_mode(match encryption {
            Encryption::None => SslMode::Disable,
            _ => SslMode::Require,
        });
        Ok(Address { config, encryption })
    }
}

/// `url` without the parameters about encryption, which are told to `known`.
fn without(url: &str, known: &mut impl FnMut(&str, String)) -> String {
    let Some((before, parameters)) = url.split_once('?') else {
        return url.to_owned();
    };
    let mut kept = Vec::new();
    for parameter in parameters.split('&') {
        match parameter.split_once('=') {
            Some((key @ ("sslmode" | "sslrootcert"), value)) => {
                let value = percent_encoding::percent_decode_str(value).decode_utf8_lossy();
                known(key, value.into_owned());
            }
            _ => kept.push(parameter),
        }
    }
    if kept.is_empty() {
        return before.to_owned();
    }
    format!("{before}?{}", kept.join("&"))
}

/// The words of `text`; spaces within quotation marks belong to theirs.
fn words(text: &str) -> Vec<&str> {
    let (mut words, mut start, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\'' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => {
                words.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    words.push(&text[start..]);
    words.retain(|it| !it.is_empty());
    words
}

/// Where the database at `url` is, as far as that may be told: hosts and ports, and no user, password or name.
pub fn host(url: &str) -> String {
    let Ok(Address { config, .. }) = Address::of(url) else {
        return "an address that is none".to_owned();
    };
    let ports = config.get_ports();
    let place = |(at, host): (usize, &Host)| match (host, ports.get(at).or(ports.first())) {
        (Host::Tcp(name), Some(port)) => format!("{name}:{port}"),
        (Host::Tcp(name), None) => name.clone(),
        #[cfg(unix)]
        (Host::Unix(folder), _) => folder.display().to_string(),
    };
    let places: Vec<String> = config.get_hosts().iter().enumerate().map(place).collect();
    if places.is_empty() {
        return "no host".to_owned();
    }
    places.join(", ")
}
