//! Admission control: which requests run, which wait, and which are rejected at once.
//!
//! A request takes a slot when it is admitted and returns it when its work has ended; the work of
//! a dropped request ends when it notices the cancellation. So no more work runs than is allowed,
//! however many callers give up.
//!
//! **Which waits.** The number of waiting requests has two bounds: a fixed count, and the expected
//! wait of the next one, estimated from how long recent work of each owner took. A turn that comes
//! after its caller has given up is worthless, while a request rejected at once can be retried
//! elsewhere. The share of one owner is a percentage of the smaller of the two bounds: a percentage
//! of the count alone could be all that there is time for.
//!
//! **Which runs.** Turns are given by start-time fair queueing: the next one goes to the owner that
//! has used the least time, and an owner that was away starts with no credit. So an owner that asks
//! for little waits behind no more work of another than its own, and its expected wait is estimated
//! so. As work is not interrupted, one owner has all turns only while no other is about.
//!
//! Only requests that wait for nothing but a turn stand in line. A request that first needs
//! something else, such as its owner's store to be opened, has no turn: it takes a slot, but does
//! not lengthen the line for others.
//!
//! Writes of one owner run one after the other, whatever the store. So a request that
//! [writes](Doing::Writes) waits for the earlier writes of its owner before it waits for a turn: no
//! request with a turn waits for another of the same owner, and each owner has at most one write
//! among those that wait for turns. How many writes may wait behind it is bounded by how long
//! recent writes of that owner took.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::{self, sleep_until};

use crate::Owner;
use crate::bodies::Room;
use crate::problem::Problem;

/// How long an owner counts as active after its last request: meanwhile no other has all turns.
const ABOUT: Duration = Duration::from_secs(10);
/// The most owners whose mean work time is remembered. If there are more, all are forgotten.
const KNOWN: usize = 4096;

/// The slots for one kind of work.
#[derive(Debug)]
pub(crate) struct Admission {
    state: Mutex<State>,
    /// The most slots of one owner, in percent of those that are available now.
    percent: usize,
    /// How many requests run at once; each has or waits for a slot.
    workers: usize,
    /// How many cores they run on.
    cores: usize,
    all: usize,
    /// The longest expected wait at which a request is still admitted.
    patience: Duration,
    /// How long a request may take.
    time: Duration,
}

/// Whether a request reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Reads the store, or does not use it; runs concurrently with others.
    Reads,
    /// Changes data of its owner; runs after the earlier writes of that owner.
    Writes,
}

/// Which slots are taken, and by whom.
#[derive(Debug, Default)]
struct State {
    taken: usize,
    /// How many of `taken` stand in line: they have a turn, or wait for nothing else.
    line: usize,
    /// How many of `line` have a turn.
    running: usize,
    owners: BTreeMap<Owner, Held>,
    /// What is remembered of owners.
    known: BTreeMap<Owner, Known>,
    /// How long work of all owners takes.
    mean: Mean,
    /// The time that the owner had used that got the latest turn.
    clock: u64,
    /// Who was here last, and who of the others was.
    latest: [Option<(Owner, time::Instant)>; 2],
    /// The number of the next request that waits.
    next: u64,
}

/// The slots of one owner.
#[derive(Debug, Default)]
struct Held {
    slots: usize,
    /// How many of `slots` are held by writes.
    writes: usize,
    /// How many of those writes are ready to run: one stands in line, the others wait for it.
    ready: usize,
    /// How many of `slots` stand in line.
    line: usize,
    /// How many of `line` have a turn.
    running: usize,
    /// Whether a write has a turn.
    is_writing: bool,
    /// Those that are ready and have no turn, in the order of their turns.
    waiting: VecDeque<Waiting>,
    /// How long a write of this owner takes.
    mean: Mean,
}

/// A request that waits for its turn.
#[derive(Debug)]
struct Waiting {
    number: u64,
    doing: Doing,
    /// Is told the time that the turn is charged with.
    go: oneshot::Sender<u64>,
}

/// What is remembered of an owner.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// How long its work takes.
    mean: Mean,
    /// The time that it has used, in nanoseconds, on the clock of the state.
    used: u64,
}

/// The mean duration of some work in nanoseconds, weighted towards the latest; 0 before the first.
#[derive(Clone, Copy, Debug, Default)]
struct Mean(u64);

/// The inverse of the weight of the latest duration in the mean.
const WEIGHT: u64 = 8;

