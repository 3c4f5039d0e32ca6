//! An HTTP client with persistent connections. A single thread drives it, so that it takes at most
//! one core from the measured system.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// A request to send.
pub(crate) type Request = hyper::Request<Full<Bytes>>;

/// The most connections, fewer than a server accepts. Further requests wait for one, and the wait
/// counts.
const MOST: usize = 800;

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
}

impl Reply {
    /// Whether the body, as it was sent, contains `text`.
    pub(crate) fn contains(&self, text: &str) -> bool {
        std::str::from_utf8(&self.body).is_ok_and(|it| it.contains(text))
    }

    /// The `data` of an answer.
    ///
    /// # Errors
    /// It is a refusal.
    pub(crate) fn data(&self) -> Result<Value> {
        let Reply { status, body } = self;
        let said = || String::from_utf8_lossy(&body[..body.len().min(400)]).into_owned();
        ensure!(*status == 200 || *status == 201, "{status}: {}", said());
        let mut whole: Value = serde_json::from_slice(body).with_context(said)?;
        Ok(whole["data"].take())
    }
}

/// A client of one server; connections are reused, the most recently used first.
#[derive(Clone)]
pub(crate) struct Client {
    addr: SocketAddr,
    idle: Rc<RefCell<Vec<SendRequest<Full<Bytes>>>>>,
    places: Rc<Semaphore>,
}

impl Client {
    /// A client of the server at `addr`.
    pub(crate) fn new(addr: SocketAddr) -> Self {
        Client {
            addr,
            idle: Rc::default(),
            places: Rc::new(Semaphore::new(MOST)),
        }
    }

    /// Sends `request` and reads the whole answer.
    ///
    /// # Errors
    /// There is no connection, or it broke.
    pub(crate) async fn ask(&self, request: Request) -> Result<Reply> {
        let _place = self.places.acquire().await?;
        let mut request = Some(request);
        // A kept connection may have been closed meanwhile; then nothing of the request was sent.
        while let Some(mut connection) = self.kept() {
            if connection.ready().await.is_err() {
                continue;
            }
            let Some(sent) = request.take() else { break };
            match connection.try_send_request(sent).await {
                Ok(response) => return self.read(response, connection).await,
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = Some(unsent),
                    None => return Err(error.into_error().into()),
                },
            }
        }
        let Some(request) = request else {
            bail!("the request was sent and not answered")
        };
        let mut connection = self.connect().await?;
        let response = connection.send_request(request).await?;
        self.read(response, connection).await
    }

    fn kept(&self) -> Option<SendRequest<Full<Bytes>>> {
        self.idle.borrow_mut().pop()
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>> {
        let stream = TcpStream::connect(self.addr).await?;
        stream.set_nodelay(true)?;
        let (connection, driver) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(driver);
        Ok(connection)
    }

    async fn read(
        &self,
        response: hyper::Response<hyper::body::Incoming>,
        connection: SendRequest<Full<Bytes>>,
    ) -> Result<Reply> {
        let status = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        if !connection.is_closed() {
            self.idle.borrow_mut().push(connection);
        }
        Ok(Reply { status, body })
    }
}

/// A `POST` of JSON.
///
/// # Errors
/// The path or the token cannot be sent.
pub(crate) fn post(path: &str, token: &str, body: &Value) -> Result<Request> {
    sending("POST", path, token, body)
}

/// A `PUT` of JSON.
///
/// # Errors
/// The path or the token cannot be sent.
pub(crate) fn put(path: &str, token: &str, body: &Value) -> Result<Request> {
    sending("PUT", path, token, body)
}

fn sending(method: &str, path: &str, token: &str, body: &Value) -> Result<Request> {
    Ok(request(method, path, token)
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(body.to_string().into()))?)
}

/// A `GET`.
///
/// # Errors
/// The path or the token cannot be sent.
pub(crate) fn get(path: &str, token: &str) -> Result<Request> {
    Ok(request("GET", path, token).body(Full::default())?)
}

fn request(method: &str, path: &str, token: &str) -> hyper::http::request::Builder {
    hyper::Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, "127.0.0.1")
        .header(AUTHORIZATION, format!("Bearer {token}"))
}
