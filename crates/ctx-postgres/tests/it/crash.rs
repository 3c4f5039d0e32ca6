//! The server is killed while it writes: what was acknowledged is there afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ctx_postgres::{Limits, OwnedStore, Store, Vote};
use ctx_retrieve::{History as _, Message, Usage as _};

use crate::server::Server;

/// How often it is killed; `CTX_KILLS` may ask for more.
fn kills() -> u32 {
    let asked = std::env::var("CTX_KILLS").ok();
    asked.and_then(|it| it.parse().ok()).unwrap_or(3)
}

/// Writes until the store fails; returns what was acknowledged.
async fn write(store: OwnedStore, prefix: String, stop: Arc<AtomicBool>) -> (Vec<String>, u64) {
    let (mut messages, mut votes) = (Vec::new(), 0);
    for n in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let id = format!("{prefix}.{n}");
        let message = Message::new(id.clone(), "user", "kept", n);
        if store.append("t", &message).await.is_err() {
            break;
        }
        messages.push(id.clone());
        match store
            .feedback(&id, &[format!("{prefix}.rs")], true, n)
            .await
        {
            Ok(Vote::Counted) => votes += 1,
            _ => break,
        }
    }
    (messages, votes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_message_or_vote_is_lost() {
    let Some(server) = Server::start() else {
        return;
    };
    let url = server.database().await;
    let mut limits = Limits::default();
    limits.rows = usize::MAX >> 33;
    let store = Store::connect(&url, limits).await.unwrap();
    store.migrate().await.unwrap();
    let mut all = 0;
    for round in 0..kills() {
        let stop = Arc::new(AtomicBool::new(false));
        let tasks: Vec<_> = (0..4)
            .map(|writer| {
                let owned = store.owner("alice").unwrap();
                tokio::spawn(write(owned, format!("{round}.{writer}"), Arc::clone(&stop)))
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(u64::from(150 + round % 7 * 13))).await;
        server.kill();
        stop.store(true, Ordering::Relaxed);
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
            assert!(!messages.is_empty(), "it wrote before it was killed");
            for id in messages {
                assert!(
                    ids.contains(id.as_str()),
                    "message {id} was acknowledged and is lost"
                );
            }
            all += messages.len();
            let path = format!("{round}.{writer}.rs");
            let counts = owned.counts(std::slice::from_ref(&path)).await.unwrap();
            let counted = counts.get(&path).copied().unwrap_or(0);
            // One more may have been committed when the answer was lost.
            let least = (*votes).min(1_000);
            assert!(
                (least..=least + 1).contains(&counted),
                "{counted} of {votes}"
            );
        }
    }
    println!("{} kills, {all} acknowledged messages, none lost", kills());
}