/// Why no slot, or no memory for a body, is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// All slots are taken.
    All,
    /// A slot is free, but its turn would come too late.
    Late,
    /// The owner has used up its share of slots.
    Owner,
    /// The write would wait too long behind earlier writes of its owner.
    Behind,
    /// The buffered bodies of all owners have reached their limit.
    Bodies,
    /// The buffered bodies of this owner have reached their limit.
    OwnBodies,
}

/// The right to run, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    began: Instant,
    /// The time that was charged for it when it began.
    charged: u64,
    slot: Slot,
}

/// A slot, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    admission: Arc<Admission>,
    owner: Owner,
    doing: Doing,
    /// What the request has once it has everything that it needs before its turn.
    place: Option<Place>,
    /// The memory of the request's body, held as long as the slot.
    body: Option<Room>,
    /// When the request began.
    since: Instant,
}

/// A place in the queue, or behind its owner's write in the queue.
#[derive(Debug)]
struct Place {
    number: u64,
    /// Tells when the turn comes.
    turn: oneshot::Receiver<u64>,
}

impl Mean {
    /// Adds a duration to the mean.
    fn note(&mut self, took: Duration) {
        let took = nanos(took).max(1);
        self.0 = match self.0 {
            0 => took,
            mean => (mean - mean / WEIGHT).saturating_add(took / WEIGHT),
        };
    }

