//! A server that is reachable but does not answer.

use std::fmt::Debug;
use std::pin::Pin;
use std::time::{Duration, Instant};

use ctx_model::UnixSeconds;
use ctx_postgres::{FileText, Limits, Store, StoreError};
use ctx_retrieve::{Feedback as _, History as _, Message, Threads as _, Usefulness, Vote};

use crate::server::Server;

/// What the server may take over a statement, and a caller over a connection.
const LIMIT: Duration = Duration::from_millis(300);
/// So long after a statement is to have ended it is waited for; and what a busy machine takes.
const SLACK: Duration = Duration::from_secs(2 + 10);

/// A store of one connection, which has answered.
async fn store(url: &str) -> Store {
    let mut limits = Limits::default().with_connections(1);
    limits.writing = LIMIT;
    limits.reading = LIMIT;
    limits.wait = LIMIT;
    answered(async || {
        let store = Store::connect(url, limits).await?;
        store.ready().await?;
        Ok::<_, StoreError>(store)
    })
    .await
}

/// Asks until there is an answer, for a minute at most, and returns it: a server that goes on may
/// take longer than the limit on a busy machine.
async fn answered<T, E: Debug>(ask: impl AsyncFn() -> Result<T, E>) -> T {
    let began = Instant::now();
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(error) => assert!(began.elapsed() < Duration::from_mins(1), "{error:?}"),
        }
    }
}

/// A server of one test, with a database that has the tables.
async fn server() -> Option<(Server, String)> {
    let server = Server::start(&[])?;
    let url = server.database().await;
    let store = Store::connect(&url, Limits::default()).await.unwrap();
    store.migrate().await.unwrap();
    Some((server, url))
}

type Asked = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// What was said to all who asked a server that stands still.
async fn refused(asked: Vec<Asked>) -> Vec<String> {
    let tasks: Vec<_> = asked.into_iter().map(tokio::spawn).collect();
    let mut errors = Vec::new();
    for task in tasks {
        let ended = tokio::time::timeout(LIMIT + SLACK, task).await;
        let ended = ended.expect("it waits for a server that says nothing");
        errors.extend(ended.unwrap().err());
    }
    errors
}

fn append(store: &Store, n: i64) -> Asked {
    let owned = store.owner("ada").unwrap();
    Box::pin(async move {
        let message = Message::new(n.to_string(), "user", "said", UnixSeconds::new(n));
        let appended = owned.append("t", &message).await;
        appended.map_err(|it| it.on_one_line())
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_says_nothing_is_not_waited_for_and_is_asked_again_when_it_speaks() {
    let Some((server, url)) = server().await else {
        return;
    };
    let store = store(&url).await;
    server.stop();
    let errors = refused((0..6).map(|n| append(&store, n)).collect()).await;
    server.go_on();
    assert_eq!(errors.len(), 6);
    let silent = errors.iter().filter(|it| it.contains("was silent"));
    assert_eq!(silent.count(), 1, "it has one connection: {errors:?}");
    answered(async || append(&store, 7).await).await;
    // What was not said to be kept may be or not, and holds no lock.
    let owned = store.owner("ada").unwrap();
    let said = answered(async || owned.messages("t", 10).await).await;
    assert_eq!(said.last().unwrap().id, "7");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_asked_of_a_server_that_says_nothing_ends() {
    let Some((server, url)) = server().await else {
        return;
    };
    let said = |it: StoreError| it.to_string();
    // Each has a connection of its own.
    let mut asked: Vec<Asked> = Vec::new();
    let it = store(&url).await;
    asked.push(append(&it, 1));
    let it = store(&url).await;
    asked.push(Box::pin(async move { it.ready().await.map_err(said) }));
    let it = store(&url).await;
    asked.push(Box::pin(async move {
        it.secret().await.map(drop).map_err(said)
    }));
    for n in 0..5 {
        let store = store(&url).await;
        asked.push(Box::pin(async move {
            let it = store.owner("ada").unwrap();
            let file = FileText::new("a.rs", "fn a() {}\n");
            let vote = Vote::new("k", "a.rs", Usefulness::Useful, UnixSeconds::new(1));
            match n {
                0 => it.set_pins("t", &[]).await.map(drop).map_err(said),
                1 => it.begun_thread("t").await.map(drop).map_err(said),
                2 => (it.pin("t", "a.rs").await).map_err(|it| it.on_one_line()),
                3 => it.ingest(vec![file]).await.map(drop).map_err(said),
                _ => it
                    .vote(&vote)
                    .await
                    .map(drop)
                    .map_err(|it| it.on_one_line()),
            }
        }));
    }
    let all = asked.len();
    server.stop();
    let errors = refused(asked).await;
    server.go_on();
    let silent = errors.iter().filter(|it| it.contains("was silent"));
    assert_eq!(silent.count(), all, "{errors:?}");
}

#[tokio::test]
async fn statements_may_have_no_limit() {
    let mut limits = Limits::default().with_reading(Duration::MAX);
    limits.writing = Duration::MAX;
    limits.storing = Duration::MAX;
    let Some(fresh) = crate::server::Fresh::with(limits).await else {
        return;
    };
    append(&fresh.store, 1).await.unwrap();
    let ada = fresh.owner("ada");
    let threads = ada.listed_threads(None, 2).await;
    assert_eq!(threads.unwrap().len(), 1);
    let file = FileText::new("a.rs", "fn a() {}\n");
    assert_eq!(ada.ingest(vec![file]).await.unwrap().stored, 1);
}
