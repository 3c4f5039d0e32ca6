//! No owner sees another owner's data.

use std::thread;

use serde_json::{Value, json};

use crate::client::{ADA, Answer, BOB, OPERATOR, Running};

/// What only one owner has said or sent.
fn canary(token: &str) -> &'static str {
    if token == ADA {
        "canaryofada"
    } else {
        "canaryofbob"
    }
}

fn settle(server: &Running, token: &str) -> Value {
    let word = canary(token);
    let files = json!({"files": [{"path": "same.rs", "content": format!("fn shared_name() {{ {word}(); }}\n")}]});
    server.post(token, "/v1/files", &files).data(200);
    let thread = json!({"id": "same", "title": word, "pinned": ["same.rs"]});
    server.post(token, "/v1/threads", &thread).data(201);
    let message = json!({"role": "user", "content": format!("{word} said")});
    server
        .post(token, "/v1/threads/same/messages", &message)
        .data(201);
    let wanted = json!({"threadId": "same", "message": "shared_name"});
    server.post(token, "/v1/context/build", &wanted).data(200)
}

/// Builds for two owners at the same time, whose files, threads and questions are called the same,
/// and holds every answer against the other's word. For any store.
pub(crate) fn never_meet(server: &Running, builds: usize) {
    let (of_ada, of_bob) = (settle(server, ADA), settle(server, BOB));
    // Both ask at once, so that what is kept or being built for one is asked for by the other.
    let at_once = |turn| -> usize {
        thread::scope(|scope| {
            let both = [ADA, BOB].map(|it| scope.spawn(move || ask_twice(server, it, turn)));
            both.into_iter().map(|it| it.join().unwrap()).sum()
        })
    };
    let cached: usize = (0..builds / 4).map(at_once).sum();
    assert!(cached >= builds / 4, "{cached} of {builds}");
    let metrics = server.get(OPERATOR, "/metrics").body;
    assert!(
        metrics.contains("context_cache_refused_total 0\n"),
        "{metrics}"
    );
    for (token, foreign) in [(ADA, &of_bob), (BOB, &of_ada)] {
        let id = foreign["id"].as_str().unwrap();
        let answer = server.get(token, &format!("/v1/context/{id}"));
        answer.refused(404, "id");
        for handle in [&foreign["handle"], &foreign["items"][0]["handle"]] {
            let vote = json!({"handle": handle, "useful": true});
            server
                .post(token, "/v1/context/feedback", &vote)
                .refused(422, "handle");
        }
    }
}

/// Asks the question of a `turn` twice, so that what is kept is asked for too. How many answers
/// were.
fn ask_twice(server: &Running, token: &str, turn: usize) -> usize {
    let message = match turn % 3 {
        0 => "shared_name".to_owned(),
        1 => "canaryofada canaryofbob".to_owned(),
        _ => format!("shared_name {turn}"),
    };
    let wanted = json!({"threadId": "same", "message": message, "references": ["same.rs"]});
    let mut cached = 0;
    for _ in 0..2 {
        let answer = server.post(token, "/v1/context/build", &wanted);
        let context = answer.data(200)["context"].as_str().unwrap().to_owned();
        holds_its_own(token, &context);
        holds_its_own(token, &answer.body);
        cached += usize::from(answer.json()["meta"]["cached"] == true);
    }
    if turn.is_multiple_of(10) {
        for path in ["/v1/threads", "/v1/threads/same/messages"] {
            holds_its_own(token, &server.get(token, path).body);
        }
    }
    cached
}

/// Holds what the owner of `token` was told against what each owner alone has said.
#[track_caller]
fn holds_its_own(token: &str, told: &str) {
    let foreign = canary(if token == ADA { BOB } else { ADA });
    // The question has both words in it, and is not told.
    assert!(told.contains(canary(token)), "{told}");
    assert!(!told.contains(foreign), "{told}");
}

#[test]
fn two_owners_with_the_same_names_never_meet() {
    let builds = std::env::var("CTX_THOROUGH").map_or(80, |_| 10_000);
    never_meet(&Running::embedded(), builds);
}

#[test]
fn the_data_of_another_owner_answers_like_missing_data() {
    let server = Running::embedded();
    let of_ada = settle(&server, ADA);
    let id = of_ada["id"].as_str().unwrap();
    let never = format!("ctx-{}", "0".repeat(32));
    let foreign = server.get(BOB, &format!("/v1/context/{id}"));
    let nothing = server.get(BOB, &format!("/v1/context/{never}"));
    // Each request has an id of its own.
    let told = |answer: &Answer| {
        let id = answer.header("x-request-id").unwrap();
        answer.body.replace(id, "")
    };
    assert_eq!(told(&foreign).replace(id, &never), told(&nothing));
    let message = json!({"role": "user", "content": "x"});
    server
        .post(BOB, "/v1/threads/same/messages", &message)
        .refused(404, "id");
    server
        .get(BOB, "/v1/threads/same/messages")
        .refused(404, "id");
    let wanted = json!({"threadId": "same", "message": "x"});
    server
        .post(BOB, "/v1/context/build", &wanted)
        .refused(404, "threadId");
    let named = json!({"message": "shared_name", "references": ["same.rs", "shared_name"]});
    let answer = server.post(BOB, "/v1/context/build", &named);
    assert_eq!(answer.data(200)["items"], json!([]));
    assert!(!answer.body.contains(canary(ADA)));
}
