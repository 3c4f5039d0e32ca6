//! Every described route, requested by every kind of caller that must be refused.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::client::{ADA, Answer, BOB, EXPIRED, Running};

/// What only one owner has.
const WORD: &str = "canaryofmatrix";

/// What another owner, who names all that is the first's, is to be told.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    /// That there is no such thing: the status, and the field that names it.
    Refused(u16, &'static str),
    /// What is the other's own, in which there is nothing of the first's.
    Own(u16),
    /// What anybody may hear.
    Open,
}

/// The ids of the first owner.
struct Ids {
    context: String,
    handle: String,
}

/// What is sent to each route, and what comes of it for another owner. A route that is not here
/// fails the test.
fn asked(method: &str, path: &str, ids: &Ids) -> Option<(Value, Told)> {
    use Told::{Open, Own, Refused};
    let not_found = Refused(404, "id");
    Some(match (method, path) {
        ("post", "/v1/context/build") => (
            json!({"message": WORD, "threadId": "t"}),
            Refused(404, "threadId"),
        ),
        ("post", "/v1/context/assemble") => (json!({"chunks": []}), Own(200)),
        ("post", "/v1/context/feedback") => (
            json!({"handle": ids.handle, "useful": true}),
            Refused(422, "handle"),
        ),
        ("get", "/v1/context/{id}" | "/v1/threads/{id}" | "/v1/threads/{id}/messages")
        | ("delete", "/v1/context/{id}" | "/v1/threads/{id}") => (Value::Null, not_found),
        ("patch", "/v1/threads/{id}") => (json!({"title": "another"}), not_found),
        ("delete", "/v1/files") => (json!({"paths": ["a.rs"]}), Own(200)),
        ("post", "/v1/context/{id}/resolve") => (json!({"answer": "x"}), not_found),
        ("post", "/v1/files") => (
            json!({"files": [{"path": "a.rs", "content": "fn other() {}\n"}]}),
            Own(200),
        ),
        ("post", "/v1/threads") => (json!({"id": "own"}), Own(201)),
        // The other has a file of its own at the path by then.
        ("get", "/v1/files" | "/v1/files/content" | "/v1/threads") => (Value::Null, Own(200)),
        ("put", "/v1/threads/{id}/pinned") => (json!({"pinned": ["a.rs"]}), not_found),
        ("post", "/v1/threads/{id}/messages") => {
            (json!({"role": "user", "content": "x"}), not_found)
        }
        ("get", "/metrics") => (Value::Null, Refused(403, "Authorization")),
        ("get", "/healthz" | "/readyz") => (Value::Null, Open),
        _ => return None,
    })
}

/// What the first owner has: a file, a thread with a message and a pin, and a context with a
/// handle.
fn settle(server: &Running) -> Ids {
    let files = json!({"files": [{"path": "a.rs", "content": format!("fn {WORD}() {{}}\n")}]});
    server.post(ADA, "/v1/files", &files).data(200);
    let thread = json!({"id": "t", "title": WORD, "pinned": ["a.rs"]});
    server.post(ADA, "/v1/threads", &thread).data(201);
    let message = json!({"role": "user", "content": WORD});
    server
        .post(ADA, "/v1/threads/t/messages", &message)
        .data(201);
    let wanted = json!({"message": WORD, "threadId": "t"});
    let built = server.post(ADA, "/v1/context/build", &wanted).data(200);
    let text = |name: &str| built[name].as_str().unwrap().to_owned();
    Ids {
        context: text("id"),
        handle: text("handle"),
    }
}

fn ask(server: &Running, (method, path): (&str, &str), token: &str, body: &Value) -> Answer {
    let line = format!("{} {path}", method.to_uppercase());
    let bearer = format!("Bearer {token}");
    let mut headers = vec![("Content-Type", "application/json")];
    if !token.is_empty() {
        headers.push(("Authorization", &bearer));
    }
    let body = match body {
        Value::Null => Vec::new(),
        body => body.to_string().into_bytes(),
    };
    server.send(&line, &headers, &body)
}

