//! Scopes that end with their last task, and cancellation.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use ctx_retrieve::{PortError, Strategy, TaskFailed, TaskScope, is_awaited};
use tokio::runtime::Handle;

use crate::store::{Mood, Store};
use crate::{ask, failure, options};

/// Waits until `is` holds, for a minute at most.
#[track_caller]
fn wait_until(is: impl Fn() -> bool) {
    let started = Instant::now();
    while !is() {
        assert!(started.elapsed() < Duration::from_mins(1), "it never did");
        thread::sleep(Duration::from_millis(1));
    }
}

fn held() -> (TaskScope, Weak<()>) {
    let permit = Arc::new(());
    let left = Arc::downgrade(&permit);
    (TaskScope::default().with(permit), left)
}

#[tokio::test]
async fn it_is_held_until_the_last_strategy_has_ended() {
    let (open, gate) = channel::<()>();
    let (scope, left) = held();
    let mut options = options();
    options.deadline = Duration::from_millis(50);
    let store = Store::of(&[("a.py", 1, "function", "take_all", "unrelated")]);
    let store = store.with("passages", Mood::Blocks(Mutex::new(gate)));
    let retrieved = scope.within(ask(store, "take_all", &options)).await;
    assert_eq!(
        failure(&retrieved, Strategy::Text).as_deref(),
        Some("it took too long")
    );
    thread::sleep(Duration::from_millis(100));
    assert!(left.upgrade().is_some(), "it computes still");
    drop(open);
    wait_until(|| left.upgrade().is_none());
}

#[tokio::test]
async fn tasks_begun_within_a_scope_share_it_on_any_thread() {
    let (scope, left) = held();
    let (open, gate) = channel::<()>();
    scope
        .within(async {
            let begun = TaskScope::current().spawn(async move {
                let inner = TaskScope::current().blocking(move || gate.recv());
                drop(inner);
            });
            begun.await.unwrap();
        })
        .await;
    assert!(left.upgrade().is_some());
    drop(open);
    wait_until(|| left.upgrade().is_none());
    // Without one, nothing is held.
    assert_eq!(format!("{:?}", TaskScope::current()), "TaskScope(0)");
}

#[tokio::test]
async fn who_computes_learns_that_nobody_waits() {
    assert!(is_awaited(), "where nobody knows, somebody may");
    for goes_above in [false, true] {
        let (outer, above) = TaskScope::default().cancel_on_drop();
        let (inner, guard) = outer.clone().cancel_on_drop();
        let (tell, told) = channel();
        let work = inner.blocking(move || {
            tell.send(is_awaited()).unwrap();
            wait_until(|| !is_awaited());
        });
        assert!(told.recv().unwrap());
        let kept = if goes_above {
            drop(above);
            guard
        } else {
            drop(guard);
            // Who waits for all of it waits still.
            assert!(outer.within(async { is_awaited() }).await);
            above
        };
        work.await.unwrap();
        drop(kept);
    }
}

#[tokio::test]
async fn the_message_of_a_panic_is_not_repeated() {
    let panics = || panic!("there is a {}", "canary");
    let elsewhere = TaskScope::default().blocking(panics).await;
    let here = async move { TaskScope::current().blocking(panics).await };
    let here = TaskScope::default().on_one_thread(here).await.unwrap();
    let all = TaskScope::default()
        .on_one_thread(async move { panics() })
        .await;
    for ended in [elsewhere, here, all] {
        assert_eq!(ended, Err(TaskFailed::Panicked));
        assert_eq!(ended.unwrap_err().to_string(), "it panicked");
    }
}

