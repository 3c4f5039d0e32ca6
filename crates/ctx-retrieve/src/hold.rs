//! What is held until all work that was begun has ended.
//!
//! A port may compute, and what computes does not end when nobody waits for its answer any more. Whoever bounds how
//! much runs at once gives what stands for it (a place, a permit) to a [`Hold`], and runs the work within it.
//! Everything that is begun there by [`Hold::spawn`], [`Hold::blocking`] and [`ask`](crate::ask) shares the hold, wherever it
//! runs and whoever has gone: it is let go when the last has ended. And whoever computes for long can ask [`is_awaited`] now
//! and then.
//!
//! Work has threads of the runtime for what blocks, or is one thread's ([`Hold::alone`]): where every core has work anyway,
//! to hand each piece of it to another thread, and wait for that to wake, takes from all.

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
    static CURRENT: Hold;
}

/// Held by all work that is done within it, and let go with the last of that. Clones are of one hold.
#[derive(Clone, Default)]
pub struct Hold {
    held: Vec<Arc<dyn Any + Send + Sync>>,
    abandoned: Option<Arc<Flag>>,
    /// The thread that is the work's own, and may block.
    alone_on: Option<ThreadId>,
}

/// Whether nobody waits for some work, or for that which it is part of.
#[derive(Default)]
struct Flag {
    is_raised: AtomicBool,
    /// From then on nobody waits either.
    until: Option<Instant>,
    /// Somebody asked, and knows that nobody waits.
    is_told: AtomicBool,
    above: Option<Arc<Flag>>,
}

impl Flag {
    fn is_raised(&self) -> bool {
        let is_above = || self.above.as_ref().is_some_and(|it| it.is_raised());
        let is_over = || self.until.is_some_and(|it| Instant::now() >= it);
        let is_raised = self.is_raised.load(Ordering::Relaxed) || is_over() || is_above();
        if is_raised {
            self.is_told.store(true, Ordering::Relaxed);
        }
        is_raised
    }
}

/// Tells work, when it is dropped, that nobody waits for it any more.
pub struct Watch(Arc<Flag>);

impl Watch {
    /// Whether work within this asked, and was told that nobody waits: what it answers may be the less for it.
    pub(crate) fn is_told(&self) -> bool {
        self.0.is_told.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.is_raised.store(true, Ordering::Relaxed);
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hold").field(&self.held.len()).finish()
    }
}

impl Hold {
    /// That within which this runs; one of nothing where there is none.
    pub fn current() -> Self {
        CURRENT.try_with(Hold::clone).unwrap_or_default()
    }

    /// The same, with `held` too.
    #[must_use]
    pub fn with(mut self, held: impl Any + Send + Sync) -> Self {
        self.held.push(Arc::new(held));
        self
    }

    /// What of this type is held, the latest where there are several.
    pub fn held<T: Any>(&self) -> Option<&T> {
        let mut held = self.held.iter().rev();
        held.find_map(|it| (**it).downcast_ref())
    }

    /// The same for work that somebody waits for as long as there is the watch.
    pub fn watched(self) -> (Hold, Watch) {
        self.watched_until(None)
    }

    /// The same for work that nobody waits for from `until` on either; `None` is never.
    pub(crate) fn watched_until(self, until: Option<Instant>) -> (Hold, Watch) {
        let flag = Arc::new(Flag {
            until,
            above: self.abandoned,
            ..Flag::default()
        });
        let abandoned = Some(Arc::clone(&flag));
        (Hold { abandoned, ..self }, Watch(flag))
    }

    /// The same for work that goes on, whether or not anybody waits.
    #[must_use]
    pub fn unwatched(self) -> Hold {
        Hold {
            abandoned: None,
            ..self
        }
    }

    /// Whether this is work that is [alone](Hold::alone), and on its thread.
    pub fn is_alone(&self) -> bool {
        self.alone_on == Some(thread::current().id())
    }

    /// The same for work on another thread.
    fn elsewhere(self) -> Self {
        Hold {
            alone_on: None,
            ..self
        }
    }

    /// Does `work` within this.
    pub async fn within<F: Future>(self, work: F) -> F::Output {
        CURRENT.scope(self, work).await
    }

    /// Has one thread do all of `work` within this, with what it has done by [`Hold::blocking`] and what it asks of ports:
    /// one thing after another, in the order of their being awaited. What the ports await, they await side by side. Who asks
    /// whether it [is alone](Hold::is_alone) may keep to one thread as well.
    ///
    /// To go away does not end it: whoever may go has it [watched](Hold::watched).
    ///
    /// # Errors
    /// It panicked, or the runtime ends.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn alone<T: Send + 'static>(
        self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Ended> {
        let runtime = Handle::current();
        let work = move || {
            let hold = Hold {
                alone_on: Some(thread::current().id()),
                ..self
            };
            runtime.block_on(hold.within(work))
        };
        spawn_blocking(work).await.map_err(Ended::from)
    }

    /// Has a task of the runtime do `work` within this.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn spawn<T: Send + 'static>(
        self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        tokio::spawn(self.elsewhere().within(work))
    }

    /// Has a thread that may block do `work` within this. It begins at once, and to go away does not end it; within work that
    /// is [alone](Hold::alone) it is done by this thread when it is awaited, and not at all if it never is.
    ///
    /// # Errors
    /// It panicked, or the runtime ends.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn blocking<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, Ended>> + Send {
        if self.is_alone() {
            // What it has is its own, and is gone with it.
            let work = AssertUnwindSafe(move || CURRENT.sync_scope(self, work));
            // It may wait by the runtime, as on any thread for what blocks.
            let work = move || block_in_place(|| catch_unwind(work));
            return Either::Left(async { work().map_err(|_| Ended::Panicked) });
        }
        let hold = self.elsewhere();
        let done = spawn_blocking(move || CURRENT.sync_scope(hold, work));
        Either::Right(async { done.await.map_err(Ended::from) })
    }
}

/// Whether somebody still waits for what is being done here, as far as is known. False for a port whose answer would be
/// late, and for one whose caller has gone: what it answers then is looked at by nobody.
pub fn is_awaited() -> bool {
    let is_raised = |it: &Hold| it.abandoned.as_ref().is_some_and(|it| it.is_raised());
    !CURRENT.try_with(is_raised).unwrap_or(false)
}

/// Why a thread or a task ended before its work did. What a panic says is not kept: it may quote a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Ended {
    /// It panicked.
    #[error("it panicked")]
    Panicked,
    /// It was not begun, or not let finish: the program ends.
    #[error("it was cancelled")]
    Cancelled,
}

impl From<JoinError> for Ended {
    fn from(error: JoinError) -> Self {
        if error.is_panic() {
            Ended::Panicked
        } else {
            Ended::Cancelled
        }
    }
}
