//! The pins of a thread are in its contexts until they are replaced.

use serde_json::{Value, json};

use crate::client::{ADA, Answer, BOB, Running};

pub(crate) fn pin(server: &Running, token: &str, thread: &str, pinned: &Value) -> Answer {
    let bearer = format!("Bearer {token}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
    ];
    let line = format!("PUT /v1/threads/{thread}/pinned");
    let body = json!({"pinned": pinned}).to_string();
    server.send(&line, &headers, body.as_bytes())
}

/// The files that a context names, for a message that finds none.
fn named(server: &Running) -> Vec<String> {
    let wanted = json!({"message": "well?", "threadId": "t"});
    let data = server.post(ADA, "/v1/context/build", &wanted).data(200);
    let items = data["items"].as_array().unwrap().iter();
    let named = items.filter(|it| it["type"] == "reference");
    named
        .map(|it| it["source"].as_str().unwrap().to_owned())
        .collect()
}

fn pins_can_be_changed(server: &Running) {
    let file = |path: &str| json!({"path": path, "content": format!("What {path} says.\n")});
    let files = json!({"files": [file("a.md"), file("b.md"), file("c.md")]});
    server.post(ADA, "/v1/files", &files).data(200);
    let thread = json!({"id": "t", "title": "Pins", "pinned": ["a.md", "b.md", "a.md"]});
    let begun = server.post(ADA, "/v1/threads", &thread).data(201);
    assert_eq!(begun["pinned"], json!(["a.md", "b.md"]));
    assert_eq!(named(server), ["a.md", "b.md"]);
    for (pinned, kept) in [
        (json!(["c.md", "b.md", "c.md"]), json!(["c.md", "b.md"])),
        (json!(["b.md", "c.md"]), json!(["b.md", "c.md"])),
        (json!([]), json!([])),
        (json!(["a.md"]), json!(["a.md"])),
    ] {
        let data = pin(server, ADA, "t", &pinned).data(200);
        assert_eq!(data["pinned"], kept);
        assert_eq!((&data["id"], &data["title"]), (&json!("t"), &json!("Pins")));
        let listed = server.get(ADA, "/v1/threads").data(200);
        assert_eq!(listed[0], data);
        let mut files: Vec<&str> = kept
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        files.sort_unstable();
        assert_eq!(named(server), files);
    }
    pin(server, ADA, "t", &json!([" "])).refused(400, "pinned[0]");
    pin(server, ADA, "t", &json!(vec!["x"; 33])).refused(400, "pinned");
    pin(server, ADA, "none", &json!([])).refused(404, "id");
    pin(server, BOB, "t", &json!([])).refused(404, "id");
    assert_eq!(named(server), ["a.md"]);
}

#[test]
fn something_else_can_be_pinned_to_a_thread() {
    pins_can_be_changed(&Running::embedded());
}

#[cfg(all(unix, feature = "postgres"))]
#[test]
fn something_else_can_be_pinned_to_a_thread_in_a_database() {
    if let Some(server) = Running::postgres() {
        pins_can_be_changed(&server);
    }
}
