//! The folders of owners that are open.
//!
//! Each owner has a slot, in which its folder is while it is open. Whoever opens or closes a folder has its slot, so two of one
//! owner are never open at once, and whoever wants it waits for that alone. Both take as long as the disk does, and neither
//! is done on a thread that serves the runtime, nor where others would wait.
//!
//! No more are in use at once than stay open. Each that is has a place, which all share who use it, so who has what it asks for
//! in use already waits for nobody. Who waits for a place has nothing of its owner's meanwhile, and so each that is open has a
//! place or can be closed; but for what is written behind an answer, for as long as that takes: it has the folder open, and no
//! place that others would wait for.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use ctx_retrieve::{Ended, Hold};
use tokio::sync::{Mutex as Slot, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, spawn_blocking};

use super::blocking;
use super::database::Result;
use crate::Owner;
use crate::backend::BackendError;

/// Folders that are open, as `T`, and their owners.
pub(super) struct Folders<T> {
    all: Arc<Mutex<All<T>>>,
    /// So many stay open,
    most: usize,
    /// and have a place to be in use.
    places: Arc<Semaphore>,
    /// So many are opened at once: each is read whole.
    opening: Arc<Semaphore>,
}

struct All<T> {
    slots: BTreeMap<Owner, Used<T>>,
    /// So many are open, or about to be, and not about to be closed.
    open: usize,
    clock: u64,
}

/// A folder that is in use, and stays open, until this is dropped.
pub(super) struct InUse<T> {
    // In this order they are given back.
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
    /// One after the other has it who asks for what is not in use.
    asking: Arc<Slot<()>>,
    in_use: Weak<InUse<T>>,
    slot: Shared<T>,
    /// When it was asked for last.
    at: u64,
}

/// A slot, which all have who want what is in it.
type Shared<T> = Arc<Slot<Option<Arc<T>>>>;

/// One that nobody else has.
type Taken<T> = OwnedMutexGuard<Option<Arc<T>>>;

impl<T: Send + Sync + 'static> Folders<T> {
    /// Keeps `most` open, as many as are in use at once, and opens so many at once.
    pub(super) fn new(most: usize, at_once: NonZeroUsize) -> Self {
        Folders {
            all: Arc::default(),
            most,
            places: Arc::new(Semaphore::new(most)),
            opening: Arc::new(Semaphore::new(at_once.get())),
        }
    }

    /// The folder of `owner`, opened by `open` where it is not, once there is a place and those are closed that it is one too many
    /// with. Whoever goes once it has the place leaves that to be done.
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
        // Whoever asked before may have it.
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
        let opening = Hold::current().spawn(async move {
            let _asking = asking;
            if let Some(closing) = closing {
                // Whatever became of it, it is closed no better by waiting.
                let _ = closing.await;
            }
            // Who only waits is to keep no other from being opened.
            let _turn = turns.acquire_owned().await;
            let opened = blocking(open).await;
            let opened = opened.inspect_err(|_| lock(&all).open -= 1);
            let it = Arc::new(opened?);
            *slot = Some(Arc::clone(&it));
            Ok(in_use(&all, &owner, it, place))
        });
        let opened = opening.await;
        opened.map_err(|error| BackendError::failed("finish", Ended::from(error)))?
    }

    /// What is wanted of what there is of `owner`, which is asked for.
    fn with<W>(&self, owner: &Owner, wanted: impl FnOnce(&Used<T>) -> W) -> W {
        let mut all = lock(&self.all);
        all.clock += 1;
        let at = all.clock;
        let used = all.slots.entry(owner.clone()).or_default();
        used.at = at;
        wanted(used)
    }

    /// Counts one more that is to be open, and closes those that it is one too many with: what ends once they are closed. Each of
    /// them is its owner's until it is.
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

/// Has `it`, which is the open folder of `owner`, in use with this place.
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
    /// Whether it is not open, and nobody wants it to be.
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
    /// The slots of those that were asked for longest ago, of those that are open and nobody uses: `count`, if there are as many.
    fn take_idle(&self, count: usize) -> Vec<Taken<T>> {
        if count == 0 {
            return Vec::new();
        }
        let idle = self.slots.values().filter_map(|used| {
            // Else somebody has a place for it.
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
