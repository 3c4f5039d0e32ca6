//! A scope for work, which ends with the last task spawned in it.
//!
//! A port may compute, and a computation does not end when its answer is no longer awaited. To
//! limit how much runs at once, add a permit to a [`TaskScope`], and run the work within it.
//! Everything started there by [`TaskScope::spawn`], [`TaskScope::blocking`] and
//! [`call_port`](crate::call_port) shares the scope, on any thread and even after the caller has
//! gone: the permit is dropped when the last of it has ended. Long computations can poll
//! [`is_awaited`].
//!
//! Blocking work runs on threads of the runtime, or all on one thread
//! ([`TaskScope::on_one_thread`]): when all cores are busy anyway, handing each piece of work to
//! another thread and waiting for it to wake costs more than it gains.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};
use std::time::Instant;

use futures_util::future::Either;
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle, block_in_place, spawn_blocking};

tokio::task_local! {
    static CURRENT: TaskScope;
}

/// A scope shared by a request and every task it spawns. Values added with [`TaskScope::with`]
/// (permits) are dropped when the last of these tasks ends, not when the request does. Clones share
/// one scope.
#[derive(Clone, Default)]
pub struct TaskScope {
    held: Vec<Arc<dyn Any + Send + Sync>>,
    abandoned: Option<Arc<Flag>>,
    /// The only thread of the work, which may block; see [`TaskScope::on_one_thread`].
    only_thread: Option<ThreadId>,
}

/// Whether some work, or the work around it, is no longer awaited.
#[derive(Default)]
struct Flag {
    is_raised: AtomicBool,
    /// The time from which it is no longer awaited either.
    until: Option<Instant>,
    /// Whether the work has polled the flag and learned that it is no longer awaited.
    is_observed: AtomicBool,
    above: Option<Arc<Flag>>,
}

impl Flag {
    fn is_raised(&self) -> bool {
        let is_above = || self.above.as_ref().is_some_and(|it| it.is_raised());
        let is_over = || self.until.is_some_and(|it| Instant::now() >= it);
        let is_raised = self.is_raised.load(Ordering::Relaxed) || is_over() || is_above();
        if is_raised {
            self.is_observed.store(true, Ordering::Relaxed);
        }
        is_raised
    }
}

/// Marks work as no longer awaited when it is dropped.
pub struct ScopeGuard(Arc<Flag>);

impl ScopeGuard {
    /// Whether work in this scope has learned that it is no longer awaited: its answer may be
    /// incomplete then.
    pub(crate) fn is_observed(&self) -> bool {
        self.0.is_observed.load(Ordering::Relaxed)
    }
}

impl Drop for ScopeGuard {
    fn drop(&mut self) {
        self.0.is_raised.store(true, Ordering::Relaxed);
    }
}

impl fmt::Debug for ScopeGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScopeGuard")
    }
}

impl fmt::Debug for TaskScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskScope").field(&self.held.len()).finish()
    }
}

impl TaskScope {
    /// The scope within which this code runs; an empty one if there is none.
    pub fn current() -> Self {
        CURRENT.try_with(TaskScope::clone).unwrap_or_default()
    }

    /// Adds `held` to the scope.
    #[must_use]
    pub fn with(mut self, held: impl Any + Send + Sync) -> Self {
        self.held.push(Arc::new(held));
        self
    }

    /// The value of type `T` in the scope; the latest of several.
    pub fn held<T: Any>(&self) -> Option<&T> {
        let mut held = self.held.iter().rev();
        held.find_map(|it| (**it).downcast_ref())
    }

    /// A scope for work that is awaited until the returned [`ScopeGuard`] is dropped.
    pub fn cancel_on_drop(self) -> (TaskScope, ScopeGuard) {
        self.cancel_on_drop_or_at(None)
    }

