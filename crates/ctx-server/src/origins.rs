//! Pages: of which sites they may ask, and what their browsers want to hear before they hand an answer over (CORS).

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::Response;

use crate::problem::Problem;

/// The sites whose pages may ask.
#[derive(Debug)]
pub(crate) struct Origins {
    /// Those that were named: browsers are told that their pages may read what is answered.
    named: Vec<String>,
    /// The server's own, whose pages browsers ask nobody about.
    own: Vec<String>,
}

impl Origins {
    pub(crate) fn new(named: Vec<String>, own: Vec<String>) -> Self {
        Origins { named, own }
    }

    /// A page of another site may not talk to us through its reader's browser. Another port is another site: what answers
    /// there may be anybody's.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let mut origins = headers.get_all(ORIGIN).iter();
        match origins.find(|it| !is_among(&self.named, it) && !is_among(&self.own, it)) {
            None => Ok(()),
            Some(_) => Err(Problem::forbidden(
                "Origin",
                "pages of other sites are not let in",
            )),
        }
    }

    /// The site whose page asks, where it is one of those that were named.
    pub(crate) fn asking(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let mut origins = headers.get_all(ORIGIN).iter();
        let (origin, another) = (origins.next()?, origins.next());
        let is_one = another.is_none() && is_among(&self.named, origin);
        is_one.then(|| origin.clone())
    }

    /// What a browser is told that asks, with no token, whether a page of a site that was named may ask with one. It is
    /// the same for every path.
    pub(crate) fn preflight(&self, request: &Request) -> Option<Response> {
        let headers = request.headers();
        let is_preflight = request.method() == Method::OPTIONS
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
            && self.asking(headers).is_some();
        is_preflight.then(|| {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            for (name, value) in [
                (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, DELETE"),
                (ACCESS_CONTROL_ALLOW_HEADERS, "Authorization, Content-Type"),
                (ACCESS_CONTROL_MAX_AGE, "600"),
            ] {
                let value = HeaderValue::from_static(value);
                response.headers_mut().insert(name, value);
            }
            response
        })
    }

    /// Tells browsers that a page of `asking` may read this answer, and no other page.
    pub(crate) fn tell(&self, asking: Option<HeaderValue>, headers: &mut HeaderMap) {
        if self.named.is_empty() {
            return;
        }
        headers.append(VARY, HeaderValue::from_static("Origin"));
        if let Some(origin) = asking {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            let readable = HeaderValue::from_static("X-Request-Id, Retry-After");
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, readable);
        }
    }
}

fn is_among(sites: &[String], origin: &HeaderValue) -> bool {
    let origin = origin.to_str().unwrap_or("?");
    sites.iter().any(|it| it.eq_ignore_ascii_case(origin))
}
