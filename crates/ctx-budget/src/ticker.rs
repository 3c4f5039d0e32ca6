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
    /// Those before.
    asked: usize,
    late: bool,
}

impl<'a> Ticker<'a> {
    pub(crate) fn new(poll: &'a mut dyn FnMut() -> Poll) -> Self {
        Ticker {
            poll,
            steps: 0,
            asked: 0,
            late: false,
        }
    }

    /// All steps so far.
    pub(crate) fn steps(&self) -> usize {
        self.asked + self.steps
    }

    /// Takes `steps` steps of work that may be left undone.
    #[inline]
    pub(crate) fn tick(&mut self, steps: usize) -> Result<(), Stop> {
        self.tick_on(steps)?;
        self.in_time()
    }

    /// Takes `steps` steps of work that every answer needs: only a cancel stops it.
    #[inline]
    pub(crate) fn tick_on(&mut self, steps: usize) -> Result<(), Stop> {
        self.steps += steps;
        if self.steps < EVERY {
            return Ok(());
        }
        self.asked += std::mem::take(&mut self.steps);
        match (self.poll)() {
            Poll::Continue => {}
            Poll::Finish => self.late = true,
            Poll::Cancel => return Err(Stop::Cancel),
        }
        Ok(())
    }

    /// Whether there is time for more than what every answer needs. Once late is late for good.
    #[inline]
    pub(crate) fn in_time(&self) -> Result<(), Stop> {
        if self.late { Err(Stop::Finish) } else { Ok(()) }
    }
}
