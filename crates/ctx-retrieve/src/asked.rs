//! Ports, asked side by side.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::hold::{Ended, Hold};
use crate::ports::{Answer, PortError};

/// What a port will have answered, and how long that took. Dropped, nobody waits for it.
pub type Asked<T> = Pin<Box<dyn Future<Output = (Answer<T>, Duration)> + Send>>;

/// Has `port` answer within `limit`. One that fails, panics or is late has no answer.
///
/// It begins at once, on one of the runtime's threads for what blocks, as a port may compute: on those that serve the
/// runtime, two of them would keep two threads from noticing that anything is late. One that computes beyond `limit` keeps
/// its thread until it next awaits something, or learns from [`is_awaited`](crate::is_awaited) that it need not go on.
///
/// Within work that is [alone](Hold::alone) it begins when it is awaited, on this thread, and `limit` counts from
/// then: what others of this work computed before is no time of its own. An answer that is there is taken, and one that computes on
/// beyond `limit` and does not ask whether it is awaited delays the others.
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
            let port = hold.until(start.checked_add(limit)).within(port);
            let answer = timeout(limit, AssertUnwindSafe(port).catch_unwind()).await;
            let took = start.elapsed();
            let answer = match answer {
                Ok(Ok(Err(_))) | Err(_) if took >= limit => late(),
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => ended(Ended::Panicked),
                Err(_) => late(),
            };
            (answer, took)
        });
    }
    let runtime = Handle::current();
    let (hold, watch) = hold.watched();
    let start = Instant::now();
    let answer = hold.blocking(move || {
        let start = Instant::now();
        let answer = runtime.block_on(async { timeout(limit, port).await });
        (answer.unwrap_or_else(|_| late()), start.elapsed())
    });
    Box::pin(async move {
        let _watch = watch;
        match timeout(limit.saturating_sub(start.elapsed()), answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(why)) => (ended(why), start.elapsed()),
            Err(_) => (late(), start.elapsed()),
        }
    })
}

fn late<T>() -> Answer<T> {
    Err(PortError("it was late".to_owned()))
}

fn ended<T>(why: Ended) -> Answer<T> {
    Err(PortError(why.to_string()))
}
