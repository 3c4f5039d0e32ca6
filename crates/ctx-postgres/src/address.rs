//! Database addresses, and how the connection is encrypted.

use std::ops::Range;
use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::StoreError;

/// A reason to refuse an address.
const UNKNOWN: &str = "it is neither postgres://… nor words such as host=…";
const UNREAD: &str = "it has an option that is not known, or one of a value that makes none";
const NOWHERE: &str = "it names no host";
const AMBIGUOUS: &str = "what looks like its parameters is before an `@`: that is written %40, and `=` in a password %3D";
const CUT: &str = "an `@` in a user or a password is written %40";
const UNUSED: &str =
    "sslrootcert is of use with sslmode=verify-full or require, and neither is there";
const MODES: &str =
    "sslmode is require or verify-full, or, for no encryption, disable, allow or prefer";

/// How a connection is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// Not encrypted.
    None,
    /// Encrypted, without verifying the server.
    Unverified,
    /// Encrypted, with a server certificate for its name that is signed by one in this file, or by
    /// one of the system's.
    Verified(Option<PathBuf>),
}

/// A parsed address.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) config: Config,
    pub(crate) encryption: Encryption,
}

impl Address {
    /// Parses `url`: `postgres://user:password@host/name?sslmode=verify-full&sslrootcert=/path`, or
    /// the same as `host=… sslmode=…`.
    pub(crate) fn of(url: &str) -> Result<Self, StoreError> {
        let parameters = match url.split_once("://") {
            Some(("postgres" | "postgresql", rest)) if is_cut(rest) => Err(CUT),
            Some(("postgres" | "postgresql", rest)) => of_url(url, rest).ok_or(AMBIGUOUS),
            Some((scheme, _)) if !scheme.contains('=') => Err(UNKNOWN),
            _ => of_words(url).ok_or(UNKNOWN),
        };
        let parameters = parameters.map_err(StoreError::BadAddress)?;
        let (mut mode, mut root) = (None, None);
        let mut rest = String::new();
        let mut end = 0;
        for Parameter { place, key, value } in parameters {
            match &*key {
                "sslmode" => mode = Some(value),
                "sslrootcert" => root = Some(PathBuf::from(value)),
                _ => continue,
            }
            rest.push_str(&url[end..place.start]);
            end = place.end;
        }
        rest.push_str(&url[end..]);
        let mut config: Config = rest.parse().map_err(|_| StoreError::BadAddress(UNREAD))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(StoreError::BadAddress(NOWHERE));
        }
        let encryption = match (mode.as_deref(), root) {
            // Naming certificates implies encryption, but no `sslmode` asks for it: they would not
            // be used.
            (None | Some("allow" | "prefer"), Some(_)) => {
                return Err(StoreError::BadAddress(UNUSED));
            }
            (None | Some("disable" | "allow" | "prefer"), _) => Encryption::None,
            (Some("require"), None) => Encryption::Unverified,
            (Some("require" | "verify-full"), root) => Encryption::Verified(root),
            (Some(_), _) => return Err(StoreError::BadAddress(MODES)),
        };
        config.ssl_mode(match encryption {
            Encryption::None => SslMode::Disable,
            _ => SslMode::Require,
        });
        Ok(Address { config, encryption })
    }
}

/// Whether the part after the scheme has an `@` in its user or password. The client takes what
/// follows the first `@` for the host, and messages show hosts.
fn is_cut(rest: &str) -> bool {
    let behind = rest.split_once('@').map_or("", |(_, it)| it);
    behind.split('?').next().is_some_and(|it| it.contains('@'))
}

/// A parameter of an address, and the bytes from its start to the next parameter. Addresses are
/// parsed exactly as the client does: a parameter that only one of the two recognised would be lost
/// silently.
struct Parameter {
    place: Range<usize>,
    key: String,
    value: String,
}

/// The parameters of the address `url`, where `rest` is what follows its scheme. They begin at the
/// first `?` after the user and the password, which may contain one. `None` if those contain what
/// looks like a parameter about encryption.
fn of_url(url: &str, rest: &str) -> Option<Vec<Parameter>> {
    let (before, rest) = rest.split_once('@').unwrap_or(("", rest));
    if before.contains("sslmode=") || before.contains("sslrootcert=") {
        return None;
    }
    let mut parameters = Vec::new();
    let (_, mut rest) = rest.split_once('?').unwrap_or(("", ""));
    let decoded = |it: &str| {
        percent_encoding::percent_decode_str(it)
            .decode_utf8_lossy()
            .into_owned()
    };
    while let Some((key, value)) = rest.split_once('=') {
        let start = url.len() - rest.len();
        let (value, after) = value.split_once('&').unwrap_or((value, ""));
        rest = after;
        parameters.push(Parameter {
            place: start..url.len() - rest.len(),
            key: decoded(key),
            value: decoded(value),
        });
    }
    Some(parameters)
}

/// The parameters of `text` in the form `host=…`. Blanks may stand around `=` and within a quoted
/// value, and `\` escapes any character. `None` if `text` does not have this form.
fn of_words(text: &str) -> Option<Vec<Parameter>> {
    let mut parameters = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let start = text.len() - rest.len();
        let end = rest.find(|it: char| it.is_whitespace() || it == '=')?;
        let (key, after) = rest.split_at(end);
        let after = after.trim_start().strip_prefix('=')?.trim_start();
        let (value, after) = value(after)?;
        rest = after.trim_start();
        if key.is_empty() {
            return None;
        }
        parameters.push(Parameter {
            place: start..text.len() - rest.len(),
            key: key.to_owned(),
            value,
        });
    }
    Some(parameters)
}

