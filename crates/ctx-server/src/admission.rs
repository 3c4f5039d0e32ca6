//! Who may work, who waits, and who is turned away at once.
//!
//! A request takes a place when it is let in and gives it back when its work has ended, which for a request
//! that was dropped is when its work has noticed. So the work that runs is never more than was allowed,
//! however many callers lose patience.
//!
//! How many may wait is bounded twice: by their number, and by how long the last of them would wait, going by
//! what work took lately. A place that comes up when nobody wants it any more is worth nothing, and what is
//! turned away at once can be asked for elsewhere. What one owner may have is a part of what there is by both bounds:
//! of the number alone, it would be all that there is time for.
//!
//! Only what waits for a turn stands in that line. Nobody has one who waits for what it needs first, as for what is kept of its
//! owner to be opened: that takes a place, and makes the line no longer for others.
//!
//! What changes something of an owner's is done one after the other, whatever the store. So a request that
//! [writes](Doing::Writes) waits for those of its owner before it asks for its turn: nobody has a turn who waits for another of
//! the same owner, and each owner has one of its writes among those that wait for turns. How many wait behind that is
//! bounded by what writes of that owner took lately.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Owner;
use crate::bodies::Room;

/// The places of one kind of work.
#[derive(Debug)]
pub(crate) struct Admission {
    state: Mutex<State>,
    running: Arc<Semaphore>,
    /// The most places of one owner, in percent of those that there are now.
    percent: usize,
    /// So many run at once, and have or wait for a place.
    workers: usize,
    /// On so many cores.
    cores: usize,
    all: usize,
    /// Nobody is let in to wait for longer.
    patience: Duration,
}

/// What a request does in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It looks at what is kept, if at that: side by side with others.
    Reads,
    /// It changes something of its owner's, after those of the same owner that came before.
    Writes,
}

/// Who has places.
#[derive(Debug, Default)]
struct State {
    taken: usize,
    /// So many of these stand in line: they have a turn, or wait for that alone.
    line: usize,
    owners: BTreeMap<Owner, Held>,
    /// How long work takes.
    mean: Mean,
}

/// What one owner has.
#[derive(Debug)]
struct Held {
    places: usize,
    /// So many of these write;
    writes: usize,
    /// and so many of them have what they need: one stands in line, and the others wait for that.
    ready: usize,
    /// Whoever has it may write.
    right: Arc<Semaphore>,
    /// How long that takes.
    mean: Mean,
}

/// How long something takes, in nanoseconds: a mean in which the latest counts most. 0 before the first.
#[derive(Clone, Copy, Debug, Default)]
struct Mean(u64);

/// How much the latest piece of work counts in the mean: 1 part in so many.
const WEIGHT: u64 = 8;

/// There is no place, or no room for a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// For nobody.
    All,
    /// There is one, but its turn would come too late.
    Late,
    /// For this owner, who has its share.
    Owner,
    /// For what this owner writes, which would come too late after what it writes already.
    Behind,
    /// The bodies of all take the memory that they may,
    Bodies,
    /// or those of this owner do.
    OwnBodies,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    began: Instant,
    // In this order they are given back.
    _right: Option<OwnedSemaphorePermit>,
    _permit: OwnedSemaphorePermit,
    place: Place,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    admission: Arc<Admission>,
    owner: Owner,
    /// That to write, where it is for that.
    right: Option<Arc<Semaphore>>,
    /// It has what it needs.
    is_ready: bool,
    /// The body of the request, which is held for as long.
    body: Option<Room>,
    /// When the request began that it is for.
    since: Instant,
}

impl Default for Held {
    fn default() -> Self {
        Held {
            places: 0,
            writes: 0,
            ready: 0,
            right: Arc::new(Semaphore::new(1)),
            mean: Mean::default(),
        }
    }
}

