//! The checks that a request passes before it is answered, in a fixed order.

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Request, StatusCode, Version};

use crate::{Cors, Foreign, Hosts, HostsError, Sites};

/// The checks that every request passes before its body is read, in this order: the host name, the
/// origin of the page that sends it, CORS preflight requests, the token. Clones share one state.
#[derive(Clone, Debug)]
pub struct Door {
    hosts: Hosts,
    sites: Sites,
}

impl Door {
    /// The checks of a server with these names that listens on `port`, and accepts pages of the
    /// sites in `named`, as in [`Sites::new`].
    ///
    /// # Errors
    /// [`HostsError::Site`].
    pub fn new(
        hosts: Hosts,
        port: u16,
        named: impl IntoIterator<Item: AsRef<str>>,
        cors: Cors,
    ) -> Result<Self, HostsError> {
        let sites = Sites::new(&hosts, port, named, cors)?;
        Ok(Door { hosts, sites })
    }

    /// Checks host and origin, then extracts the bearer token. Whether the token is valid, and
    /// whether the path needs one, is up to the caller.
    ///
    /// # Errors
    /// [`Refused`], which is all that the request is answered with.
    pub fn admit<'a, B>(&self, request: &'a Request<B>) -> Result<Admitted<'a>, Refused> {
        // A foreign name leads here through an attack (DNS rebinding).
        self.hosts.check(request.headers(), request.uri())?;
        self.let_in(request)
    }

    /// Same as `admit`, for paths that show nobody's data, such as whether the server is running:
    /// any host name is accepted, and before HTTP/1.1 also none. Monitoring knows the server's
    /// address, but not its names.
    ///
    /// # Errors
    /// [`Refused`], for a page of another site.
    pub fn admit_by_any_name<'a, B>(
        &self,
        request: &'a Request<B>,
    ) -> Result<Admitted<'a>, Refused> {
        match self.hosts.check(request.headers(), request.uri()) {
            Ok(()) | Err(Foreign::Other(_)) => {}
            Err(Foreign::Unnamed) if request.version() < Version::HTTP_11 => {}
            Err(foreign) => return Err(foreign.into()),
        }
        self.let_in(request)
    }

    /// Handles a request whose host name was accepted.
    fn let_in<'a, B>(&self, request: &'a Request<B>) -> Result<Admitted<'a>, Refused> {
        let headers = request.headers();
        if !self.sites.let_in(headers) {
            return Err(Refused::Page);
        }
        // Browsers send no token with a preflight request.
        if let Some(told) = self.sites.preflight(request.method(), headers) {
            return Ok(Admitted::Preflight(told));
        }
        Ok(Admitted::Request(bearer(headers)))
    }

    /// The site of the page that sent the request, as in [`Sites::asking`].
    #[must_use]
    pub fn asking(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        self.sites.asking(headers)
    }

    /// Adds the CORS headers to any answer, even a refusal, as [`Sites::add_cors_headers`] does.
    pub fn add_cors_headers(&self, asking: Option<HeaderValue>, headers: &mut HeaderMap) {
        self.sites.add_cors_headers(asking, headers);
    }
}

/// A request that passed the checks of host and origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admitted<'a> {
    /// A preflight request for a page of an allowed site: it is answered with status 204 and these
    /// headers.
    Preflight(HeaderMap),
    /// An actual request, with its token.
    Request(Result<&'a str, NoToken>),
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// It is not for this server.
    #[error(transparent)]
    Host(#[from] Foreign),
    /// It was sent by a page of a site that is not allowed.
    #[error("pages of other sites are not let in")]
    Page,
}

impl Refused {
    /// The status of the answer.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Refused::Host(Foreign::Other(_)) => StatusCode::MISDIRECTED_REQUEST,
            Refused::Host(Foreign::Several | Foreign::Unnamed) => StatusCode::BAD_REQUEST,
            Refused::Page => StatusCode::FORBIDDEN,
        }
    }
}

/// The bearer token in `Authorization`, without surrounding white space.
///
/// # Errors
/// There is none, or a proxy and the server could read different ones.
pub fn bearer(headers: &HeaderMap) -> Result<&str, NoToken> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let (given, another) = (given.next(), given.next());
    if another.is_some() {
        return Err(NoToken::Several);
    }
    let given = given.and_then(|it| it.to_str().ok()?.split_once(' '));
    match given {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        _ => Err(NoToken::Missing),
    }
}

/// Why a request has no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoToken {
    /// It has no `Authorization`, or one of another scheme.
    #[error("there is no `Authorization: Bearer`")]
    Missing,
    /// It has more than one `Authorization`.
    #[error("there is more than one Authorization")]
    Several,
}

#[cfg(test)]
mod tests {
    use http::header::{ACCESS_CONTROL_REQUEST_METHOD, HOST, ORIGIN};

    use super::*;

    const SITE: &str = "https://ctx.example";

