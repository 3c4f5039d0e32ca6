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
    places: Arc<Semaphore>,
    running: Arc<Semaphore>,
}

/// A place among the calls that run or wait, until its last clone and its last turn are dropped.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    _place: Arc<OwnedSemaphorePermit>,
    running: Arc<Semaphore>,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _place: Place,
    _running: OwnedSemaphorePermit,
}

impl Turns {
    /// Lets `running` calls run at once, and four times as many wait.
    pub(crate) fn new(running: NonZeroUsize) -> Self {
        let running = running.get().min(Semaphore::MAX_PERMITS / (WAITING + 1));
        Turns {
            places: Arc::new(Semaphore::new(running * (WAITING + 1))),
            running: Arc::new(Semaphore::new(running)),
        }
    }

    /// Takes a place without waiting.
    ///
    /// # Errors
    /// Too many calls wait already.
    pub(crate) fn place(&self) -> Result<Place, Fault> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        Ok(Place {
            _place: Arc::new(place.map_err(|_| too_many())?),
            running: Arc::clone(&self.running),
        })
    }
}

impl Place {
    /// Waits for a turn, in the order of arrival.
    pub(crate) async fn turn(&self) -> Turn {
        let running = Arc::clone(&self.running).acquire_owned().await;
        Turn {
            _place: self.clone(),
            _running: running.expect("nothing closes it"),
        }
    }
}

fn too_many() -> Fault {
    Fault::new(
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
        let mut places: Vec<Place> = (0..10).map(|_| turns.place().unwrap()).collect();
        let refused = turns.place().unwrap_err();
        assert!(refused.to_string().contains("too many calls"), "{refused}");
        let mut asked: Vec<_> = places.iter().map(|it| Box::pin(it.turn())).collect();
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
        // A waiting call that leaves frees its place.
        assert!(turns.place().is_err());
        drop(places.pop());
        drop(turns.place().unwrap());
        // So does a call that ends, but not while it has a turn.
        places.clear();
        let free: Vec<Place> = std::iter::from_fn(|| turns.place().ok()).collect();
        assert_eq!(free.len(), 10 - 2, "{third:?} {running:?}");
    }
}
