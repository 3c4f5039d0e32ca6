//! No owner sees what is another's.

use serde_json::{Value, json};

use crate::client::{ADA, BOB, Running};

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

#[test]
fn two_owners_with_the_same_names_never_meet() {
    let server = Running::embedded();
    let (of_ada, of_bob) = (settle(&server, ADA), settle(&server, BOB));
    let turns: usize = std::env::var("CTX_THOROUGH").map_or(25, |_| 5_000);
    for turn in 0..turns {
        for (token, foreign) in [(ADA, canary(BOB)), (BOB, canary(ADA))] {
            // The one asks for what the other has just asked for, and for the other's word.
            let message = if turn % 2 == 0 {
                "shared_name"
            } else {
                "canaryofada canaryofbob"
            };
            let wanted = json!({"threadId": "same", "message": message});
            let answer = server.post(token, "/v1/context/build", &wanted);
            let context = answer.data(200)["context"].as_str().unwrap().to_owned();
            assert!(context.contains(canary(token)), "{context}");
            assert!(!answer.body.contains(foreign), "{}", answer.body);
            for path in ["/v1/threads", "/v1/threads/same/messages"] {
                let answer = server.get(token, path);
                assert!(answer.body.contains(canary(token)), "{}", answer.body);
                assert!(!answer.body.contains(foreign), "{}", answer.body);
            }
        }
    }
    for (token, foreign) in [(ADA, &of_bob), (BOB, &of_ada)] {
        let id = foreign["id"].as_str().unwrap();
        let answer = server.get(token, &format!("/v1/context/{id}"));
        answer.refused(404, "id");
        let vote = json!({"handle": foreign["handle"], "useful": true});
        server
            .post(token, "/v1/context/feedback", &vote)
            .refused(422, "handle");
    }
}

#[test]
fn what_is_anothers_answers_as_what_never_was() {
    let server = Running::embedded();
    let of_ada = settle(&server, ADA);
    let id = of_ada["id"].as_str().unwrap();
    let never = format!("ctx-{}", "0".repeat(32));
    let foreign = server.get(BOB, &format!("/v1/context/{id}"));
    let nothing = server.get(BOB, &format!("/v1/context/{never}"));
    assert_eq!(foreign.body.replace(id, &never), nothing.body);
    let message = json!({"role": "user", "content": "x"});
    server
        .post(BOB, "/v1/threads/same/messages", &message)
        .refused(404, "threadId");
    server
        .get(BOB, "/v1/threads/same/messages")
        .refused(404, "threadId");
    let wanted = json!({"threadId": "same", "message": "x"});
    server
        .post(BOB, "/v1/context/build", &wanted)
        .refused(404, "threadId");
    let named = json!({"message": "shared_name", "references": ["same.rs", "shared_name"]});
    let answer = server.post(BOB, "/v1/context/build", &named);
    assert_eq!(answer.data(200)["items"], json!([]));
    assert!(!answer.body.contains(canary(ADA)));
}
