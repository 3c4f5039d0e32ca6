//! Threads with concurrent writers.

use std::time::Duration;

use ctx_model::UnixSeconds;
use ctx_postgres::{Added, BegunThread, OwnedStore, Store, StoredMessage};
use ctx_retrieve::{
    Feedback as _, Generation as _, History as _, Message, References as _, Threads as _,
    Usefulness, Vote,
};

use tokio::task::JoinHandle;
use tokio_postgres::{Client, Row};

use crate::fresh;
use crate::server::{patient, raw};

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

/// Waits until each of `tasks` waits for a lock.
async fn all_wait<T>(watcher: &Client, tasks: &[JoinHandle<T>]) {
    loop {
        let row = watcher.query_one(WAITING, &[]).await.unwrap();
        if usize::try_from(row.get::<_, i64>(0)).unwrap() == tasks.len() {
            break;
        }
        assert!(tasks.iter().all(|it| !it.is_finished()));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
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
        all_wait(&watcher, &tasks).await;
        held.commit().await.unwrap();
        for (task, list) in tasks.into_iter().zip(&both) {
            assert_eq!(&task.await.unwrap(), list);
        }
        let left = store.pinned("t").await.unwrap();
        assert!(both.contains(&left), "{left:?} is left of {both:?}");
    }
    assert_eq!(store.set_pins("none", &before).await.unwrap(), None);
}

