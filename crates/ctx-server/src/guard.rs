//! The checks that every request passes before a handler sees it: the host name, the page it comes
//! from, and its token. Every path that is not listed here as open needs a token, whether it exists
//! or not.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use ctx_hosts::{Admitted, NoToken, end_unread};
use ctx_model::UnixSeconds;

use crate::answers::counted;
use crate::auth::Identity;
use crate::problem::Problem;
use crate::request::RequestInfo;
use crate::state::{App, Shared};
use crate::tally::Tally;
use crate::unread_body::UnreadBody;

/// Paths that are answered without a token: they show no owner's data.
const OPEN: [&str; 4] = ["/healthz", "/readyz", "/openapi.json", "/docs"];

/// Paths that are answered under any host name: monitoring calls the server by its address.
const PROBES: [&str; 2] = ["/healthz", "/readyz"];

/// The header with the id of a request in its answer. The header is ignored in requests, since its
/// value would get into the log.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Passes a request on, or answers it; counts and times it in either case, and also if its caller
/// goes away.
pub(crate) async fn guard(State(app): State<Shared>, mut request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or_else(|| "unmatched".to_owned(), |it| it.as_str().to_owned());
    let asked = RequestInfo::new(method(request.method()), route);
    let tally = Tally::begin(Arc::clone(&app), Arc::clone(&asked));
    let asking = app.door.asking(request.headers());
    let rest = UnreadBody::of(&mut request);
    let answering = async {
        match admit(&app, &mut request) {
            Ok(None) => {
                let identity = request.extensions().get::<Identity>().cloned();
                let response = next.run(request).await;
                match identity {
                    Some(identity) => counted(&app.bodies, &identity.owner, response),
                    None => response,
                }
            }
            Ok(Some(response)) => response,
            Err(problem) => problem.into_response(),
        }
    };
    let mut response = Arc::clone(&asked).within(answering).await;
    app.door.add_cors_headers(asking, response.headers_mut());
    if let Some(rest) = rest
        && !rest.read_off(response.headers()).await
    {
        end_unread(&mut response);
    }
    if let Ok(id) = HeaderValue::from_str(&asked.id) {
        response.headers_mut().insert(X_REQUEST_ID, id);
    }
    tally.answered(response)
}

/// The name of a method for metrics: the caller could send any word, so only these are used.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::HEAD => "HEAD",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::PATCH => "PATCH",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// Whether a handler may see `request`, as `None`; or the answer, if no handler is needed.
fn admit(app: &App, request: &mut Request) -> Result<Option<Response>, Problem> {
    let admitted = if PROBES.contains(&request.uri().path()) {
        app.door.admit_by_any_name(request)
    } else {
        app.door.admit(request)
    };
    let shown = match admitted? {
        Admitted::Preflight(told) => {
            return Ok(Some((StatusCode::NO_CONTENT, told).into_response()));
        }
        Admitted::Request(shown) => shown,
    };
    if !OPEN.contains(&request.uri().path()) {
        let identity = identify(app, shown)?;
        request.extensions_mut().insert(identity);
    }
    Ok(None)
}

fn identify(app: &App, shown: Result<&str, NoToken>) -> Result<Identity, Problem> {
    let token = shown.map_err(|none| Problem::unauthorized(none.to_string()))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(i64::MAX, |it| {
        i64::try_from(it.as_secs()).unwrap_or(i64::MAX)
    });
    let identity = app.credentials.identify(token, UnixSeconds::new(now));
    identity.map_err(|refusal| Problem::unauthorized(refusal.to_string()))
}

/// A handler gets the identity from the token, and from nothing else.
impl FromRequestParts<Shared> for Identity {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Problem> {
        let identity = parts.extensions.get::<Identity>().cloned();
        identity.ok_or_else(|| Problem::unauthorized("there is no token"))
    }
}
