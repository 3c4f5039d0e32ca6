//! A bounded pool of open owners' folders.
//!
//! Each owner has a slot, which holds its folder while that is open. Opening and closing a folder
//! requires its slot, so one owner's folder is never open twice, and only requests for that owner
//! wait for it. Both take as long as the disk does; neither runs on a thread of the runtime, nor
//! while holding a lock that others need.
//!
//! The number of folders in use is limited to the number that stay open. Each folder in use has a
//! place, shared by all its users, so a request for a folder that is already in use never waits. A
//! request that waits for a place holds nothing of its owner meanwhile, and so every open folder
//! either has a place or can be closed. The exception is a folder that is open only because
//! something is still written behind an answer: it has no place that others could wait for.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use ctx_retrieve::{TaskFailed, TaskScope};
use tokio::sync::{Mutex as Slot, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, spawn_blocking};

use super::blocking;
use super::database::Result;
use crate::Owner;
use crate::backend::BackendError;

/// Open folders, as `T`, by owner.
pub(super) struct Folders<T> {
    all: Arc<Mutex<All<T>>>,
    /// How many folders stay open.
    most: usize,
    /// The places of folders in use, as many as stay open.
    places: Arc<Semaphore>,
    /// Limits how many folders are opened at once: each is read completely.
    opening: Arc<Semaphore>,
}

struct All<T> {
    slots: BTreeMap<Owner, Used<T>>,
    /// How many folders are open or being opened, without those being closed.
    open: usize,
    clock: u64,
}

/// A folder in use, which stays open until this is dropped.
pub(super) struct InUse<T> {
    // Fields are dropped in this order.
    it: Arc<T>,
    _place: OwnedSemaphorePermit,
}

impl<T> Deref for InUse<T> {
    type Target = Arc<T>;

    fn deref(&self) -> &Arc<T> {
        &self.it
    }
}

struct Used<T> {
    /// Lets one request at a time open the folder, if it is not in use.
    asking: Arc<Slot<()>>,
    in_use: Weak<InUse<T>>,
    slot: Shared<T>,
    /// When it was last requested, as a count of requests.
    at: u64,
}

/// A slot, shared by everyone who needs its content.
type Shared<T> = Arc<Slot<Option<Arc<T>>>>;

/// A slot that is locked.
type Taken<T> = OwnedMutexGuard<Option<Arc<T>>>;

