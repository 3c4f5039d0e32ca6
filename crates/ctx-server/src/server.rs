//! The server: connections in, an end that leaves nobody without an answer.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Request, Response};
use axum::response::IntoResponse as _;
use ctx_assemble::Cancel;
use ctx_hosts::{Cors, Door, Hosts, Peers};
use ctx_tokens::Counters;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::admission::Admission;
use crate::auth::{Credentials, LiveCredentials};
use crate::backend::Backend;
use crate::bodies::Bodies;
use crate::guard::guard;
use crate::meter::Meter;
use crate::problem::Problem;
use crate::readiness::Readiness;
use crate::state::{App, Shared};
use crate::{Limits, ServerError, page, routes};

/// What a head may have: the most bytes, and the most lines.
const HEAD_BYTES: usize = 32 << 10;
const HEAD_LINES: usize = 64;
/// So many connections wait until they are accepted.
const BACKLOG: u32 = 1024;
/// How often what was measured is put away.
const UPKEEP: Duration = Duration::from_secs(5);
/// How long to wait when the system has no more connections for us.
const NO_MORE: Duration = Duration::from_millis(20);
/// How long whoever was cancelled at the end may take to say so.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What may take longer is ended after so long all the same: moments are only so far off.
const LONGEST: Duration = Duration::from_hours(365 * 24);

/// What pages of sites that were named may send and read.
const CORS: Cors = Cors {
    methods: "GET, POST, PUT, DELETE",
    headers: "Authorization, Content-Type",
    readable: "X-Request-Id, Retry-After",
};

/// How a server is set up.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Who is let in; nobody, by default.
    pub credentials: Credentials,
    /// How much is taken on.
    pub limits: Limits,
    /// The names of this server, without a port, besides those of the loopback where it listens there: requests to other
    /// names, and from pages of other sites, are refused. [`ANY_HOST`](crate::ANY_HOST) is any name. A server that listens elsewhere and has
    /// none does not start.
    pub hosts: Vec<String>,
    /// Sites whose pages may ask, and read what is answered, besides the server's own, `http://NAME:PORT`, by its names and the
    /// port it listens on: `https://ctx.example`, where something in front of it encrypts, or another site. `SCHEME://NAME`, with
    /// the port where that is not the scheme's.
    pub origins: Vec<String>,
    /// What tokens are counted with, for contexts that are built and for those that are assembled: requests may ask by name
    /// for a counter of one's own. A name that ends in `.json` is none that a request can ask for.
    pub counters: Arc<Counters>,
}

impl Options {
    /// Lets these in.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// Takes so much on.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Is called so too.
    #[must_use]
    pub fn with_hosts(mut self, hosts: Vec<String>) -> Self {
        self.hosts = hosts;
        self
    }

    /// Lets pages of these sites ask too.
    #[must_use]
    pub fn with_origins(mut self, origins: Vec<String>) -> Self {
        self.origins = origins;
        self
    }

    /// Counts with these.
    #[must_use]
    pub fn with_counters(mut self, counters: Arc<Counters>) -> Self {
        self.counters = counters;
        self
    }
}

/// A server that listens, and answers once it runs.
pub struct Server {
    listener: TcpListener,
    addr: SocketAddr,
    app: Shared,
    router: Router,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("addr", &self.addr)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Listens on `addr`; port 0 is any that is free.
    ///
    /// # Errors
    /// [`ServerError::Listen`]; [`ServerError::Hosts`], which is of the options.
    pub async fn bind(
        addr: SocketAddr,
        backend: Arc<dyn Backend>,
        options: Options,
    ) -> Result<Self, ServerError> {
        Server::bind_then(addr, options, async || Ok(backend)).await
    }

    /// The same with the backend that `open` opens, once nothing else is in the way: a server that cannot start makes no data
    /// folder. Until that is open, which may take as long as a database does to answer, whoever connects is refused. Of two that
    /// begin together at one address on Linux, which lets both have it until one listens, the later one fails after `open`.
    ///
    /// # Errors
    /// Those of [`bind`](Server::bind), and of `open`.
    pub async fn bind_then(
        addr: SocketAddr,
        options: Options,
        open: impl AsyncFnOnce() -> Result<Arc<dyn Backend>, ServerError>,
    ) -> Result<Self, ServerError> {
        let hosts = Hosts::at(addr, options.hosts)?;
        let failed = |source| ServerError::Listen { addr, source };
        let socket = bound(addr).map_err(failed)?;
        let addr = socket.local_addr().map_err(failed)?;
        let door = Door::new(hosts, addr.port(), &options.origins, CORS)?;
        let backend = open().await?;
        let listener = socket.listen(BACKLOG).map_err(failed)?;
        let (router, openapi) = routes::routes();
        let openapi = serde_json::to_value(&openapi).unwrap_or_default();
        let limits = options.limits;
        let percent = limits.owner_percent;
        let app = Arc::new(App {
            backend,
            counters: options.counters,
            credentials: LiveCredentials::new(options.credentials),
            door,
            builds: Arc::new(Admission::new(
                (limits.workers, limits.cores),
                limits.queue,
                percent,
                limits.queue_time,
            )),
            batches: Arc::new(Admission::new(
                (limits.batch_workers, limits.cores),
                limits.batch_queue,
                percent,
                limits.batch_queue_time,
            )),
            store: Arc::new(Admission::new(
                (limits.store_workers, limits.cores),
                limits.store_queue,
                percent,
                limits.queue_time,
            )),
            bodies: Arc::new(Bodies::new(limits.held_bytes)),
            meter: Meter::new(),
            readiness: Readiness::default(),
            cancel: Cancel::new(),
            is_draining: AtomicBool::new(false),
            page: page::render(&openapi),
            openapi: openapi.to_string(),
            limits,
        });
        let router = layered(router, &app).with_state(Arc::clone(&app));
        Ok(Server {
            listener,
            addr,
            app,
            router,
        })
    }

