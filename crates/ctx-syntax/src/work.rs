//! Counts the work of a parse and its queries, and stops them at their limits.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::{Fallback, Limits};

/// The time is read every this many steps, because reading it costs a part of a step.
const LOOK: u64 = 8;

/// If [`LOOK`] steps take at least this long, the time is read at every step: some texts make
/// single steps long.
const SOON: Duration = Duration::from_millis(4);

/// Work done so far, and its limits.
pub(crate) struct Work {
    steps: u64,
    limits: Limits,
    began: Duration,
    looked: Duration,
    /// The step at which the time is read next.
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

    /// Counts a step, and breaks if a limit is reached.
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

    /// Stops work that grows without end.
    pub(crate) fn give_up(&mut self) {
        let limit = self.limits.steps;
        self.stopped = Some(Fallback::TooMuchWork { limit });
    }

    /// Why the work was stopped, if it was.
    pub(crate) fn result(&self) -> Result<(), Fallback> {
        self.stopped.map_or(Ok(()), Err)
    }
}

/// The processor time of this thread, to which other processes do not add.
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
