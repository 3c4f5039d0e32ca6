//! The routes, to be mounted in an application of your own.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::Router;
use axum::http::Response;
use axum::response::IntoResponse as _;
use ctx_assemble::Cancel;
use ctx_hosts::{Cors, Door, Hosts};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::admission::Admission;
use crate::auth::LiveCredentials;
use crate::backend::Backend;
use crate::bodies::Bodies;
use crate::guard::guard;
use crate::meter::Meter;
use crate::problem::Problem;
use crate::readiness::Readiness;
use crate::state::{App, Shared};
use crate::{Options, ServerError, page, routes};

/// How often measurements are aggregated.
const UPKEEP: Duration = Duration::from_secs(5);

/// The methods and headers that pages of allowed sites may use.
const CORS: Cors = Cors {
    methods: "GET, POST, PUT, PATCH, DELETE",
    headers: "Authorization, Content-Type",
    readable: "X-Request-Id, Retry-After",
};

/// All routes of a [`Server`](crate::Server), to be nested in an app that listens by itself. Each
/// request passes the same checks, needs a token and waits for its turn. Limits on connections
/// (their number, duration and speed) are left to the app that accepts them. Links in answers and
/// in the description do not include the path at which the routes are nested.
///
/// # Examples
/// ```
/// use std::sync::Arc;
///
/// use ctx_server::axum::{self, Router, routing::get};
/// use ctx_server::{Embedded, Options, Quota, Routes};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let backend = Arc::new(Embedded::open(folder.path(), Quota::default())?);
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
/// let routes = Routes::new(listener.local_addr()?, backend, Options::default())?;
/// let app = Router::new().route("/", get(async || "an app of one's own")).nest("/ctx", routes.router());
/// let stop = async { /* until this is done */ };
/// axum::serve(listener, app).with_graceful_shutdown(stop).await?;
/// routes.end().await; // Waits until everything that was answered is stored.
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new()?.block_on(run())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Routes {
    pub(crate) app: Shared,
    router: Router,
}

impl std::fmt::Debug for Routes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Routes").finish_non_exhaustive()
    }
}

impl Routes {
    /// Routes for an app that listens at `addr`, under the names and for the pages that a server
    /// there accepts.
    ///
    /// Must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`ServerError::Hosts`], if the options are at fault.
    pub fn new(
        addr: SocketAddr,
        backend: Arc<dyn Backend>,
        options: Options,
    ) -> Result<Self, ServerError> {
        let hosts = Hosts::at(addr, options.hosts.clone())?;
        let door = door(hosts, addr.port(), &options)?;
        Ok(Routes::behind(door, backend, options))
    }

    /// The routes behind `door`.
    pub(crate) fn behind(door: Door, backend: Arc<dyn Backend>, options: Options) -> Self {
        let (router, openapi) = routes::routes();
        let openapi = serde_json::to_value(&openapi).unwrap_or_default();
        let limits = options.limits;
        let percent = limits.owner_percent;
        let admission = |workers: usize, queue: usize, patience: Duration, time: Duration| {
            let workers = (workers, limits.cores);
            Arc::new(Admission::new(workers, queue, percent, patience).with_time(time))
        };
        let app = Arc::new(App {
            backend,
            counters: options.counters,
            credentials: LiveCredentials::new(options.credentials),
            door,
            builds: admission(
                limits.workers,
                limits.queue,
                limits.queue_time,
                limits.request_time,
            ),
            batches: admission(
                limits.batch_workers,
                limits.batch_queue,
                limits.batch_queue_time,
                limits.batch_time,
            ),
            store: admission(
                limits.store_workers,
                limits.store_queue,
                limits.queue_time,
                limits.request_time,
            ),
            bodies: Arc::new(Bodies::new(limits.held_bytes)),
            meter: Arc::new(Meter::new()),
            readiness: Readiness::default(),
            cancel: Cancel::new(),
            is_draining: AtomicBool::new(false),
            page: page::render(&openapi),
            openapi: openapi.to_string(),
            limits,
        });
        tokio::spawn(keep_up(Arc::downgrade(&app.meter)));
        let router = layered(router, &app).with_state(Arc::clone(&app));
        Routes { app, router }
    }

    /// The routes: to be [nested](Router::nest) at a path, or served as they are. Clones share the
    /// state of one server.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// The accepted credentials, which can be replaced at run time.
    pub fn credentials(&self) -> LiveCredentials {
        self.app.credentials.clone()
    }

    /// The description of all routes: `OpenAPI` 3.1, as JSON.
    pub fn openapi(&self) -> &str {
        &self.app.openapi
    }

    /// Reports from now on that the server is stopping (`/readyz`), but goes on answering.
    pub fn drain(&self) {
        self.app.is_draining.store(true, Ordering::Relaxed);
    }

    /// Cancels requests that still run, and waits until everything that was answered is stored.
    pub async fn end(&self) {
        self.app.cancel.cancel();
        self.app.backend.settle().await;
    }
}

/// The door of a server with these names that listens on `port`.
pub(crate) fn door(hosts: Hosts, port: u16, options: &Options) -> Result<Door, ServerError> {
    Ok(Door::new(hosts, port, &options.origins, CORS)?)
}

/// Aggregates measurements as long as the app lives. It holds no strong reference, so the store is
/// released with the app, not when this task ends.
async fn keep_up(meter: Weak<Meter>) {
    let mut upkeep = tokio::time::interval(UPKEEP);
    loop {
        upkeep.tick().await;
        let Some(meter) = meter.upgrade() else { break };
        meter.upkeep();
    }
}

fn layered(router: Router<Shared>, app: &Shared) -> Router<Shared> {
    let header = |name, value| {
        let name = axum::http::HeaderName::from_static(name);
        SetResponseHeaderLayer::if_not_present(name, axum::http::HeaderValue::from_static(value))
    };
    router
        .layer(CatchPanicLayer::custom(panicked))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(app), guard))
        .layer(header("x-content-type-options", "nosniff"))
        .layer(header("referrer-policy", "no-referrer"))
}

fn panicked(_: Box<dyn std::any::Any + Send>) -> Response<axum::body::Body> {
    tracing::error!(status = 500, "a handler panicked");
    Problem::internal().into_response()
}
