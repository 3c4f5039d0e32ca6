//! No context is built without its pins and the references of the request.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{ADA, Answer, Running, patient};

const SUM: &str = "/// Adds two numbers.\npub fn sum_of(a: i32, b: i32) -> i32 {\n    a + b\n}\n";

/// A file, and a thread with it pinned and one without a pin, each with a message.
fn fill(server: &Running) {
    let files = json!({"files": [{"path": "src/sum.rs", "content": SUM}]});
    server.post(ADA, "/v1/files", &files).data(200);
    for (id, pinned) in [("pinned", json!(["src/sum.rs"])), ("plain", json!([]))] {
        let thread = json!({"id": id, "pinned": pinned});
        server.post(ADA, "/v1/threads", &thread).data(201);
        let messages = format!("/v1/threads/{id}/messages");
        let message = json!({"role": "user", "content": "the zebra crossing"});
        server.post(ADA, &messages, &message).data(201);
    }
}

fn build(server: &Running, wanted: &Value) -> Answer {
    server.post(ADA, "/v1/context/build", wanted)
}

/// There is none for now, for want of what `field` names.
#[track_caller]
fn refused_for_now(answer: &Answer, field: &str) {
    answer.refused(503, field);
    assert_eq!(answer.header("retry-after"), Some("1"), "{answer:?}");
    let problem = answer.json();
    let kind = problem["type"].as_str().unwrap();
    assert!(kind.ends_with("-unavailable"), "{answer:?}");
}

/// The codes of its warnings, and their details in one.
#[track_caller]
fn warned(answer: &Answer) -> (Vec<String>, String) {
    let data = answer.data(200);
    let warnings = data["warnings"].as_array().cloned().unwrap_or_default();
    let said = |name: &str| -> Vec<String> {
        let said = warnings.iter().filter_map(|it| it[name].as_str());
        said.map(str::to_owned).collect()
    };
    (said("code"), said("detail").join("\n"))
}

fn referring(to: &str) -> Value {
    json!({"message": "What is it?", "references": [to]})
}

fn within(thread: &str) -> Value {
    json!({"message": "What is it?", "threadId": thread})
}

#[test]
fn there_is_no_context_without_what_the_embedded_store_is_late_to_tell() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Running::within(folder.path());
    fill(&server);
    server.join();
    // One thread does all of a build, and whoever asks whether it is awaited is late.
    let mut limits = patient();
    limits.source_time = Duration::ZERO;
    limits.workers = 1;
    limits.cores = 1;
    let mut server = Running::open(folder.path(), limits);
    refused_for_now(&build(&server, &referring("src/sum.rs")), "references");
    refused_for_now(&build(&server, &within("pinned")), "threadId");
    let problem = build(&server, &referring("src/sum.rs")).json();
    let detail = "the reference \"src/sum.rs\" cannot be looked up";
    assert_eq!(problem["detail"], detail);
    // What only the message names may be missing.
    let (codes, told) = warned(&build(&server, &json!({"message": "What of @src/sum.rs?"})));
    assert!(codes.iter().all(|it| it == "source_failed"), "{codes:?}");
    assert!(
        told.contains("\"src/sum.rs\" is not in the context"),
        "{told}"
    );
    // A stream has begun, and says it at its end.
    let accept = [("Accept", "text/event-stream")];
    let wanted = referring("src/sum.rs");
    let stream = server.post_with(ADA, "/v1/context/build", &wanted, &accept);
    assert_eq!(stream.status, 200);
    let (_, last) = stream.body.rsplit_once("event: problem").unwrap();
    assert!(last.contains("\"status\":503") && last.contains("\"field\":\"references\""));
    server.join();
    let server = Running::within(folder.path());
    let data = build(&server, &within("pinned")).data(200);
    assert!(data["context"].as_str().unwrap().contains("a + b"));
}

/// Turns a bit of each `what` in the state of the only owner, which is in use. How many there were.
fn flip(folder: &Path, what: &[u8]) -> usize {
    let owners = std::fs::read_dir(folder.join("owners")).unwrap();
    let states: Vec<PathBuf> = owners
        .map(|it| it.unwrap().path().join("state.db"))
        .collect();
    let [state] = states.as_slice() else {
        panic!("{states:?}")
    };
    let mut bytes = std::fs::read(state).unwrap();
    let windows = bytes.windows(what.len()).enumerate();
    let found = windows.filter(|(_, it)| *it == what).map(|it| it.0);
    let found: Vec<usize> = found.collect();
    for &at in &found {
        bytes[at] ^= 1;
    }
    std::fs::write(state, bytes).unwrap();
    found.len()
}

#[test]
fn data_lost_by_the_embedded_store_is_reported_beside_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Running::within(folder.path());
    fill(&server);
    // All of it is in the one file from then on.
    server.join();
    let server = Running::within(folder.path());
    server.get(ADA, "/v1/threads").data(200);
    assert_eq!(flip(folder.path(), b"zebra crossing"), 2);
    let messages = server.get(ADA, "/v1/threads/pinned/messages");
    messages.refused(500, "");
    for _ in 0..2 {
        // It may have been the id of a message.
        let mut wanted = referring("no_such_name");
        wanted["threadId"] = json!("pinned");
        let (codes, told) = warned(&build(&server, &wanted));
        assert!(codes.contains(&"source_failed".to_owned()), "{codes:?}");
        assert!(codes.contains(&"unknown_reference".to_owned()), "{codes:?}");
        assert!(told.contains("History contributed nothing"), "{told}");
        let shown = build(&server, &within("pinned")).data(200);
        assert!(shown["context"].as_str().unwrap().contains("a + b"));
    }
}

#[test]
fn missing_references_are_reported_beside_the_rest() {
    unknown_is_told(&Running::embedded());
}

