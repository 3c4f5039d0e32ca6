//! Ids that a thread was shown keep their meaning in later requests.

use serde_json::{Value, json};

use crate::client::{ADA, Running};

const TIDES: &str =
    "fn tide_height() -> u32 {\n    moon(3)\n}\n\nfn lock_gate() -> u32 {\n    4\n}\n";

fn build(server: &Running, body: &Value) -> Value {
    server.post(ADA, "/v1/context/build", body).data(200)
}

fn labels_are_recalled(server: &Running) {
    let files = json!({"files": [
        {"path": "tides.rs", "content": TIDES},
        {"path": "birds.rs", "content": "fn gull() -> u32 {\n    5\n}\n"},
    ]});
    server.post(ADA, "/v1/files", &files).data(200);
    for id in ["t", "u"] {
        server
            .post(ADA, "/v1/threads", &json!({"id": id}))
            .data(201);
    }
    let shown = build(server, &json!({"message": "tide_height", "threadId": "t"}));
    let items = shown["items"].as_array().unwrap();
    let of_part = |it: &&Value| it["type"] == "chunk" && it["source"] == "tides.rs";
    let label = &items.iter().find(of_part).unwrap()["id"];
    let mut asked = 0;
    let mut next = |thread: &str| {
        asked += 1;
        let message = format!("gull {asked}");
        build(
            server,
            &json!({"message": message, "threadId": thread, "references": [label]}),
        )
    };
    // The receipt may be kept behind the answer.
    let found = (0..100).find_map(|_| {
        let data = next("t");
        let is_known = data["warnings"].is_null();
        std::thread::sleep(std::time::Duration::from_millis(20));
        is_known.then_some(data)
    });
    let found = found.expect("the id is known before long");
    let again = found["items"].as_array().unwrap();
    let again = again.iter().find(|it| it["id"] == *label).unwrap();
    assert_eq!(again["relevance"], 1.0);
    assert!(found["context"].as_str().unwrap().contains("moon(3)"));
    // It is named as answers cite it, too.
    let label = label.as_str().unwrap();
    for cited in [
        "[{}:2]",
        "[{}:1-3]",
        "[{}#L2, 3]",
        "[{}; {}:2]",
        "[gull, {}]",
    ] {
        let cited = cited.replace("{}", label);
        let mut wanted = vec![json!({"message": format!("gull, and {cited}?"), "threadId": "t"})];
        if !cited.contains("gull") {
            let bare = cited.trim_matches(['[', ']']);
            let named = |it: &str| json!({"message": "gull", "threadId": "t", "references": [it]});
            wanted.extend([named(&cited), named(bare)]);
        }
        for wanted in wanted {
            let data = build(server, &wanted);
            assert!(data["warnings"].is_null(), "{wanted}: {data}");
            assert_eq!(data["stats"]["explicitCount"], 1, "{wanted}");
            assert!(data["context"].as_str().unwrap().contains("moon(3)"));
        }
    }
    // The same lines may be named beside it.
    let both = json!({"message": "gull", "threadId": "t", "references": ["tides.rs:1-3", label]});
    let both = build(server, &both);
    assert!(both["warnings"].is_null(), "{both}");
    // It is the thread's.
    assert_eq!(next("u")["warnings"][0]["code"], "unknown_reference");
    // When the lines say something else, they are not what it was given to.
    let files = json!({"files": [{"path": "tides.rs", "content": TIDES.replace('3', "7")}]});
    server.post(ADA, "/v1/files", &files).data(200);
    assert_eq!(next("t")["warnings"][0]["code"], "unknown_reference");
}

/// An answer is named by its id, however long ago it was given, and comes with its question.
fn messages_are_recalled(server: &Running) {
    server
        .post(ADA, "/v1/threads", &json!({"id": "m"}))
        .data(201);
    let say = |role: &str, number: u32| {
        let message = json!({"role": role, "content": format!("said number {number}.")});
        server
            .post(ADA, "/v1/threads/m/messages", &message)
            .data(201)["id"]
            .clone()
    };
    say("user", 0);
    say("user", 1);
    let id = say("assistant", 2);
    for number in 3..40 {
        say("user", number);
    }
    let wanted = json!({"message": "well?", "threadId": "m", "references": [id]});
    let data = build(server, &wanted);
    assert_eq!(data["warnings"], Value::Null);
    let context = data["context"].as_str().unwrap();
    let has = |number: u32| context.contains(&format!("said number {number}."));
    assert!(has(1) && has(2), "{context}");
    assert!(!has(0) && !has(3), "{context}");
    // It is the thread's.
    let elsewhere = json!({"message": "well?", "references": [id]});
    let data = build(server, &elsewhere);
    assert_eq!(data["warnings"][0]["code"], "unknown_reference");
}

#[test]
fn ids_are_known_for_as_long_as_the_receipt() {
    let server = Running::embedded();
    labels_are_recalled(&server);
    messages_are_recalled(&server);
}

#[cfg(all(unix, feature = "postgres"))]
#[test]
fn ids_are_known_for_as_long_as_the_receipt_in_a_database() {
    if let Some(server) = Running::postgres() {
        labels_are_recalled(&server);
        messages_are_recalled(&server);
    }
}
