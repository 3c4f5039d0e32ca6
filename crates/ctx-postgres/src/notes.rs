//! Notes: writes that may be lost, and that must not keep others from the database.

use std::future::Future;

use tokio::sync::Semaphore;

/// Of this many connections notes use one.
const SHARE: usize = 4;
/// The most notes that wait for such a connection.
const WAITING: usize = 64;

/// The notes of a process that are being written, and those that wait.
#[derive(Debug)]
pub(crate) struct Notes {
    places: Semaphore,
    turns: Semaphore,
}

impl Notes {
    /// Notes in a pool of this many connections.
    pub(crate) fn new(connections: usize) -> Self {
        let at_once = (connections / SHARE).max(1);
        Notes {
            places: Semaphore::new(at_once + WAITING),
            turns: Semaphore::new(at_once),
        }
    }

    /// Runs `note` in its turn. `None`, without running it, if too many wait already.
    pub(crate) async fn in_turn<T>(&self, note: impl Future<Output = T>) -> Option<T> {
        let _place = self.places.try_acquire().ok()?;
        let _turn = self.turns.acquire().await.ok()?;
        Some(note.await)
    }
}
