//! Polls the caller from time to time whether to continue.

use crate::Poll;

/// Steps between two polls. A step is an item looked at or a state made: well under a microsecond.
const EVERY: usize = 1_000;

/// Why work stops early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Stop with the best answer so far.
    Finish,
    /// Stop without an answer.
    Cancel,
}

/// Counts steps and polls after every [`EVERY`] of them.
pub(crate) struct Ticker<'a> {
    poll: &'a mut dyn FnMut() -> Poll,
    steps: usize,
    /// The steps before the last poll.
    asked: usize,
    /// The furthest that a poll went: what says stop once may say continue again.
    told: Poll,
}

impl<'a> Ticker<'a> {
    pub(crate) fn new(poll: &'a mut dyn FnMut() -> Poll) -> Self {
        Ticker {
            poll,
            steps: 0,
            asked: 0,
            told: Poll::Continue,
        }
    }

    /// Polls at once, whatever the steps so far. What was told once holds.
    pub(crate) fn poll(&mut self) -> Poll {
        if self.told != Poll::Cancel {
            let polled = (self.poll)();
            if polled != Poll::Continue {
                self.told = polled;
            }
        }
        self.told
    }

    /// The number of steps so far.
    pub(crate) fn steps(&self) -> usize {
        self.asked + self.steps
    }

    /// Counts `steps` steps of optional work, which a deadline stops.
    #[inline]
    pub(crate) fn tick(&mut self, steps: usize) -> Result<(), Stop> {
        self.tick_on(steps)?;
        self.in_time()
    }

    /// Counts `steps` steps of work that every answer needs: only a cancellation stops it.
    #[inline]
    pub(crate) fn tick_on(&mut self, steps: usize) -> Result<(), Stop> {
        self.steps += steps;
        if self.steps < EVERY {
            return Ok(());
        }
        self.asked += std::mem::take(&mut self.steps);
        match self.poll() {
            Poll::Continue | Poll::Finish => Ok(()),
            Poll::Cancel => Err(Stop::Cancel),
        }
    }

    /// Whether there is time for optional work. Once late, it stays late.
    #[inline]
    pub(crate) fn in_time(&self) -> Result<(), Stop> {
        match self.told {
            Poll::Continue => Ok(()),
            Poll::Finish => Err(Stop::Finish),
            Poll::Cancel => Err(Stop::Cancel),
        }
    }
}
