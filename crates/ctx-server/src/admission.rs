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

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Owner;
use crate::bodies::Room;

/// The places of one kind of work.
#[derive(Debug)]
pub(crate) struct Admission {
    places: Arc<Semaphore>,
    running: Arc<Semaphore>,
    owners: Mutex<BTreeMap<Owner, usize>>,
    /// The most places of one owner, in percent of those that there are now.
    percent: usize,
    /// So many run at once, and have or wait for a place.
    workers: usize,
    /// On so many cores.
    cores: usize,
    all: usize,
    /// Nobody is let in to wait for longer.
    patience: Duration,
    /// How long work takes, in nanoseconds: a mean in which the latest counts most. 0 before the first.
    mean: AtomicU64,
}

/// How much the latest piece of work counts in the mean: 1 part in so many.
const WEIGHT: u64 = 8;

/// There is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// For nobody.
    All,
    /// There is one, but its turn would come too late.
    Late,
    /// For this owner, who has its share.
    Owner,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    admission: Arc<Admission>,
    began: Instant,
    _permit: OwnedSemaphorePermit,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    admission: Arc<Admission>,
    owner: Owner,
    /// The body of the request, which is held for as long.
    body: Option<Room>,
    _permit: OwnedSemaphorePermit,
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
        let workers = workers.max(1);
        let places = workers + queue;
        Admission {
            places: Arc::new(Semaphore::new(places)),
            running: Arc::new(Semaphore::new(workers)),
            owners: Mutex::new(BTreeMap::new()),
            percent: percent.min(100),
            workers,
            cores,
            all: places,
            patience,
            mean: AtomicU64::new(0),
        }
    }

    /// Why `owner` would not be let in now, if that is so.
    pub(crate) fn full(&self, owner: &Owner) -> Option<Full> {
        let line = self.line();
        match self.places.available_permits() {
            0 => Some(Full::All),
            free if self.all - free >= line => Some(Full::Late),
            _ => {
                let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
                let held = owners.get(owner).copied().unwrap_or(0);
                (held >= self.share(line)).then_some(Full::Owner)
            }
        }
    }

    /// So many places there are now: one for each that runs, and for those whose turn would come in time. Whoever would
    /// be the first in line is never too late: else one long piece of work would turn all away for good.
    fn line(&self) -> usize {
        let mean = u128::from(self.mean.load(Ordering::Relaxed));
        let all = self
            .patience
            .as_nanos()
            .saturating_mul(self.workers as u128);
        // Before anything has ended there is no mean, and only the number counts.
        let in_time = all.checked_div(mean).unwrap_or(u128::MAX).max(1);
        let in_time = usize::try_from(in_time).unwrap_or(usize::MAX);
        self.workers.saturating_add(in_time).min(self.all)
    }

    /// So many of `line` places one owner may have.
    fn share(&self, line: usize) -> usize {
        (line.saturating_mul(self.percent) / 100).max(1)
    }

    /// Some work took so long.
    fn note(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).max(1);
        let next = |mean: u64| match mean {
            0 => took,
            mean => (mean - mean / WEIGHT).saturating_add(took / WEIGHT),
        };
        // The closure never declines.
        let _ = self
            .mean
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| Some(next(it)));
    }

    /// Lets one request of `owner` in.
    pub(crate) fn enter(self: &Arc<Self>, owner: &Owner) -> Result<Place, Full> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| Full::All)?;
        let line = self.line();
        // The place that it has just taken is among these.
        if self.all - self.places.available_permits() > line {
            return Err(Full::Late);
        }
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let held = owners.entry(owner.clone()).or_default();
        if *held >= self.share(line) {
            return Err(Full::Owner);
        }
        *held += 1;
        Ok(Place {
            admission: Arc::clone(self),
            owner: owner.clone(),
            body: None,
            _permit: place,
        })
    }
}

impl Place {
    /// Keeps the room of the request's body until the place is given back.
    pub(crate) fn with_body(mut self, body: Room) -> Self {
        self.body = Some(body);
        self
    }

    /// Waits for its turn; how long that is had tells how long others wait.
    pub(crate) async fn turn(&self) -> Option<Turn> {
        let running = Arc::clone(&self.admission.running);
        let permit = running.acquire_owned().await.ok()?;
        Some(Turn {
            admission: Arc::clone(&self.admission),
            began: Instant::now(),
            _permit: permit,
        })
    }

