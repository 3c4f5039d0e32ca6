//! Streamable HTTP: who may connect, and serving the connections.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use ctx_hosts::{
    Admitted, ConnectionLimits, Cors, Door, Hosts, HostsError, Listener, NoToken, connection,
    end_unread,
};
use http_body_util::LengthLimitError;
use hyper_util::service::TowerToHyperService;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::Server;
use crate::connected::Connected;
use crate::message::refusal;

/// The path at which clients find the server.
const PATH: &str = "/mcp";
/// The most bytes in the body of a request.
const MOST_BYTES: usize = 8 << 20;
/// The default limit on connections; see [`Http::with_connections`].
const MOST_CONNECTIONS: NonZeroUsize = NonZeroUsize::new(256).expect("256 is not 0");
/// The default age at which a connection ends; see [`Http::with_connection_time`].
const CONNECTION_TIME: Duration = Duration::from_mins(10);
/// How long the headers of a request may take.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);
/// How long the body of a request may take after its headers.
const BODY_WITHIN: Duration = Duration::from_secs(10);
/// How long a client may read nothing of an answer.
const TAKEN_WITHIN: Duration = Duration::from_secs(10);

/// The methods and headers that pages of allowed sites may use.
const CORS: Cors = Cors {
    methods: "GET, POST, DELETE",
    headers: "Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id",
    readable: "Mcp-Session-Id",
};

/// The token that a client must present. `Debug` does not print it.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Generates a token of 256 random bits, in hexadecimal digits.
    ///
    /// # Errors
    /// The system provides no random bytes.
    pub fn generate() -> io::Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Token(blake3::Hash::from_bytes(bytes).to_hex().to_string()))
    }

    /// The token itself, to be shown once to its user.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether `shown` is the token. The time does not depend on how much of it matches.
    fn is(&self, shown: &str) -> bool {
        // Comparing hashes takes constant time.
        blake3::hash(shown.as_bytes()) == blake3::hash(self.0.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Who may connect: clients that present the token, use a name of this server, and are not pages of
/// other sites.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Access {
    /// The token that a client must present.
    pub token: Token,
    /// The host names of the server, without a port, besides those of the loopback if it listens
    /// there. [`ANY_HOST`](crate::ANY_HOST) accepts any name. A server that listens elsewhere and
    /// has no name does not start.
    pub hosts: Vec<String>,
    /// Sites whose pages may call the server and read the answers, besides its own:
    /// `SCHEME://NAME`, with the port unless it is the scheme's default.
    pub origins: Vec<String>,
}

impl Access {
    /// Access with `token`, under the names of the loopback, and for no pages of other sites.
    pub fn new(token: Token) -> Self {
        Access {
            token,
            hosts: Vec::new(),
            origins: Vec::new(),
        }
    }

    /// Sets the host names.
    #[must_use]
    pub fn with_hosts(mut self, hosts: Vec<String>) -> Self {
        self.hosts = hosts;
        self
    }

    /// Sets the sites whose pages may call the server.
    #[must_use]
    pub fn with_origins(mut self, origins: Vec<String>) -> Self {
        self.origins = origins;
        self
    }
}

/// A server that listens for clients.
#[derive(Debug)]
pub struct Http {
    listener: TcpListener,
    router: Router,
    stop: CancellationToken,
    connections: NonZeroUsize,
    connection_time: Duration,
}

impl Http {
    /// Listens at `address` for clients that `access` admits. Their roots must lie within the
    /// server's own.
    ///
    /// # Errors
    /// The address cannot be bound; a name of the server or a site is invalid, or the server has no
    /// name ([`io::ErrorKind::InvalidInput`], with a [`HostsError`]).
    pub async fn bind(server: Server, address: SocketAddr, access: &Access) -> io::Result<Self> {
        Http::bind_with(move || server.connection(), address, access).await
    }

    /// Like [`bind`](Http::bind), with the handlers that `connect` returns: one for each session,
    /// and for each request without one. Such a handler can add custom tools and pass everything
    /// else on to a [`Server::connection`].
    ///
    /// # Errors
    /// Those of [`bind`](Http::bind).
    pub async fn bind_with<S: ServerHandler>(
        connect: impl Fn() -> S + Send + Sync + 'static,
        address: SocketAddr,
        access: &Access,
    ) -> io::Result<Self> {
        let unusable = |error: HostsError| io::Error::new(io::ErrorKind::InvalidInput, error);
        let hosts = Hosts::at(address, access.hosts.clone()).map_err(unusable)?;
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let door = Door::new(hosts, address.port(), &access.origins, CORS).map_err(unusable)?;
        let entry = Entry {
            door,
            token: access.token.clone(),
        };
        let config = StreamableHttpServerConfig::default()
            // Checked at the door: the SDK would answer 403, as it does for a page of another site.
            .disable_allowed_hosts()
            // Checked at the door: the SDK would check it only after the token.
            .disable_allowed_origins()
            // Checked before; the SDK's default is lower.
            .with_max_request_body_bytes(MOST_BYTES)
            .with_cancellation_token(stop.child_token());
        let connect = move || Ok(connect());
        let service = StreamableHttpService::new(connect, Arc::new(Connected::default()), config);
        let router = Router::new()
            .route_service(PATH, service)
            .layer(middleware::from_fn(with_body))
            .layer(middleware::from_fn_with_state(Arc::new(entry), at_door));
        Ok(Http {
            listener,
            router,
            stop,
            connections: MOST_CONNECTIONS,
            connection_time: CONNECTION_TIME,
        })
    }

    /// Sets the most connections at a time, 256 by default; further ones wait. One address has at
    /// most seven eighths of them, and further ones are closed at once.
    #[must_use]
    pub fn with_connections(mut self, most: NonZeroUsize) -> Self {
        self.connections = most;
        self
    }

    /// Sets the age after which a connection ends with the answer to the next request, ten minutes
    /// by default. [`Duration::MAX`] means never.
    #[must_use]
    pub fn with_connection_time(mut self, longest: Duration) -> Self {
        self.connection_time = longest;
        self
    }

    /// The address on which it listens.
    ///
    /// # Errors
    /// The system does not report it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The URL for clients.
    ///
    /// # Errors
    /// The system does not report the address.
    pub fn url(&self) -> io::Result<String> {
        Ok(format!("http://{}{PATH}", self.address()?))
    }

    /// Serves until `stop` is cancelled, which also ends open connections.
    ///
    /// # Errors
    /// None so far: a connection that cannot be accepted is skipped.
    pub async fn serve(self, stop: CancellationToken) -> io::Result<()> {
        let most = self.connections.get();
        let listener = Listener::new(self.listener, most, most - most / 8);
        // An answer may be a stream of any duration, so the age has an effect on the next one only.
        let limits =
            ConnectionLimits::new(HEADERS_WITHIN, TAKEN_WITHIN).with_time(self.connection_time);
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, permit)) => {
                    let router = TowerToHyperService::new(self.router.clone());
                    let served = connection(stream, router, &limits);
                    let ended = self.stop.clone();
                    tokio::spawn(async move {
                        tokio::select! {
                            () = ended.cancelled() => {}
                            served = served => if let Err(error) = served {
                                tracing::debug!(%error, "a connection ended");
                            }
                        }
                        drop(permit);
                    });
                }
                // A single failed connection does not affect the others; if there are too many,
                // some will end.
                Err(error) => tracing::debug!(%error, "a connection was not accepted"),
            }
        }
        self.stop.cancel();
        Ok(())
    }
}

