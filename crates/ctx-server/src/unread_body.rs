//! The unread rest of a request body. A connection can only go on after the whole request was read
//! from it: a short rest is read and discarded; with a longer one the answer announces that the
//! connection ends, so that the client sends no further request on it. Then the connection goes on
//! reading for a moment, for clients that send everything before they read
//! ([`ctx_hosts::end_unread`]).

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

/// The most bytes of a rest that are read.
const LITTLE: u64 = 64 << 10;
/// How long an answer waits for the rest: a client that sends head and body one after the other has
/// the body on the way.
const SOON: Duration = Duration::from_millis(250);

/// The body of a request, of which the handler may have read all, a part or nothing.
pub(crate) struct UnreadBody {
    shared: SharedBody,
    /// Whether the client sends the body only once it is requested (`Expect`).
    is_asked_for: bool,
}

impl UnreadBody {
    /// Takes over the body of `request`; `None` if it has none, or if the HTTP version does not
    /// need the body to be read.
    pub(crate) fn of(request: &mut Request) -> Option<UnreadBody> {
        if request.body().is_end_stream() || request.version() > Version::HTTP_11 {
            return None;
        }
        let body = std::mem::take(request.body_mut());
        let is_over = false;
        let shared = SharedBody(Arc::new(Mutex::new(Read { body, is_over })));
        *request.body_mut() = Body::new(shared.clone());
        Some(UnreadBody {
            shared,
            is_asked_for: request.headers().contains_key(EXPECT),
        })
    }

    /// Reads the rest, waiting briefly for bytes still to come. Returns whether the connection can
    /// go on after an answer with these headers.
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

/// A body that two readers can read, one after the other.
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