#[tokio::test]
async fn a_message_that_comes_again_changes_nothing() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let add = async |thread: &str, id: &str, at: i64, most| {
        let message = StoredMessage::new(id, "user", "said", at * 1_000);
        store.add_message(thread, &message, most).await.unwrap()
    };
    for thread in ["t", "u"] {
        let begun = store.begin_thread(thread, None, &[], 1, 10).await;
        assert_eq!(begun.unwrap(), Added::Added);
    }
    assert_eq!(add("t", "1", 2, 9).await, Added::Added);
    assert_eq!(add("u", "1", 3, 9).await, Added::Added);
    let client = raw(&fresh.url).await;
    let changes = async || {
        let sql = "SELECT thread, active_at FROM ctx.threads ORDER BY activity";
        let rows = client.query(sql, &[]).await.unwrap();
        let change = |row: &Row| (row.get::<_, String>(0), row.get::<_, i64>(1));
        rows.iter().map(change).collect::<Vec<_>>()
    };
    let before = changes().await;
    assert_eq!(before, [("t".to_owned(), 2_000), ("u".to_owned(), 3_000)]);
    // Also where there is no room for another.
    for most in [9, 2] {
        assert_eq!(add("t", "1", 9, most).await, Added::Exists);
        assert_eq!(changes().await, before);
    }
    assert_eq!(add("t", "2", 4, 2).await, Added::Full);
    assert_eq!(add("t", "2", 4, 9).await, Added::Added);
    let numbers = store.listed_messages("t", 0, 9, usize::MAX).await.unwrap();
    let numbers: Vec<i64> = numbers.iter().map(|it| it.number).collect();
    assert_eq!(numbers, [1, 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_come_at_once_are_numbered_without_a_gap() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let (mut holder, watcher) = (raw(&fresh.url).await, raw(&fresh.url).await);
    store.begin_thread("t", None, &[], 1, 10).await.unwrap();
    let mut listed = Vec::new();
    // The same twice, two that differ, two of which there is room for one, and one after all.
    for (ids, most) in [
        (["1", "1"], 9),
        (["2", "3"], 9),
        (["4", "5"], 4),
        (["6", "6"], 9),
    ] {
        // All have begun, and none has its turn, until the thread is let go.
        let held = holder.transaction().await.unwrap();
        let sql = "SELECT 1 FROM ctx.threads WHERE thread = 't' FOR UPDATE";
        held.query_one(sql, &[]).await.unwrap();
        let tasks = ids.map(|id| {
            let store = store.clone();
            let message = StoredMessage::new(id, "user", "said", 2_000);
            tokio::spawn(async move { store.add_message("t", &message, most).await.unwrap() })
        });
        all_wait(&watcher, &tasks).await;
        held.commit().await.unwrap();
        let mut added = Vec::new();
        for task in tasks {
            added.push(task.await.unwrap());
        }
        let count = added.iter().filter(|it| **it == Added::Added).count();
        assert_eq!(count, if ids == ["2", "3"] { 2 } else { 1 }, "{added:?}");
        assert!(
            ids[0] != ids[1] || added.contains(&Added::Exists),
            "{added:?}"
        );
        let last = i64::try_from(listed.len() + count).unwrap();
        listed = store.listed_messages("t", 0, 99, usize::MAX).await.unwrap();
        let numbers: Vec<i64> = listed.iter().map(|it| it.number).collect();
        assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn the_number_of_a_thread_says_nothing_of_other_owners() {
    let fresh = fresh!();
    let (alice, bob) = (fresh.owner("alice"), fresh.owner("bob"));
    let begin = async |store: &OwnedStore, thread: &str| {
        let begun = store.begin_thread(thread, None, &[], 1, 100).await;
        assert_eq!(begun.unwrap(), Added::Added);
        let (begun, _) = store.stored_thread(thread).await.unwrap().unwrap();
        begun.number
    };
    for number in 1..=3 {
        assert_eq!(begin(&alice, &format!("a{number}")).await, number);
        for more in 0..3 {
            begin(&bob, &format!("b{number} {more}")).await;
        }
    }
    assert_eq!(begin(&bob, "b").await, 10);
    // None is given twice, and one that is there keeps its own.
    alice.forget_thread("a3").await.unwrap();
    let again = alice.begin_thread("a1", None, &[], 1, 100).await;
    assert_eq!(again.unwrap(), Added::Exists);
    alice.pin("a1", "a.rs").await.unwrap();
    alice.pin("a4", "a.rs").await.unwrap();
    let listed = alice.listed_threads(None, 9).await.unwrap();
    let listed = listed.iter().map(|it| (it.number, it.thread.as_str()));
    assert_eq!(
        listed.collect::<Vec<_>>(),
        [(4, "a4"), (2, "a2"), (1, "a1")]
    );
}

#[tokio::test]
async fn a_request_sees_the_data_as_it_was_when_it_began() {
    let fresh = fresh!();
    let (store, bob) = (fresh.owner("alice"), fresh.owner("bob"));
    for thread in ["", "t", "no\0ne", "' OR ''='"] {
        assert_eq!(
            store.opened(thread, 9, 9).await.unwrap().1,
            None,
            "{thread:?}"
        );
    }
    let pinned = names(&["b.rs", "a.rs"]);
    let begun = store.begin_thread("t", None, &pinned, 1, 10).await;
    begun.unwrap();
    bob.append(
        "t",
        &Message::new("m", "user", "of another", UnixSeconds::new(1)),
    )
    .await
    .unwrap();
    for count in 0..4 {
        let message = Message::new(
            format!("m{count}"),
            "user",
            format!("said {count}"),
            UnixSeconds::new(count),
        );
        store.append("t", &message).await.unwrap();
        let (request, begun) = store.opened("t", 3, 9).await.unwrap();
        assert_eq!(begun, store.begun_thread("t").await.unwrap());
        assert!(begun.is_some());
        // As many as were read, fewer, and more, which are asked for.
        for limit in [3, 2, 0, 20] {
            let wanted = store.messages("t", limit).await.unwrap();
            assert_eq!(request.messages("t", limit).await.unwrap(), wanted);
        }
        assert_eq!(request.pinned("t").await.unwrap(), pinned);
        assert_eq!(request.messages("u", 9).await.unwrap(), []);
        assert!(request.pinned("u").await.unwrap().is_empty());
        let generation = store.generation().await.unwrap();
        assert_eq!(request.generation().await.unwrap(), generation);
        let later = Message::new(
            format!("l{count}"),
            "user",
            "said later",
            UnixSeconds::new(count),
        );
        store.append("t", &later).await.unwrap();
        let last = async |limit| request.messages("t", limit).await.unwrap().pop();
        assert_eq!(last(20).await.map(|it| it.id).as_ref(), Some(&later.id));
        assert_ne!(last(3).await.map(|it| it.id).as_ref(), Some(&later.id));
        store.set_pins("t", &names(&["c.rs"])).await.unwrap();
        let vote = Vote::new(
            format!("key {count}"),
            "a.rs",
            Usefulness::Useful,
            UnixSeconds::new(1),
        );
        assert!(store.vote(&vote).await.unwrap());
        // It goes on as it began; the next sees what was written.
        assert_eq!(request.pinned("t").await.unwrap(), pinned);
        assert_eq!(request.generation().await.unwrap(), generation);
        let (next, _) = store.opened("t", 20, 9).await.unwrap();
        assert_eq!(next.pinned("t").await.unwrap(), ["c.rs"]);
        let plainly = store.messages("t", 20).await.unwrap();
        assert_eq!(next.messages("t", 20).await.unwrap(), plainly);
        assert_ne!(next.generation().await.unwrap(), generation);
        store.set_pins("t", &pinned).await.unwrap();
    }
}

#[tokio::test]
async fn of_contexts_the_latest_are_kept_and_one_that_is_met_again_is_the_latest() {
    let fresh = fresh!();
    let (store, bob) = (fresh.owner("alice"), fresh.owner("bob"));
    let bytes = |most: u64| crate::keeping(3_600, most * 9);
    bob.keep_context("0", "of another", None, bytes(3))
        .await
        .unwrap();
    let mut kept: Vec<String> = Vec::new();
    for (most, ids) in [
        (3, &[0, 1, 2, 0, 3, 4, 4, 0, 5, 6, 7, 7][..]),
        (1, &[0, 1, 1]),
        (0, &[2]),
    ] {
        let kept_at_most = most.max(1);
        for id in ids.iter().map(i32::to_string) {
            // Of nine bytes each.
            let receipt = format!("receipt {id}");
            store
                .keep_context(&id, &receipt, None, bytes(most))
                .await
                .unwrap();
            kept.retain(|it| *it != id);
            kept.push(id);
            let over = kept
                .len()
                .saturating_sub(usize::try_from(kept_at_most).unwrap());
            kept.drain(..over);
            for id in (0..8).map(|it| it.to_string()) {
                let found = store.context(&id).await.unwrap();
                let wanted = kept.contains(&id).then(|| format!("receipt {id}"));
                assert_eq!(found, wanted, "{kept:?}");
            }
        }
    }
    assert_eq!(bob.context("0").await.unwrap().unwrap(), "of another");
}

#[tokio::test]
async fn contexts_that_are_too_old_go_however_few_they_are() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let long = crate::keeping(3_600, 1_000);
    for id in ["1", "2", "3"] {
        store.keep_context(id, "{}", None, long).await.unwrap();
        assert!(store.is_kept(id, long).await.unwrap());
    }
    // What comes later is half of what may be kept, and more.
    assert!(!store.is_kept("1", crate::keeping(3_600, 6)).await.unwrap());
    assert!(store.is_kept("3", crate::keeping(3_600, 6)).await.unwrap());
    let at_once = crate::keeping(0, 1_000);
    assert!(!store.is_kept("3", at_once).await.unwrap());
    store.keep_context("3", "{}", None, at_once).await.unwrap();
    for (id, is_there) in [("1", false), ("2", false), ("3", true)] {
        assert_eq!(store.context(id).await.unwrap().is_some(), is_there, "{id}");
    }
}

/// A thread that is much longer than what is said in an exchange of it.
#[tokio::test]
async fn to_look_a_message_up_reads_its_exchange_and_not_its_thread() {
    let fresh = fresh!();
    let admin = raw(&fresh.url).await;
    let long = "INSERT INTO ctx.threads (owner, thread, last) VALUES ('alice', 't', 4000);
        INSERT INTO ctx.messages (owner, thread, number, id, role, content, created_at)
            SELECT 'alice', 't', n, 'm' || n, CASE WHEN n % 2 = 1 THEN 'user' ELSE 'assistant' END, 'said ' || n, n
            FROM generate_series(1, 4000) n;
        ANALYZE ctx.messages";
    admin.batch_execute(long).await.unwrap();
    let read = async || {
        // A connection tells what it read when it ends.
        let others = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'reader'";
        while admin.query_one(others, &[]).await.unwrap().get::<_, i64>(0) > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let read = "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)
            FROM pg_stat_user_tables WHERE relname = 'messages'";
        admin.query_one(read, &[]).await.unwrap().get::<_, i64>(0)
    };
    let url = format!("{} application_name=reader", fresh.url);
    for (id, said) in [
        ("m1", &["m1", "m2"][..]),
        ("m2000", &["m1999", "m2000"]),
        ("m4000", &["m3999", "m4000"]),
        ("none", &[]),
    ] {
        let before = read().await;
        let store = Store::connect(&url, patient()).await.unwrap();
        let exchange = store.owner("alice").unwrap().exchange("t", id, 16).await;
        let ids: Vec<String> = exchange.unwrap().into_iter().map(|it| it.id).collect();
        assert_eq!(ids, said);
        drop(store);
        let rows = read().await - before;
        assert!(rows < 20, "{rows} rows were read for {id}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_are_listed_by_their_last_activity_and_none_is_listed_twice() {
    let fresh = fresh!();
    let (alice, bob) = (fresh.owner("alice"), fresh.owner("bob"));
    for (store, at) in [(&alice, 5_000), (&bob, 9_000)] {
        for thread in ["a", "b", "c", "d"] {
            let begun = store.begin_thread(thread, None, &[], at, 10).await;
            begun.unwrap();
        }
    }
    let said = |id: &str, at| StoredMessage::new(id, "user", "said", at);
    let add = async |thread: &str, id: &str, at| {
        let added = alice.add_message(thread, &said(id, at), 99).await;
        assert_eq!(added.unwrap(), Added::Added);
    };
    let page = async |before| {
        let threads = alice.active_threads(before, 2).await.unwrap();
        let next = threads.last().map(|it| it.activity);
        let threads = threads.into_iter().map(|it| (it.thread, it.active_at));
        (threads.collect::<Vec<_>>(), next)
    };
    let named = |all: &[(&str, i64)]| -> Vec<(String, i64)> {
        all.iter().map(|(it, at)| ((*it).to_owned(), *at)).collect()
    };
    add("b", "1", 6_007).await;
    // A clock that went back changes the order, and not the time.
    add("a", "2", 4_000).await;
    let (first, next) = page(None).await;
    assert_eq!(first, named(&[("a", 5_000), ("b", 6_007)]));
    // One that was to come next has moved to the beginning, and the rest follows all the same.
    add("d", "3", 7_000).await;
    let (second, next) = page(next).await;
    assert_eq!(second, named(&[("c", 5_000)]));
    assert_eq!(page(next).await.0, []);
    add("c", "4", 8_000).await;
    // What adds no message is no activity: one that is there, or is too many, a pin, a title.
    for (id, wanted) in [("1", Added::Exists), ("new", Added::Full)] {
        let added = alice.add_message("b", &said(id, 9_000), 4).await;
        assert_eq!(added.unwrap(), wanted, "{id}");
    }
    alice.set_pins("b", &names(&["x"])).await.unwrap();
    alice.set_title("b", Some("title")).await.unwrap();
    let all = alice.active_threads(None, 9).await.unwrap();
    let order: Vec<&str> = all.iter().map(|it| it.thread.as_str()).collect();
    assert_eq!(order, ["c", "d", "a", "b"]);
    let listed = alice.listed_threads(None, 9).await.unwrap();
    let order: Vec<&str> = listed.iter().map(|it| it.thread.as_str()).collect();
    assert_eq!(order, ["d", "c", "b", "a"]);
    // No number is another owner's, and messages that come at once have numbers of their own.
    let adding = (0..8).map(|it| {
        let (bob, thread) = (bob.clone(), ["a", "b", "c", "d"][it % 4]);
        let message = said(&it.to_string(), 9_000);
        tokio::spawn(async move { bob.add_message(thread, &message, 99).await.unwrap() })
    });
    for task in adding.collect::<Vec<_>>() {
        assert_eq!(task.await.unwrap(), Added::Added);
    }
    let mut of_bob = bob.active_threads(None, 9).await.unwrap();
    assert_eq!(of_bob[0].activity, 12);
    of_bob.dedup_by_key(|it| it.activity);
    assert_eq!(of_bob.len(), 4);
    assert_eq!(alice.active_threads(None, 9).await.unwrap(), all);
}

#[tokio::test]
async fn a_title_is_changed_and_removed_and_is_its_owners() {
    let fresh = fresh!();
    let (alice, bob) = (fresh.owner("alice"), fresh.owner("bob"));
    let pinned = names(&["b.rs", "a.rs"]);
    let begun = alice.begin_thread("t", Some("first"), &pinned, 1, 10).await;
    begun.unwrap();
    let before = alice.stored_thread("t").await.unwrap().unwrap().0;
    assert_eq!(bob.set_title("t", Some("of bob")).await.unwrap(), None);
    for title in [Some("second"), Some(""), None] {
        let named = alice.set_title("t", title).await.unwrap().unwrap();
        let mut expected = before.clone();
        expected.title = title.map(str::to_owned);
        assert_eq!(named, expected);
        assert_eq!(alice.stored_thread("t").await.unwrap().unwrap().0, named);
    }
    for title in ["x".repeat(1_025), "a\0b".to_owned()] {
        let error = alice.set_title("t", Some(&title)).await.unwrap_err();
        let is_it = |what| what == "the title of the thread";
        assert!(
            matches!(error, ctx_postgres::StoreError::Invalid { what, .. } if is_it(what)),
            "{error}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_are_looked_for_in_the_latest_contexts_of_one_thread() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let long = crate::keeping(3_600, 1_000);
    for (thread, id) in [(Some("t"), "a"), (Some("u"), "b"), (None, "c")] {
        let begun = match thread {
            Some(thread) => {
                store.begin_thread(thread, None, &[], 1, 99).await.unwrap();
                store.begun_thread(thread).await.unwrap()
            }
            None => None,
        };
        for number in 1..=2 {
            let (id, receipt) = (format!("{id}{number}"), format!("[label] {id} {number}"));
            let kept = store.keep_context(&id, &receipt, begun.as_ref(), long);
            assert!(kept.await.unwrap());
        }
    }
    let found = async |thread, text: &str, most, bytes| {
        let texts = [text.to_owned()];
        let found = store.contexts_with(thread, &texts, most, bytes);
        found.await.unwrap()
    };
    assert_eq!(found(Some("t"), "[label]", 1, 99).await, ["[label] a 2"]);
    assert_eq!(found(Some("u"), "[label]", 9, 99).await, ["[label] b 2"]);
    assert_eq!(found(None, "[label]", 9, 99).await, ["[label] c 2"]);
    // Each takes 11 bytes.
    for (most, bytes, is_found) in [(2, 12, true), (1, 12, false), (2, 11, false)] {
        let found = found(Some("t"), "a 1", most, bytes).await;
        assert_eq!(found.len(), usize::from(is_found), "{most} {bytes}");
    }
    for (thread, text) in [
        (Some("t"), "b 2"),
        (None, "a 2"),
        (Some(""), "c 2"),
        (Some("t\0"), "a"),
    ] {
        let found = found(thread, text, 9, 99).await;
        assert!(found.is_empty(), "{thread:?} {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contexts_are_forgotten_one_by_one_and_with_their_thread() {
    let fresh = fresh!();
    let (alice, bob) = (fresh.owner("alice"), fresh.owner("bob"));
    let long = crate::keeping(3_600, 1_000);
    let begin = async |store: &OwnedStore, thread: &str| {
        store.begin_thread(thread, None, &[], 1, 99).await.unwrap();
        store.begun_thread(thread).await.unwrap().unwrap()
    };
    let keep = async |store: &OwnedStore, id: &str, thread: Option<&BegunThread>| {
        store.keep_context(id, "{}", thread, long).await.unwrap()
    };
    let mut of_alice = Vec::new();
    for store in [&bob, &alice] {
        let (t, u) = (begin(store, "t").await, begin(store, "u").await);
        for (id, thread) in [
            ("1", Some(&t)),
            ("2", Some(&t)),
            ("3", Some(&u)),
            ("4", None),
        ] {
            assert!(keep(store, id, thread).await);
        }
        of_alice = vec![t, u];
    }
    let there = async |store: &OwnedStore| {
        let mut there = Vec::new();
        for id in ["1", "2", "3", "4"] {
            if store.context(id).await.unwrap().is_some() {
                there.push(id);
            }
        }
        there
    };
    assert!(alice.forget_context("1").await.unwrap());
    assert!(!alice.forget_context("1").await.unwrap());
    assert!(!alice.forget_context("no\0ne").await.unwrap());
    assert_eq!(there(&alice).await, ["2", "3", "4"]);
    assert!(alice.forget_thread("t").await.unwrap());
    assert_eq!(there(&alice).await, ["3", "4"]);
    assert_eq!(there(&bob).await, ["1", "2", "3", "4"]);
    // None is kept of a thread that is gone, also where another owner has it, or another begins in
    // its name.
    assert_eq!(alice.begun_thread("t").await.unwrap(), None);
    assert!(!keep(&alice, "5", Some(&of_alice[0])).await);
    let again = begin(&alice, "t").await;
    assert_ne!(again, of_alice[0]);
    assert!(!keep(&alice, "5", Some(&of_alice[0])).await);
    assert_eq!(alice.context("5").await.unwrap(), None);
    assert!(keep(&alice, "5", Some(&again)).await);
    assert!(alice.forget_thread("t").await.unwrap());
    assert_eq!(alice.context("5").await.unwrap(), None);
    let client = raw(&fresh.url).await;
    let bytes = "SELECT k.bytes = sum(c.bytes) FROM ctx.kept k JOIN ctx.contexts c USING (owner)
        GROUP BY owner, k.bytes";
    for row in client.query(bytes, &[]).await.unwrap() {
        assert!(row.get::<_, bool>(0));
    }
    // One that is kept while its thread is forgotten is either not kept, or forgotten with it.
    for turn in 0..20 {
        let (name, id) = (format!("t{turn}"), format!("c{turn}"));
        let thread = begin(&alice, &name).await;
        let forgetting = alice.clone();
        let forgotten = tokio::spawn(async move { forgetting.forget_thread(&name).await });
        let _ = keep(&alice, &id, Some(&thread)).await;
        assert!(forgotten.await.unwrap().unwrap());
        assert_eq!(alice.context(&id).await.unwrap(), None, "{turn}");
    }
}
