//! How a caller stops an assembly, and tells it the time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::AssembleError;

/// A flag that is raised once, and seen by everything that holds a clone of it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    raised: AtomicBool,
    parent: Option<Cancel>,
}

impl Cancel {
    /// A flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// A flag that counts as raised when this one is; raising it leaves this one as it is.
    #[must_use]
    pub fn child(&self) -> Self {
        Cancel(Arc::new(Flag {
            raised: AtomicBool::new(false),
            parent: Some(self.clone()),
        }))
    }

    /// Raises it.
    pub fn cancel(&self) {
        self.0.raised.store(true, Ordering::Relaxed);
    }

    /// Whether it was raised, or one that it is a child of.
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

    /// Raises it when the guard is dropped: hold that in a future, and dropping the future ends the work.
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
    /// Stops when it is raised, and never before.
    fn from(cancel: Cancel) -> Self {
        Control::default().with_cancel(cancel)
    }
}

/// Tells the time since a moment of its own choice; never runs backwards.
///
/// The assembler reads no clock itself: without one, build times are 0 and deadlines never come.
pub trait Clock: Send + Sync {
    /// The time since that moment.
    fn now(&self) -> Duration;
}

impl<F: Fn() -> Duration + Send + Sync> Clock for F {
    fn now(&self) -> Duration {
        self()
    }
}

/// What an assembly is told besides its input: when to stop, and what time it is.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Control {
    /// Raised to stop: the assembly then ends with [`AssembleError::Cancelled`] within 10 ms.
    pub cancel: Cancel,
    /// Who tells the time.
    pub clock: Option<Arc<dyn Clock>>,
    /// The time, by that clock, at which selection returns the best answer it has.
    pub deadline: Option<Duration>,
    /// Whether all work is done by the thread that asks for it, because others have use for the rest. What comes of it
    /// is the same.
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

    /// Has selection return the best answer it has when the clock shows `deadline`.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Option<Duration>) -> Self {
        self.deadline = deadline;
        self
    }

    /// Has the thread that asks do all work, or shares it with others.
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

    /// Whether the deadline has come, and selection may have been cut short.
    pub fn is_late(&self) -> bool {
        self.clock.is_some() && self.deadline.is_some_and(|deadline| self.now() >= deadline)
    }

    /// An error when the flag is raised.
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