    /// Like [`TaskScope::cancel_on_drop`], for work that is no longer awaited from `until` on
    /// either; `None` is never.
    pub(crate) fn cancel_on_drop_or_at(self, until: Option<Instant>) -> (TaskScope, ScopeGuard) {
        let flag = Arc::new(Flag {
            until,
            above: self.abandoned,
            ..Flag::default()
        });
        let abandoned = Some(Arc::clone(&flag));
        (TaskScope { abandoned, ..self }, ScopeGuard(flag))
    }

    /// A scope for work that continues whether it is awaited or not.
    #[must_use]
    pub fn detached(self) -> TaskScope {
        TaskScope {
            abandoned: None,
            ..self
        }
    }

    /// Whether this code runs within [`TaskScope::on_one_thread`], on its thread.
    pub fn is_on_one_thread(&self) -> bool {
        self.only_thread == Some(thread::current().id())
    }

    /// The scope for work on other threads.
    fn elsewhere(self) -> Self {
        TaskScope {
            only_thread: None,
            ..self
        }
    }

    /// Runs `work` within this scope.
    pub async fn within<F: Future>(self, work: F) -> F::Output {
        CURRENT.scope(self, work).await
    }

    /// Runs `work` on one blocking thread, including what it starts with [`TaskScope::blocking`]
    /// and its port calls, in the order in which they are awaited. Asynchronous waits of ports
    /// still overlap. Code can check [`TaskScope::is_on_one_thread`] to keep to one thread, too.
    ///
    /// Dropping the future does not stop the work; use [`TaskScope::cancel_on_drop`] for that.
    ///
    /// # Errors
    /// The work panicked, or the runtime is shutting down.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn on_one_thread<T: Send + 'static>(
        self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, TaskFailed> {
        let runtime = Handle::current();
        let work = move || {
            let scope = TaskScope {
                only_thread: Some(thread::current().id()),
                ..self
            };
            runtime.block_on(scope.within(work))
        };
        spawn_blocking(work).await.map_err(TaskFailed::from)
    }

    /// Spawns `work` as a task of the runtime, within this scope.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn spawn<T: Send + 'static>(
        self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        tokio::spawn(self.elsewhere().within(work))
    }

    /// Runs `work` on a thread that may block, within this scope. It starts at once, and dropping
    /// the future does not stop it. Within [`TaskScope::on_one_thread`], it runs on the current
    /// thread when the future is awaited, and not at all if it never is.
    ///
    /// # Errors
    /// The work panicked, or the runtime is shutting down.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn blocking<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, TaskFailed>> + Send {
        if self.is_on_one_thread() {
            // Values that the closure owns are gone after a panic, so nothing broken is observed.
            let work = AssertUnwindSafe(move || CURRENT.sync_scope(self, work));
            // The work may block on the runtime, as on any blocking thread.
            let work = move || block_in_place(|| catch_unwind(work));
            return Either::Left(async { work().map_err(|_| TaskFailed::Panicked) });
        }
        let scope = self.elsewhere();
        let done = spawn_blocking(move || CURRENT.sync_scope(scope, work));
        Either::Right(async { done.await.map_err(TaskFailed::from) })
    }
}

/// Whether the result of this code is still awaited, as far as is known. False in a port whose
/// deadline has passed, and in one whose caller has gone: its answer will be discarded.
pub fn is_awaited() -> bool {
    let is_raised = |it: &TaskScope| it.abandoned.as_ref().is_some_and(|it| it.is_raised());
    !CURRENT.try_with(is_raised).unwrap_or(false)
}

/// Why a thread or a task ended before its work did. The panic message is not kept: it may quote a
/// text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TaskFailed {
    /// The work panicked.
    #[error("it panicked")]
    Panicked,
    /// The work was not started or not finished, since the runtime is shutting down.
    #[error("it was cancelled")]
    Cancelled,
}

impl From<JoinError> for TaskFailed {
    fn from(error: JoinError) -> Self {
        if error.is_panic() {
            TaskFailed::Panicked
        } else {
            TaskFailed::Cancelled
        }
    }
}
