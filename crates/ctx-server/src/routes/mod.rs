//! All routes, and helpers to answer them.

mod accept;
mod context;
mod files;
mod query;
mod status;
mod threads;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use ctx_retrieve::TaskScope;
use serde::Serialize;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::Owner;
use crate::admission::{Doing, Slot};
use crate::auth::Identity;
use crate::backend::{Backend, BackendError};
use crate::cause::cause;
use crate::json;
use crate::openapi;
use crate::problem::Problem;
use crate::state::{App, Shared};
use crate::tasks::{self, Needs};
use crate::wire::{NoMeta, Reply};

/// Every route, and their description.
pub(crate) fn routes() -> (Router<Shared>, OpenApi) {
    let (router, mut described) = OpenApiRouter::with_openapi(openapi::begin())
        .routes(routes!(context::build))
        .routes(routes!(context::assemble))
        .routes(routes!(context::feedback))
        .routes(routes!(context::receipt, context::remove))
        .routes(routes!(context::resolve))
        .routes(routes!(files::ingest, files::list, files::remove))
        .routes(routes!(files::read))
        .routes(routes!(threads::create, threads::list))
        .routes(routes!(threads::get, threads::change, threads::remove))
        .routes(routes!(threads::pin))
        .routes(routes!(threads::append, threads::messages))
        .routes(routes!(status::healthz))
        .routes(routes!(status::readyz))
        .routes(routes!(status::metrics))
        .split_for_parts();
    openapi::finish(&mut described);
    let router = router
        .route("/openapi.json", axum::routing::get(status::openapi))
        .route("/docs", axum::routing::get(status::docs))
        .fallback(nothing)
        .method_not_allowed_fallback(refused);
    (router, described)
}

async fn nothing(_: Request) -> Problem {
    Problem::not_found("", "no route has this path: /docs lists the routes")
}

async fn refused() -> Problem {
    Problem::method()
}

/// Runs `work` on the store for the owner who asks, in a store place of the given kind.
async fn ask<T, F>(
    app: &App,
    identity: &Identity,
    doing: Doing,
    work: impl FnOnce(Arc<dyn Backend>, Owner) -> F + Send + 'static,
) -> Result<T, Problem>
where
    T: Send + 'static,
    F: Future<Output = Result<T, BackendError>> + Send + 'static,
{
    let slot = tasks::enter(app, &app.store, &identity.owner, doing)?;
    ask_in(app, identity, slot, work).await
}

/// Runs `work` on the store for the owner who asks, in the place of the request.
async fn ask_in<T, F>(
    app: &App,
    identity: &Identity,
    slot: Slot,
    work: impl FnOnce(Arc<dyn Backend>, Owner) -> F + Send + 'static,
) -> Result<T, Problem>
where
    T: Send + 'static,
    F: Future<Output = Result<T, BackendError>> + Send + 'static,
{
    let (backend, owner) = (Arc::clone(&app.backend), identity.owner.clone());
    let late = slot.store_is_late();
    let done = tasks::run(app, slot, Needs::Store, None, move |_| work(backend, owner));
    // Here it is the store that is late.
    done.await.map_err(|problem| match problem.status() {
        StatusCode::GATEWAY_TIMEOUT => late,
        _ => problem,
    })
}

/// Runs `work` on a blocking thread, in the place of the request.
async fn aside<T: Send + 'static>(
    doing: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BackendError> {
    let done = TaskScope::current().blocking(work).await;
    done.map_err(|error| BackendError::failed(doing, error))
}

/// Answers with `data` and an empty `meta`.
fn plain(status: StatusCode, data: impl Serialize) -> Response {
    let meta = NoMeta {};
    answer(status, &Reply { data, meta })
}

/// A JSON answer that must not be cached.
fn answer(status: StatusCode, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(body) => {
            let headers = [
                ("content-type", "application/json"),
                ("cache-control", "no-store"),
            ];
            (status, headers, body).into_response()
        }
        Err(error) => {
            tracing::error!(
                status = 500,
                cause = cause(&error),
                "an answer cannot be written"
            );
            Problem::internal().into_response()
        }
    }
}

pub(crate) use json::{Batching, Building, Json, Looking, Writing};
