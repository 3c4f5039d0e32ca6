//! Cross-origin requests (CORS): which sites' pages may send requests, and the headers that
//! browsers need before they pass an answer on.

use std::sync::Arc;

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method};

use crate::{Hosts, HostsError};

/// The schemes whose default port browsers omit, with that port.
const PORTS: [(&str, u16); 2] = [("http", 80), ("https", 443)];
/// How long browsers may cache a preflight answer, in seconds.
const MAX_AGE: &str = "600";

/// What pages of allowed sites may send and read: names separated by commas, in visible ASCII only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cors {
    /// The methods.
    pub methods: &'static str,
    /// Request headers, besides those that browsers let every page send.
    pub headers: &'static str,
    /// Response headers, besides those that browsers let every page read.
    pub readable: &'static str,
}

/// The sites whose pages may send requests to a server. Clones share one list.
#[derive(Clone, Debug)]
pub struct Sites(Arc<Lists>);

#[derive(Debug)]
struct Lists {
    /// The allowed sites: browsers are told that their pages may read the answers.
    named: Vec<String>,
    /// The server's own sites, whose pages need no permission.
    own: Vec<String>,
    cors: Cors,
}

impl Sites {
    /// The sites of a server with these names that listens on `port`, and the `named` ones:
    /// `SCHEME://NAME`, with the port unless it is the scheme's default.
    ///
    /// # Errors
    /// [`HostsError::Site`].
    pub fn new(
        hosts: &Hosts,
        port: u16,
        named: impl IntoIterator<Item: AsRef<str>>,
        cors: Cors,
    ) -> Result<Self, HostsError> {
        let named = named.into_iter().map(|it| {
            let it = it.as_ref();
            site(it).ok_or_else(|| HostsError::Site(it.to_owned()))
        });
        Ok(Sites(Arc::new(Lists {
            named: named.collect::<Result<_, _>>()?,
            own: hosts.origins(port),
            cors,
        })))
    }

    /// Whether the request was sent by no page, or by one that is allowed. A page of another site
    /// must not reach the server through its reader's browser. Another port is another site: anyone
    /// may run the server there.
    #[must_use]
    pub fn let_in(&self, headers: &HeaderMap) -> bool {
        let Lists { named, own, .. } = &*self.0;
        let mut origins = headers.get_all(ORIGIN).iter();
        origins.all(|it| is_among(named, it) || is_among(own, it))
    }

    /// The site of the page that sent the request, if it is an allowed one.
    #[must_use]
    pub fn asking(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let mut origins = headers.get_all(ORIGIN).iter();
        let (origin, another) = (origins.next()?, origins.next());
        let is_one = another.is_none() && is_among(&self.0.named, origin);
        is_one.then(|| origin.clone())
    }

    /// The headers of the answer to a preflight request, which has no token, for a page of an
    /// allowed site; [`Sites::add_cors_headers`] adds the rest of
    /// them. They are the same for every path.
    #[must_use]
    pub fn preflight(&self, method: &Method, headers: &HeaderMap) -> Option<HeaderMap> {
        let is_preflight = method == Method::OPTIONS
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
            && self.asking(headers).is_some();
        is_preflight.then(|| {
            let told = [
                (ACCESS_CONTROL_ALLOW_METHODS, self.0.cors.methods),
                (ACCESS_CONTROL_ALLOW_HEADERS, self.0.cors.headers),
                (ACCESS_CONTROL_MAX_AGE, MAX_AGE),
            ];
            let told = told.map(|(name, value)| (name, HeaderValue::from_static(value)));
            told.into_iter().collect()
        })
    }

    /// Adds headers that let browsers pass the answer to a page of `asking`, and to no other page.
    pub fn add_cors_headers(&self, asking: Option<HeaderValue>, headers: &mut HeaderMap) {
        if self.0.named.is_empty() {
            return;
        }
        headers.append(VARY, HeaderValue::from_static("Origin"));
        if let Some(origin) = asking {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            let readable = HeaderValue::from_static(self.0.cors.readable);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, readable);
        }
    }
}

fn is_among(sites: &[String], origin: &HeaderValue) -> bool {
    let origin = origin.to_str().unwrap_or("?");
    sites.iter().any(|it| it.eq_ignore_ascii_case(origin))
}

