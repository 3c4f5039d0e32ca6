//! Ports, asked side by side.

use std::convert::Infallible;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::hold::{Ended, Hold};
use crate::ports::{Answer, PortError};

/// What a port will have answered, and how long that took. Dropped, nobody waits for it: what it awaits it awaits no
/// longer, and what computes learns of it from [`is_awaited`](crate::is_awaited).
pub type Asked<T> = Pin<Box<dyn Future<Output = (Answer<T>, Duration)> + Send>>;

/// Has `port` answer within `limit`. One that fails, panics or is late has no answer; nor has one that was told that
/// nobody waits for it, whatever it answers then. To be late is [transient](PortError::is_transient), to panic is not.
///
/// It begins at once, on one of the runtime's threads for what blocks, as a port may compute: on those that serve the
/// runtime, two of them would keep two threads from noticing that anything is late. It has that thread until it has answered or is
/// late; one that computes beyond `limit` keeps it until it next awaits something, or learns from
/// [`is_awaited`](crate::is_awaited) that it need not go on. One whose turn for a thread comes too late is not begun.
///
/// Within work that is [alone](Hold::alone) it begins when it is awaited, on this thread, and `limit` counts from
/// then: what others of this work computed before is no time of its own, but what they compute while it awaits something is.
/// An answer that is there is taken, and one that computes on beyond `limit` and does not ask whether it is awaited delays
/// the others.
///
/// Must be called on a tokio runtime.
pub fn ask<T: Send + 'static>(
    limit: Duration,
    port: impl Future<Output = Answer<T>> + Send + 'static,
) -> Asked<T> {
    let hold = Hold::current();
    if hold.is_alone() {
        return Box::pin(async move {
            let start = Instant::now();
            let (hold, watch) = hold.watched_until(start.checked_add(limit));
            let port = AssertUnwindSafe(hold.within(port)).catch_unwind();
            let answer = timeout(limit, port).await;
            let took = start.elapsed();
            let answer = match answer {
                // It may have answered less for having been told.
                Ok(Ok(_)) if watch.is_told() => late(),
                Ok(Ok(Err(_))) if took >= limit => late(),
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => ended(Ended::Panicked),
                Err(_) => late(),
            };
            (answer, took)
        });
    }
    let runtime = Handle::current();
    let (hold, watch) = hold.watched();
    // Closed when nobody waits any more.
    let (asker, gone) = oneshot::channel::<Infallible>();
    let start = Instant::now();
    let answer = hold.blocking(move || {
        let start = Instant::now();
        let answer = runtime.block_on(async {
            tokio::select! {
                biased;
                _ = gone => late(),
                answer = timeout(limit, port) => answer.unwrap_or_else(|_| late()),
            }
        });
        (answer, start.elapsed())
    });
    Box::pin(async move {
        let _waits = (watch, asker);
        match timeout(limit.saturating_sub(start.elapsed()), answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(why)) => (ended(why), start.elapsed()),
            Err(_) => (late(), start.elapsed()),
        }
    })
}

fn late<T>() -> Answer<T> {
    Err(PortError::new("it was late").for_now())
}

fn ended<T>(why: Ended) -> Answer<T> {
    Err(PortError::new(why))
}