/// The checks before a request's body is read: the door, and then the token.
#[derive(Debug)]
struct Entry {
    door: Door,
    token: Token,
}

impl Entry {
    /// The answer to a request that is rejected; `None` if it passes.
    fn answer(&self, request: &Request) -> Option<Response> {
        match self.door.admit(request) {
            Err(refused) => Some((refused.status(), format!("{refused}\n")).into_response()),
            Ok(Admitted::Preflight(told)) => Some((StatusCode::NO_CONTENT, told).into_response()),
            Ok(Admitted::Request(Ok(shown))) if self.token.is(shown) => None,
            Ok(Admitted::Request(shown)) => Some(unauthorized(shown)),
        }
    }
}

fn unauthorized(shown: Result<&str, NoToken>) -> Response {
    let why = match shown {
        Err(several @ NoToken::Several) => several.to_string(),
        _ => "the token is missing or wrong".to_owned(),
    };
    let message = format!(
        "{why}: send the header \"Authorization: Bearer TOKEN\" with the token that the server printed when it started\n"
    );
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
    (StatusCode::UNAUTHORIZED, challenge, message).into_response()
}

/// Passes a request on or answers it; a page of an allowed site may read either answer.
async fn at_door(State(entry): State<Arc<Entry>>, request: Request, next: Next) -> Response {
    let asking = entry.door.asking(request.headers());
    let mut response = match entry.answer(&request) {
        // A client without a valid token must not occupy a connection.
        Some(response) => last(response),
        None => next.run(request).await,
    };
    entry.door.add_cors_headers(asking, response.headers_mut());
    response
}

/// Passes a request on once its body has been read. For a body that is no message the SDK answers
/// that its media type is unsupported; if the headers declare JSON, a JSON-RPC error is returned
/// instead.
async fn with_body(request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let says_json = says_json(&head.headers);
    let (status, why) = match tokio::time::timeout(BODY_WITHIN, to_bytes(body, MOST_BYTES)).await {
        Ok(Ok(body)) => {
            let request = Request::from_parts(head, Body::from(body.clone()));
            let answer = next.run(request).await;
            let is_no_message = answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE && says_json;
            return if is_no_message {
                no_message(&body)
            } else {
                answer
            };
        }
        Ok(Err(error)) if is_too_long(&error) => (
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is larger than {MOST_BYTES} bytes\n"),
        ),
        Ok(Err(_)) => (
            StatusCode::BAD_REQUEST,
            "the body ended early, or does not match its headers\n".to_owned(),
        ),
        Err(_) => (
            StatusCode::REQUEST_TIMEOUT,
            format!(
                "the body did not arrive within {} s\n",
                BODY_WITHIN.as_secs()
            ),
        ),
    };
    // The rest of the body is no request.
    last((status, why).into_response())
}

/// Marks `answer` as the last one of its connection.
fn last(mut answer: Response) -> Response {
    end_unread(&mut answer);
    answer
}

fn is_too_long(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<LengthLimitError>)
}

fn says_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|it| it.to_str().ok()?.split(';').next());
    kind.is_some_and(|it| it.trim().eq_ignore_ascii_case("application/json"))
}

/// The JSON-RPC error for a body that is no message.
fn no_message(body: &[u8]) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    let body = serde_json::to_vec(&refusal("body", body)).unwrap_or_default();
    (StatusCode::BAD_REQUEST, headers, body).into_response()
}