/// The normalised form of a `given` site, as browsers write it in `Origin`: without a slash at the
/// end, and without the scheme's default port.
fn site(given: &str) -> Option<String> {
    let (scheme, rest) = given.split_once("://")?;
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"+-.".contains(&it);
    if !scheme.starts_with(|it: char| it.is_ascii_alphabetic()) || !scheme.bytes().all(is_plain) {
        return None;
    }
    let called = rest.strip_suffix('/').unwrap_or(rest);
    let authority: Authority = called.parse().ok()?;
    let host = authority.host();
    let port = match called.strip_prefix(host)? {
        "" => None,
        // A site with a user, or with anything but digits after the colon, is invalid.
        port => Some(port.strip_prefix(':')?.parse::<u16>().ok()?),
    };
    let is_left_out = |port: u16| {
        let mut known = PORTS.iter();
        known.any(|it| it.0.eq_ignore_ascii_case(scheme) && it.1 == port)
    };
    match port {
        _ if host.is_empty() || host == "*" => None,
        Some(port) if !is_left_out(port) => Some(format!("{scheme}://{host}:{port}")),
        _ => Some(format!("{scheme}://{host}")),
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    const CORS: Cors = Cors {
        methods: "GET, POST",
        headers: "Authorization",
        readable: "X-Request-Id",
    };

    fn sites(named: &[&str]) -> Result<Sites, HostsError> {
        let hosts = Hosts::at("127.0.0.1:81".parse().unwrap(), Vec::new()).unwrap();
        Sites::new(&hosts, 81, named, CORS)
    }

    fn asked(origins: &[&str]) -> HeaderMap {
        let origins = origins.iter();
        origins
            .map(|it| (ORIGIN, HeaderValue::from_str(it).unwrap()))
            .collect()
    }

    #[test]
    fn a_site_is_named_as_browsers_do_it_or_as_it_stands_in_their_address() {
        for (given, written) in [
            ("https://ctx.example", "https://ctx.example"),
            ("https://ctx.example/", "https://ctx.example"),
            ("https://ctx.example:443", "https://ctx.example"),
            ("http://ctx.example:443/", "http://ctx.example:443"),
            ("HTTP://Ctx.example:80", "HTTP://Ctx.example"),
            ("http://[::1]:3000", "http://[::1]:3000"),
            ("http://localhost:03000", "http://localhost:3000"),
            ("chrome-extension://abc", "chrome-extension://abc"),
        ] {
            assert_eq!(site(given).as_deref(), Some(written), "{given}");
        }
        for none in [
            "",
            "*",
            "null",
            "ctx.example",
            "ctx.example:443",
            "://ctx.example",
            "https://",
            "https:///",
            "https://*",
            "https://ctx.example:",
            "https://ctx.example:*",
            "https://ctx.example:99999",
            "https://ctx.example/app",
            "https://ctx.example//",
            "https://ctx.example?",
            "https://me@ctx.example",
            "https://a b",
            "9p://ctx.example",
            "https://ä.example",
        ] {
            let refused = sites(&["https://ctx.example", none]).unwrap_err();
            assert_eq!(refused, HostsError::Site(none.to_owned()));
        }
    }

    #[test]
    fn pages_of_its_own_and_of_sites_that_were_named_are_let_in() {
        let sites = sites(&["https://ctx.example:443"]).unwrap();
        for (origins, is_in, is_named) in [
            (&[][..], true, false),
            (&["https://ctx.example"], true, true),
            (&["HTTPS://CTX.example"], true, true),
            (&["http://localhost:81"], true, false),
            (&["https://ctx.example", "https://ctx.example"], true, false),
            (
                &["https://ctx.example", "https://evil.example"],
                false,
                false,
            ),
            (&["https://ctx.example:443"], false, false),
            (&["http://localhost"], false, false),
            (&["http://ctx.example"], false, false),
            (&["null"], false, false),
            (&[""], false, false),
        ] {
            let headers = asked(origins);
            assert_eq!(sites.let_in(&headers), is_in, "{origins:?}");
            let asking = sites.asking(&headers);
            assert_eq!(asking.is_some(), is_named, "{origins:?}");
            let mut told = HeaderMap::new();
            sites.add_cors_headers(asking, &mut told);
            assert_eq!(told[VARY], "Origin");
            let allowed = told.get(ACCESS_CONTROL_ALLOW_ORIGIN);
            assert_eq!(allowed, headers.get(ORIGIN).filter(|_| is_named));
        }
    }

    #[test]
    fn a_browser_is_answered_for_a_site_that_was_named_alone() {
        let of = |sites: &Sites, method: &str, origin: &str| {
            let request = Request::builder().method(method).uri("/");
            let request = request.header(ACCESS_CONTROL_REQUEST_METHOD, "POST");
            let request = request.header(ORIGIN, origin).body(()).unwrap();
            sites.preflight(request.method(), request.headers())
        };
        let named = sites(&["https://ctx.example"]).unwrap();
        let told = of(&named, "OPTIONS", "https://ctx.example").unwrap();
        assert_eq!(told[ACCESS_CONTROL_ALLOW_METHODS], CORS.methods);
        assert_eq!(told[ACCESS_CONTROL_ALLOW_HEADERS], CORS.headers);
        assert_eq!(of(&named, "POST", "https://ctx.example"), None);
        assert_eq!(of(&named, "OPTIONS", "http://localhost:81"), None);
        let asked = asked(&["https://ctx.example"]);
        assert_eq!(named.preflight(&Method::OPTIONS, &asked), None);
        let own = sites(&[]).unwrap();
        assert_eq!(of(&own, "OPTIONS", "https://ctx.example"), None);
        let mut told = HeaderMap::new();
        own.add_cors_headers(None, &mut told);
        assert!(told.is_empty());
    }
}
