//! Callers that leave before there is an answer.

use std::time::Duration;

use ctx_model::UnixSeconds;
use ctx_postgres::{FileText, Limits};
use ctx_retrieve::{History as _, Message, PortError, Threads as _};
use tokio_postgres::Client;

use crate::server::{Fresh, raw};

/// Until a statement of the database waits for a lock that another holds.
async fn wait_for_waiting(watch: &Client) {
    let waits = "SELECT EXISTS (SELECT FROM pg_stat_activity
                 WHERE datname = current_database() AND wait_event_type = 'Lock')";
    while !watch.query_one(waits, &[]).await.unwrap().get::<_, bool>(0) {
        tokio::task::yield_now().await;
    }
}

/// The connections to the database.
async fn connections(watch: &Client) -> Vec<i32> {
    let pids = "SELECT pid FROM pg_stat_activity
                WHERE datname = current_database() AND backend_type = 'client backend'";
    let rows = watch.query(pids, &[]).await.unwrap();
    rows.iter().map(|it| it.get(0)).collect()
}

/// There is one connection. What writes may take longer than who reads waits for the server, so
/// that one that came after it on the connection would say that the server is silent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abandoned_statement_is_ended_and_its_connection_not_reused() {
    let mut limits = Limits::default()
        .with_connections(1)
        .with_reading(Duration::from_secs(5));
    limits.wait = Duration::from_mins(2);
    limits.writing = Duration::from_mins(2);
    let Some(fresh) = Fresh::with(limits).await else {
        return;
    };
    let watch = raw(&fresh.url).await;
    let mut other = raw(&fresh.url).await;
    for what in ["a message", "a pin", "a file"] {
        let holder = other.transaction().await.unwrap();
        let locks = "LOCK TABLE ctx.threads, ctx.files IN ACCESS EXCLUSIVE MODE";
        holder.batch_execute(locks).await.unwrap();
        let store = fresh.owner("alice");
        let task = tokio::spawn(async move {
            let message = Message::new("m", "user", "said", UnixSeconds::new(1));
            match what {
                "a message" => store.append("t", &message).await,
                "a pin" => store.pin("t", "a.rs").await,
                _ => (store.remove(&["a.rs".to_owned()]).await)
                    .map(drop)
                    .map_err(PortError::from),
            }
        });
        wait_for_waiting(&watch).await;
        let known = connections(&watch).await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        // The lock is still held.
        fresh.store.ready().await.unwrap();
        let now = connections(&watch).await;
        let is_new = |it: &i32| !known.contains(it);
        assert!(now.iter().any(is_new), "{what}: {known:?}, then {now:?}");
        holder.rollback().await.unwrap();
    }
    let store = fresh.owner("alice");
    assert_eq!(store.messages("t", 9).await.unwrap(), []);
    let file = FileText::new("a.rs", "fn a() {}\n");
    assert_eq!(store.ingest(vec![file]).await.unwrap().stored, 1);
}