    /// Who is let in, to be replaced while it runs.
    pub fn credentials(&self) -> LiveCredentials {
        self.app.credentials.clone()
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.addr
    }

    /// The description of all routes: `OpenAPI` 3.1, as JSON.
    pub fn openapi(&self) -> &str {
        &self.app.openapi
    }

    /// Answers until `shutdown` is done; then says for the grace time of the limits that it is about to end, and answers on;
    /// then takes no more connections, lets requests that were begun end, for
    /// as long as the limits say, cancels what is left, and
    /// waits until what was answered is kept.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let Server {
            listener,
            app,
            router,
            ..
        } = self;
        let graceful = GracefulShutdown::new();
        let mut connections = JoinSet::new();
        let places = Arc::new(Semaphore::new(
            app.limits.connections.min(Semaphore::MAX_PERMITS),
        ));
        let peers = Arc::new(Peers::new(app.limits.peer_connections));
        let mut upkeep = tokio::time::interval(UPKEEP);
        let mut stop = std::pin::pin!(async {
            shutdown.await;
            app.is_draining.store(true, Ordering::Relaxed);
            tokio::time::sleep(app.limits.grace_time).await;
        });
        loop {
            let accepted = async {
                let place = Arc::clone(&places).acquire_owned().await;
                (place, listener.accept().await)
            };
            tokio::select! {
                () = &mut stop => break,
                _ = upkeep.tick() => app.meter.upkeep(),
                Some(_) = connections.join_next() => {}
                (place, accepted) = accepted => match accepted {
                    Ok((stream, addr)) => {
                        // Whoever has too many finds this one closed.
                        let Some(peer) = peers.enter(addr.ip()) else { continue };
                        let served = connection(stream, router.clone(), &app.limits, &graceful);
                        connections.spawn(async move {
                            served.await;
                            drop((peer, place));
                        });
                    }
                    Err(_) => tokio::time::sleep(NO_MORE).await,
                },
            }
        }
        drop(listener);
        // What is late ends with the error that it was cancelled, if there is anybody to hear it.
        let drained = tokio::time::timeout(app.limits.drain_time, graceful.shutdown()).await;
        app.cancel.cancel();
        if drained.is_err() {
            let ended = async { while connections.join_next().await.is_some() {} };
            let _ = tokio::time::timeout(LAST_WORDS, ended).await;
        }
        connections.shutdown().await;
        app.backend.settle().await;
    }
}

/// A socket that has `addr` and does not listen yet. Where another listens, it cannot be had.
fn bound(addr: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if addr.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // Else it could not be had for minutes after a server ended; elsewhere than on Unix it would be had twice.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    Ok(socket)
}

/// One connection, until it ends.
fn connection(
    stream: TcpStream,
    router: Router,
    limits: &Limits,
    graceful: &GracefulShutdown,
) -> impl Future<Output = ()> + Send + use<> {
    // Answers are written whole, and waited for.
    let _ = stream.set_nodelay(true);
    // Whoever reads nothing of an answer is not waited for.
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.write_time.min(LONGEST)));
    let answers = Counted {
        inner: TowerToHyperService::new(router),
        left: AtomicUsize::new(limits.connection_requests),
        ends: Instant::now().checked_add(limits.connection_time),
    };
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time.min(LONGEST))
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEAD_LINES)
        .serve_connection(TokioIo::new(Box::pin(stream)), answers);
    let served = graceful.watch(served);
    // What a request that came at the last moment may still take.
    let last = [
        limits.header_time,
        limits.body_time,
        limits.request_time,
        limits.write_time,
    ];
    let longest = last
        .into_iter()
        .fold(limits.connection_time, Duration::saturating_add);
    async move {
        // Whoever broke it off knows why.
        let _ = tokio::time::timeout(longest, served).await;
    }
}

/// Answers, until the connection has had its requests or its time.
struct Counted<S> {
    inner: S,
    left: AtomicUsize,
    /// None is never.
    ends: Option<Instant>,
}

impl<S, B> Service<Request<Incoming>> for Counted<S>
where
    S: Service<Request<Incoming>, Response = Response<B>>,
    S::Future: Send + 'static,
    B: 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        // One connection has its requests one after the other.
        let left = self.left.load(Ordering::Relaxed).saturating_sub(1);
        self.left.store(left, Ordering::Relaxed);
        let is_last = left == 0 || self.ends.is_some_and(|it| Instant::now() >= it);
        let answer = self.inner.call(request);
        Box::pin(async move {
            let mut answer = answer.await?;
            if is_last {
                let close = HeaderValue::from_static("close");
                answer.headers_mut().insert(CONNECTION, close);
            }
            Ok(answer)
        })
    }
}

fn layered(router: Router<Shared>, app: &Shared) -> Router<Shared> {
    let header = |name, value| {
        let name = axum::http::HeaderName::from_static(name);
        SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value))
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
