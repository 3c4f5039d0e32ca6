//! The server: accepts connections, and shuts down without leaving a request unanswered.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use ctx_hosts::{ConnectionLimits, Hosts, Listener, connection};
use ctx_tokens::Counters;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::auth::{Credentials, LiveCredentials};
use crate::backend::Backend;
use crate::cause::cause;
use crate::nest::{Routes, door};
use crate::{Limits, ServerError, descriptors};

/// The most connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// How often it is logged that the system has no more connections to give, while that lasts.
const TOLD_AGAIN: Duration = Duration::from_mins(1);
/// How long requests that are cancelled at the end may take to answer so.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How a server is set up.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// The accepted credentials; none by default.
    pub credentials: Credentials,
    /// How much load is accepted.
    pub limits: Limits,
    /// The host names of this server, without a port, besides those of the loopback if it listens
    /// there: requests under other names, and from pages of other sites, are refused.
    /// [`ANY_HOST`](crate::ANY_HOST) accepts any name. A server that listens elsewhere and has no
    /// name does not start.
    pub hosts: Vec<String>,
    /// Sites whose pages may send requests and read the answers, besides the server's own, which is
    /// `http://NAME:PORT` with its names and its port: for example `https://ctx.example`, if a
    /// proxy in front of it terminates TLS, or another site. The form is `SCHEME://NAME`, with the
    /// port unless it is the scheme's default.
    pub origins: Vec<String>,
    /// The token counters for building and assembling contexts: requests may name a custom counter.
    /// A name that ends in `.json` cannot be requested.
    pub counters: Arc<Counters>,
}

impl Options {
    /// Sets the accepted credentials.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the host names.
    #[must_use]
    pub fn with_hosts(mut self, hosts: Vec<String>) -> Self {
        self.hosts = hosts;
        self
    }

    /// Sets the sites whose pages may send requests.
    #[must_use]
    pub fn with_origins(mut self, origins: Vec<String>) -> Self {
        self.origins = origins;
        self
    }

    /// Sets the token counters.
    #[must_use]
    pub fn with_counters(mut self, counters: Arc<Counters>) -> Self {
        self.counters = counters;
        self
    }
}

/// A server that listens; it answers once it runs.
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
    /// Listens on `addr`; port 0 picks a free one.
    ///
    /// # Errors
    /// [`ServerError::Listen`]; [`ServerError::Hosts`], if the options are at fault.
    pub async fn bind(
        addr: SocketAddr,
        backend: Arc<dyn Backend>,
        options: Options,
    ) -> Result<Self, ServerError> {
        Server::bind_then(addr, options, async || Ok(backend)).await
    }

    /// Like [`bind`](Server::bind), with the backend that `open` returns. It is opened after all
    /// other checks, so that a server that cannot start creates no data folder. Until it is open,
    /// which may take as long as a database needs to answer, connections are refused. If two
    /// servers start at the same address at the same time, Linux lets both bind it until one
    /// listens; then the later one fails after `open`.
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

    /// The accepted credentials, which can be replaced at run time.
    pub fn credentials(&self) -> LiveCredentials {
        self.routes.credentials()
    }

    /// The address on which it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.addr
    }

    /// The description of all routes: `OpenAPI` 3.1, as JSON.
    pub fn openapi(&self) -> &str {
        self.routes.openapi()
    }

    /// Answers requests until `shutdown` completes. Then `/readyz` reports for the grace time that
    /// the server is stopping, while requests are still answered. After that, no connections are
    /// accepted; running requests may end within the drain time, the others are cancelled, and
    /// everything that was answered is stored.
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
            // One address must leave some connections to others, too.
            of_peer = of_peer.min(most - most / 8);
        }
        let listener = Listener::new(listener, most, of_peer);
        let mut refused_at: Option<Instant> = None;
        let mut stop = std::pin::pin!(async {
            shutdown.await;
            routes.drain();
            tokio::time::sleep(limits.grace_time).await;
        });
        loop {
            tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, place)) => {
                        let served = served(stream, router.clone(), limits, &graceful);
                        connections.spawn(async move {
                            served.await;
                            drop(place);
                        });
                    }
                    Err(error) => {
                        if refused_at.is_none_or(|it| it.elapsed() > TOLD_AGAIN) {
                            let cause = cause(&error);
                            tracing::error!(cause, "no connection can be taken");
                            refused_at = Some(Instant::now());
                        }
                    }
                },
            }
        }
        drop(listener);
        // A late request is answered with the error that it was cancelled, if its client still
        // listens.
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

/// A socket bound to `addr` that does not listen yet. Fails if another process listens there.
fn bound(addr: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if addr.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // Otherwise the address could not be bound for minutes after a server ended. Only on Unix:
    // elsewhere, the option would let two servers bind it.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    Ok(socket)
}

/// Serves one connection until it ends.
fn served(
    stream: TcpStream,
    router: Router,
    limits: &Limits,
    graceful: &GracefulShutdown,
) -> impl Future<Output = ()> + Send + use<> {
    let each = ConnectionLimits::new(limits.header_time, limits.write_time)
        .with_requests(limits.connection_requests)
        .with_time(limits.connection_time);
    let served = connection(stream, TowerToHyperService::new(router), &each);
    let served = graceful.watch(served);
    // How long a request that arrives at the last moment may still take.
    let last = [
        limits.header_time,
        limits.body_time,
        limits.request_time.max(limits.batch_time),
        limits.write_time,
    ];
    let longest = last
        .into_iter()
        .fold(limits.connection_time, Duration::saturating_add);
    async move {
        // The client that broke off the connection knows why.
        let _ = tokio::time::timeout(longest, served).await;
    }
}
