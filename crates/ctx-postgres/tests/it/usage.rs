//! Records of files shown and useful, with concurrent writers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ctx_model::UnixSeconds;
use ctx_postgres::{Limits, Store};
use ctx_retrieve::{
    Feedback as _, Generation as _, History as _, MOST_USES, Message, Threads as _, Usage as _,
    Usefulness, Vote,
};
use tokio_postgres::Client;

use crate::server::{AS_OF_18, patient, raw};
use crate::{fresh, texts};

fn paths(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|&it| it.to_owned()).collect()
}

#[tokio::test]
async fn a_vote_counts_once_and_a_file_has_no_uses_below_none_or_above_ten() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let vote = |key: &str, path: &str, is_useful: bool| {
        Vote::new(key, path, is_useful.into(), UnixSeconds::new(1))
    };
    let state = async || store.generation().await.unwrap();
    let before = state().await;
    let both = [vote("1", "a.rs", true), vote("2", "b.rs", true)];
    assert_eq!(store.votes(&both).await.unwrap(), 2);
    let after = state().await;
    assert_ne!(before, after);
    for _ in 0..5 {
        assert_eq!(store.votes(&both).await.unwrap(), 0);
        assert!(!store.vote(&both[0]).await.unwrap());
    }
    assert_eq!(state().await, after, "nothing was counted");
    let mixed = [vote("1", "a.rs", true), vote("3", "a.rs", true)];
    assert_eq!(store.votes(&mixed).await.unwrap(), 1);
    for key in ["4", "5", "6"] {
        assert!(store.vote(&vote(key, "b.rs", false)).await.unwrap());
    }
    let counts = async || store.counts(&paths(&["a.rs", "b.rs"])).await.unwrap();
    assert_eq!(counts().await.into_values().collect::<Vec<_>>(), [2, 0]);
    let many: Vec<Vote> = (10..30)
        .map(|it| vote(&it.to_string(), "a.rs", true))
        .collect();
    assert_eq!(store.votes(&many).await.unwrap(), 20);
    assert_eq!(counts().await["a.rs"], MOST_USES);
    // The same key of another owner is another key.
    assert!(fresh.owner("bob").vote(&both[0]).await.unwrap());
}

#[tokio::test]
async fn votes_that_come_at_once_count_once() {
    let fresh = fresh!();
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let store = fresh.owner("alice");
        let votes = ["a", "b", "c"].map(|it| {
            Vote::new(
                it,
                format!("{it}.rs"),
                Usefulness::Useful,
                UnixSeconds::new(1),
            )
        });
        tasks.push(tokio::spawn(
            async move { store.votes(&votes).await.unwrap() },
        ));
    }
    let mut counted = 0;
    for task in tasks {
        counted += task.await.unwrap();
    }
    assert_eq!(counted, 3);
}

#[tokio::test]
async fn as_many_votes_are_kept_as_are_to_be_remembered() {
    let fresh = fresh!();
    let (store, other) = (fresh.owner("alice"), fresh.owner("bob"));
    let day = 86_400;
    let vote = |number: i64, at| {
        Vote::new(
            format!("key {number}"),
            "a.rs",
            Usefulness::Useful,
            UnixSeconds::new(at),
        )
    };
    let burst: Vec<Vote> = (0..200).map(|it| vote(it, 0)).collect();
    for store in [&store, &other] {
        assert_eq!(store.votes(&burst).await.unwrap(), 200);
    }
    let mut states = BTreeSet::new();
    for number in 1..=120 {
        // Each third comes by a clock that is a day late.
        let at = number * day - i64::from(number % 3 == 0) * day;
        assert!(store.vote(&vote(1_000 + number, at)).await.unwrap());
        states.insert(store.generation().await.unwrap());
    }
    assert_eq!(states.len(), 120, "a state for each vote");
    let client = raw(&fresh.url).await;
    let count = "SELECT owner, count(*) FROM ctx.feedback GROUP BY owner ORDER BY owner";
    let rows = client.query(count, &[]).await.unwrap();
    let kept: Vec<(String, i64)> = rows.iter().map(|it| (it.get(0), it.get(1))).collect();
    assert!(kept[0].1 <= 35, "{kept:?}");
    assert_eq!(kept[1], ("bob".to_owned(), 200), "each forgets its own");
}

#[tokio::test]
async fn the_same_message_again_changes_nothing() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let message = |id: &str, text: &str| Message::new(id, "user", text, UnixSeconds::new(5));
    for (id, text) in [("1", "first"), ("1", "other"), ("2", "second")] {
        store.append("t", &message(id, text)).await.unwrap();
    }
    let said: Vec<String> = store
        .messages("t", 9)
        .await
        .unwrap()
        .into_iter()
        .map(|it| it.content)
        .collect();
    assert_eq!(said, ["first", "second"]);
    let threads = store.listed_threads(None, 9).await.unwrap();
    assert_eq!(threads.len(), 1);
    assert_eq!(threads[0].thread, "t");
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
                let message =
                    Message::new(format!("{speaker}.{n}"), "user", "x", UnixSeconds::new(n));
                store.append("t", &message).await.unwrap();
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

