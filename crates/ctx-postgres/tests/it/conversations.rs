//! Threads that several write to at once.

use std::time::Duration;

use ctx_postgres::OwnedStore;
use ctx_retrieve::References as _;

use crate::fresh;
use crate::server::raw;

/// How many of the test's own database wait for each other.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'";

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&it| it.to_owned()).collect()
}

async fn set(store: OwnedStore, pinned: Vec<String>) -> Vec<String> {
    let thread = store.set_pins("t", &pinned).await.unwrap();
    thread.unwrap().pinned
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_that_pin_at_once_the_later_one_is_what_is_left() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let (mut holder, watcher) = (raw(&fresh.url).await, raw(&fresh.url).await);
    let before = names(&["x", "y"]);
    let begun = store.begin_thread("t", None, &before, 1, 10).await;
    begun.unwrap();
    let lists = [
        [&["a"][..], &["b"]],
        [&["a", "b"], &["b", "c", "a"]],
        [&["c"], &[]],
        [&["x", "a"], &["b", "x"]],
    ];
    for both in lists {
        // Both have begun, and neither has its turn, until the thread is let go.
        let held = holder.transaction().await.unwrap();
        let sql = "SELECT 1 FROM ctx.threads WHERE thread = 't' FOR UPDATE";
        held.query_one(sql, &[]).await.unwrap();
        let both = both.map(names);
        let tasks = both.clone().map(|it| tokio::spawn(set(store.clone(), it)));
        loop {
            let row = watcher.query_one(WAITING, &[]).await.unwrap();
            if row.get::<_, i64>(0) == 2 {
                break;
            }
            assert!(tasks.iter().all(|it| !it.is_finished()), "{both:?}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        held.commit().await.unwrap();
        for (task, list) in tasks.into_iter().zip(&both) {
            assert_eq!(&task.await.unwrap(), list);
        }
        let left = store.pinned("t").await.unwrap();
        assert!(both.contains(&left), "{left:?} is left of {both:?}");
    }
    assert_eq!(store.set_pins("none", &before).await.unwrap(), None);
}
