//! Who may work, who waits, and who is turned away at once.
//!
//! A request takes a place when it is let in and gives it back when its work has ended, which for a request
//! that was dropped is when its work has noticed. So the work that runs is never more than was allowed,
//! however many callers lose patience.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Owner;

/// The places of one kind of work.
#[derive(Debug)]
pub(crate) struct Admission {
    places: Arc<Semaphore>,
    running: Arc<Semaphore>,
    owners: Mutex<BTreeMap<Owner, usize>>,
    /// The most places of one owner.
    share: usize,
}

/// There is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// For nobody.
    All,
    /// For this owner, who has its share.
    Owner,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    admission: Arc<Admission>,
    owner: Owner,
    _permit: OwnedSemaphorePermit,
}

impl Admission {
    /// `workers` run, `queue` wait, and one owner has at most `percent` of all these places.
    pub(crate) fn new(workers: usize, queue: usize, percent: usize) -> Self {
        let workers = workers.max(1);
        let places = workers + queue;
        Admission {
            places: Arc::new(Semaphore::new(places)),
            running: Arc::new(Semaphore::new(workers)),
            owners: Mutex::new(BTreeMap::new()),
            share: (places * percent.min(100)).div_ceil(100).max(1),
        }
    }

    /// Whether nobody would be let in now.
    pub(crate) fn is_full(&self) -> bool {
        self.places.available_permits() == 0
    }

    /// Lets one request of `owner` in.
    pub(crate) fn enter(self: &Arc<Self>, owner: &Owner) -> Result<Place, Full> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| Full::All)?;
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let held = owners.entry(owner.clone()).or_default();
        if *held >= self.share {
            return Err(Full::Owner);
        }
        *held += 1;
        Ok(Place {
            admission: Arc::clone(self),
            owner: owner.clone(),
            _permit: place,
        })
    }
}

impl Place {
    /// Waits for its turn.
    pub(crate) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.admission.running)
            .acquire_owned()
            .await
            .ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let owners = &self.admission.owners;
        let mut owners = owners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = owners.get_mut(&self.owner) {
            *held -= 1;
            if *held == 0 {
                owners.remove(&self.owner);
            }
        }
    }
}
