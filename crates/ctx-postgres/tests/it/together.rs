//! Concurrent writers of conflicting files.

use std::collections::BTreeSet;

use ctx_postgres::{Bounds, FileText, OwnedStore, StoreError};

use crate::server::raw;
use crate::{fresh, texts};

/// Rounds of each pair.
const ROUNDS: usize = 25;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_file_and_a_file_below_it_that_come_at_once_one_is_refused() {
    let fresh = fresh!();
    let mut refused = BTreeSet::new();
    for round in 0..ROUNDS {
        // `a` and `a/b`, `a` and `a/b/c`, `a/b` and `a/b/c`: with others in each batch, in either
        // order.
        for (number, (one, other)) in [("", "/b"), ("", "/b/c"), ("/b", "/b/c")]
            .into_iter()
            .enumerate()
        {
            let top = format!("{round}.{number}");
            let begin = std::sync::Arc::new(tokio::sync::Barrier::new(2));
            let store = |end: &str, beside: &str| {
                let path = format!("{top}{end}");
                let store = fresh.owner("alice");
                let mut files = texts([(path.as_str(), "x"), (&format!("{top}{beside}"), "y")]);
                if round % 2 == 0 {
                    files.reverse();
                }
                let begin = std::sync::Arc::clone(&begin);
                tokio::spawn(async move {
                    begin.wait().await;
                    (store.ingest(files).await, path)
                })
            };
            let both = (store(one, ".one"), store(other, ".other"));
            let both = [both.0.await.unwrap(), both.1.await.unwrap()];
            let failed: Vec<_> = both.iter().filter(|it| it.0.is_err()).collect();
            let [(Err(StoreError::Place { path, is_folder }), own)] = &failed[..] else {
                panic!("{both:?}");
            };
            assert_eq!(path, own);
            assert_eq!(*is_folder, *own == format!("{top}{one}"));
            refused.insert(*is_folder);
        }
    }
    // Of each refused batch nothing is there: two files for each pair.
    assert_eq!(paths(&fresh.owner("alice")).await.len(), ROUNDS * 3 * 2);
    println!("refused, by whether it would be a folder: {refused:?}");
}

async fn paths(store: &OwnedStore) -> Vec<String> {
    let files = store.stored_files("", 1_000).await.unwrap();
    files.into_iter().map(|it| it.path).collect()
}

#[tokio::test]
async fn a_file_is_no_folder_whether_they_come_together_or_one_after_the_other() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let place = async |files: &[&str]| {
        let files = files.iter().map(|it| (*it, "x"));
        match store.ingest(texts(files)).await {
            Err(StoreError::Place { path, is_folder }) => Some((path, is_folder)),
            other => {
                other.unwrap();
                None
            }
        }
    };
    let at = |path: &str, is_folder| Some((path.to_owned(), is_folder));
    assert_eq!(place(&["a/b", "a/b/c"]).await, at("a/b/c", false));
    assert_eq!(place(&["a/b", "a.b", "a/bc", "b/a"]).await, None);
    assert_eq!(place(&["x", "a"]).await, at("a", true));
    assert_eq!(place(&["x", "a/b/c/d"]).await, at("a/b/c/d", false));
    assert_eq!(place(&["a/b", "a/c"]).await, None);
    // Another owner's files are in nobody's way.
    fresh
        .owner("bob")
        .ingest(texts([("a", "x")]))
        .await
        .unwrap();
    store
        .remove(&["a/b".to_owned(), "a/c".to_owned(), "a/bc".to_owned()])
        .await
        .unwrap();
    assert_eq!(place(&["a"]).await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bounds_hold_however_many_store_at_once() {
    let fresh = fresh!();
    let bounds = Bounds::new(10, 1_000);
    let mut tasks = Vec::new();
    for writer in 0..6 {
        let store = fresh.owner("alice");
        tasks.push(tokio::spawn(async move {
            let mut stored = 0;
            for number in 0..4 {
                let file = FileText::new(format!("{writer}.{number}"), "x".repeat(50));
                match store.ingest_within(bounds, vec![file]).await {
                    Ok(_) => stored += 1,
                    Err(StoreError::Full {
                        what: "files",
                        most: 10,
                    }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            stored
        }));
    }
    let mut stored = 0;
    for task in tasks {
        stored += task.await.unwrap();
    }
    assert_eq!(stored, 10);
    let store = fresh.owner("alice");
    let totals = store.totals().await.unwrap();
    assert_eq!((totals.files, totals.bytes), (10, 500));
    let path = paths(&store).await.remove(0);
    let put = async |length: usize| {
        let file = FileText::new(path.clone(), "é".repeat(length));
        store.ingest_within(bounds, vec![file]).await
    };
    put(275).await.unwrap();
    assert_eq!(store.totals().await.unwrap().bytes, 1_000);
    let full = put(276).await;
    assert!(matches!(
        full,
        Err(StoreError::Full {
            what: "bytes of files",
            most: 1_000
        })
    ));
    put(1).await.unwrap();
    store.remove(std::slice::from_ref(&path)).await.unwrap();
    let totals = store.totals().await.unwrap();
    assert_eq!((totals.files, totals.bytes), (9, 450));
}

/// Until so many statements of the database wait for their turn.
async fn wait_for_waiting(watch: &tokio_postgres::Client, most: i64) {
    let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    while watch
        .query_one(waiting, &[])
        .await
        .unwrap()
        .get::<_, i64>(0)
        < most
    {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_batches_that_come_at_once_one_is_kept_after_the_other_with_what_was_there_in_it() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    store
        .ingest(texts([("a", "1"), ("b", "1"), ("c", "1")]))
        .await
        .unwrap();
    let turn = raw(&fresh.url).await;
    let key = "(hashtextextended('ctx.files:alice', 0))";
    let take = format!("SELECT pg_advisory_lock{key}");
    turn.batch_execute(&take).await.unwrap();
    let ingest = |files: [(&'static str, &'static str); 3]| {
        let store = fresh.owner("alice");
        tokio::spawn(async move { store.ingest(texts(files)).await.unwrap() })
    };
    let watch = raw(&fresh.url).await;
    let first = ingest([("a", "2"), ("b", "2"), ("c", "1")]);
    wait_for_waiting(&watch, 1).await;
    // When it looks, `a` and `c` are stored as they are in it.
    let second = ingest([("a", "1"), ("b", "3"), ("c", "1")]);
    wait_for_waiting(&watch, 2).await;
    let give = format!("SELECT pg_advisory_unlock{key}");
    turn.batch_execute(&give).await.unwrap();
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    assert_eq!((first.stored, first.unchanged), (2, 1));
    assert_eq!((second.stored, second.unchanged), (2, 1));
    let two = *blake3::hash(b"2").as_bytes();
    for path in ["a", "b"] {
        assert_eq!(second.before[path], Some(two), "{path}");
    }
    for (path, text) in [("a", "1"), ("b", "3"), ("c", "1")] {
        assert_eq!(store.text(path).await.unwrap().as_deref(), Some(text));
    }
}
