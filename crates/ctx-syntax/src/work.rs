//! How much a parse and its queries do, and what stops them.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::{Fallback, Limits};

/// The time is looked at every so many steps: asking for it takes a part of one.
const LOOK: u64 = 8;

/// So many steps take less, or each of them is looked at: there are texts that make one step long.
const SOON: Duration = Duration::from_millis(4);

/// What was done within its limits.
pub(crate) struct Work {
    steps: u64,
    limits: Limits,
    began: Duration,
    looked: Duration,
    /// The step at which the time is looked at next.
    look: u64,
    stopped: Option<Fallback>,
}

impl Work {
    pub(crate) fn new(limits: &Limits) -> Self {
        let began = time();
        Work {
            steps: 0,
            limits: *limits,
            began,
            looked: began,
            look: 1,
            stopped: None,
        }
    }

    pub(crate) fn is_late(&mut self) -> bool {
        let now = time();
        let is_soon = now.saturating_sub(self.looked) < SOON;
        self.look = self.steps + if is_soon { LOOK } else { 1 };
        self.looked = now;
        now.saturating_sub(self.began) >= self.limits.time
    }

    /// Takes a step, if one is left.
    pub(crate) fn step(&mut self) -> ControlFlow<()> {
        self.steps += 1;
        let limit = self.limits.steps;
        if self.steps > limit {
            self.stopped = Some(Fallback::TooMuchWork { limit });
        } else if self.steps >= self.look && self.is_late() {
            self.stopped = Some(Fallback::TooSlow);
        } else {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(())
    }

    /// Why it was stopped, if it was.
    pub(crate) fn result(&self) -> Result<(), Fallback> {
        self.stopped.map_or(Ok(()), Err)
    }
}

/// The time that this thread has had of a processor: what others do on the machine does not add to it.
#[cfg(unix)]
fn time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// The time by the clock.
#[cfg(not(unix))]
fn time() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    BEGAN.get_or_init(Instant::now).elapsed()
}