impl<T: Send + Sync + 'static> Folders<T> {
    /// Keeps `most` folders open, which is also the most in use, and opens at most `at_once` at the
    /// same time.
    pub(super) fn new(most: usize, at_once: NonZeroUsize) -> Self {
        Folders {
            all: Arc::default(),
            most,
            places: Arc::new(Semaphore::new(most)),
            opening: Arc::new(Semaphore::new(at_once.get())),
        }
    }

    /// Returns the folder of `owner`, which `open` opens if necessary, once there is a place and
    /// any folder above the limit is closed. If the caller is dropped after it got the place,
    /// opening goes on without it.
    pub(super) async fn get(
        &self,
        owner: &Owner,
        open: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<Arc<InUse<T>>> {
        let asking = self.with(owner, |it| {
            it.in_use.upgrade().ok_or_else(|| Arc::clone(&it.asking))
        });
        let asking = match asking {
            Ok(in_use) => return Ok(in_use),
            Err(asking) => asking.lock_owned().await,
        };
        // An earlier request may have opened it.
        if let Some(in_use) = self.with(owner, |it| it.in_use.upgrade()) {
            return Ok(in_use);
        }
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.expect("nothing closes it");
        let slot = self.with(owner, |it| Arc::clone(&it.slot));
        let mut slot = slot.lock_owned().await;
        if let Some(it) = &*slot {
            return Ok(in_use(&self.all, owner, Arc::clone(it), place));
        }
        let closing = self.make_room();
        let (all, turns) = (Arc::clone(&self.all), Arc::clone(&self.opening));
        let owner = owner.clone();
        let opening = TaskScope::current().spawn(async move {
            let _asking = asking;
            if let Some(closing) = closing {
                // Even if closing failed, waiting longer would not help.
                let _ = closing.await;
            }
            // Waiting for the other folder to close must not keep another from being opened.
            let _turn = turns.acquire_owned().await;
            let opened = blocking(open).await;
            let opened = opened.inspect_err(|_| lock(&all).open -= 1);
            let it = Arc::new(opened?);
            *slot = Some(Arc::clone(&it));
            Ok(in_use(&all, &owner, it, place))
        });
        let opened = opening.await;
        opened.map_err(|error| BackendError::failed("finish", TaskFailed::from(error)))?
    }

    /// Returns what `wanted` takes of the entry of `owner`, and records the request.
    fn with<W>(&self, owner: &Owner, wanted: impl FnOnce(&Used<T>) -> W) -> W {
        let mut all = lock(&self.all);
        all.clock += 1;
        let at = all.clock;
        let used = all.slots.entry(owner.clone()).or_default();
        used.at = at;
        wanted(used)
    }

    /// Counts one more open folder, and closes the idle ones that exceed the limit; the returned
    /// task ends when they are closed. Until then the slot of each stays locked.
    fn make_room(&self) -> Option<JoinHandle<()>> {
        let mut all = lock(&self.all);
        all.slots.retain(|_, used| !used.is_done_with());
        all.open += 1;
        let too_many = all.open.saturating_sub(self.most);
        let idle = all.take_idle(too_many);
        all.open -= idle.len();
        let close = move || {
            for mut slot in idle {
                drop(slot.take());
            }
        };
        (too_many > 0).then(|| spawn_blocking(close))
    }
}

/// Registers `it`, the open folder of `owner`, as in use with this place.
fn in_use<T>(
    all: &Mutex<All<T>>,
    owner: &Owner,
    it: Arc<T>,
    place: OwnedSemaphorePermit,
) -> Arc<InUse<T>> {
    let in_use = Arc::new(InUse { it, _place: place });
    if let Some(used) = lock(all).slots.get_mut(owner) {
        used.in_use = Arc::downgrade(&in_use);
    }
    in_use
}

impl<T> Used<T> {
    /// Whether the folder is not open, and no request wants it to be.
    fn is_done_with(&mut self) -> bool {
        let slot = Arc::get_mut(&mut self.slot);
        let is_open = slot.is_none_or(|it| it.get_mut().is_some());
        !is_open && Arc::strong_count(&self.asking) == 1
    }
}

impl<T> Default for Used<T> {
    fn default() -> Self {
        Used {
            asking: Arc::default(),
            in_use: Weak::new(),
            slot: Shared::default(),
            at: 0,
        }
    }
}

impl<T> Default for All<T> {
    fn default() -> Self {
        All {
            slots: BTreeMap::new(),
            open: 0,
            clock: 0,
        }
    }
}

impl<T> All<T> {
    /// Takes the slots of up to `count` open, unused folders, least recently requested first.
    fn take_idle(&self, count: usize) -> Vec<Taken<T>> {
        if count == 0 {
            return Vec::new();
        }
        let idle = self.slots.values().filter_map(|used| {
            // Otherwise somebody already has a place for it.
            let is_alone = Arc::strong_count(&used.slot) == 1;
            let slot = is_alone.then(|| Arc::clone(&used.slot).try_lock_owned());
            let slot = slot?.ok()?;
            let is_idle = slot.as_ref().is_some_and(|it| Arc::strong_count(it) == 1);
            is_idle.then_some((used.at, slot))
        });
        let mut idle: Vec<_> = idle.collect();
        idle.sort_by_key(|it| it.0);
        let oldest = idle.into_iter().take(count);
        oldest.map(|it| it.1).collect()
    }
}

fn lock<T>(all: &Mutex<All<T>>) -> MutexGuard<'_, All<T>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "folders_tests.rs"]
mod tests;
