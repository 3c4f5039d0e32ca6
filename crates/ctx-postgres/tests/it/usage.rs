//! What was shown, what was of use, and those who say so at once.

use std::collections::BTreeSet;

use ctx_postgres::Vote;
use ctx_retrieve::{History as _, Message, Usage as _};

use crate::fresh;
use crate::server::raw;

fn paths(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|&it| it.to_owned()).collect()
}

#[tokio::test]
async fn a_context_has_one_vote_and_a_file_no_uses_below_none() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let both = paths(&["a.rs", "b.rs", "a.rs"]);
    assert_eq!(
        store.feedback("c1", &both, true, 1).await.unwrap(),
        Vote::Counted
    );
    for _ in 0..5 {
        assert_eq!(
            store.feedback("c1", &both, true, 2).await.unwrap(),
            Vote::Repeated
        );
    }
    assert_eq!(
        store.feedback("c2", &both[..1], true, 3).await.unwrap(),
        Vote::Counted
    );
    for context in ["c3", "c4", "c5"] {
        store
            .feedback(context, &both[1..2], false, 4)
            .await
            .unwrap();
    }
    let counts: Vec<u64> = store.counts(&both).await.unwrap().into_values().collect();
    assert_eq!(counts, [2, 0]);
    // The same context of another owner is another context.
    let bob = fresh.owner("bob");
    assert_eq!(
        bob.feedback("c1", &both, true, 1).await.unwrap(),
        Vote::Counted
    );
}

#[tokio::test]
async fn the_same_message_again_changes_nothing() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let message = |id: &str, text: &str| Message::new(id, "user", text, 5);
    assert!(store.append("t", &message("1", "first")).await.unwrap());
    assert!(!store.append("t", &message("1", "other")).await.unwrap());
    assert!(store.append("t", &message("2", "second")).await.unwrap());
    let said: Vec<String> = store
        .messages("t", 9)
        .await
        .unwrap()
        .into_iter()
        .map(|it| it.content)
        .collect();
    assert_eq!(said, ["first", "second"]);
    assert_eq!(store.threads(9).await.unwrap(), [("t".to_owned(), 5)]);
    assert!(store.forget_thread("t").await.unwrap());
    assert!(store.messages("t", 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn those_who_speak_at_once_are_all_heard() {
    let fresh = fresh!();
    let mut tasks = Vec::new();
    for speaker in 0..8 {
        let store = fresh.owner("alice");
        tasks.push(tokio::spawn(async move {
            for n in 0..10 {
                let message = Message::new(format!("{speaker}.{n}"), "user", "x", n);
                assert!(store.append("t", &message).await.unwrap());
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let said = fresh.owner("alice").messages("t", 100).await.unwrap();
    let ids: BTreeSet<&str> = said.iter().map(|it| it.id.as_str()).collect();
    assert_eq!((said.len(), ids.len()), (80, 80));
}

#[tokio::test]
async fn a_transaction_that_gives_way_is_tried_again() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let both = paths(&["a.rs", "b.rs"]);
    store.shown(&both, 1).await.unwrap();
    let mut other = raw(&fresh.url).await;
    // The other waits for longer before it looks for a deadlock, so that it is the store that gives way.
    other
        .batch_execute("SET deadlock_timeout = '20s'")
        .await
        .unwrap();
    let transaction = other.transaction().await.unwrap();
    let lock = "SELECT uses FROM ctx.usage WHERE path = $1 FOR UPDATE";
    transaction.query_one(lock, &[&"b.rs"]).await.unwrap();
    let task = tokio::spawn(async move { store.shown(&both, 2).await.map(|()| store) });
    let watch = raw(&fresh.url).await;
    let waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)";
    while !watch.query_one(waits, &[]).await.unwrap().get::<_, bool>(0) {
        tokio::task::yield_now().await;
    }
    // The store holds a.rs and waits for b.rs.
    transaction.query_one(lock, &[&"a.rs"]).await.unwrap();
    transaction.commit().await.unwrap();
    let store = task.await.unwrap().unwrap();
    assert_eq!(store.recent(1).await.unwrap()[0].1, 2);
    let sql = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    watch
        .batch_execute("SELECT pg_stat_force_next_flush()")
        .await
        .unwrap();
    let deadlocks: i64 = watch.query_one(sql, &[]).await.unwrap().get(0);
    assert!(deadlocks <= 1, "{deadlocks}");
    drop(fresh.server);
}
