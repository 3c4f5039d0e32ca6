//! Asks the caller, now and then, whether to go on.

use crate::Poll;

/// Steps between two questions. A step is an item looked at or a state made: well under a
/// microsecond.
const EVERY: usize = 1_000;

/// Why work stops early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// With the best answer so far.
    Finish,
    /// With none.
    Cancel,
}

/// Counts steps and asks every [`EVERY`] of them.
pub(crate) struct Ticker<'a> {
    poll: &'a mut dyn FnMut() -> Poll,
    steps: usize,
}

impl<'a> Ticker<'a> {
    pub(crate) fn new(poll: &'a mut dyn FnMut() -> Poll) -> Self {
        Ticker { poll, steps: 0 }
    }

    /// Takes `steps` steps.
    #[inline]
    pub(crate) fn tick(&mut self, steps: usize) -> Result<(), Stop> {
        self.steps += steps;
        if self.steps < EVERY {
            return Ok(());
        }
        self.ask()
    }

    /// Takes `steps` steps of work that an early answer needs too: only a cancel stops it.
    pub(crate) fn tick_on(&mut self, steps: usize) -> Result<(), Stop> {
        match self.tick(steps) {
            Err(Stop::Finish) => Ok(()),
            other => other,
        }
    }

    /// Asks now.
    fn ask(&mut self) -> Result<(), Stop> {
        self.steps = 0;
        match (self.poll)() {
            Poll::Continue => Ok(()),
            Poll::Finish => Err(Stop::Finish),
            Poll::Cancel => Err(Stop::Cancel),
        }
    }
}
