//! Counts and times each request once: by its answer, by the outcome of its stream, or as one whose
//! caller went away.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::StatusCode;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

use crate::request::RequestInfo;
use crate::state::Shared;

/// A request to be counted. If it is dropped before, its caller did not wait for the answer.
pub(crate) struct Tally {
    app: Shared,
    asked: Arc<RequestInfo>,
    started: Instant,
    is_counted: bool,
}

impl Tally {
    /// Starts timing a request.
    pub(crate) fn begin(app: Shared, asked: Arc<RequestInfo>) -> Self {
        Tally {
            app,
            asked,
            started: Instant::now(),
            is_counted: false,
        }
    }

    /// Counts the request by the status of `response`; if that is a stream, when it ends.
    pub(crate) fn answered(mut self, mut response: Response) -> Response {
        match response.extensions_mut().remove::<Outcome>() {
            None => {
                self.count(response.status());
                response
            }
            Some(outcome) => response.map(|body| {
                Body::new(Tallied {
                    body,
                    tally: self,
                    outcome,
                })
            }),
        }
    }

    fn count(&mut self, status: StatusCode) {
        self.is_counted = true;
        let (took, status) = (self.started.elapsed(), status.as_u16());
        let (route, method) = (&*self.asked.route, self.asked.method);
        self.app.meter.request(route, method, status, took);
        let milliseconds = took.as_secs_f64() * 1_000.0;
        tracing::debug!(route, method, status, milliseconds, "answered");
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        if !self.is_counted {
            self.app.meter.gone(&self.asked.route, self.asked.method);
        }
    }
}

/// The outcome of a stream: the status of an equivalent answer without a stream. A response that
/// has it among its extensions is counted by it.
#[derive(Clone, Debug)]
pub(crate) struct Outcome(Arc<AtomicU16>);

impl Outcome {
    pub(crate) fn set(&self, status: StatusCode) {
        self.0.store(status.as_u16(), Ordering::Relaxed);
    }

    fn get(&self) -> StatusCode {
        let status = self.0.load(Ordering::Relaxed);
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl Default for Outcome {
    /// A stream that ends without an outcome has failed.
    fn default() -> Self {
        let failed = StatusCode::INTERNAL_SERVER_ERROR.as_u16();
        Outcome(Arc::new(AtomicU16::new(failed)))
    }
}

/// A stream whose request is counted when it ends. The end is only noticed when the stream is
/// polled for more and has none, not before.
struct Tallied {
    body: Body,
    tally: Tally,
    outcome: Outcome,
}

impl HttpBody for Tallied {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) && !this.tally.is_counted {
            this.tally.count(this.outcome.get());
        }
        polled
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