    /// How many requests may be in line with `workers` running, so that the last waits at most
    /// `patience`. The first in line is never too late: otherwise one long piece of work would
    /// reject all later requests for good.
    fn line(self, workers: usize, patience: Duration) -> usize {
        let all = patience.as_nanos().saturating_mul(workers as u128);
        // There is no mean before the first work has ended; then only the count limits.
        let in_time = all.checked_div(u128::from(self.0)).unwrap_or(u128::MAX);
        let in_time = usize::try_from(in_time.max(1)).unwrap_or(usize::MAX);
        workers.saturating_add(in_time)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl State {
    /// How long work of `owner` takes; as long as that of all, as long as none has ended.
    fn mean_of(&self, owner: &Owner) -> Mean {
        let known = self.known.get(owner).map(|it| it.mean);
        known.filter(|it| it.0 > 0).unwrap_or(self.mean)
    }

    /// What is remembered of `owner`.
    fn known(&mut self, owner: &Owner) -> &mut Known {
        if self.known.len() >= KNOWN && !self.known.contains_key(owner) {
            self.known.clear();
        }
        self.known.entry(owner.clone()).or_default()
    }

    /// The time at which the next turn of `owner` begins, on the clock of turns.
    fn tag(&self, owner: &Owner) -> u64 {
        let used = self.known.get(owner).map_or(0, |it| it.used);
        used.max(self.clock)
    }

    /// How long one more request of `owner` would wait, times the number of workers: as long as
    /// those of its owner that wait already, itself, and those of others whose turns begin before
    /// its own. `None` if it would have its turn at once, or be the first to wait. O(owners with
    /// slots).
    fn wait(&self, owner: &Owner, workers: usize) -> Option<u128> {
        let own = self.owners.get(owner);
        let behind = own.map_or(0, Held::behind);
        if self.line == self.running || (behind == 0 && self.may_run(owner, workers)) {
            return None;
        }
        let mean = self.mean_of(owner).0;
        let begins = self
            .tag(owner)
            .saturating_add(mean.saturating_mul(behind as u64));
        let before = |(other, held): (&Owner, &Held)| {
            let mean = self.mean_of(other).0;
            let until = begins.checked_sub(self.tag(other))?;
            let turns = until.checked_div(mean).map_or(0, |it| it.saturating_add(1));
            Some(u128::from(mean) * u128::from(turns.min(held.behind() as u64)))
        };
        let others = self.owners.iter().filter(|(it, _)| *it != owner);
        let others: u128 = others.filter_map(before).sum();
        // What is alone of its owner waits for others alone, however long it takes itself.
        let is_alone = own.is_none_or(|it| it.line == 0);
        let turns = if is_alone { 0 } else { behind as u128 + 1 };
        Some(others + u128::from(mean) * turns)
    }

    /// Whether one more of `owner` may have a turn. The last free turn is for others, if there are
    /// any.
    fn may_run(&self, owner: &Owner, workers: usize) -> bool {
        let running = self.owners.get(owner).map_or(0, |it| it.running);
        let is_last = workers > 1 && running + 1 >= workers;
        self.running < workers && !(is_last && self.is_shared(owner))
    }

    /// Notes that `owner` is about.
    fn see(&mut self, owner: &Owner) {
        let now = time::Instant::now();
        let [last, other] = &mut self.latest;
        match last {
            Some((it, at)) if it == owner => *at = now,
            _ => *other = last.replace((owner.clone(), now)),
        }
    }

    /// Whether another owner than this one is about.
    fn is_shared(&self, owner: &Owner) -> bool {
        let mut others = self.owners.keys().filter(|it| *it != owner);
        let mut latest = self.latest.iter().flatten();
        others.next().is_some() || latest.any(|(it, at)| it != owner && at.elapsed() < ABOUT)
    }

    /// When it may be that an owner is no longer about, which nobody else notices.
    fn look_again(&self) -> time::Instant {
        let now = time::Instant::now();
        let latest = self.latest.iter().flatten().map(|(_, at)| *at + ABOUT);
        let next = latest.filter(|it| *it > now).min();
        // Whoever comes from now on is about for so long.
        next.unwrap_or(now + ABOUT)
    }

    /// Gives turns to those that wait, as long as fewer than `workers` run.
    fn give_turns(&mut self, workers: usize) {
        while self.running < workers {
            let next = |(owner, held): (&Owner, &Held)| {
                let at = held.next().filter(|_| self.may_run(owner, workers))?;
                Some((self.tag(owner), held.waiting[at].number, at, owner.clone()))
            };
            let Some((tag, _, at, owner)) = self.owners.iter().filter_map(next).min() else {
                break;
            };
            let charged = self.mean_of(&owner).0;
            self.clock = tag;
            self.known(&owner).used = tag.saturating_add(charged);
            let held = self.owners.get_mut(&owner).expect("it was just found");
            let waiting = held.waiting.remove(at).expect("it was just found");
            self.running += 1;
            held.running += 1;
            held.is_writing |= waiting.doing == Doing::Writes;
            // The slot that holds the other end takes itself out of the queue when it is dropped.
            let _ = waiting.go.send(charged);
        }
    }
}

impl Held {
    /// How many stand in line and have no turn.
    fn behind(&self) -> usize {
        self.line - self.running
    }

    /// Where the next to run stands among those that wait.
    fn next(&self) -> Option<usize> {
        let may_run = |it: &Waiting| it.doing == Doing::Reads || !self.is_writing;
        self.waiting.iter().position(may_run)
    }
}

impl Admission {
    /// Admits `workers` running requests on `cores` and `queue` waiting ones, whose expected wait
    /// is at most `patience`. One owner gets at most `percent` of the slots that this leaves, but
    /// at least one.
    pub(crate) fn new(
        (workers, cores): (usize, usize),
        queue: usize,
        percent: usize,
        patience: Duration,
    ) -> Self {
        let workers = workers.max(1);
        Admission {
            state: Mutex::default(),
            percent: percent.min(100),
            workers,
            cores,
            all: workers.saturating_add(queue),
            patience,
            time: Duration::MAX,
        }
    }

    /// Sets how long a request may take.
    pub(crate) fn with_time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// After how long a request that was rejected, or was late, may be sent again: by then those
    /// that waited have had their turns.
    pub(crate) fn retry_after(&self) -> Duration {
        self.patience
    }

    /// The reason why a request of `owner` would be rejected now; `None` if it would be admitted.
    pub(crate) fn full(&self, owner: &Owner, doing: Doing) -> Option<Full> {
        self.refusal(&self.state(), owner, doing)
    }

    fn refusal(&self, state: &State, owner: &Owner, doing: Doing) -> Option<Full> {
        if state.taken >= self.all {
            return Some(Full::All);
        }
        let patience = self
            .patience
            .as_nanos()
            .saturating_mul(self.workers as u128);
        if state
            .wait(owner, self.workers)
            .is_some_and(|wait| wait > patience)
        {
            return Some(Full::Late);
        }
        let held = state.owners.get(owner)?;
        let line = state.mean_of(owner).line(self.workers, self.patience);
        if held.slots >= self.share(line.min(self.all)) {
            return Some(Full::Owner);
        }
        // An owner's writes run one at a time.
        let is_late = doing == Doing::Writes && held.writes >= held.mean.line(1, self.patience);
        is_late.then_some(Full::Behind)
    }

    /// How many of `line` slots one owner may have.
    fn share(&self, line: usize) -> usize {
        (line.saturating_mul(self.percent) / 100).max(1)
    }

    /// Admits one request of `owner`, or reports why not.
    pub(crate) fn enter(self: &Arc<Self>, owner: &Owner, doing: Doing) -> Result<Slot, Full> {
        let mut state = self.state();
        if let Some(full) = self.refusal(&state, owner, doing) {
            return Err(full);
        }
        state.see(owner);
        state.taken += 1;
        let held = state.owners.entry(owner.clone()).or_default();
        held.slots += 1;
        held.writes += usize::from(doing == Doing::Writes);
        Ok(Slot {
            admission: Arc::clone(self),
            owner: owner.clone(),
            doing,
            place: None,
            body: None,
            since: Instant::now(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Holds the memory of the request's body until the slot is returned.
    pub(crate) fn with_body(mut self, body: Room) -> Self {
        self.body = Some(body);
        self
    }

    /// Sets when the request began.
    pub(crate) fn of_request_since(mut self, since: Instant) -> Self {
        self.since = since;
        self
    }

    /// When the request began.
    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// How long the request may take.
    pub(crate) fn time(&self) -> Duration {
        self.admission.time
    }

    /// The problem that the store was late with what the request is about.
    pub(crate) fn store_is_late(&self) -> Problem {
        let detail = match self.doing {
            Doing::Reads => "the store had no answer in time",
            Doing::Writes => "the store had no answer in time, and may do it yet",
        };
        Problem::unavailable(detail).again(self.admission.retry_after())
    }

    /// The owner of the request.
    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Marks the request as ready: it stands in line from now on, whatever the line's length, and
    /// has its turn if one is free.
    fn ready(&mut self) {
        let mut state = self.admission.state();
        let state = &mut *state;
        let Some(held) = state.owners.get_mut(&self.owner) else {
            return;
        };
        let writes = usize::from(self.doing == Doing::Writes);
        let is_behind = writes > 0 && held.ready > 0;
        held.ready += writes;
        held.line += usize::from(!is_behind);
        state.line += usize::from(!is_behind);
        let (go, turn) = oneshot::channel();
        let number = state.next;
        state.next += 1;
        held.waiting.push_back(Waiting {
            number,
            doing: self.doing,
            go,
        });
        self.place = Some(Place { number, turn });
        state.give_turns(self.admission.workers);
    }

    /// Waits for a turn, once the request has everything else that it needs; if the last free turn
    /// is kept for others, until they are no longer about. How long the turn is
    /// held counts in the estimate of how long others wait.
    pub(crate) async fn turn(mut self) -> Turn {
        if self.place.is_none() {
            self.ready();
        }
        let admission = &self.admission;
        let charged = match &mut self.place {
            Some(place) => loop {
                let again = admission.state().look_again();
                tokio::select! {
                    biased;
                    charged = &mut place.turn => break charged.expect("it is waited for"),
                    () = sleep_until(again) => admission.state().give_turns(admission.workers),
                }
            },
            None => 0,
        };
        Turn {
            began: Instant::now(),
            charged,
            slot: self,
        }
    }
}

impl Turn {
    /// Whether there are at most two cores per running request: then a second thread hardly speeds
    /// up one caller and slows down all others.
    pub(crate) fn is_crowded(&self) -> bool {
        let admission = &self.slot.admission;
        2 * admission.state().running >= admission.cores
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let took = self.began.elapsed();
        let slot = &self.slot;
        let mut state = slot.admission.state();
        state.mean.note(took);
        let known = state.known(&slot.owner);
        known.mean.note(took);
        let used = known.used.saturating_add(nanos(took));
        known.used = used.saturating_sub(self.charged);
        if slot.doing == Doing::Writes
            && let Some(held) = state.owners.get_mut(&slot.owner)
        {
            held.mean.note(took);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.admission.state();
        let state = &mut *state;
        state.see(&self.owner);
        state.taken -= 1;
        let Some(held) = state.owners.get_mut(&self.owner) else {
            return;
        };
        held.slots -= 1;
        let writes = usize::from(self.doing == Doing::Writes);
        held.writes -= writes;
        if let Some(place) = &mut self.place {
            held.ready -= writes;
            // The next write of the owner takes its place in line.
            let is_followed = writes > 0 && held.ready > 0;
            held.line -= usize::from(!is_followed);
            state.line -= usize::from(!is_followed);
            let mut waits = held.waiting.iter();
            if let Some(at) = waits.position(|it| it.number == place.number) {
                drop(held.waiting.remove(at));
            } else {
                // If it is still told, the caller went before the work began.
                let charged = place.turn.try_recv().unwrap_or(0);
                if let Some(known) = state.known.get_mut(&self.owner) {
                    known.used = known.used.saturating_sub(charged);
                }
                held.running -= 1;
                state.running -= 1;
                held.is_writing &= writes == 0;
            }
        }
        if held.slots == 0 {
            state.owners.remove(&self.owner);
        }
        state.give_turns(self.admission.workers);
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