    /// Whether there are no more than two cores for each that is at work: a second thread answers one caller hardly sooner,
    /// and takes from all.
    pub(crate) fn is_crowded(&self) -> bool {
        let running = self.admission.workers - self.admission.running.available_permits();
        2 * running >= self.admission.cores
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.admission.note(self.began.elapsed());
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

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(500);

    fn admission(workers: usize, queue: usize) -> Arc<Admission> {
        Arc::new(Admission::new((workers, workers), queue, 100, PATIENCE))
    }

    /// How many get in, and what the next is told.
    fn fill(admission: &Arc<Admission>) -> (usize, Option<Full>) {
        let owner = Owner::new("ada").unwrap();
        let mut places = Vec::new();
        loop {
            match admission.enter(&owner) {
                Ok(place) => places.push(place),
                Err(full) => {
                    assert_eq!(
                        admission.full(&owner),
                        Some(full),
                        "before a body is read, and after"
                    );
                    return (places.len(), Some(full));
                }
            }
        }
    }

    #[test]
    fn before_anything_ended_only_numbers_count() {
        assert_eq!(fill(&admission(2, 8)), (10, Some(Full::All)));
    }

    #[test]
    fn short_work_fills_the_queue() {
        let short = admission(2, 8);
        short.note(Duration::from_millis(1));
        assert_eq!(fill(&short), (10, Some(Full::All)));
    }

    #[test]
    fn the_longer_work_takes_the_fewer_wait() {
        for (milliseconds, wanted) in [(100, 12), (200, 7), (300, 5), (400, 4), (5_000, 3)] {
            let long = admission(2, 16);
            long.note(Duration::from_millis(milliseconds));
            let found = fill(&long);
            assert_eq!(found, (wanted, Some(Full::Late)), "{milliseconds} ms");
        }
    }

    #[test]
    fn whoever_would_be_first_in_line_is_let_in_so_that_one_long_piece_of_work_does_not_close_for_good()
     {
        let slow = admission(1, 8);
        slow.note(Duration::from_hours(1));
        assert_eq!(fill(&slow), (2, Some(Full::Late)));
        for _ in 0..200 {
            slow.note(Duration::from_millis(1));
        }
        assert_eq!(fill(&slow), (9, Some(Full::All)));
    }

    #[test]
    fn who_is_turned_away_leaves_no_trace() {
        let slow = admission(1, 8);
        slow.note(Duration::from_secs(10));
        for _ in 0..3 {
            assert_eq!(fill(&slow).0, 2);
        }
        assert_eq!(slow.places.available_permits(), 9);
        assert!(slow.owners.lock().unwrap().is_empty());
    }

    #[test]
    fn an_owner_leaves_room_to_others_however_short_the_line_is() {
        // What work takes, what one owner is let in with, and what others are.
        for (milliseconds, ada_has, others_have) in
            [(1, 38, 13), (100, 13, 5), (300, 6, 2), (5_000, 3, 1)]
        {
            let admission = Arc::new(Admission::new((3, 3), 48, 75, PATIENCE));
            admission.note(Duration::from_millis(milliseconds));
            let [ada, bob] = ["ada", "bob"].map(|it| Owner::new(it).unwrap());
            let all = |owner: &Owner| -> Vec<Place> {
                std::iter::from_fn(|| admission.enter(owner).ok()).collect()
            };
            let adas = all(&ada);
            assert_eq!(admission.full(&ada), Some(Full::Owner));
            assert_eq!(admission.full(&bob), None, "{milliseconds} ms");
            let bobs = all(&bob);
            assert_eq!((adas.len(), bobs.len()), (ada_has, others_have));
        }
    }

    #[tokio::test]
    async fn who_has_no_more_than_two_cores_is_crowded() {
        for (workers, cores, free) in [(1, 1, 0), (2, 2, 0), (3, 2, 0), (4, 4, 1), (12, 8, 3)] {
            let admission = Arc::new(Admission::new((workers, cores), 0, 100, PATIENCE));
            let owner = Owner::new("ada").unwrap();
            let places: Vec<Place> = std::iter::from_fn(|| admission.enter(&owner).ok()).collect();
            let mut turns = Vec::new();
            for place in &places {
                turns.push(place.turn().await);
                let is_crowded = turns.len() > free;
                assert_eq!(
                    place.is_crowded(),
                    is_crowded,
                    "{} of {workers}",
                    turns.len()
                );
            }
        }
    }

    #[test]
    fn an_owner_with_its_share_is_told_before_its_body_is_read() {
        let half = Arc::new(Admission::new((1, 1), 3, 50, PATIENCE));
        let [ada, bob] = ["ada", "bob"].map(|it| Owner::new(it).unwrap());
        let _held = [half.enter(&ada).unwrap(), half.enter(&ada).unwrap()];
        assert_eq!(half.full(&ada), Some(Full::Owner));
        assert_eq!(half.full(&bob), None);
    }
}
