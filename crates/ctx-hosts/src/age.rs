//! How long a connection lasts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::header::CONNECTION;
use http::{HeaderMap, HeaderValue};

/// What one connection has left: so many requests, and so much time from its beginning. With the answer to the last it ends, so
/// that whoever holds one for ever comes to others, too.
#[derive(Debug)]
pub struct Age {
    left: AtomicUsize,
    /// `None` is never.
    ends: Option<Instant>,
}

impl Age {
    /// That of a connection that begins now. [`usize::MAX`] requests are as many as come, and [`Duration::MAX`] is for ever.
    pub fn new(requests: usize, time: Duration) -> Self {
        Age {
            left: AtomicUsize::new(requests),
            ends: Instant::now().checked_add(time),
        }
    }

    /// Counts a request; whether its answer is to be the last. A connection has its requests one after the other.
    pub fn is_last(&self) -> bool {
        let left = self.left.load(Ordering::Relaxed).saturating_sub(1);
        self.left.store(left, Ordering::Relaxed);
        left == 0 || self.ends.is_some_and(|it| Instant::now() >= it)
    }
}

/// Has a connection end with the answer of these headers.
pub fn end_with(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
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
