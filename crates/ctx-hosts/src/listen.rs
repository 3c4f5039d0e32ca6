//! Accepting connections, and serving each within limits.

use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;

use crate::age::Unread;
use crate::age::end_with;
use crate::linger::{IsUnread, Lingering};
use crate::{Age, Peer, Peers};

/// The most bytes in the head of a request before its end is read, which has at most [`HEAD_LINES`]
/// headers. What is read at once may be as long again.
const HEAD_BYTES: usize = 32 << 10;
/// The most headers of a request.
const HEAD_LINES: usize = 64;
/// How long to wait when the system has no more connections to give.
const PAUSE: Duration = Duration::from_millis(20);
/// An upper bound on all durations: a far moment may not be representable.
const LONGEST: Duration = Duration::from_hours(365 * 24);

/// Accepts connections as long as there are permits for them, not all of which one address can
/// hold.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    permits: Arc<Semaphore>,
    peers: Arc<Peers>,
}

/// The permit of a connection, which the next one gets when it is dropped.
#[derive(Debug)]
pub struct ConnectionPermit {
    _peer: Peer,
    _permit: OwnedSemaphorePermit,
}

impl Listener {
    /// Accepts at most `most` connections at a time; further ones wait. One address has at most
    /// `of_peer` of them, as [`Peers`] counts.
    pub fn new(listener: TcpListener, most: usize, of_peer: usize) -> Self {
        Listener {
            socket: listener,
            permits: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))),
            peers: Arc::new(Peers::new(of_peer)),
        }
    }

    /// Waits for a permit, and then for a connection. A connection of an address that has its most
    /// already is closed at once. May be cancelled: no connection is lost.
    ///
    /// # Errors
    /// The system has no connection to give. That is returned after a short pause; the next call
    /// tries again.
    pub async fn accept(&self) -> io::Result<(TcpStream, ConnectionPermit)> {
        loop {
            let permit = Arc::clone(&self.permits).acquire_owned().await;
            let permit = permit.expect("nothing closes it");
            let (stream, addr) = match self.socket.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tokio::time::sleep(PAUSE).await;
                    return Err(error);
                }
            };
            let Some(peer) = self.peers.enter(addr.ip()) else {
                continue;
            };
            // Answers are written whole, and clients wait for them.
            let _ = stream.set_nodelay(true);
            let permit = ConnectionPermit {
                _peer: peer,
                _permit: permit,
            };
            return Ok((stream, permit));
        }
    }
}

/// Limits on a connection, besides those on the head of each request, above which it is answered
/// with status 431: 64 headers, and 32 KiB, or up to 64 KiB in a head that arrives quickly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionLimits {
    /// How long the head of a request may take.
    pub head_time: Duration,
    /// How long a client may read nothing of an answer.
    pub write_time: Duration,
    /// The number of requests after which the connection ends.
    pub requests: usize,
    /// The age after which the connection ends with the answer to the next request.
    pub time: Duration,
}

impl ConnectionLimits {
    /// Any number of requests at any age, with these limits on each.
    pub fn new(head_time: Duration, write_time: Duration) -> Self {
        ConnectionLimits {
            head_time,
            write_time,
            requests: usize::MAX,
            time: Duration::MAX,
        }
    }

    /// Sets the number of requests.
    #[must_use]
    pub fn with_requests(mut self, requests: usize) -> Self {
        self.requests = requests;
        self
    }

    /// Sets the age.
    #[must_use]
    pub fn with_time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }
}

/// A connection that is served as it is polled, until it ends.
pub type Connection<S> =
    http1::Connection<TokioIo<Lingering<Pin<Box<TimeoutStream<TcpStream>>>>>, Counted<S>>;

/// Answers the requests on `stream` with `service`. Clients that send the head of a request too
/// slowly, or do not read an answer, are disconnected. After an answer that
/// [`end_unread`](crate::end_unread) has marked, the rest of the request is read and discarded for
/// up to two seconds and 32 MiB.
pub fn connection<S, B>(stream: TcpStream, service: S, limits: &ConnectionLimits) -> Connection<S>
where
    S: Service<Request<Incoming>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.write_time.min(LONGEST)));
    let is_unread = IsUnread::default();
    let stream = Lingering::new(Box::pin(stream), is_unread.clone());
    let answers = Counted {
        inner: service,
        age: Age::new(limits.requests, limits.time),
        is_unread,
    };
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time.min(LONGEST))
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEAD_LINES)
        .serve_connection(TokioIo::new(stream), answers)
}

/// Answers requests until the connection has reached its number of requests or its age.
#[derive(Debug)]
pub struct Counted<S> {
    inner: S,
    age: Age,
    is_unread: IsUnread,
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
        let is_unread = self.is_unread.clone();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let mut answer = answer.await?;
            if is_last {
                end_with(answer.headers_mut());
            }
            if answer.extensions().get::<Unread>().is_some() {
                is_unread.set();
            }
            Ok(answer)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use hyper::service::service_fn;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    async fn listener(most: usize, of_peer: usize) -> (Listener, std::net::SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        (Listener::new(listener, most, of_peer), addr)
    }