/// For any store.
pub(crate) fn every_route_is_closed(server: &Running) {
    let ids = settle(server);
    let described = server.send("GET /openapi.json", &[], b"").json();
    let mut met = BTreeSet::new();
    for (template, item) in described["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let route = format!("{method} {template}");
            let Some((body, told)) = asked(method, template, &ids) else {
                panic!("{route} is in no row of this test");
            };
            let id = if template.starts_with("/v1/context") {
                ids.context.as_str()
            } else {
                "t"
            };
            let mut path = template.replace("{id}", id);
            if template == "/v1/files/content" {
                path += "?path=a.rs";
            }
            assert!(!path.contains('{'), "{route}");
            let is_open = operation["security"] == json!([{}]);
            assert_eq!(is_open, told == Told::Open, "{route}: {operation}");
            for token in ["", "unknown-0123456789abcdef", EXPIRED] {
                let answer = ask(server, (method, &path), token, &body);
                if told == Told::Open {
                    assert_eq!(answer.status, 200, "{route}");
                } else {
                    answer.refused(401, "Authorization");
                }
                assert!(!answer.body.contains(WORD), "{route}: {answer:?}");
            }
            let answer = ask(server, (method, &path), BOB, &body);
            match told {
                Told::Refused(status, field) => answer.refused(status, field),
                Told::Own(status) => assert_eq!(answer.status, status, "{route}: {answer:?}"),
                Told::Open => {}
            }
            assert!(!answer.body.contains(WORD), "{route}: {answer:?}");
            met.insert(route);
        }
    }
    assert!(met.len() >= 18, "{met:?}");
    // None of it changed anything.
    let threads = server.get(ADA, "/v1/threads").data(200);
    assert_eq!(threads.as_array().unwrap().len(), 1);
    assert_eq!(threads[0]["pinned"], json!(["a.rs"]));
    assert_eq!(threads[0]["title"], WORD);
    let said = server.get(ADA, "/v1/threads/t/messages").data(200);
    assert_eq!(said.as_array().unwrap().len(), 1);
    let files = server.get(ADA, "/v1/files").data(200);
    assert_eq!(files[0]["path"], "a.rs");
    let kept = server.get(ADA, &format!("/v1/context/{}", ids.context));
    assert!(kept.data(200).to_string().contains(WORD));
    let vote = json!({"handle": ids.handle, "useful": true});
    let counted = server.post(ADA, "/v1/context/feedback", &vote).data(200);
    assert_eq!(counted["counted"], true);
}

/// Replays of one vote, from several callers at once: one counts. For any store.
pub(crate) fn replays_count_once(server: &Running, callers: usize, each: usize) {
    let vote = json!({"handle": settle(server).handle, "useful": true});
    let counted = || {
        let answers = (0..each).map(|_| server.post(ADA, "/v1/context/feedback", &vote));
        answers.filter(|it| it.data(200)["counted"] == true).count()
    };
    let together: usize = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..callers).map(|_| scope.spawn(counted)).collect();
        callers.into_iter().map(|it| it.join().unwrap()).sum()
    });
    assert_eq!(together, 1);
    let against = json!({"handle": vote["handle"], "useful": false});
    let answer = server.post(ADA, "/v1/context/feedback", &against);
    assert_eq!(answer.data(200)["counted"], false);
}

/// A file is voted on once per context, also where the contexts of several messages have the same
/// text. For any store.
pub(crate) fn each_context_counts_once(server: &Running) {
    let pool = "The pool waits for a connection, and then fails.\n";
    let files = json!({"files": [{"path": "pool.md", "content": pool}]});
    server.post(ADA, "/v1/files", &files).data(200);
    let vote = |handle: &Value| {
        let vote = json!({"handle": handle, "useful": true});
        server.post(ADA, "/v1/context/feedback", &vote).data(200)["counted"] == true
    };
    let (mut ids, mut digests) = (BTreeSet::new(), BTreeSet::new());
    for message in [
        "how long does the pool wait?",
        "why does the pool fail?",
        "what is a connection?",
    ] {
        let built = server
            .post(ADA, "/v1/context/build", &json!({"message": message}))
            .data(200);
        ids.insert(built["id"].to_string());
        digests.insert(built["digest"].to_string());
        let (of_item, of_all) = (&built["items"][0]["handle"], &built["handle"]);
        assert!(vote(of_item), "{message}");
        assert!(!vote(of_item) && !vote(of_all), "{message}");
    }
    assert_eq!((ids.len(), digests.len()), (3, 1));
}

#[test]
fn each_context_of_the_embedded_store_counts_once() {
    each_context_counts_once(&Running::embedded());
}

#[test]
fn every_route_of_the_embedded_store_is_closed_to_others() {
    every_route_is_closed(&Running::embedded());
}

#[test]
fn a_thousand_replays_of_a_vote_count_once() {
    replays_count_once(&Running::embedded(), 4, 250);
}
