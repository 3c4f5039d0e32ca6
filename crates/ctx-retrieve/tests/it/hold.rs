//! What is held until the last work has ended, and whether anybody waits for it.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use ctx_retrieve::{Ended, Hold, Strategy, is_awaited};

use crate::store::{Mood, Store};
use crate::{ask, failure, options};

/// Waits until `is` holds, for a minute at most.
#[track_caller]
fn wait_until(is: impl Fn() -> bool) {
    let started = Instant::now();
    while !is() {
        assert!(started.elapsed() < Duration::from_mins(1), "it never did");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn held() -> (Hold, Weak<()>) {
    let place = Arc::new(());
    let left = Arc::downgrade(&place);
    (Hold::default().with(place), left)
}

#[tokio::test]
async fn it_is_held_until_the_last_strategy_has_ended() {
    let (open, gate) = channel::<()>();
    let (hold, left) = held();
    let mut options = options();
    options.deadline = Duration::from_millis(50);
    let store = Store::of(&[("a.py", 1, "function", "take_all", "unrelated")]);
    let store = store.with("passages", Mood::Blocks(Mutex::new(gate)));
    let retrieved = hold.within(ask(store, "take_all", &options)).await;
    assert_eq!(failure(&retrieved, Strategy::Text), Some("it was late"));
    std::thread::sleep(Duration::from_millis(100));
    assert!(left.upgrade().is_some(), "it computes still");
    drop(open);
    wait_until(|| left.upgrade().is_none());
}

#[tokio::test]
async fn what_is_begun_within_shares_it_wherever_it_runs() {
    let (hold, left) = held();
    let (open, gate) = channel::<()>();
    hold.within(async {
        let begun = Hold::current().spawn(async move {
            let inner = Hold::current().spawn_blocking(move || gate.recv());
            drop(inner);
        });
        begun.await.unwrap();
    })
    .await;
    assert!(left.upgrade().is_some());
    drop(open);
    wait_until(|| left.upgrade().is_none());
    // Without one, nothing is held.
    assert_eq!(format!("{:?}", Hold::current()), "Hold(0)");
}

#[tokio::test]
async fn who_computes_learns_that_nobody_waits() {
    assert!(is_awaited(), "where nobody knows, somebody may");
    for goes_above in [false, true] {
        let (outer, above) = Hold::default().watched();
        let (inner, watch) = outer.clone().watched();
        let (tell, told) = channel();
        let work = inner.spawn_blocking(move || {
            tell.send(is_awaited()).unwrap();
            wait_until(|| !is_awaited());
        });
        assert!(told.recv().unwrap());
        let kept = if goes_above {
            drop(above);
            watch
        } else {
            drop(watch);
            // Who waits for all of it waits still.
            assert!(outer.within(async { is_awaited() }).await);
            above
        };
        work.await.unwrap();
        drop(kept);
    }
}

#[tokio::test]
async fn what_a_panic_says_is_not_told() {
    let work = Hold::default().spawn_blocking(|| panic!("there is a {}", "canary"));
    let ended = Ended::from(work.await.unwrap_err());
    assert_eq!(
        (ended, ended.to_string().as_str()),
        (Ended::Panicked, "it panicked")
    );
}