/// The value at the beginning of `text`, and the rest.
fn value(text: &str) -> Option<(String, &str)> {
    let quoted = text.strip_prefix('\'');
    let text = quoted.unwrap_or(text);
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '\'' if quoted.is_some() => return Some((value, &text[at + 1..])),
            c if c.is_whitespace() && quoted.is_none() => return Some((value, &text[at..])),
            '\\' => value.extend(characters.next().map(|it| it.1)),
            c => value.push(c),
        }
    }
    quoted.is_none().then_some((value, ""))
}

/// Checks that `url` is an address that [`Store::connect`](crate::Store::connect) accepts, without
/// connecting.
///
/// # Errors
/// [`StoreError::BadAddress`].
pub fn check_address(url: &str) -> Result<(), StoreError> {
    Address::of(url).map(drop)
}

/// The hosts and ports in `url`, without user, password and database name, for use in messages.
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
    let mut places: Vec<String> = config.get_hosts().iter().enumerate().map(place).collect();
    if places.is_empty() {
        places.extend(config.get_hostaddrs().iter().map(ToString::to_string));
    }
    places.join(", ")
}

#[cfg(test)]
mod tests {
    use ctx_model::error_chain;
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn is_encrypted(url: &str, encryption: &Encryption) {
        assert_eq!(&Address::of(url).unwrap().encryption, encryption, "{url}");
    }

    #[test]
    fn encryption_settings_count_wherever_they_may_stand() {
        for url in [
            "host=db sslmode = require",
            "host=db sslmode= 'require'",
            "host=db password=it's sslmode=require",
            "host=db password='a\\' b' sslmode=require",
            "host=db password='a'sslmode=require user=u",
            "host=db password=a://b?c sslmode=require",
            "postgres://u:p?w@host/db?sslmode=require",
            "postgresql://u:p?w&x@host/db?application_name=a&sslmode=require&user=u",
            "postgres://host?ssl%6Dode=requir%65",
        ] {
            is_encrypted(url, &Encryption::Unverified);
        }
        let verified = Encryption::Verified(Some(PathBuf::from("/a b")));
        for url in [
            "host=db sslrootcert = '/a b' sslmode = verify-full",
            "host=db sslmode=require sslrootcert=/a\\ b",
            "postgres://u:p?w@host/db?sslrootcert=/a%20b&sslmode=verify-full",
        ] {
            is_encrypted(url, &verified);
        }
        for url in [
            "host=db password='x sslmode=require'",
            "host=db password=x\\ sslmode=require",
            "postgres://host/db?application_name=sslmode%3Drequire",
            "host=db sslmode=disable sslrootcert=/a",
        ] {
            is_encrypted(url, &Encryption::None);
        }
        for url in [
            "host=db sslmode = verify-ca",
            "host=db =x sslmode=require",
            "host=db sslmode",
            "host=db sslmode='require",
            "mysql://u:sesame@host/db?sslmode=require",
            "sesame",
            "postgres://u:sesame@host/db?sesame=1",
            "host=db port=sesame",
            "user=u password=sesame",
            "postgres:///sesame",
            "postgres://u:pass@sesame@db/x",
            "postgres://u:pass@sesame/y@db/x",
            "postgres://u:pass@%2Fsesame@db/x",
            "postgres://u:pass@sesame@db/x?sslmode=require",
        ] {
            let refused = Address::of(url).unwrap_err();
            assert!(matches!(refused, StoreError::BadAddress(_)), "{url}");
            assert!(!error_chain(&refused).contains("sesame"), "{url}");
        }
        for url in [
            "host=db sslrootcert=/a",
            "host=db sslmode=prefer sslrootcert=/a",
            "postgres://host/db?sslrootcert=/a&sslmode=allow",
        ] {
            let told = Address::of(url).unwrap_err().to_string();
            assert!(
                told.starts_with("read the address") && told.contains("verify-full"),
                "{url}: {told}"
            );
        }
        for url in [
            "postgres://host/db?sslmode=require&application_name=a@b",
            "postgres://u:sslmode=@host/db?sslmode=require",
        ] {
            let refused = Address::of(url);
            assert!(
                matches!(refused, Err(StoreError::BadAddress(AMBIGUOUS))),
                "{url}"
            );
        }
        is_encrypted(
            "postgres://u:sslmode%3D@host/db?sslmode=require&application_name=a%40b",
            &Encryption::Unverified,
        );
    }

    #[test]
    fn other_settings_are_left_to_the_client() {
        let url = "user=u  sslmode=require  password='a b'sslrootcert=/c host=db ";
        let config = Address::of(url).unwrap().config;
        let password = config.get_password().unwrap();
        assert_eq!((config.get_user(), password), (Some("u"), &b"a b"[..]));
        let url = "postgres://u:p?w@db/d?sslmode=require&options=-c%20a=b&sslrootcert=/c";
        let config = Address::of(url).unwrap().config;
        assert_eq!(config.get_password(), Some(&b"p?w"[..]));
        assert_eq!(config.get_options(), Some("-c a=b"));
    }

    proptest! {
        /// Whatever the address consists of.
        #[test]
        fn addresses_that_the_client_encrypts_are_encrypted(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "postgres://", "host=db", "sslmode", "=", "require", "disable", " ", "'", "\\", "?", "&", "@", "/", ":",
                    "password=", "u", "sslmode=require", "sslmode=disable", "application_name=",
                ]),
                0..12,
            ),
        ) {
            let url = pieces.concat();
            if let (Ok(client), Ok(own)) = (url.parse::<Config>(), Address::of(&url)) {
                let is_encrypted = own.encryption != Encryption::None;
                prop_assert_eq!(client.get_ssl_mode() == SslMode::Require, is_encrypted, "{}", url);
                prop_assert_eq!(client.get_password(), own.config.get_password(), "{}", url);
            }
        }
    }
}