fn unknown_is_told(server: &Running) {
    fill(server);
    let mut wanted = json!({
        "message": "What is it?",
        "references": ["src/gone.rs", "no_such_name", "fil-9f2a1c"],
    });
    for thread in [None, Some("pinned")] {
        wanted["threadId"] = json!(thread);
        let (codes, _) = warned(&build(server, &wanted));
        assert_eq!(codes, ["unknown_reference"; 3]);
    }
}

#[cfg(all(unix, feature = "postgres"))]
mod postgres {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    use ctx_server::{DatabaseLimits, Postgres, Quota};
    use ctx_testkit::postgres::{Server, raw};

    use super::*;
    use crate::postgres::block_on;

    /// A server over a database of its own, which is filled. Later statements may read for so long.
    fn running(reading: Duration) -> Option<(Arc<Server>, String, Running)> {
        let database = Server::shared()?;
        let url = block_on(database.database());
        fill(&Running::over(&url));
        let limits = DatabaseLimits::default().with_reading(reading);
        let backend = block_on(Postgres::connect(&url, limits, Quota::default())).unwrap();
        let server = Running::start(Arc::new(backend), patient());
        Some((database, url, server))
    }

    /// The answer to `wanted`, asked for again for as long as there is none for now, a minute at
    /// most. A busy machine may take longer than the limit, and a connection that the database
    /// ended may turn out to be so for whoever has it next.
    fn answered(server: &Running, wanted: &Value) -> Answer {
        let began = Instant::now();
        loop {
            let answer = build(server, wanted);
            if answer.status != 503 || began.elapsed() > Duration::from_mins(1) {
                return answer;
            }
        }
    }

    /// What comes of `work` while this has been done by another.
    fn meanwhile<T>(url: &str, done: &str, work: impl FnOnce() -> T) -> T {
        block_on(async {
            let other = raw(url).await;
            let begin = format!("BEGIN; {done}");
            other.batch_execute(&begin).await.unwrap();
            let came_to = work();
            other.batch_execute("ROLLBACK").await.unwrap();
            came_to
        })
    }

    #[test]
    fn there_is_no_context_without_what_the_database_is_late_to_tell() {
        let Some((_database, url, server)) = running(Duration::from_secs(1)) else {
            return;
        };
        let during = |table: &str, work: &dyn Fn() -> Answer| {
            let lock = format!("LOCK TABLE ctx.{table} IN ACCESS EXCLUSIVE MODE");
            meanwhile(&url, &lock, work)
        };
        let locked = |table: &str, wanted: &Value| during(table, &|| build(&server, wanted));
        let named = referring("src/sum.rs");
        for (table, wanted, field) in [
            ("files", &named, "references"),
            ("files", &within("pinned"), "threadId"),
            ("pinned", &within("plain"), "threadId"),
        ] {
            refused_for_now(&locked(table, wanted), field);
            answered(&server, wanted).data(200);
        }
        // Without a thread nothing is pinned, and nothing was said.
        let data = during("pinned", &|| answered(&server, &named)).data(200);
        assert!(data["context"].as_str().unwrap().contains("a + b"));
        // A name may be that of a message, and a path is none.
        let mut unknown = referring("no_such_name");
        unknown["threadId"] = json!("plain");
        refused_for_now(&locked("messages", &unknown), "references");
        unknown["references"] = json!(["src/gone.rs"]);
        let (codes, _) = warned(&during("messages", &|| answered(&server, &unknown)));
        assert!(codes.contains(&"unknown_reference".to_owned()), "{codes:?}");
    }

    #[test]
    fn there_is_no_context_without_what_is_asked_of_a_database_that_goes() {
        let Some((_database, url, server)) = running(Duration::from_mins(1)) else {
            return;
        };
        let lock = "LOCK TABLE ctx.files IN ACCESS EXCLUSIVE MODE";
        let wanted = referring("src/sum.rs");
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let is_over = AtomicBool::new(false);
        let answer = meanwhile(&url, lock, || {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    block_on(async {
                        let ending = raw(&url).await;
                        while !is_over.load(Ordering::Relaxed) {
                            ending.batch_execute(end).await.unwrap();
                            tokio::time::sleep(Duration::from_millis(10)).await;
                        }
                    });
                });
                let answer = build(&server, &wanted);
                is_over.store(true, Ordering::Relaxed);
                answer
            })
        });
        refused_for_now(&answer, "references");
        answered(&server, &wanted).data(200);
    }

    #[test]
    fn data_refused_or_lost_by_the_database_is_reported_beside_the_rest() {
        let Some((_database, url, server)) = running(Duration::from_mins(1)) else {
            return;
        };
        let change = |done: &str| {
            block_on(async { raw(&url).await.batch_execute(done).await.unwrap() });
        };
        change("UPDATE ctx.files SET content = replace(content, 'a + b', 'a - b')");
        for wanted in [within("pinned"), referring("src/sum.rs:1-4")] {
            let answer = build(&server, &wanted);
            let (_, told) = warned(&answer);
            assert!(told.contains("\"src/sum.rs\" is damaged"), "{told}");
            assert!(!answer.body.contains("a - b"), "{answer:?}");
        }
        change("ALTER TABLE ctx.pinned RENAME TO gone");
        let (codes, told) = warned(&build(&server, &within("pinned")));
        assert!(codes.contains(&"source_failed".to_owned()), "{codes:?}");
        assert!(told.contains("Pinned contributed nothing"), "{told}");
        change("ALTER TABLE ctx.gone RENAME TO pinned");
    }

    #[test]
    fn references_missing_in_the_database_are_reported_beside_the_rest() {
        if let Some(server) = Running::postgres() {
            unknown_is_told(&server);
        }
    }
}
