//! Calls ports in parallel.

use std::convert::Infallible;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::ports::{PortError, PortResult};
use crate::scope::{TaskFailed, TaskScope};

/// A pending port call: its answer and how long it took. Dropping it cancels the call: asynchronous
/// waits end, and code that computes can see it through [`is_awaited`](crate::is_awaited).
pub type PortCall<T> = Pin<Box<dyn Future<Output = (PortResult<T>, Duration)> + Send>>;

/// Calls `port`, which must answer within `limit`. If it fails, panics or is late, the answer is an
/// error; so it is if the port has learned that it is no longer awaited, whatever it answers then.
/// Being late is [transient](PortError::is_transient), a panic is not.
///
/// The call starts at once, on one of the runtime's blocking threads, since a port may compute: on
/// the threads that drive the runtime, two computing ports could keep two threads from noticing any
/// deadline. It occupies that thread until it has answered or is late; a port that computes beyond
/// `limit` occupies it until it next awaits something, or learns from
/// [`is_awaited`](crate::is_awaited) that it need not continue. A call that gets no thread in time
/// is not started.
///
/// Within [`TaskScope::on_one_thread`], the call starts when it is awaited, on the current thread,
/// and `limit` counts from then: computations of other calls before that do not count, but those
/// during its waits do. An answer that is ready is accepted, and a port that computes beyond
/// `limit` without polling `is_awaited` delays the others.
///
/// # Panics
/// Outside a tokio runtime.
pub fn call_port<T: Send + 'static>(
    limit: Duration,
    port: impl Future<Output = PortResult<T>> + Send + 'static,
) -> PortCall<T> {
    let scope = TaskScope::current();
    if scope.is_on_one_thread() {
        return Box::pin(async move {
            let start = Instant::now();
            let (scope, guard) = scope.cancel_on_drop_or_at(start.checked_add(limit));
            let port = AssertUnwindSafe(scope.within(port)).catch_unwind();
            let answer = timeout(limit, port).await;
            let took = start.elapsed();
            let answer = match answer {
                // Its answer may be incomplete once it has learned that.
                Ok(Ok(_)) if guard.is_observed() => late(),
                Ok(Ok(Err(_))) if took >= limit => late(),
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => ended(TaskFailed::Panicked),
                Err(_) => late(),
            };
            (answer, took)
        });
    }
    let runtime = Handle::current();
    let (scope, guard) = scope.cancel_on_drop();
    // Closed when the call is no longer awaited.
    let (asker, gone) = oneshot::channel::<Infallible>();
    let start = Instant::now();
    let answer = scope.blocking(move || {
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
        let _waits = (guard, asker);
        match timeout(limit.saturating_sub(start.elapsed()), answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(why)) => (ended(why), start.elapsed()),
            Err(_) => (late(), start.elapsed()),
        }
    })
}

fn late<T>() -> PortResult<T> {
    Err(PortError::new("it took too long").transient())
}

fn ended<T>(why: TaskFailed) -> PortResult<T> {
    Err(PortError::new(why))
}
