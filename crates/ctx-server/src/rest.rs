//! What is left of a body that was answered before it was read. A connection cannot go on before the whole of a request was read from it:
//! a little is read off, and with more to come the answer says that the connection ends, so that nobody sends another request on it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::{CONNECTION, EXPECT};
use axum::http::{HeaderMap, Version};
use http_body_util::BodyExt as _;
use hyper::body::{Frame, SizeHint};

/// So many bytes are read off at most.
const LITTLE: u64 = 64 << 10;
/// An answer waits so long for them: who sends a head and its body one after the other has them on the way.
const SOON: Duration = Duration::from_millis(250);

/// The body of a request, which whoever answers that may read or not.
pub(crate) struct Rest {
    shared: SharedBody,
    /// Whether it is sent once it is asked for.
    is_asked_for: bool,
}

impl Rest {
    /// That of `request`, if it has one, and the connection is its own until it was read.
    pub(crate) fn of(request: &mut Request) -> Option<Rest> {
        if request.body().is_end_stream() || request.version() > Version::HTTP_11 {
            return None;
        }
        let body = std::mem::take(request.body_mut());
        let is_over = false;
        let shared = SharedBody(Arc::new(Mutex::new(Read { body, is_over })));
        *request.body_mut() = Body::new(shared.clone());
        Some(Rest {
            shared,
            is_asked_for: request.headers().contains_key(EXPECT),
        })
    }

    /// Reads the rest off; whether the connection can go on behind an answer of these headers. Waits a little for what is still to come.
    pub(crate) async fn read_off(mut self, headers: &HeaderMap) -> bool {
        let left = {
            let read = self.shared.lock();
            if read.is_over || read.body.is_end_stream() {
                return true;
            }
            read.body.size_hint()
        };
        let is_little = left.upper().unwrap_or(left.lower()) <= LITTLE;
        let is_last = headers.contains_key(CONNECTION);
        if self.is_asked_for || is_last || !is_little {
            return false;
        }
        let off = async {
            let mut bytes = 0;
            while let Some(frame) = self.shared.frame().await {
                let Ok(frame) = frame else { return false };
                let data = frame.data_ref().map_or(0, Bytes::len);
                bytes += data as u64;
                if bytes > LITTLE {
                    return false;
                }
            }
            true
        };
        tokio::time::timeout(SOON, off).await.unwrap_or(false)
    }
}

/// A body that two may read, one after the other.
#[derive(Clone)]
struct SharedBody(Arc<Mutex<Read>>);

struct Read {
    body: Body,
    /// Whether its end was read.
    is_over: bool,
}

impl SharedBody {
    fn lock(&self) -> MutexGuard<'_, Read> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpBody for SharedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut read = self.lock();
        let polled = Pin::new(&mut read.body).poll_frame(cx);
        read.is_over |= matches!(polled, Poll::Ready(None));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.lock().body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.lock().body.size_hint()
    }
}
