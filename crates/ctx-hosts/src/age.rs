//! The lifetime of a connection.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::header::CONNECTION;
use http::{HeaderMap, HeaderValue, Response};

/// What is left of one connection: a number of requests, and a time from its beginning. It ends
/// with the answer to the last request, so that no client can hold a connection forever.
#[derive(Debug)]
pub struct Age {
    left: AtomicUsize,
    /// When the connection expires; `None` means never.
    ends: Option<Instant>,
}

impl Age {
    /// The limits of a connection that begins now. [`usize::MAX`] requests mean any number, and
    /// [`Duration::MAX`] means forever.
    pub fn new(requests: usize, time: Duration) -> Self {
        Age {
            left: AtomicUsize::new(requests),
            ends: Instant::now().checked_add(time),
        }
    }

    /// Counts a request, and returns whether its answer must be the last. A connection has one
    /// request at a time.
    pub fn is_last(&self) -> bool {
        let left = self.left.load(Ordering::Relaxed).saturating_sub(1);
        self.left.store(left, Ordering::Relaxed);
        left == 0 || self.ends.is_some_and(|it| Instant::now() >= it)
    }
}

/// Makes a connection end with the answer that has these headers.
pub(crate) fn end_with(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
}

/// Says that an answer comes before its request was read to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unread;

/// Makes a connection end with `answer`, which comes before its request was read to its end: what
/// the client still sends is read and discarded for up to two seconds, so that the client gets the
/// answer also if it sends everything before it reads.
pub fn end_unread<B>(answer: &mut Response<B>) {
    end_with(answer.headers_mut());
    answer.extensions_mut().insert(Unread);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_ends_with_its_last_request_or_its_time() {
        let is_last = |age: &Age| [age.is_last(), age.is_last(), age.is_last()];
        let few = Age::new(2, Duration::MAX);
        assert_eq!(is_last(&few), [false, true, true]);
        let short = Age::new(usize::MAX, Duration::ZERO);
        assert_eq!(is_last(&short), [true; 3]);
        let long = Age::new(usize::MAX, Duration::from_mins(10));
        assert_eq!(is_last(&long), [false; 3]);
        assert!(Age::new(0, Duration::MAX).is_last());
    }
}
