//! Connections that the server ended, while they were idle or in use.

use std::time::Duration;

use ctx_model::UnixSeconds;
use ctx_postgres::{Limits, StoreError};
use ctx_retrieve::{Feedback as _, History as _, Message, Threads as _, Usefulness, Vote};
use tokio::runtime::Builder;

use crate::server::{Fresh, patient, raw};
use crate::{of_store, texts};

/// Ends all connections to the database, and then waits. The caller's runtime stands still
/// meanwhile, so it has not noticed when this returns.
fn end_all(url: &str, idle: Duration) {
    let url = url.to_owned();
    let ending = async move {
        let client = raw(&url).await;
        let others = "FROM pg_stat_activity WHERE datname = current_database()
            AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
        let end = format!("SELECT pg_terminate_backend(pid) {others}");
        client.batch_execute(&end).await.unwrap();
        let left = format!("SELECT count(*) {others}");
        while client.query_one(&left, &[]).await.unwrap().get::<_, i64>(0) > 0 {}
    };
    let thread = std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(ending);
        std::thread::sleep(idle);
    });
    thread.join().unwrap();
}

#[tokio::test]
async fn who_gets_a_connection_that_ended_while_it_was_idle_is_answered() {
    let limits = patient().with_connections(1);
    let Some(fresh) = Fresh::with(limits).await else {
        return;
    };
    let owned = fresh.owner("alice");
    let message = |n: i64| Message::new(format!("m{n}"), "user", "said", UnixSeconds::new(n));
    let long = Duration::from_millis(700);
    // The first round prepares the statements.
    for (n, idle) in [Duration::ZERO, Duration::ZERO, long]
        .into_iter()
        .enumerate()
    {
        let n = i64::try_from(n).unwrap();
        let end = |idle| {
            if n > 0 {
                end_all(&fresh.url, idle);
            }
        };
        end(idle);
        owned.append("t", &message(n)).await.unwrap();
        end(idle);
        owned.messages("t", 9).await.unwrap();
        end(idle);
        owned.set_pins("t", &[]).await.unwrap();
        end(idle);
        let files = texts([("a.rs", format!("fn a{n}() {{}}\n"))]);
        assert_eq!(owned.ingest(files).await.unwrap().stored, 1);
        end(idle);
        let vote = Vote::new(
            format!("k{n}"),
            "a.rs",
            Usefulness::Useful,
            UnixSeconds::new(n),
        );
        owned.vote(&vote).await.unwrap();
        // Each of these writes with one round trip, so it could not be tried again.
        end(long);
        owned.pin("t", &format!("{n}.rs")).await.unwrap();
        end(long);
        fresh.store.ready().await.unwrap();
    }
    assert_eq!(owned.messages("t", 9).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_connection_that_the_server_ended_in_use_is_not_lent_again() {
    let limits = Limits::default().with_connections(1);
    let Some(fresh) = Fresh::with(limits).await else {
        return;
    };
    let mut other = raw(&fresh.url).await;
    let watch = raw(&fresh.url).await;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    for n in 0..20 {
        let holder = other.transaction().await.unwrap();
        let lock = "LOCK TABLE ctx.messages IN ACCESS EXCLUSIVE MODE";
        holder.batch_execute(lock).await.unwrap();
        let owned = fresh.owner("alice");
        let store = fresh.store.clone();
        let asking = tokio::spawn(async move {
            let message = Message::new(format!("m{n}"), "user", "said", UnixSeconds::new(n));
            let refused = owned.append("t", &message).await.unwrap_err();
            (refused, store.ready().await)
        });
        while watch.query(end, &[]).await.unwrap().is_empty() {}
        let (refused, next) = asking.await.unwrap();
        let refused = of_store(&refused);
        assert!(matches!(refused, StoreError::Lost { .. }), "{refused:?}");
        assert!(refused.is_away(), "{refused:?}");
        next.unwrap();
        holder.rollback().await.unwrap();
    }
}