/// Each message is refused, as by a server that could not put transactions in an order, until it
/// came this often.
async fn refuse_messages(url: &str, times: u32) {
    // A sequence counts on whatever becomes of a transaction.
    let trigger = format!(
        "CREATE SEQUENCE public.came;
         CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
         BEGIN
             IF nextval('public.came') <= {times} THEN
                 RAISE EXCEPTION 'could not serialize access' USING ERRCODE = 'serialization_failure';
             END IF;
             RETURN NEW;
         END $$;
         CREATE TRIGGER refuse BEFORE INSERT ON ctx.messages FOR EACH ROW EXECUTE FUNCTION public.refuse();"
    );
    raw(url).await.batch_execute(&trigger).await.unwrap();
}

#[tokio::test]
async fn serialization_failures_are_retried() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    refuse_messages(&fresh.url, 3).await;
    let message = Message::new("m", "user", "x", UnixSeconds::new(1));
    store.append("t", &message).await.unwrap();
    assert_eq!(store.messages("t", 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_lasting_serialization_failure_is_an_error_after_the_last_try() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    refuse_messages(&fresh.url, 1_000).await;
    let message = Message::new("m", "user", "x", UnixSeconds::new(1));
    let refused = store.append("t", &message).await.unwrap_err();
    let refused = refused.on_one_line();
    assert!(refused.contains("message"), "{refused}");
    assert_eq!(store.messages("t", 10).await.unwrap(), []);
    let came = "SELECT last_value FROM public.came";
    let came: i64 = raw(&fresh.url)
        .await
        .query_one(came, &[])
        .await
        .unwrap()
        .get(0);
    assert_eq!(came, 1 + i64::from(Limits::default().retries));
}

#[tokio::test]
async fn a_transaction_that_gives_way_is_tried_again() {
    let fresh = fresh!();
    let mut other = raw(&fresh.url).await;
    // Each looks for a deadlock once, so long after it began to wait. The store looks first, when
    // the other waits too, so it is the store that gives way.
    let (_, name) = fresh.url.rsplit_once('=').unwrap();
    let soon = format!("ALTER DATABASE {name} SET deadlock_timeout = '5s'");
    for sql in [&*soon, "SET deadlock_timeout = '1min'"] {
        other.batch_execute(sql).await.unwrap();
    }
    // Only new connections heed what is set for a database.
    let store = Store::connect(&fresh.url, patient()).await.unwrap();
    let store = store.owner("alice").unwrap();
    let votes = |round: u32| {
        ["a.rs", "b.rs"].map(|path| {
            let key = format!("{path} {round}");
            Vote::new(key, path, Usefulness::Useful, UnixSeconds::new(1))
        })
    };
    store.votes(&votes(1)).await.unwrap();
    let transaction = other.transaction().await.unwrap();
    let lock = "SELECT uses FROM ctx.usage WHERE path = $1 FOR UPDATE";
    transaction.query_one(lock, &[&"b.rs"]).await.unwrap();
    let again = votes(2);
    let task = tokio::spawn(async move { store.votes(&again).await.map(|_| store) });
    wait_for_waiting(&raw(&fresh.url).await, 1).await;
    // The store holds a.rs and waits for b.rs: one of the two must go.
    transaction.query_one(lock, &[&"a.rs"]).await.unwrap();
    transaction.commit().await.unwrap();
    let store = task.await.unwrap().unwrap();
    let counts = store.counts(&paths(&["a.rs", "b.rs"])).await.unwrap();
    assert_eq!(counts.into_values().collect::<Vec<_>>(), [2, 2]);
}

/// Until so many statements of the database wait for a lock.
async fn wait_for_waiting(watch: &Client, most: i64) {
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let count = async || {
        watch
            .query_one(waiting, &[])
            .await
            .unwrap()
            .get::<_, i64>(0)
    };
    while count().await < most {
        tokio::task::yield_now().await;
    }
}

/// The rows of use there are: path, uses, and when it was shown.
async fn rows(url: &str) -> Vec<(String, i64, i64)> {
    let sql = "SELECT path, uses, shown_at FROM ctx.usage ORDER BY path";
    let rows = raw(url).await.query(sql, &[]).await.unwrap();
    let row = |it: &tokio_postgres::Row| (it.get(0), it.get(1), it.get(2));
    rows.iter().map(row).collect()
}

#[tokio::test]
async fn of_a_file_that_is_removed_no_row_is_left_that_says_nothing() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let all = paths(&["a.rs", "b.rs", "c.rs", "d.rs"]);
    let files = all.iter().map(|it| (it.as_str(), "fn a() {}\n"));
    store.ingest(texts(files)).await.unwrap();
    store.shown(&all, UnixSeconds::new(5)).await.unwrap();
    let votes = [
        Vote::new("1", "b.rs", Usefulness::Useful, UnixSeconds::new(1)),
        Vote::new("2", "c.rs", Usefulness::NotUseful, UnixSeconds::new(1)),
    ];
    store.votes(&votes).await.unwrap();
    store
        .remove(&paths(&["c.rs", "b.rs", "a.rs"]))
        .await
        .unwrap();
    let expected = [("b.rs".to_owned(), 1, 0), ("d.rs".to_owned(), 0, 5)];
    assert_eq!(rows(&fresh.url).await, expected);
    // What an earlier version left.
    let client = raw(&fresh.url).await;
    client.batch_execute(AS_OF_18).await.unwrap();
    let left = "INSERT INTO ctx.usage (owner, path) VALUES ('alice', 'x'), ('bob', 'y');
                DELETE FROM ctx.version WHERE version = 18";
    client.batch_execute(left).await.unwrap();
    assert_eq!(rows(&fresh.url).await.len(), 4);
    fresh.store.migrate().await.unwrap();
    assert_eq!(rows(&fresh.url).await, expected);
}