#[tokio::test]
async fn work_that_is_alone_has_one_thread_and_what_it_spawns_has_not() {
    let work = async {
        let here = thread::current().id();
        let blocking = TaskScope::current()
            .blocking(|| thread::current().id())
            .await;
        let port = ctx_retrieve::call_port(Duration::MAX, async { Ok(thread::current().id()) });
        let (port, _) = port.await;
        let spawned = TaskScope::current().spawn(async {
            let blocking = TaskScope::current()
                .blocking(|| thread::current().id())
                .await;
            (thread::current().id(), blocking.unwrap())
        });
        let (task, below) = spawned.await.unwrap();
        (here, [blocking.unwrap(), port.unwrap()], [task, below])
    };
    let (scope, left) = held();
    let (here, same, others) = scope.on_one_thread(work).await.unwrap();
    assert_eq!(same, [here; 2]);
    assert_ne!(here, thread::current().id());
    for other in others {
        assert_ne!(other, here);
    }
    assert_ne!(
        others[0], others[1],
        "it blocks on no thread of the runtime"
    );
    wait_until(|| left.upgrade().is_none());
}

#[tokio::test]
async fn blocking_work_may_wait_on_the_runtime() {
    let waits = || Handle::current().block_on(async { tokio::task::yield_now().await });
    let work = async move { TaskScope::current().blocking(waits).await };
    assert_eq!(TaskScope::default().within(work).await, Ok(()));
    let work = async move { TaskScope::current().blocking(waits).await };
    assert_eq!(TaskScope::default().on_one_thread(work).await, Ok(Ok(())));
}

#[tokio::test]
async fn who_computes_on_the_only_thread_learns_when_it_is_late() {
    let limit = Duration::from_millis(200);
    for ends_well in [false, true] {
        let computes = move || {
            ctx_retrieve::call_port(limit, async move {
                assert!(is_awaited(), "its time begins with it");
                wait_until(|| !is_awaited());
                // What there is of it by now is not the answer.
                let failed = Err(PortError::new("nobody waits for it"));
                if ends_well { Ok(()) } else { failed }
            })
        };
        let work = async move {
            // The second is behind the first, and has a time of its own.
            let (first, second) = tokio::join!(computes(), computes());
            assert!(is_awaited(), "all of it is not late");
            [first, second]
        };
        for (answer, took) in TaskScope::default().on_one_thread(work).await.unwrap() {
            assert_eq!(answer, Err(PortError::new("it took too long")));
            assert!(took >= limit);
        }
    }
}

#[tokio::test]
async fn who_waits_ends_with_who_asked() {
    let waits = |permit: Arc<()>| {
        ctx_retrieve::call_port(Duration::MAX, async move {
            std::future::pending::<()>().await;
            drop(permit);
            Ok(())
        })
    };
    let permit = Arc::new(());
    let left = Arc::downgrade(&permit);
    // It waits, or has not begun yet.
    drop(waits(permit));
    wait_until(|| left.upgrade().is_none());
}

#[tokio::test]
async fn tasks_learn_that_their_caller_has_gone() {
    let (tell, told) = channel();
    let work = async move {
        let asked = ctx_retrieve::call_port(Duration::MAX, async move {
            TaskScope::current().spawn(async move {
                while is_awaited() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                tell.send(()).unwrap();
            });
            std::future::pending::<()>().await;
            Ok(())
        });
        let asked = tokio::time::timeout(Duration::from_millis(20), asked);
        assert!(asked.await.is_err());
    };
    TaskScope::default().on_one_thread(work).await.unwrap();
    let told = move || told.recv_timeout(Duration::from_mins(1));
    assert_eq!(TaskScope::default().blocking(told).await, Ok(Ok(())));
}

#[tokio::test]
async fn a_hold_that_is_taken_along_is_not_alone() {
    let work = async {
        assert!(TaskScope::current().is_on_one_thread());
        // Begun by nobody, it is not done.
        drop(TaskScope::current().blocking(|| panic!("nobody waits for it")));
        let taken = TaskScope::current();
        let elsewhere = tokio::spawn(taken.within(async {
            assert!(!TaskScope::current().is_on_one_thread());
            TaskScope::current().blocking(|| ()).await
        }));
        elsewhere.await.unwrap()
    };
    assert_eq!(TaskScope::default().on_one_thread(work).await, Ok(Ok(())));
}
