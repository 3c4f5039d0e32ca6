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
    /// So many of these are about to be closed.
    closing: usize,
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
        let (slot, closing) = self.slot(owner);
        let mut slot = slot.lock_owned().await;
        if let Some(it) = &*slot {
            return Ok(Arc::clone(it));
        }
        let turns = Arc::clone(&self.opening);
        let opening = Hold::current().spawn(async move {
            if let Some(closing) = closing {
                // Whatever became of it, it is closed no better by waiting.
                let _ = closing.await;
            }
            // Who only waits is to keep no other from being opened.
            let _turn = turns.acquire_owned().await;
            let opened = Arc::new(blocking(open).await?);
            *slot = Some(Arc::clone(&opened));
            Ok(opened)
        });
        let opened = opening.await;
        opened.map_err(|error| BackendError::failed("finish", Ended::from(error)))?
    }

    /// The slot of `owner`, and what ends once those are closed that it is one too many with.
    fn slot(&self, owner: &Owner) -> (Shared<T>, Option<JoinHandle<()>>) {
        let mut all = lock(&self.all);
        all.clock += 1;
        let at = all.clock;
        if let Some(used) = all.slots.get_mut(owner) {
            used.at = at;
            return (Arc::clone(&used.slot), None);
        }
        let open = all.slots.len() - all.closing;
        let idle = all.take_idle((open + 1).saturating_sub(self.most));
        all.closing += idle.len();
        let slot = Shared::default();
        let used = Used {
            slot: Arc::clone(&slot),
            at,
        };
        all.slots.insert(owner.clone(), used);
        drop(all);
        let closing = (!idle.is_empty()).then(|| self.close(idle));
        (slot, closing)
    }

    /// Closes these, each of which is its owner's until that is done.
    fn close(&self, idle: Vec<(Owner, Taken<T>)>) -> JoinHandle<()> {
        let all = Arc::clone(&self.all);
        spawn_blocking(move || {
            for (owner, mut slot) in idle {
                drop(slot.take());
                let mut all = lock(&all);
                all.closing -= 1;
                let used = all.slots.get(&owner);
                // Beside its place here and this, who waits for it has it too, and will open it anew.
                if used.is_some_and(|it| Arc::strong_count(&it.slot) <= 2) {
                    all.slots.remove(&owner);
                }
            }
        })
    }
}

impl<T> Default for All<T> {
    fn default() -> Self {
        All {
            slots: BTreeMap::new(),
            closing: 0,
            clock: 0,
        }
    }
}

impl<T> All<T> {
    /// The slots of those that were asked for longest ago, of those that nobody uses: `count`, if there are as many.
    fn take_idle(&self, count: usize) -> Vec<(Owner, Taken<T>)> {
        if count == 0 {
            return Vec::new();
        }
        let idle = self.slots.iter().filter_map(|(owner, used)| {
            // Else somebody waits for it.
            let is_alone = Arc::strong_count(&used.slot) == 1;
            let slot = is_alone.then(|| Arc::clone(&used.slot).try_lock_owned());
            let slot = slot?.ok()?;
            let is_idle = slot.as_ref().is_none_or(|it| Arc::strong_count(it) == 1);
            is_idle.then(|| (used.at, owner.clone(), slot))
        });
        let mut idle: Vec<_> = idle.collect();
        idle.sort_by_key(|it| it.0);
        let oldest = idle.into_iter().take(count);
        oldest.map(|(_, owner, slot)| (owner, slot)).collect()
    }
}

fn lock<T>(all: &Mutex<All<T>>) -> MutexGuard<'_, All<T>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "folders_tests.rs"]
mod tests;
