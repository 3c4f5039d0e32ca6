//! The server: connections in, an end that leaves nobody without an answer.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::{Request, Response};
use ctx_hosts::{Age, Hosts, Peers, end_with};
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

use crate::auth::{Credentials, LiveCredentials};
use crate::backend::Backend;
use crate::cause::cause;
use crate::nest::{Routes, door};
use crate::{Limits, ServerError, descriptors};

/// What a head may have: the most bytes, and the most lines.
const HEAD_BYTES: usize = 32 << 10;
const HEAD_LINES: usize = 64;
/// So many connections wait until they are accepted.
const BACKLOG: u32 = 1024;
/// How long to wait when the system has no more connections for us.
const NO_MORE: Duration = Duration::from_millis(20);
/// While it has none, that is logged so often.
const TOLD_AGAIN: Duration = Duration::from_mins(1);
/// How long whoever was cancelled at the end may take to say so.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What may take longer is ended after so long all the same: moments are only so far off.
const LONGEST: Duration = Duration::from_hours(365 * 24);

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
    routes: Routes,
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
        let hosts = Hosts::at(addr, options.hosts.clone())?;
        let failed = |source| ServerError::Listen { addr, source };
        let socket = bound(addr).map_err(failed)?;
        let addr = socket.local_addr().map_err(failed)?;
        let door = door(hosts, addr.port(), &options)?;
        let backend = open().await?;
        let listener = socket.listen(BACKLOG).map_err(failed)?;
        let routes = Routes::behind(door, backend, options);
        Ok(Server {
            listener,
            addr,
            routes,
        })
    }

    /// Who is let in, to be replaced while it runs.
    pub fn credentials(&self) -> LiveCredentials {
        self.routes.credentials()
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.addr
    }

    /// The description of all routes: `OpenAPI` 3.1, as JSON.
    pub fn openapi(&self) -> &str {
        self.routes.openapi()
    }

    /// Answers until `shutdown` is done; then says for the grace time of the limits that it is about to end, and answers on;
    /// then takes no more connections, lets requests that were begun end, for
    /// as long as the limits say, cancels what is left, and
    /// waits until what was answered is kept.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let Server {
            listener, routes, ..
        } = self;
        let (router, limits) = (routes.router(), &routes.app.limits);
        let graceful = GracefulShutdown::new();
        let mut connections = JoinSet::new();
        let allowed = descriptors::allowed();
        let most = descriptors::connections(limits.connections, allowed);
        let mut of_peer = limits.peer_connections;
        if most < limits.connections {
            tracing::warn!(
                most,
                allowed,
                "the process may open few files, so it takes few connections"
            );
            // One address is to leave some to others, too.
            of_peer = of_peer.min(most - most / 8);
        }
        let places = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        let peers = Arc::new(Peers::new(of_peer));
        let mut refused_at: Option<Instant> = None;
        let mut stop = std::pin::pin!(async {
            shutdown.await;
            routes.drain();
            tokio::time::sleep(limits.grace_time).await;
        });
        loop {
            let accepted = async {
                let place = Arc::clone(&places).acquire_owned().await;
                (place, listener.accept().await)
            };
            tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next() => {}
                (place, accepted) = accepted => match accepted {
                    Ok((stream, addr)) => {
                        // Whoever has too many finds this one closed.
                        let Some(peer) = peers.enter(addr.ip()) else { continue };
                        let served = connection(stream, router.clone(), limits, &graceful);
                        connections.spawn(async move {
                            served.await;
                            drop((peer, place));
                        });
                    }
                    Err(error) => {
                        if refused_at.is_none_or(|it| it.elapsed() > TOLD_AGAIN) {
                            let cause = cause(&error);
                            tracing::error!(cause, "no connection can be taken");
                            refused_at = Some(Instant::now());
                        }
                        tokio::time::sleep(NO_MORE).await;
                    }
                },
            }
        }
        drop(listener);
        // What is late ends with the error that it was cancelled, if there is anybody to hear it.
        let drained = tokio::time::timeout(limits.drain_time, graceful.shutdown()).await;
        routes.app.cancel.cancel();
        if drained.is_err() {
            let ended = async { while connections.join_next().await.is_some() {} };
            let _ = tokio::time::timeout(LAST_WORDS, ended).await;
        }
        connections.shutdown().await;
        routes.end().await;
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
        age: Age::new(limits.connection_requests, limits.connection_time),
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
    age: Age,
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
        let is_last = self.age.is_last();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let mut answer = answer.await?;
            if is_last {
                end_with(answer.headers_mut());
            }
            Ok(answer)
        })
    }
}
