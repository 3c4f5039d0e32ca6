use super::Doing::{Reads, Writes};
use super::*;

const PATIENCE: Duration = Duration::from_millis(500);

fn admission(workers: usize, queue: usize) -> Arc<Admission> {
    Arc::new(Admission::new((workers, workers), queue, 100, PATIENCE))
}

/// Records how long some work took.
fn note(admission: &Admission, took: Duration) {
    admission.state().mean.note(took);
}

fn owner(name: &str) -> Owner {
    Owner::new(name).unwrap()
}

/// Polls `turn` once and returns its turn, if it is ready.
fn now<T>(turn: impl Future<Output = T>) -> Option<T> {
    let mut turn = std::pin::pin!(turn);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match turn.as_mut().poll(&mut context) {
        std::task::Poll::Ready(turn) => Some(turn),
        std::task::Poll::Pending => None,
    }
}

/// Enters as many requests as are admitted; each has what it needs.
fn all(admission: &Arc<Admission>, owner: &Owner, doing: Doing) -> Vec<Slot> {
    let slot = || {
        let mut slot = admission.enter(owner, doing).ok()?;
        slot.ready();
        Some(slot)
    };
    std::iter::from_fn(slot).collect()
}

/// How many requests get in, and why the next is rejected.
fn fill(admission: &Arc<Admission>) -> (usize, Option<Full>) {
    let owner = owner("ada");
    let slots = all(admission, &owner, Reads);
    let before = admission.full(&owner, Reads);
    let after = admission.enter(&owner, Reads).err();
    assert_eq!(before, after, "before a body is read, and after");
    (slots.len(), after)
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
    // How long work takes, how many slots one owner gets, and how many are left to others.
    for (milliseconds, ada_has, others_have) in
        [(1, 38, 13), (100, 13, 8), (300, 6, 3), (5_000, 3, 1)]
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

/// Records how long work of `owner` takes.
fn note_of(admission: &Admission, owner: &Owner, took: Duration) {
    admission.state().known(owner).mean.note(took);
}

/// A turn that has gone on for so long.
fn after(took: Duration, mut turn: Turn) -> Turn {
    turn.began = turn.began.checked_sub(took).unwrap();
    turn
}

#[tokio::test]
async fn turns_go_to_the_owner_that_has_used_least_time() {
    const LONG: Duration = Duration::from_secs(2);
    const SHORT: Duration = Duration::from_millis(10);
    let admission = Arc::new(Admission::new((1, 1), 16, 100, Duration::from_hours(1)));
    let [ada, bob] = ["ada", "bob"].map(owner);
    let wait = |owner: &Owner| Box::pin(admission.enter(owner, Reads).unwrap().turn());
    let first = now(wait(&ada)).unwrap();
    let mut adas = [wait(&ada), wait(&ada)];
    assert!(adas.iter_mut().all(|it| now(it).is_none()));
    let mut bobs = [wait(&bob), wait(&bob), wait(&bob)];
    assert!(bobs.iter_mut().all(|it| now(it).is_none()));
    drop(after(LONG, first));
    // All that he asked for takes less than what she had.
    for bobs in &mut bobs {
        assert!(adas.iter_mut().all(|it| now(it).is_none()));
        drop(after(SHORT, now(bobs).unwrap()));
    }
    for adas in &mut adas {
        drop(after(LONG, now(adas).unwrap()));
    }
    // Who comes later has no credit for the time before.
    let cleo = owner("cleo");
    let first = now(wait(&bob)).unwrap();
    let (mut second, mut third) = (wait(&cleo), wait(&bob));
    assert!(now(&mut third).is_none() && now(&mut second).is_none());
    drop(after(SHORT, first));
    drop(after(LONG, now(&mut second).unwrap()));
    let (mut fourth, mut fifth) = (wait(&cleo), wait(&cleo));
    assert!(now(&mut fourth).is_none() && now(&mut fifth).is_none());
    drop(now(&mut third).unwrap());
    assert!(now(&mut fourth).is_some());
}

#[tokio::test]
async fn while_others_are_about_no_owner_has_all_turns() {
    for workers in 1..5 {
        let admission = Arc::new(Admission::new((workers, 1), 16, 100, PATIENCE));
        let [ada, bob] = ["ada", "bob"].map(owner);
        let turns = |owner: &Owner, count: usize| -> Vec<Turn> {
            let turns = (0..count).map(|_| admission.enter(owner, Reads).unwrap().turn());
            turns.filter_map(now).collect()
        };
        let alone = turns(&ada, workers + 1);
        assert_eq!(alone.len(), workers);
        drop(alone);
        // He was here a moment ago.
        drop(turns(&bob, 1));
        let adas = turns(&ada, workers + 1);
        assert_eq!(adas.len(), (workers - 1).max(1), "of {workers}");
        let left = workers - adas.len();
        assert_eq!(turns(&bob, 1).len(), left.min(1), "of {workers}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_turn_kept_for_others_is_given_once_they_are_no_longer_about() {
    let admission = Arc::new(Admission::new((2, 1), 16, 100, PATIENCE));
    let [ada, bob] = ["ada", "bob"].map(owner);
    let turn = |owner: &Owner| Box::pin(admission.enter(owner, Reads).unwrap().turn());
    let _first = now(turn(&ada)).unwrap();
    let mut second = turn(&ada);
    let began = time::Instant::now();
    for _ in 0..2 {
        drop(turn(&bob).await);
        let waits = time::timeout(ABOUT * 3 / 4, &mut second).await;
        assert!(waits.is_err(), "he was here a moment ago");
    }
    let second = time::timeout(ABOUT, second).await;
    assert!(second.is_ok());
    assert_eq!(began.elapsed().as_secs(), (ABOUT * 7 / 4).as_secs());
}

#[test]
fn who_asks_for_little_is_admitted_however_long_the_work_of_others_takes() {
    let admission = Arc::new(Admission::new((3, 3), 48, 75, PATIENCE));
    let [ada, bob, cleo] = ["ada", "bob", "cleo"].map(owner);
    note(&admission, Duration::from_secs(2));
    note_of(&admission, &ada, Duration::from_secs(2));
    note_of(&admission, &bob, Duration::from_millis(10));
    let adas = all(&admission, &ada, Reads);
    assert_eq!(adas.len(), 3);
    assert_eq!(admission.full(&ada, Reads), Some(Full::Owner));
    let bobs = all(&admission, &bob, Reads);
    assert_eq!(bobs.len(), 38);
    assert_eq!(admission.full(&bob, Reads), Some(Full::Owner));
    // Of a third one nothing is known yet.
    let cleos = all(&admission, &cleo, Reads);
    assert_eq!(cleos.len(), 1);
    assert_eq!(admission.full(&cleo, Reads), Some(Full::Late));
}

#[test]
fn unused_turns_are_not_charged_and_few_owners_are_remembered() {
    let admission = admission(1, 8);
    let ada = owner("ada");
    note_of(&admission, &ada, Duration::from_secs(2));
    for _ in 0..3 {
        let mut slot = admission.enter(&ada, Reads).unwrap();
        slot.ready();
        assert!(admission.state().known(&ada).used > 0);
        drop(slot);
        assert_eq!(admission.state().known(&ada).used, 0);
    }
    for number in 0..2 * KNOWN {
        drop(all(&admission, &owner(&number.to_string()), Reads));
    }
    assert!(admission.state().known.len() <= KNOWN);
}

#[tokio::test]
async fn who_has_no_more_than_two_cores_is_crowded() {
    for (workers, cores, free) in [(1, 1, 0), (2, 2, 0), (3, 2, 0), (4, 4, 1), (12, 8, 3)] {
        let admission = Arc::new(Admission::new((workers, cores), 0, 100, PATIENCE));
        let owner = owner("ada");
        let slots: Vec<Slot> = std::iter::from_fn(|| admission.enter(&owner, Reads).ok()).collect();
        let mut turns = Vec::new();
        for slot in slots {
            let turn = slot.turn().await;
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
    // None of the other turns is taken.
    let others = [
        now(enter(&bob, Writes).turn()),
        now(enter(&ada, Reads).turn()),
    ];
    assert!(others.iter().all(Option::is_some));
    let mut read = Box::pin(enter(&bob, Reads).turn());
    assert!(now(&mut read).is_none(), "there are three");
    drop((first, others));
    // A dropped request keeps none of those behind it.
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
    // How long a write takes, how many one owner gets in with, why the next is rejected, and
    // how many reads of others get in.
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
    // How long work takes, how many requests of one owner that still need something get in, and
    // how many that need nothing get in then.
    for (milliseconds, ada_has, others_have) in [(200, 7, 11), (5_000, 3, 3)] {
        let admission = Arc::new(Admission::new((3, 3), 48, 75, PATIENCE));
        note(&admission, Duration::from_millis(milliseconds));
        let [ada, bob, cleo] = ["ada", "bob", "cleo"].map(owner);
        let opening = |owner: &Owner| -> Vec<Slot> {
            std::iter::from_fn(|| admission.enter(owner, Reads).ok()).collect()
        };
        let (mut adas, bobs) = (opening(&ada), opening(&bob));
        assert_eq!((adas.len(), bobs.len()), (ada_has, ada_has));
        let turn = now(admission.enter(&cleo, Reads).unwrap().turn()).unwrap();
        assert_eq!(admission.state().line, 1);
        // The request that gets it stands in line from then on.
        let its = now(adas.remove(0).turn()).unwrap();
        assert_eq!(admission.state().line, 2);
        let mut others: Vec<Slot> = Vec::new();
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
    let mut slots: Vec<Slot> = (0..4)
        .map(|_| admission.enter(&ada, Writes).unwrap())
        .collect();
    let line = || admission.state().line;
    assert_eq!(line(), 0);
    for slot in &mut slots[1..3] {
        slot.ready();
        assert_eq!(line(), 1);
    }
    // One that still needs something, one that stands in line, and the one behind it.
    for (at, left) in [(0, 1), (0, 1), (0, 0), (0, 0)] {
        drop(slots.remove(at));
        assert_eq!(line(), left);
    }
}