    fn door() -> Door {
        let hosts = Hosts::at("127.0.0.1:81".parse().unwrap(), Vec::new()).unwrap();
        let cors = Cors {
            methods: "GET",
            headers: "Authorization",
            readable: "X-Request-Id",
        };
        Door::new(hosts, 81, [SITE], cors).unwrap()
    }

    fn with(method: &str, headers: &[(http::HeaderName, &str)]) -> Request<()> {
        let request = Request::builder().method(method).uri("/");
        let headers = headers.iter();
        let request = headers.fold(request, |it, (name, value)| it.header(name, *value));
        request.body(()).unwrap()
    }

    #[test]
    fn requests_are_checked_in_a_fixed_order() {
        let preflight = (ACCESS_CONTROL_REQUEST_METHOD, "GET");
        let other = Refused::Host(Foreign::Other("evil.example".to_owned()));
        let several = Refused::Host(Foreign::Several);
        let unnamed = Refused::Host(Foreign::Unnamed);
        let ours = (HOST, "localhost:81");
        let evil = (ORIGIN, "https://evil.example");
        for (headers, refused, status) in [
            (
                &[(HOST, "evil.example"), evil.clone()][..],
                other.clone(),
                421,
            ),
            (&[(HOST, "evil.example"), (ORIGIN, SITE)], other, 421),
            (&[ours.clone(), ours.clone(), evil.clone()], several, 400),
            (std::slice::from_ref(&evil), unnamed, 400),
            (&[ours.clone(), evil.clone()], Refused::Page, 403),
        ] {
            assert_eq!(refused.status(), status);
            // Whatever token it has, and whatever the request is.
            for token in [None, Some((AUTHORIZATION, "Bearer x"))] {
                let headers =
                    [headers, std::slice::from_ref(&preflight), token.as_slice()].concat();
                let request = with("OPTIONS", &headers);
                assert_eq!(door().admit(&request), Err(refused.clone()), "{headers:?}");
            }
        }
        // A browser's preflight request has no token, and needs none.
        let asked = [ours.clone(), (ORIGIN, SITE), preflight];
        let admitted = with("OPTIONS", &asked);
        let admitted = door().admit(&admitted);
        assert!(
            matches!(admitted, Ok(Admitted::Preflight(_))),
            "{admitted:?}"
        );
        let request = with("GET", &asked);
        let none = Ok(Admitted::Request(Err(NoToken::Missing)));
        assert_eq!(door().admit(&request), none);
        let request = with("GET", &[ours, (AUTHORIZATION, "Bearer x")]);
        assert_eq!(door().admit(&request), Ok(Admitted::Request(Ok("x"))));
    }

    #[test]
    fn public_routes_answer_by_any_host_and_to_no_page_of_another_site() {
        let foreign = [(HOST, "10.0.0.7:81")];
        let request = with("GET", &foreign);
        let none = Ok(Admitted::Request(Err(NoToken::Missing)));
        assert!(door().admit(&request).is_err());
        assert_eq!(door().admit_by_any_name(&request), none);
        let evil = with("GET", &[foreign[0].clone(), (ORIGIN, "http://10.0.0.7:81")]);
        assert_eq!(door().admit_by_any_name(&evil), Err(Refused::Page));
        let several = with("GET", &[foreign[0].clone(), foreign[0].clone()]);
        let refused = Err(Refused::Host(Foreign::Several));
        assert_eq!(door().admit_by_any_name(&several), refused);
        let mut unnamed = with("GET", &[]);
        let refused = Err(Refused::Host(Foreign::Unnamed));
        assert_eq!(door().admit_by_any_name(&unnamed), refused);
        *unnamed.version_mut() = Version::HTTP_10;
        assert_eq!(door().admit_by_any_name(&unnamed), none);
        assert_eq!(door().admit(&unnamed), refused);
    }

    #[test]
    fn a_token_is_shown_once_and_as_a_bearers() {
        let shown = |given: &[&str]| {
            let given: Vec<_> = given.iter().map(|&it| (AUTHORIZATION, it)).collect();
            bearer(with("GET", &given).headers()).map(str::to_owned)
        };
        for given in ["Bearer x", "bearer x", "BEARER  x "] {
            assert_eq!(shown(&[given]).as_deref(), Ok("x"), "{given}");
        }
        assert_eq!(shown(&["Bearer "]).as_deref(), Ok(""));
        for given in [
            "",
            "x",
            "Bearer",
            "Bearer\tx",
            "Basic x",
            " Bearer x",
            "Bearerx y",
            "Bearer é",
        ] {
            assert_eq!(shown(&[given]), Err(NoToken::Missing), "{given}");
        }
        assert_eq!(shown(&[]), Err(NoToken::Missing));
        for given in [
            ["Bearer x", "Bearer x"],
            ["Bearer x", "Basic y"],
            ["", "Bearer x"],
        ] {
            assert_eq!(shown(&given), Err(NoToken::Several), "{given:?}");
        }
    }
}