impl Mean {
    /// Something took so long.
    fn note(&mut self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).max(1);
        self.0 = match self.0 {
            0 => took,
            mean => (mean - mean / WEIGHT).saturating_add(took / WEIGHT),
        };
    }

    /// How many there may be of what `workers` do, so that the last has to wait no longer than `patience`. Whoever would be the
    /// first in line is never too late: else one long piece of work would turn all away for good.
    fn line(self, workers: usize, patience: Duration) -> usize {
        let all = patience.as_nanos().saturating_mul(workers as u128);
        // Before anything has ended there is no mean, and only the number counts.
        let in_time = all.checked_div(u128::from(self.0));
        let in_time = in_time.unwrap_or(u128::MAX).max(1);
        let in_time = usize::try_from(in_time).unwrap_or(usize::MAX);
        workers.saturating_add(in_time)
    }
}

impl Admission {
    /// `workers` run on `cores`, `queue` wait, for `patience` at most as far as can be told, and one owner has at most
    /// `percent` of the places that this leaves, or one.
    pub(crate) fn new(
        (workers, cores): (usize, usize),
        queue: usize,
        percent: usize,
        patience: Duration,
    ) -> Self {
        let workers = workers.clamp(1, Semaphore::MAX_PERMITS);
        Admission {
            state: Mutex::default(),
            running: Arc::new(Semaphore::new(workers)),
            percent: percent.min(100),
            workers,
            cores,
            all: workers.saturating_add(queue),
            patience,
        }
    }

    /// Why `owner` would not be let in now to do that, if that is so.
    pub(crate) fn full(&self, owner: &Owner, doing: Doing) -> Option<Full> {
        self.refusal(&self.state(), owner, doing)
    }

    fn refusal(&self, state: &State, owner: &Owner, doing: Doing) -> Option<Full> {
        let line = state.mean.line(self.workers, self.patience).min(self.all);
        if state.taken >= self.all {
            return Some(Full::All);
        }
        if state.line >= line {
            return Some(Full::Late);
        }
        let held = state.owners.get(owner)?;
        if held.places >= self.share(line) {
            return Some(Full::Owner);
        }
        // One writes at a time.
        let is_late = doing == Doing::Writes && held.writes >= held.mean.line(1, self.patience);
        is_late.then_some(Full::Behind)
    }

    /// So many of `line` places one owner may have.
    fn share(&self, line: usize) -> usize {
        (line.saturating_mul(self.percent) / 100).max(1)
    }

