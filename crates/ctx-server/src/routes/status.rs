//! Routes about the server: health, readiness, metrics and documentation.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use super::answer;
use crate::auth::Identity;
use crate::cause::cause;
use crate::problem::Problem;
use crate::state::Shared;
use crate::wire::Health;

/// Whether the server is running.
#[utoipa::path(get, path = "/healthz", tag = "status", security(()), responses(
    (status = 200, description = "The server is running", body = Health),
    (status = "4XX", description = "The request is refused, for example because it comes from a page of another site", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn healthz() -> Response {
    answer(StatusCode::OK, &Health { status: "ok" })
}

/// Whether requests should be sent to it, as of the last second.
#[utoipa::path(get, path = "/readyz", tag = "status", security(()), responses(
    (status = 200, description = "The server takes requests", body = Health),
    (status = "4XX", description = "The request is refused, for example because it comes from a page of another site", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "The server is shutting down, or its store is not ready; the log says why", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn readyz(State(app): State<Shared>) -> Result<Response, Problem> {
    if app.is_draining() {
        return Err(Problem::unavailable("the server is shutting down"));
    }
    let (backend, limit) = (Arc::clone(&app.backend), app.limits.request_time);
    let asking = || async move {
        let ready = tokio::time::timeout(limit, backend.ready()).await;
        let ready = ready.map_err(|_| format!("it had no answer within {limit:?}"))?;
        ready.map_err(|error| cause(&error))
    };
    match app.readiness.of(asking).await {
        Ok(()) => Ok(answer(StatusCode::OK, &Health { status: "ok" })),
        // Anyone may ask, so the reason is only logged.
        Err(_) => Err(Problem::unavailable("the store is not ready")),
    }
}

/// The metrics in the Prometheus text format. For operators.
#[utoipa::path(get, path = "/metrics", tag = "status", responses(
    (status = 200, description = "The metrics", body = String, content_type = "text/plain"),
    (status = "4XX", description = "The token is missing or not an operator's, or the request is invalid", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The server or its store failed", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn metrics(
    State(app): State<Shared>,
    identity: Identity,
) -> Result<Response, Problem> {
    if !identity.is_operator {
        let detail = "the metrics are for operators";
        return Err(Problem::forbidden("Authorization", detail));
    }
    app.meter.cache(&app.backend.cache());
    app.meter.bodies(app.bodies.bytes());
    let headers = [("content-type", "text/plain; version=0.0.4; charset=utf-8")];
    Ok((headers, app.meter.render()).into_response())
}

/// The `OpenAPI` description of all routes.
pub(crate) async fn openapi(State(app): State<Shared>) -> Response {
    ([("content-type", "application/json")], app.openapi.clone()).into_response()
}

/// The description of all routes as an HTML page, which loads nothing from elsewhere.
pub(crate) async fn docs(State(app): State<Shared>) -> Response {
    let headers = [
        ("content-type", "text/html; charset=utf-8"),
        (
            "content-security-policy",
            "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
        ),
    ];
    (headers, app.page.clone()).into_response()
}
