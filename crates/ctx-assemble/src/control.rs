//! Cancellation, the clock and the deadline of an assembly.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::AssembleError;

/// A flag that is raised once and seen through all its clones.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    raised: AtomicBool,
    parent: Option<Cancel>,
}

impl Cancel {
    /// Makes a flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a flag that also counts as raised when this one is; raising the child leaves this one
    /// as it is.
    #[must_use]
    pub fn child(&self) -> Self {
        Cancel(Arc::new(Flag {
            raised: AtomicBool::new(false),
            parent: Some(self.clone()),
        }))
    }

    /// Raises the flag.
    pub fn cancel(&self) {
        self.0.raised.store(true, Ordering::Relaxed);
    }

    /// Whether this flag or one of its ancestors was raised.
    pub fn is_cancelled(&self) -> bool {
        let mut flag = &self.0;
        loop {
            if flag.raised.load(Ordering::Relaxed) {
                return true;
            }
            match &flag.parent {
                Some(parent) => flag = &parent.0,
                None => return false,
            }
        }
    }

    /// Raises the flag when the guard is dropped: keep the guard in a future, and dropping the
    /// future ends the work.
    pub fn drop_guard(self) -> CancelGuard {
        CancelGuard(self)
    }
}

/// Raises its flag when it is dropped; see [`Cancel::drop_guard`].
#[derive(Debug)]
#[must_use = "dropping it raises the flag"]
pub struct CancelGuard(Cancel);

impl Drop for CancelGuard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl From<Cancel> for Control {
    /// Stops when the flag is raised; there is no deadline.
    fn from(cancel: Cancel) -> Self {
        Control::default().with_cancel(cancel)
    }
}

/// Reports the time since a moment of its own choice; never runs backwards.
///
/// The assembler reads no clock by itself: without one, build times are 0 and deadlines never come.
pub trait Clock: Send + Sync {
    /// The time since that moment.
    fn now(&self) -> Duration;
}

impl<F: Fn() -> Duration + Send + Sync> Clock for F {
    fn now(&self) -> Duration {
        self()
    }
}

/// How an assembly is controlled: when to stop, and the time.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Control {
    /// Raised to stop: the assembly then ends with [`AssembleError::Cancelled`] within 10 ms.
    pub cancel: Cancel,
    /// The clock, if there is one.
    pub clock: Option<Arc<dyn Clock>>,
    /// The time by that clock at which selection stops and returns its best answer so far.
    pub deadline: Option<Duration>,
    /// Whether all work is done by the calling thread, because other threads are needed elsewhere.
    /// The result is the same.
    pub one_thread: bool,
}

impl Control {
    /// Stops when `cancel` is raised.
    #[must_use]
    pub fn with_cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }

    /// Reads the time from `clock`.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Makes selection return its best answer so far when the clock reaches `deadline`.
    #[must_use]
    pub fn with_deadline(mut self, deadline: impl Into<Option<Duration>>) -> Self {
        self.deadline = deadline.into();
        self
    }

    /// Makes the calling thread do all work, or lets it share the work with others.
    #[must_use]
    pub fn with_one_thread(mut self, one_thread: bool) -> Self {
        self.one_thread = one_thread;
        self
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock
            .as_ref()
            .map_or(Duration::ZERO, |clock| clock.now())
    }

    /// Whether the deadline has passed, so that selection may have been cut short.
    pub fn is_late(&self) -> bool {
        self.clock.is_some() && self.deadline.is_some_and(|deadline| self.now() >= deadline)
    }

    /// Returns an error if the flag is raised.
    pub(crate) fn check(&self) -> Result<(), AssembleError> {
        if self.cancel.is_cancelled() {
            Err(AssembleError::Cancelled)
        } else {
            Ok(())
        }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control")
            .field("cancel", &self.cancel)
            .field("clock", &self.clock.as_ref().map(|clock| clock.now()))
            .field("deadline", &self.deadline)
            .field("one_thread", &self.one_thread)
            .finish()
    }
}
