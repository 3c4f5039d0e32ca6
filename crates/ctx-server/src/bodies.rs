//! A limit on the memory of request bodies that are being read, wait with their request, or are in
//! use, and of answers that have not been sent.
//!
//! Memory is reserved before a body is read if its length is announced, otherwise as its bytes
//! arrive. A body for which there is no room is rejected; none waits. An answer takes its room
//! whether or not there is any, and leaves that much less to bodies.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Owner;
use crate::admission::Full;

/// The memory for request bodies and answers.
#[derive(Debug)]
pub(crate) struct Bodies {
    all: usize,
    /// The most bytes of one owner.
    share: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    all: usize,
    owners: BTreeMap<Owner, usize>,
}

/// The bytes of one body, reserved until it is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    bodies: Arc<Bodies>,
    owner: Owner,
    bytes: usize,
}

impl Bodies {
    /// Room for `all` bytes, at most a quarter of which one owner may use.
    pub(crate) fn new(all: usize) -> Self {
        Bodies {
            all,
            share: all / 4,
            held: Mutex::default(),
        }
    }

    /// Begins a reservation of 0 bytes for a body of `owner`.
    pub(crate) fn begin(self: &Arc<Self>, owner: &Owner) -> Room {
        Room {
            bodies: Arc::clone(self),
            owner: owner.clone(),
            bytes: 0,
        }
    }

    /// Why `owner` has to wait before more is done for it: unread answers, which take their room
    /// whether or not there is any, take more than there is.
    pub(crate) fn full(&self, owner: &Owner) -> Option<Full> {
        let held = self.held();
        if held.owners.get(owner).is_some_and(|it| *it > self.share) {
            return Some(Full::OwnBodies);
        }
        (held.all > self.all).then_some(Full::Bodies)
    }

    /// How many bytes are reserved now.
    pub(crate) fn bytes(&self) -> usize {
        self.held().all
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn add(&mut self, owner: &Owner, bytes: usize) {
        self.all += bytes;
        *self.owners.entry(owner.clone()).or_default() += bytes;
    }
}

impl Room {
    /// Grows the reservation to `bytes`, unless it is that large already.
    ///
    /// # Errors
    /// There is not enough room; the reservation stays as it was.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), Full> {
        let Some(more) = bytes.checked_sub(self.bytes).filter(|it| *it > 0) else {
            return Ok(());
        };
        let mut held = self.bodies.held();
        let of_owner = held.owners.get(&self.owner).copied().unwrap_or(0);
        if of_owner.saturating_add(more) > self.bodies.share {
            return Err(Full::OwnBodies);
        }
        if held.all.saturating_add(more) > self.bodies.all {
            return Err(Full::Bodies);
        }
        held.add(&self.owner, more);
        self.bytes = bytes;
        Ok(())
    }

    /// Grows the reservation by `bytes`, whether or not there is room.
    pub(crate) fn take(&mut self, bytes: usize) {
        self.bodies.held().add(&self.owner, bytes);
        self.bytes += bytes;
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut held = self.bodies.held();
        held.all -= self.bytes;
        if let Some(of_owner) = held.owners.get_mut(&self.owner) {
            *of_owner -= self.bytes;
            if *of_owner == 0 {
                held.owners.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Owner {
        Owner::new(name).unwrap()
    }

    #[test]
    fn one_owner_has_a_quarter_and_all_together_the_whole() {
        let bodies = Arc::new(Bodies::new(100));
        let mut rooms: Vec<Room> = Vec::new();
        for name in ["a", "b", "c", "d"] {
            let mut room = bodies.begin(&owner(name));
            assert_eq!(room.grow_to(26), Err(Full::OwnBodies));
            assert_eq!(room.grow_to(20), Ok(()));
            assert_eq!(bodies.begin(&owner(name)).grow_to(6), Err(Full::OwnBodies));
            assert_eq!(room.grow_to(25), Ok(()));
            assert_eq!(room.grow_to(3), Ok(()), "it has more");
            rooms.push(room);
        }
        let mut late = bodies.begin(&owner("e"));
        assert_eq!(late.grow_to(1), Err(Full::Bodies));
        rooms.pop();
        assert_eq!(late.grow_to(25), Ok(()));
        // What is taken without asking counts, too.
        let mut answer = bodies.begin(&owner("f"));
        assert_eq!(bodies.full(&owner("f")), None);
        answer.take(90);
        assert_eq!(bodies.full(&owner("f")), Some(Full::OwnBodies));
        assert_eq!(bodies.full(&owner("d")), Some(Full::Bodies));
        assert_eq!(bodies.begin(&owner("f")).grow_to(1), Err(Full::OwnBodies));
        assert_eq!(bodies.begin(&owner("d")).grow_to(1), Err(Full::Bodies));
        drop((rooms, late, answer));
        let held = bodies.held();
        assert_eq!((held.all, held.owners.len()), (0, 0));
    }
}