    /// Lets one request of `owner` in, to do that.
    pub(crate) fn enter(self: &Arc<Self>, owner: &Owner, doing: Doing) -> Result<Place, Full> {
        let mut state = self.state();
        if let Some(full) = self.refusal(&state, owner, doing) {
            return Err(full);
        }
        state.taken += 1;
        let held = state.owners.entry(owner.clone()).or_default();
        held.places += 1;
        let right = (doing == Doing::Writes).then(|| Arc::clone(&held.right));
        if right.is_some() {
            held.writes += 1;
        }
        Ok(Place {
            admission: Arc::clone(self),
            owner: owner.clone(),
            right,
            is_ready: false,
            body: None,
            since: Instant::now(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Keeps the room of the request's body until the place is given back.
    pub(crate) fn with_body(mut self, body: Room) -> Self {
        self.body = Some(body);
        self
    }

    /// The same for a request that began then.
    pub(crate) fn of_request_since(mut self, since: Instant) -> Self {
        self.since = since;
        self
    }

    /// When the request began that it is for.
    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// Whose it is.
    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Its request has what it needs, and stands in line from now on, however long that is by now.
    fn ready(&mut self) {
        let mut state = self.admission.state();
        let state = &mut *state;
        let Some(held) = state.owners.get_mut(&self.owner) else {
            return;
        };
        self.is_ready = true;
        let is_behind = self.right.is_some() && held.ready > 0;
        held.ready += usize::from(self.right.is_some());
        state.line += usize::from(!is_behind);
    }

    /// Waits for its turn, once there is all else that it needs; how long that is had tells how long others wait.
    pub(crate) async fn turn(mut self) -> Turn {
        const OPEN: &str = "it is never closed";
        self.ready();
        let right = match self.right.clone() {
            Some(right) => Some(right.acquire_owned().await.expect(OPEN)),
            None => None,
        };
        let running = Arc::clone(&self.admission.running);
        let permit = running.acquire_owned().await.expect(OPEN);
        Turn {
            began: Instant::now(),
            _right: right,
            _permit: permit,
            place: self,
        }
    }
}

impl Turn {
    /// Whether there are no more than two cores for each that is at work: a second thread answers one caller hardly sooner,
    /// and takes from all.
    pub(crate) fn is_crowded(&self) -> bool {
        let admission = &self.place.admission;
        let running = admission.workers - admission.running.available_permits();
        2 * running >= admission.cores
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let took = self.began.elapsed();
        let place = &self.place;
        let mut state = place.admission.state();
        state.mean.note(took);
        if place.right.is_some()
            && let Some(held) = state.owners.get_mut(&place.owner)
        {
            held.mean.note(took);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.admission.state();
        let state = &mut *state;
        state.taken -= 1;
        let Some(held) = state.owners.get_mut(&self.owner) else {
            return;
        };
        held.places -= 1;
        let writes = usize::from(self.right.is_some());
        held.writes -= writes;
        if self.is_ready {
            held.ready -= writes;
            // Who was behind it stands in its place.
            let is_followed = writes > 0 && held.ready > 0;
            state.line -= usize::from(!is_followed);
        }
        if held.places == 0 {
            state.owners.remove(&self.owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Doing::{Reads, Writes};
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(500);

    fn admission(workers: usize, queue: usize) -> Arc<Admission> {
        Arc::new(Admission::new((workers, workers), queue, 100, PATIENCE))
    }

    /// Some work took so long.
    fn note(admission: &Admission, took: Duration) {
        admission.state().mean.note(took);
    }

    fn owner(name: &str) -> Owner {
        Owner::new(name).unwrap()
    }

    /// Whether this has its turn now, and what comes of it.
    fn now<T>(turn: impl Future<Output = T>) -> Option<T> {
        let mut turn = std::pin::pin!(turn);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match turn.as_mut().poll(&mut context) {
            std::task::Poll::Ready(turn) => Some(turn),
            std::task::Poll::Pending => None,
        }
    }

    /// As many as are let in to do that, each of which has what it needs.
    fn all(admission: &Arc<Admission>, owner: &Owner, doing: Doing) -> Vec<Place> {
        let place = || {
            let mut place = admission.enter(owner, doing).ok()?;
            place.ready();
            Some(place)
        };
        std::iter::from_fn(place).collect()
    }

    /// How many get in, and what the next is told.
    fn fill(admission: &Arc<Admission>) -> (usize, Option<Full>) {
        let owner = owner("ada");
        let places = all(admission, &owner, Reads);
        let before = admission.full(&owner, Reads);
        let after = admission.enter(&owner, Reads).err();
        assert_eq!(before, after, "before a body is read, and after");
        (places.len(), after)
    }

    #[test]
    fn before_anything_ended_only_numbers_count() {
        assert_eq!(fill(&admission(2, 8)), (10, Some(Full::All)));
    }

    #[test]
    fn short_work_fills_the_queue() {
        let short = admission(2, 8);
        note(&short, Duration::from_millis(1));
        assert_eq!(fill(&short), (10, Some(Full::All)));
    }

    #[test]
    fn the_longer_work_takes_the_fewer_wait() {
        for (milliseconds, wanted) in [(100, 12), (200, 7), (300, 5), (400, 4), (5_000, 3)] {
            let long = admission(2, 16);
            note(&long, Duration::from_millis(milliseconds));
            let found = fill(&long);
            assert_eq!(found, (wanted, Some(Full::Late)), "{milliseconds} ms");
        }
    }

    #[test]
    fn whoever_would_be_first_in_line_is_let_in_so_that_one_long_piece_of_work_does_not_close_for_good()
     {
        let slow = admission(1, 8);
        note(&slow, Duration::from_hours(1));
        assert_eq!(fill(&slow), (2, Some(Full::Late)));
        for _ in 0..200 {
            note(&slow, Duration::from_millis(1));
        }
        assert_eq!(fill(&slow), (9, Some(Full::All)));
    }

    #[test]
    fn who_is_turned_away_leaves_no_trace() {
        let slow = admission(1, 8);
        note(&slow, Duration::from_secs(10));
        for _ in 0..3 {
            assert_eq!(fill(&slow).0, 2);
        }
        let state = slow.state();
        assert_eq!((state.taken, state.owners.len()), (0, 0));
    }

    #[test]
    fn an_owner_leaves_room_to_others_however_short_the_line_is() {
        // What work takes, what one owner is let in with, and what others are.
        for (milliseconds, ada_has, others_have) in
            [(1, 38, 13), (100, 13, 5), (300, 6, 2), (5_000, 3, 1)]
        {
            let admission = Arc::new(Admission::new((3, 3), 48, 75, PATIENCE));
            note(&admission, Duration::from_millis(milliseconds));
            let [ada, bob] = ["ada", "bob"].map(owner);
            let adas = all(&admission, &ada, Reads);
            assert_eq!(admission.full(&ada, Reads), Some(Full::Owner));
            assert_eq!(admission.full(&bob, Reads), None, "{milliseconds} ms");
            let bobs = all(&admission, &bob, Reads);
            assert_eq!((adas.len(), bobs.len()), (ada_has, others_have));
        }
    }

    #[tokio::test]
    async fn who_has_no_more_than_two_cores_is_crowded() {
        for (workers, cores, free) in [(1, 1, 0), (2, 2, 0), (3, 2, 0), (4, 4, 1), (12, 8, 3)] {
            let admission = Arc::new(Admission::new((workers, cores), 0, 100, PATIENCE));
            let owner = owner("ada");
            let places: Vec<Place> =
                std::iter::from_fn(|| admission.enter(&owner, Reads).ok()).collect();
            let mut turns = Vec::new();
            for place in places {
                let turn = place.turn().await;
                let is_crowded = turn.is_crowded();
                turns.push(turn);
                assert_eq!(
                    is_crowded,
                    turns.len() > free,
                    "{} of {workers}",
                    turns.len()
                );
            }
        }
    }

    #[test]
    fn an_owner_with_its_share_is_told_before_its_body_is_read() {
        let half = Arc::new(Admission::new((1, 1), 3, 50, PATIENCE));
        let [ada, bob] = ["ada", "bob"].map(owner);
        let _held = [
            half.enter(&ada, Reads).unwrap(),
            half.enter(&ada, Reads).unwrap(),
        ];
        assert_eq!(half.full(&ada, Reads), Some(Full::Owner));
        assert_eq!(half.full(&bob, Reads), None);
    }

    #[tokio::test]
    async fn writes_of_one_owner_have_one_turn_and_come_in_their_order() {
        let admission = Arc::new(Admission::new((3, 3), 8, 100, PATIENCE));
        let [ada, bob] = ["ada", "bob"].map(owner);
        let enter = |owner, doing| admission.enter(owner, doing).unwrap();
        let first = now(enter(&ada, Writes).turn()).unwrap();
        let mut waiting: Vec<_> = (0..3)
            .map(|_| Box::pin(enter(&ada, Writes).turn()))
            .collect();
        for turn in &mut waiting {
            assert!(now(turn).is_none());
        }
        // Of the other turns none is taken.
        let others = [
            now(enter(&bob, Writes).turn()),
            now(enter(&ada, Reads).turn()),
        ];
        assert!(others.iter().all(Option::is_some));
        let mut read = Box::pin(enter(&bob, Reads).turn());
        assert!(now(&mut read).is_none(), "there are three");
        drop((first, others));
        // One that goes keeps none of those behind it.
        drop(waiting.remove(0));
        let second = now(&mut waiting[0]).unwrap();
        assert!(now(&mut waiting[1]).is_none());
        assert!(now(&mut read).is_some());
        drop(second);
        assert!(now(&mut waiting[1]).is_some());
        drop((waiting, read));
        let state = admission.state();
        assert_eq!((state.taken, state.line, state.owners.len()), (0, 0, 0));
    }

    #[test]
    fn writes_wait_no_longer_for_their_owner_s_than_all_else_and_leave_the_line_to_others() {
        // What a write takes, how many one owner is let in with, what the next is told, and how many others that read.
        for (milliseconds, ada_has, told, others_have) in [
            (0, 9, Full::Owner, 9),
            (100, 6, Full::Behind, 9),
            (300, 2, Full::Behind, 9),
            (5_000, 2, Full::Behind, 9),
        ] {
            let admission = Arc::new(Admission::new((2, 2), 48, 75, PATIENCE));
            note(&admission, Duration::from_millis(100));
            let [ada, bob] = ["ada", "bob"].map(owner);
            let mut first = admission.enter(&ada, Writes).unwrap();
            first.ready();
            if milliseconds > 0 {
                let took = Duration::from_millis(milliseconds);
                let mut state = admission.state();
                state.owners.get_mut(&ada).unwrap().mean.note(took);
            }
            let adas = all(&admission, &ada, Writes);
            assert_eq!(admission.full(&ada, Writes), Some(told));
            let bobs = all(&admission, &bob, Reads);
            assert_eq!(
                (1 + adas.len(), bobs.len()),
                (ada_has, others_have),
                "{milliseconds} ms"
            );
        }
    }

    #[tokio::test]
    async fn who_waits_for_what_it_needs_stands_in_no_line() {
        // What work takes, how many of one owner are let in that need something, and how many that need nothing then.
        for (milliseconds, ada_has, others_have) in [(200, 7, 8), (5_000, 3, 2)] {
            let admission = Arc::new(Admission::new((3, 3), 48, 75, PATIENCE));
            note(&admission, Duration::from_millis(milliseconds));
            let [ada, bob, cleo] = ["ada", "bob", "cleo"].map(owner);
            let opening = |owner: &Owner| -> Vec<Place> {
                std::iter::from_fn(|| admission.enter(owner, Reads).ok()).collect()
            };
            let (mut adas, bobs) = (opening(&ada), opening(&bob));
            assert_eq!((adas.len(), bobs.len()), (ada_has, ada_has));
            let turn = now(admission.enter(&cleo, Reads).unwrap().turn()).unwrap();
            assert_eq!(admission.state().line, 1);
            // Who has it then stands in line.
            let its = now(adas.remove(0).turn()).unwrap();
            assert_eq!(admission.state().line, 2);
            let mut others: Vec<Place> = Vec::new();
            for name in ["dora", "eve"] {
                others.extend(all(&admission, &owner(name), Reads));
            }
            assert_eq!(others.len(), others_have, "{milliseconds} ms");
            drop((turn, its, adas, bobs, others));
            let state = admission.state();
            assert_eq!((state.taken, state.line, state.owners.len()), (0, 0, 0));
        }
    }

    #[test]
    fn of_an_owner_s_writes_the_first_that_has_what_it_needs_stands_in_line() {
        let admission = admission(2, 8);
        let ada = owner("ada");
        let mut places: Vec<Place> = (0..4)
            .map(|_| admission.enter(&ada, Writes).unwrap())
            .collect();
        let line = || admission.state().line;
        assert_eq!(line(), 0);
        for place in &mut places[1..3] {
            place.ready();
            assert_eq!(line(), 1);
        }
        // One that needs something yet, one that stands in line, and the one behind that.
        for (at, left) in [(0, 1), (0, 1), (0, 0), (0, 0)] {
            drop(places.remove(at));
            assert_eq!(line(), left);
        }
    }
}
