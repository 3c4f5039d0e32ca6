//! What is logged holds no text of any request.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::json;
use tracing::field::{Field, Visit};

use crate::client::{ADA, BOB, Running};

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn lines() -> MutexGuard<'static, Vec<String>> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps all that the server says, at every level.
struct Keep;

impl tracing::Subscriber for Keep {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("ctx_server")
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        lines().push(line.0);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = fmt::Write::write_fmt(&mut self.0, format_args!("{}={value:?} ", field.name()));
    }
}

#[test]
fn no_field_of_a_request_is_logged_whatever_becomes_of_it() {
    let _ = tracing::subscriber::set_global_default(Keep);
    let server = Running::embedded();
    let word = "canaryoflogs";
    let thread = json!({"id": word, "title": word, "pinned": [word]});
    let bodies = [
        (
            "/v1/files",
            json!({"files": [{"path": word, "content": word}]}),
        ),
        (
            "/v1/files",
            json!({"files": [{"path": format!("../{word}"), "content": word}]}),
        ),
        ("/v1/threads", thread.clone()),
        ("/v1/threads", thread),
        (
            "/v1/threads/canaryoflogs/messages",
            json!({"role": "user", "content": word}),
        ),
        (
            "/v1/threads/canaryoflogs/messages",
            json!({"role": word, "content": word}),
        ),
        (
            "/v1/context/build",
            json!({"message": word, "threadId": word, "references": [word]}),
        ),
        (
            "/v1/context/build",
            json!({"message": word, "threadId": "none", (word): word}),
        ),
        (
            "/v1/context/build",
            json!({"message": word, "options": {"tokenEstimation": word}}),
        ),
        (
            "/v1/context/assemble",
            json!({"chunks": [{"id": word, "content": word, "relevance": 1}]}),
        ),
        (
            "/v1/context/assemble",
            json!({"chunks": [{"id": word, "content": word, "relevance": 7}]}),
        ),
        (
            "/v1/context/feedback",
            json!({"handle": word, "useful": true, (word): word}),
        ),
        (
            "/v1/context/feedback",
            json!({"handle": word, "useful": true}),
        ),
        ("/v1/context/canaryoflogs/resolve", json!({"answer": word})),
        ("/canaryoflogs", json!({})),
        ("/v1/files", json!("{\"canaryoflogs")),
    ];
    for (path, body) in &bodies {
        for token in [ADA, BOB, word] {
            assert_ne!(server.post(token, path, body).status, 500, "{path}");
        }
        server.get(ADA, &format!("{path}?limit={word}"));
    }
    let hosts = [("Host", word), ("Origin", word)];
    server.send(&format!("{word} /{word}"), &hosts, b"");
    let lines = lines();
    assert!(lines.iter().any(|it| it.contains("/v1/context/build")));
    for line in lines.iter() {
        assert!(!line.contains(word) && !line.contains(ADA), "{line}");
    }
}