#[tokio::test]
async fn what_is_shown_is_noted_while_files_are_removed() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let both = paths(&["a.rs", "b.rs"]);
    let files = both.iter().map(|it| (it.as_str(), "fn a() {}\n"));
    store.ingest(texts(files)).await.unwrap();
    store.shown(&both, UnixSeconds::new(1)).await.unwrap();
    // The removal has to count terms, and waits for them.
    let mut other = raw(&fresh.url).await;
    let transaction = other.transaction().await.unwrap();
    let lock = "SELECT FROM ctx.terms FOR UPDATE";
    transaction.execute(lock, &[]).await.unwrap();
    let removal = {
        let store = fresh.owner("alice");
        tokio::spawn(async move { store.remove(&paths(&["a.rs"])).await.unwrap() })
    };
    wait_for_waiting(&raw(&fresh.url).await, 1).await;
    store.shown(&both, UnixSeconds::new(2)).await.unwrap();
    let row = |path: &str| (path.to_owned(), 0, 2);
    assert_eq!(rows(&fresh.url).await, [row("a.rs"), row("b.rs")]);
    transaction.rollback().await.unwrap();
    assert_eq!(removal.await.unwrap().len(), 1);
    assert_eq!(rows(&fresh.url).await, [row("b.rs")]);
}

#[tokio::test]
async fn what_is_shown_is_not_noted_for_files_that_others_write() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let two = paths(&["a.rs", "b.rs"]);
    store.shown(&two, UnixSeconds::new(1)).await.unwrap();
    let mut other = raw(&fresh.url).await;
    let transaction = other.transaction().await.unwrap();
    let lock = "SELECT FROM ctx.usage WHERE path = 'a.rs' FOR UPDATE";
    transaction.execute(lock, &[]).await.unwrap();
    let three = paths(&["c.rs", "b.rs", "a.rs"]);
    store.shown(&three, UnixSeconds::new(2)).await.unwrap();
    let expected = [("a.rs", 1), ("b.rs", 2), ("c.rs", 2)];
    let expected = expected.map(|(path, at)| (path.to_owned(), 0, at));
    assert_eq!(rows(&fresh.url).await, expected);
}

#[tokio::test]
async fn notes_that_wait_keep_nobody_from_the_database() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let mut other = raw(&fresh.url).await;
    let transaction = other.transaction().await.unwrap();
    let lock = "LOCK TABLE ctx.usage IN ACCESS EXCLUSIVE MODE";
    transaction.batch_execute(lock).await.unwrap();
    let ended = Arc::new(AtomicUsize::new(0));
    let notes: Vec<_> = (0..100)
        .map(|number| {
            let (store, ended) = (store.clone(), Arc::clone(&ended));
            tokio::spawn(async move {
                let path = format!("{number}.rs");
                store.shown(&[path], UnixSeconds::new(1)).await.unwrap();
                ended.fetch_add(1, Ordering::Relaxed);
            })
        })
        .collect();
    // Two of the eight connections are used, and 64 notes wait for them.
    wait_for_waiting(&raw(&fresh.url).await, 2).await;
    assert_eq!(store.messages("t", 9).await.unwrap(), []);
    assert_eq!(ended.load(Ordering::Relaxed), 100 - 2 - 64);
    transaction.rollback().await.unwrap();
    for note in notes {
        note.await.unwrap();
    }
    assert_eq!(rows(&fresh.url).await.len(), 2 + 64);
}
