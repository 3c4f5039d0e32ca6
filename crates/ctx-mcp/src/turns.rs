//! A limit on how many calls run at once.

use std::num::NonZeroUsize;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::fault::Fault;

/// How many calls may wait, per call that runs.
const WAITING: usize = 4;

/// The turns of all connections of a server.
#[derive(Debug)]
pub(crate) struct Turns {
    slots: Arc<Semaphore>,
    running: Arc<Semaphore>,
}

/// A slot among the calls that run or wait, until its last clone and its last turn are dropped.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    _slot: Arc<OwnedSemaphorePermit>,
    running: Arc<Semaphore>,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _slot: Slot,
    _running: OwnedSemaphorePermit,
}

impl Turns {
    /// Lets `running` calls run at once, and four times as many wait.
    pub(crate) fn new(running: NonZeroUsize) -> Self {
        let running = running.get().min(Semaphore::MAX_PERMITS / (WAITING + 1));
        Turns {
            slots: Arc::new(Semaphore::new(running * (WAITING + 1))),
            running: Arc::new(Semaphore::new(running)),
        }
    }

    /// Takes a slot without waiting.
    ///
    /// # Errors
    /// Too many calls wait already.
    pub(crate) fn slot(&self) -> Result<Slot, Fault> {
        let slot = Arc::clone(&self.slots).try_acquire_owned();
        Ok(Slot {
            _slot: Arc::new(slot.map_err(|_| too_many())?),
            running: Arc::clone(&self.running),
        })
    }
}

impl Slot {
    /// Waits for a turn, in the order of arrival.
    pub(crate) async fn turn(&self) -> Turn {
        let running = Arc::clone(&self.running).acquire_owned().await;
        Turn {
            _slot: self.clone(),
            _running: running.expect("nothing closes it"),
        }
    }
}

fn too_many() -> Fault {
    Fault::refused(
        "answer: too many calls are waiting already",
        "the same call again in a second, and fewer calls at once",
    )
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// The turn, if it is available at once.
    fn poll(turn: Pin<&mut impl Future<Output = Turn>>) -> Option<Turn> {
        match turn.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    #[test]
    fn some_run_some_wait_and_the_rest_is_refused() {
        let turns = Turns::new(NonZeroUsize::new(2).unwrap());
        let mut slots: Vec<Slot> = (0..10).map(|_| turns.slot().unwrap()).collect();
        let refused = turns.slot().unwrap_err();
        assert!(refused.to_string().contains("too many calls"), "{refused}");
        let mut asked: Vec<_> = slots.iter().map(|it| Box::pin(it.turn())).collect();
        let mut running: Vec<Turn> = asked
            .iter_mut()
            .filter_map(|it| poll(it.as_mut()))
            .collect();
        assert_eq!(running.len(), 2);
        // A turn ends: the next goes to the call that has waited longest, and to no other.
        drop(running.pop());
        assert!(poll(asked[3].as_mut()).is_none());
        let third = poll(asked[2].as_mut()).unwrap();
        assert!(poll(asked[3].as_mut()).is_none());
        drop(asked);
        // A waiting call that leaves frees its slot.
        assert!(turns.slot().is_err());
        drop(slots.pop());
        drop(turns.slot().unwrap());
        // So does a call that ends, but not while it has a turn.
        slots.clear();
        let free: Vec<Slot> = std::iter::from_fn(|| turns.slot().ok()).collect();
        assert_eq!(free.len(), 10 - 2, "{third:?} {running:?}");
    }
}