    /// The answer to `sent`, on a connection of its own.
    async fn answer(sent: &[u8]) -> String {
        let (listener, addr) = listener(1, 1).await;
        let served = async {
            let (stream, _permit) = listener.accept().await.unwrap();
            let limits = ConnectionLimits::new(Duration::MAX, Duration::MAX).with_requests(1);
            let told = service_fn(async |_| Ok::<_, Infallible>(Response::new("told".to_owned())));
            let _ = connection(stream, told, &limits).await;
        };
        let asked = async {
            let mut stream = TcpStream::connect(addr).await.unwrap();
            // A server that does not read everything resets the connection.
            let _ = stream.write_all(sent).await;
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
            String::from_utf8(answer).unwrap()
        };
        tokio::join!(served, asked).1
    }

    #[tokio::test]
    async fn the_head_of_a_request_is_bounded() {
        let head = |lines: usize, bytes: usize| {
            let mut head = b"GET / HTTP/1.1\r\nHost: localhost\r\n".to_vec();
            let line = format!("x: {}\r\n", "y".repeat(bytes));
            head.extend(line.repeat(lines - 1).as_bytes());
            head.extend(b"\r\n");
            head
        };
        for (lines, bytes, status) in [
            (64, 9, 200),
            (65, 9, 431),
            (2, 31 << 10, 200),
            (2, 96 << 10, 431),
        ] {
            let told = answer(&head(lines, bytes)).await;
            let line = format!("HTTP/1.1 {status} ");
            assert!(told.starts_with(&line), "{lines} {bytes}: {told}");
        }
        let told = answer(&head(2, 1)).await;
        assert!(told.contains("connection: close\r\n"), "{told}");
    }

    /// Serves one connection whose requests are answered before they are read, and returns what
    /// `client` makes of it and how long the connection was served.
    async fn unread<T>(client: impl AsyncFnOnce(TcpStream) -> T) -> (T, Duration) {
        let (listener, addr) = listener(1, 1).await;
        let served = async {
            let (stream, _permit) = listener.accept().await.unwrap();
            let limits = ConnectionLimits::new(Duration::MAX, Duration::MAX);
            let told = service_fn(async |_| {
                let mut told = Response::new("told".to_owned());
                crate::end_unread(&mut told);
                Ok::<_, Infallible>(told)
            });
            let _ = connection(stream, told, &limits).await;
        };
        let asked = async { client(TcpStream::connect(addr).await.unwrap()).await };
        let began = std::time::Instant::now();
        let lasting = async {
            served.await;
            began.elapsed()
        };
        let (elapsed, told) = tokio::join!(lasting, asked);
        (told, elapsed)
    }

    fn head(length: usize) -> String {
        format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n")
    }

    #[tokio::test]
    async fn who_sends_all_of_a_large_body_before_it_reads_gets_the_answer() {
        const LENGTH: usize = 24 << 20;
        let (told, _) = unread(async |mut stream| {
            stream.write_all(head(LENGTH).as_bytes()).await.unwrap();
            stream.write_all(&vec![b'x'; LENGTH]).await.unwrap();
            let mut told = String::new();
            stream.read_to_string(&mut told).await.unwrap();
            told
        })
        .await;
        assert!(
            told.starts_with("HTTP/1.1 200 ") && told.ends_with("told"),
            "{told}"
        );
    }

    #[tokio::test]
    async fn the_rest_of_a_request_is_read_for_a_moment_alone() {
        // One that goes on sending, and one that neither sends nor ends.
        let (sent, _) = unread(async |mut stream| {
            stream
                .write_all(head(usize::MAX >> 1).as_bytes())
                .await
                .unwrap();
            let (some, mut sent) = (vec![b'x'; 1 << 16], 0);
            while stream.write_all(&some).await.is_ok() {
                sent += some.len();
            }
            sent
        })
        .await;
        // The buffers of the system take some megabytes besides.
        assert!(sent < 96 << 20, "{sent}");
        let (_stream, elapsed) = unread(async |mut stream| {
            stream.write_all(head(9).as_bytes()).await.unwrap();
            let mut told = String::new();
            stream.read_to_string(&mut told).await.unwrap();
            assert!(told.ends_with("told"), "{told}");
            stream
        })
        .await;
        assert!(elapsed < Duration::from_mins(1), "{elapsed:?}");
    }

    #[tokio::test]
    async fn writes_are_sent_at_once_and_no_address_takes_every_connection() {
        let (listener, addr) = listener(4, 2).await;
        let mut kept = Vec::new();
        for _ in 0..2 {
            let client = TcpStream::connect(addr).await.unwrap();
            let (stream, permit) = listener.accept().await.unwrap();
            assert!(stream.nodelay().unwrap());
            kept.push((client, stream, permit));
        }
        let mut third = TcpStream::connect(addr).await.unwrap();
        let mut byte = [0];
        tokio::select! {
            accepted = listener.accept() => panic!("{accepted:?}"),
            read = third.read(&mut byte) => assert!(matches!(read, Ok(0) | Err(_))),
        }
        kept.pop();
        let _fourth = TcpStream::connect(addr).await.unwrap();
        listener.accept().await.unwrap();
    }
}
