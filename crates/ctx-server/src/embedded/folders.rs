//! The folders of owners that are open.
//!
//! Each owner has a slot, in which its folder is while it is open. Whoever opens or closes a folder has its slot, so two of one
//! owner are never open at once, and whoever wants it waits for that alone. Both take as long as the disk does, and neither
//! is done on a thread that serves the runtime, nor where others would wait.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ctx_retrieve::{Ended, Hold};
use tokio::sync::{Mutex as Slot, OwnedMutexGuard, Semaphore};
use tokio::task::{JoinHandle, spawn_blocking};

use super::blocking;
use super::database::Result;
use crate::Owner;
use crate::backend::BackendError;

/// Folders that are open, as `T`, and their owners.
pub(super) struct Folders<T> {
    all: Arc<Mutex<All<T>>>,
    /// So many stay open.
    most: usize,
    /// So many are opened at once: each is read whole.
    opening: Arc<Semaphore>,
}

struct All<T> {
    slots: BTreeMap<Owner, Used<T>>,
    /// So many are open, or about to be, and not about to be closed.
    open: usize,
    clock: u64,
}

struct Used<T> {
    slot: Shared<T>,
    /// When it was asked for last.
    at: u64,
}

/// A slot, which all have who want what is in it.
type Shared<T> = Arc<Slot<Option<Arc<T>>>>;

/// One that nobody else has.
type Taken<T> = OwnedMutexGuard<Option<Arc<T>>>;

impl<T: Send + Sync + 'static> Folders<T> {
    /// Keeps `most` open, of those that are not in use, and opens so many at once.
    pub(super) fn new(most: usize, at_once: NonZeroUsize) -> Self {
        Folders {
            all: Arc::default(),
            most,
            opening: Arc::new(Semaphore::new(at_once.get())),
        }
    }

    /// The folder of `owner`, opened by `open` where it is not, once those are closed that it is one too many with. Whoever goes
    /// meanwhile leaves that to be done.
    pub(super) async fn get(
        &self,
        owner: &Owner,
        open: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<Arc<T>> {
        let mut slot = self.slot(owner).lock_owned().await;
        if let Some(it) = &*slot {
            return Ok(Arc::clone(it));
        }
        let closing = self.make_room();
        let (all, turns) = (Arc::clone(&self.all), Arc::clone(&self.opening));
        let opening = Hold::current().spawn(async move {
            if let Some(closing) = closing {
                // Whatever became of it, it is closed no better by waiting.
                let _ = closing.await;
            }
            // Who only waits is to keep no other from being opened.
            let _turn = turns.acquire_owned().await;
            let opened = blocking(open).await.map(Arc::new);
            match &opened {
                Ok(it) => *slot = Some(Arc::clone(it)),
                Err(_) => lock(&all).open -= 1,
            }
            opened
        });
        let opened = opening.await;
        opened.map_err(|error| BackendError::failed("finish", Ended::from(error)))?
    }

    /// The slot of `owner`.
    fn slot(&self, owner: &Owner) -> Shared<T> {
        let mut all = lock(&self.all);
        all.clock += 1;
        let at = all.clock;
        let new = || Used {
            slot: Shared::default(),
            at,
        };
        let used = all.slots.entry(owner.clone()).or_insert_with(new);
        used.at = at;
        Arc::clone(&used.slot)
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

impl<T> Used<T> {
    /// Whether it is not open, and nobody wants it to be.
    fn is_done_with(&mut self) -> bool {
        let slot = Arc::get_mut(&mut self.slot);
        slot.is_some_and(|it| it.get_mut().is_none())
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
            // Else somebody waits for it.
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
