//! How many calls are worked on at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::fault::Fault;

/// So many wait for each that is worked on.
const WAITING: usize = 4;

/// The turns of all connections of a server.
#[derive(Debug)]
pub(crate) struct Turns {
    places: Arc<Semaphore>,
    running: Arc<Semaphore>,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _place: OwnedSemaphorePermit,
    _running: OwnedSemaphorePermit,
}

impl Turns {
    /// `running` at once, and four times as many that wait.
    pub(crate) fn new(running: usize) -> Self {
        let running = running.clamp(1, Semaphore::MAX_PERMITS / (WAITING + 1));
        Turns {
            places: Arc::new(Semaphore::new(running * (WAITING + 1))),
            running: Arc::new(Semaphore::new(running)),
        }
    }

    /// Waits for a turn; whoever stops waiting gives the place back.
    ///
    /// # Errors
    /// Too many wait already.
    pub(crate) async fn take(&self) -> Result<Turn, Fault> {
        let too_many = || {
            Fault::new(
                "answer: too many calls are waiting already",
                "the same call again in a second, and fewer calls at once",
            )
        };
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| too_many())?;
        let running = Arc::clone(&self.running).acquire_owned().await;
        Ok(Turn {
            _place: place,
            _running: running.map_err(|_| too_many())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// Whether `take` is done at once, and how.
    fn poll(
        take: std::pin::Pin<&mut impl Future<Output = Result<Turn, Fault>>>,
    ) -> Poll<Result<Turn, Fault>> {
        take.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn some_run_some_wait_and_the_rest_is_refused() {
        let turns = Turns::new(2);
        let now = || match poll(pin!(turns.take())) {
            Poll::Ready(taken) => taken,
            Poll::Pending => Err(Fault::cancelled()),
        };
        let running = [now().unwrap(), now().unwrap()];
        let mut waiting: Vec<_> = (0..2 * WAITING).map(|_| Box::pin(turns.take())).collect();
        for take in &mut waiting {
            assert!(poll(take.as_mut()).is_pending());
        }
        let refused = now().unwrap_err();
        assert!(refused.to_string().contains("too many calls"), "{refused}");
        // One that was waiting goes: there is a place, and no turn.
        drop(waiting.pop());
        assert_eq!(now().unwrap_err(), Fault::cancelled());
        // A turn ends: it is that of whoever waited longest.
        drop(running);
        assert!(poll(waiting[0].as_mut()).is_ready());
        assert!(poll(waiting[1].as_mut()).is_ready());
    }
}
