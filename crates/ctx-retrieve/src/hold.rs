//! What is held until all work that was begun has ended.
//!
//! A port may compute, and what computes does not end when nobody waits for its answer any more. Whoever bounds how
//! much runs at once gives what stands for it (a place, a permit) to a [`Hold`], and runs the work within it.
//! Everything that is begun there by [`Hold::spawn`] and [`Hold::spawn_blocking`] shares the hold, wherever it runs and
//! whoever has gone: it is let go when the last has ended. And whoever computes for long can ask [`is_awaited`] now and
//! then.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::{JoinError, JoinHandle};

tokio::task_local! {
    static CURRENT: Hold;
}

/// Held by all work that is done within it, and let go with the last of that. Clones are of one hold.
#[derive(Clone, Default)]
pub struct Hold {
    held: Vec<Arc<dyn Any + Send + Sync>>,
    abandoned: Option<Arc<Flag>>,
}

/// Whether nobody waits for some work, or for that which it is part of.
#[derive(Default)]
struct Flag {
    is_raised: AtomicBool,
    above: Option<Arc<Flag>>,
}

impl Flag {
    fn is_raised(&self) -> bool {
        let is_above = || self.above.as_ref().is_some_and(|it| it.is_raised());
        self.is_raised.load(Ordering::Relaxed) || is_above()
    }
}

/// Tells work, when it is dropped, that nobody waits for it any more.
pub struct Watch(Arc<Flag>);

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

    /// The same for work that somebody waits for as long as there is the watch.
    pub fn watched(self) -> (Hold, Watch) {
        let flag = Arc::new(Flag {
            is_raised: AtomicBool::new(false),
            above: self.abandoned.clone(),
        });
        let abandoned = Some(Arc::clone(&flag));
        (Hold { abandoned, ..self }, Watch(flag))
    }

    /// Does `work` within this.
    pub async fn within<F: Future>(self, work: F) -> F::Output {
        CURRENT.scope(self, work).await
    }

    /// Has a task of the runtime do `work` within this.
    pub fn spawn<T: Send + 'static>(
        self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        tokio::spawn(CURRENT.scope(self, work))
    }

    /// Has a thread that may block do `work` within this.
    pub fn spawn_blocking<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        tokio::task::spawn_blocking(move || CURRENT.sync_scope(self, work))
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
