//! The server is killed while it writes: acknowledged writes survive.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ctx_model::UnixSeconds;
use ctx_postgres::{Limits, OwnedStore, Store};
use ctx_retrieve::{
    Feedback as _, History as _, Message, Threads as _, Usage as _, Usefulness, Vote,
};

use crate::server::Server;

/// How often it is killed; `cargo xtask kill --victim database` does it as often as one likes,
/// below a server.
const KILLS: u32 = 3;

/// Writes until the store fails; returns what was acknowledged.
async fn write(store: OwnedStore, prefix: String, written: Arc<AtomicU32>) -> (Vec<String>, u64) {
    let (mut messages, mut votes) = (Vec::new(), 0);
    for n in 0.. {
        let id = format!("{prefix}.{n}");
        let message = Message::new(id.clone(), "user", "kept", UnixSeconds::new(n));
        if store.append("t", &message).await.is_err() {
            break;
        }
        messages.push(id.clone());
        written.fetch_add(1, Ordering::Relaxed);
        // A file of each: no more than ten votes on one count.
        let vote = Vote::new(
            id.clone(),
            format!("{id}.rs"),
            Usefulness::Useful,
            UnixSeconds::new(n),
        );
        match store.vote(&vote).await {
            Ok(true) => votes += 1,
            _ => break,
        }
    }
    (messages, votes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_message_or_vote_is_lost() {
    none_is_lost(&[]).await;
}

/// Nor where the server would acknowledge what is on no disk yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_where_commits_are_asynchronous() {
    let late = ["synchronous_commit=off", "wal_writer_delay=10s"];
    none_is_lost(&["-c", late[0], "-c", late[1]]).await;
}

/// Kills a server with these options while it is written to.
async fn none_is_lost(options: &[&str]) {
    let Some(server) = Server::start(options) else {
        return;
    };
    let url = server.database().await;
    let mut limits = Limits::default();
    limits.rows = usize::MAX >> 33;
    let store = Store::connect(&url, limits).await.unwrap();
    store.migrate().await.unwrap();
    let mut all = 0;
    for round in 0..KILLS {
        let written = Arc::new(AtomicU32::new(0));
        let tasks: Vec<_> = (0..4)
            .map(|writer| {
                let owned = store.owner("alice").unwrap();
                tokio::spawn(write(
                    owned,
                    format!("{round}.{writer}"),
                    Arc::clone(&written),
                ))
            })
            .collect();
        // In the midst of it, each time elsewhere.
        while written.load(Ordering::Relaxed) < 20 + round % 13 {
            assert!(tasks.iter().all(|it| !it.is_finished()), "a writer ended");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        server.kill();
        let mut acknowledged = Vec::new();
        for task in tasks {
            acknowledged.push(task.await.unwrap());
        }
        server.restart();
        let owned = store.owner("alice").unwrap();
        let said = owned.messages("t", limits.rows).await.unwrap();
        let ids: std::collections::BTreeSet<&str> = said.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids.len(), said.len());
        for (writer, (messages, votes)) in acknowledged.iter().enumerate() {
            for id in messages {
                assert!(
                    ids.contains(id.as_str()),
                    "message {id} was acknowledged and is lost"
                );
            }
            all += messages.len();
            let paths: Vec<String> = messages.iter().map(|id| format!("{id}.rs")).collect();
            let counted: u64 = owned.counts(&paths).await.unwrap().values().sum();
            // One more may have been committed when the answer was lost.
            assert!(
                (*votes..=votes + 1).contains(&counted),
                "{counted} of {votes} of writer {writer}"
            );
        }
    }
    println!("{KILLS} kills, {all} acknowledged messages, none lost");
}
