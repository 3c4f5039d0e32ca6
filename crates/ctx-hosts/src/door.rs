//! The door: what a request passes before anything of it is answered, in one order.

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Request, StatusCode, Version};

use crate::{Cors, Foreign, Hosts, HostsError, Sites};

/// What every request passes before its body is read, in this order: the name of the server, the site whose page asks, what a
/// browser asks for such a page, the token. A clone is the same door.
#[derive(Clone, Debug)]
pub struct Door {
    hosts: Hosts,
    sites: Sites,
}

impl Door {
    /// That of a server with these names that listens on `port`, where pages of these sites may ask, as [`Sites::new`] has it.
    ///
    /// # Errors
    /// [`HostsError::Site`].
    pub fn new(hosts: Hosts, port: u16, named: &[String], cors: Cors) -> Result<Self, HostsError> {
        let sites = Sites::new(&hosts, port, named, cors)?;
        Ok(Door { hosts, sites })
    }

    /// What to do with `request`. Which token it shows is told of one alone that is to this server and of no page of another
    /// site: whether that is the right one, and whether the path takes one, the server knows.
    ///
    /// # Errors
    /// [`Refused`]: nothing else is answered.
    pub fn admit<'a, B>(&self, request: &'a Request<B>) -> Result<Admitted<'a>, Refused> {
        // Another name leads here by an attacker's hand.
        self.hosts.check(request.headers(), request.uri())?;
        self.let_in(request)
    }

    /// The same for what is nobody's, such as whether the server is there: by whatever name it is asked, and by none before HTTP/1.1.
    /// Who looks after a server knows its address, and not its names.
    ///
    /// # Errors
    /// [`Refused`], also of a page of another site.
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

    /// What to do with a request that is to this server.
    fn let_in<'a, B>(&self, request: &'a Request<B>) -> Result<Admitted<'a>, Refused> {
        let headers = request.headers();
        if !self.sites.let_in(headers) {
            return Err(Refused::Page);
        }
        // Browsers send no token with it.
        if let Some(told) = self.sites.preflight(request.method(), headers) {
            return Ok(Admitted::Preflight(told));
        }
        Ok(Admitted::Request(bearer(headers)))
    }

    /// The site whose page asks, as [`Sites::asking`] has it.
    #[must_use]
    pub fn asking(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        self.sites.asking(headers)
    }

    /// Tells browsers who may read any answer with these headers, a refusal too, as [`Sites::tell`] does.
    pub fn tell(&self, asking: Option<HeaderValue>, headers: &mut HeaderMap) {
        self.sites.tell(asking, headers);
    }
}

/// A request that is to the server, and of no page of another site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admitted<'a> {
    /// A browser asks whether a page of a site that was named may ask: it is answered 204, with these headers.
    Preflight(HeaderMap),
    /// Something is asked for, with this token.
    Request(Result<&'a str, NoToken>),
}

/// Why a request is not looked at any further.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// It is not to this server.
    #[error(transparent)]
    Host(#[from] Foreign),
    /// It comes from a page of a site that was not named.
    #[error("pages of other sites are not let in")]
    Page,
}

impl Refused {
    /// What it is answered with.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Refused::Host(Foreign::Other(_)) => StatusCode::MISDIRECTED_REQUEST,
            Refused::Host(Foreign::Several | Foreign::Unnamed) => StatusCode::BAD_REQUEST,
            Refused::Page => StatusCode::FORBIDDEN,
        }
    }
}

/// The token that a request shows in `Authorization: Bearer`, without the white space around it.
///
/// # Errors
/// It shows none, or who passed it on and who answers it could read different ones.
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

/// Why a request shows no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoToken {
    /// It has no `Authorization`, or one of another kind.
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
        Door::new(hosts, 81, &[SITE.to_owned()], cors).unwrap()
    }

    fn with(method: &str, headers: &[(http::HeaderName, &str)]) -> Request<()> {
        let request = Request::builder().method(method).uri("/");
        let headers = headers.iter();
        let request = headers.fold(request, |it, (name, value)| it.header(name, *value));
        request.body(()).unwrap()
    }

    #[test]
    fn what_is_asked_first_is_refused_first() {
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
            // Whatever it shows, and whatever it is.
            for token in [None, Some((AUTHORIZATION, "Bearer x"))] {
                let headers =
                    [headers, std::slice::from_ref(&preflight), token.as_slice()].concat();
                let request = with("OPTIONS", &headers);
                assert_eq!(door().admit(&request), Err(refused.clone()), "{headers:?}");
            }
        }
        // A browser that asks for a page shows no token, and needs none.
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
    fn what_is_nobodys_is_told_by_any_name_and_to_no_page_of_another_site() {
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
