//! Every route, with valid and with invalid requests.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::client::{ADA, Answer, BOB, OPERATOR, Running, patient};
use crate::pins::pin;

const PARSER: &str = "/// Reads a budget of tokens from text.\npub fn parse_budget(text: &str) -> Option<u32> {\n    text.trim().parse().ok()\n}\n";
const SERVER: &str =
    "/// Listens for connections.\npub fn listen(port: u16) {\n    accept(port);\n}\n";

fn with_files(server: &Running) {
    let files = json!({"files": [
        {"path": "src/parser.rs", "content": PARSER},
        {"path": "src/server.rs", "content": SERVER},
    ]});
    let answer = server.post(ADA, "/v1/files", &files);
    let data = answer.data(200);
    assert_eq!(data["files"][0]["status"], "created");
    assert_eq!(
        answer.json()["meta"],
        json!({"changedCount": 2, "fileCount": 2, "maskedSecrets": 0})
    );
}

fn build(server: &Running, body: &Value) -> Answer {
    server.post(ADA, "/v1/context/build", body)
}

/// A way to send a text to a server.
type Send<'a> = &'a dyn Fn(&str) -> Answer;

/// Whatever the store is.
pub(crate) fn lengths_are_as_described(server: &Running) {
    let described = server.send("GET /openapi.json", &[], b"").json();
    let schemas = &described["components"]["schemas"];
    server
        .post(ADA, "/v1/threads", &json!({"id": "t"}))
        .data(201);
    characters_are_counted(server, schemas);
    bytes_are_counted(server, schemas);
}

fn most(schema: &Value) -> usize {
    usize::try_from(schema["maxLength"].as_u64().unwrap()).unwrap()
}

/// Of texts, whatever the characters are.
fn characters_are_counted(server: &Running, schemas: &Value) {
    for (schema, field, path, body, range) in [
        (
            "BuildRequest",
            "message",
            "/v1/context/build",
            json!({}),
            "must have 1 to",
        ),
        (
            "ThreadRequest",
            "title",
            "/v1/threads",
            json!({}),
            "may have at most",
        ),
        (
            "MessageRequest",
            "content",
            "/v1/threads/t/messages",
            json!({"role": "user"}),
            "must have 1 to",
        ),
        (
            "ResolveRequest",
            "answer",
            "/v1/context/ctx-1/resolve",
            json!({}),
            "must have 1 to",
        ),
        (
            "FeedbackRequest",
            "handle",
            "/v1/context/feedback",
            json!({"useful": true}),
            "must have 1 to",
        ),
    ] {
        let most = most(&schemas[schema]["properties"][field]);
        for letter in ["a", "ä", "🦀"] {
            let sent = |length: usize| {
                let mut body = body.clone();
                body[field] = letter.repeat(length).into();
                server.post(ADA, path, &body)
            };
            let taken = sent(most);
            assert!(
                [200, 201, 404, 422].contains(&taken.status),
                "{field} {taken:?}"
            );
            let is_of_length = taken.body.contains("characters") || taken.body.contains("bytes");
            assert!(taken.status < 300 || !is_of_length, "{field} {taken:?}");
            let refused = sent(most + 1);
            refused.refused(400, field);
            let detail = format!("it {range} {most} characters");
            assert_eq!(refused.json()["detail"], detail, "{field}");
            let empty = sent(0);
            if range == "may have at most" {
                empty.data(201);
            } else {
                empty.refused(400, field);
                assert_eq!(empty.json()["detail"], detail, "{field}");
            }
        }
    }
}

/// Of paths and references: the description says so in words.
fn bytes_are_counted(server: &Running, schemas: &Value) {
    let pinned = |what: &str| pin(server, ADA, "t", &json!([what]));
    let built = |what: &str| build(server, &json!({"message": "x", "references": [what]}));
    let begun = |what: &str| server.post(ADA, "/v1/threads", &json!({"pinned": [what]}));
    let kept = |what: &str| keep(server, what, "fn kept() {}\n");
    let removed = |what: &str| {
        let head = [
            ("Content-Type", "application/json"),
            ("Authorization", &*format!("Bearer {ADA}")),
        ];
        let body = json!({"paths": [what]}).to_string();
        server.send("DELETE /v1/files", &head, body.as_bytes())
    };
    let sends: [(&str, &str, Send<'_>); 5] = [
        ("Reference", "pinned[0]", &pinned),
        ("Reference", "references[0]", &built),
        ("Reference", "pinned[0]", &begun),
        ("FilePath", "files[0].path", &kept),
        ("FilePath", "paths[0]", &removed),
    ];
    for (schema, field, send) in sends {
        let schema = &schemas[schema];
        let most = most(schema);
        let said = schema["description"].as_str().unwrap();
        assert!(
            said.contains("at most 1,024 bytes in UTF-8") && most == 1_024,
            "{said}"
        );
        // With no name in it that is too long for a path.
        let of = |letter: &str, bytes: usize| {
            let name = format!("{}/", letter.repeat(100 / letter.len()));
            let mut text = name.repeat(bytes / name.len() - 1);
            text += &letter.repeat((bytes - text.len()) / letter.len());
            let rest = bytes - text.len();
            text + &"a".repeat(rest)
        };
        for letter in ["a", "ä", "🦀"] {
            let taken = send(&of(letter, most));
            assert!([200, 201].contains(&taken.status), "{field} {taken:?}");
            let longer = of(letter, most + 1);
            let status = if longer.chars().count() > most {
                400
            } else {
                422
            };
            let refused = send(&longer);
            refused.refused(status, field);
            assert_eq!(
                refused.json()["detail"],
                "it must have 1 to 1024 bytes",
                "{field}"
            );
            send(&letter.repeat(most + 1)).refused(400, field);
        }
    }
}

#[test]
fn lengths_are_what_the_description_says() {
    lengths_are_as_described(&Running::embedded());
}

pub(crate) fn only_text_is_kept(server: &Running) {
    let long = "ä".repeat(600);
    let thread = |field: &str, value: Value| {
        let body = json!({ field: value });
        server.post(ADA, "/v1/threads", &body)
    };
    thread("title", json!("a\0b")).refused(422, "title");
    thread("pinned", json!(["a", "\0"])).refused(422, "pinned[1]");
    // It has as many characters as may be, and more bytes than a key can.
    thread("pinned", json!([long])).refused(422, "pinned[0]");
    thread("id", json!("t")).data(201);
    let pinned = |what: &str| pin(server, ADA, "t", &json!(["a", what]));
    pinned("a\0").refused(422, "pinned[1]");
    pinned(&long).refused(422, "pinned[1]");
    let said = |content: &str| {
        let message = json!({"role": "user", "content": content});
        server.post(ADA, "/v1/threads/t/messages", &message)
    };
    said("a\0b").refused(422, "content");
    said("\u{1} \\0").data(201);
    let there = server.get(ADA, "/v1/threads").data(200);
    assert_eq!(there.as_array().unwrap().len(), 1, "{there}");
    assert_eq!(there[0]["pinned"], json!([]));
    let said = server.get(ADA, "/v1/threads/t/messages").data(200);
    assert_eq!(said.as_array().unwrap().len(), 1, "{said}");
    assert_eq!(said[0]["content"], "\u{1} \\0");
    // What is asked is not kept: there, it is a character as any other.
    let asked = json!({"message": "a\0b", "references": ["a\0b"], "threadId": "t"});
    build(server, &asked).data(200);
    let file = |path: &str, content: &str| {
        let files = json!({"files": [
            {"path": "kept.md", "content": "kept"}, {"path": path, "content": content},
        ]});
        server.post(ADA, "/v1/files", &files)
    };
    file("a\0b", "x").refused(422, "files[1].path");
    file("a", "x\0").refused(422, "files[1].content");
    // What the description says of a path is 400.
    file("", "x").refused(400, "files[1].path");
    file(&"a".repeat(1025), "x").refused(400, "files[1].path");
    file(&long, "x").refused(422, "files[1].path");
    let there = server.get(ADA, "/v1/files").data(200);
    assert_eq!(there, json!([]));
    file("a", "x").data(200);
    for (after, paths) in [("%00", 2), ("a%00z", 1), ("kept.md%00", 0)] {
        let listed = server.get(ADA, &format!("/v1/files?after={after}"));
        assert_eq!(listed.data(200).as_array().unwrap().len(), paths, "{after}");
    }
}

#[test]
fn content_that_is_no_text_is_not_stored_and_named_by_its_field() {
    only_text_is_kept(&Running::embedded());
}

#[test]
fn files_are_found_as_soon_as_they_are_kept() {
    let server = Running::embedded();
    with_files(&server);
    let answer = build(&server, &json!({"message": "where is parse_budget?"}));
    let data = answer.data(200);
    assert!(
        data["context"]
            .as_str()
            .unwrap()
            .contains("text.trim().parse()")
    );
    let meta = &answer.json()["meta"];
    assert_eq!(meta["tokenUsage"], data["tokens"]["total"]);
    assert_eq!(meta["tokenUsage"], data["totalTokens"]);
    assert_eq!(meta["sourceCount"], data["items"].as_array().unwrap().len());
    assert_eq!(
        meta["citationCount"],
        data["citations"].as_array().unwrap().len()
    );
    assert_eq!(data["items"][0]["type"], "chunk");
    assert!(data["stats"]["searchCount"].as_u64().unwrap() > 0);
    let stages: Vec<&str> = data["timings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["stage"].as_str().unwrap())
        .collect();
    assert_eq!(
        stages,
        ["history", "search", "resolve", "score", "assemble"]
    );
}

#[test]
fn a_file_replaces_what_had_its_path() {
    let server = Running::embedded();
    with_files(&server);
    let again = json!({"files": [
        {"path": "src/parser.rs", "content": "pub fn parse_ceiling() {}\n"},
        {"path": "src/server.rs", "content": SERVER},
    ]});
    let data = server.post(ADA, "/v1/files", &again).data(200);
    assert_eq!(data["files"][0]["status"], "updated");
    assert_eq!(data["files"][1]["status"], "unchanged");
    let data = build(&server, &json!({"message": "parse_budget parse_ceiling"})).data(200);
    let context = data["context"].as_str().unwrap();
    assert!(context.contains("parse_ceiling") && !context.contains("parse_budget"));
}

#[test]
fn files_that_ignore_files_name_are_found_all_the_same() {
    let server = Running::embedded();
    let files = json!({"files": [
        {"path": ".gitignore", "content": "*.rs\n"},
        {"path": ".github/hidden.rs", "content": "fn unearthed_function() {}\n"},
    ]});
    server.post(ADA, "/v1/files", &files).data(200);
    let data = build(&server, &json!({"message": "unearthed_function"})).data(200);
    assert!(
        data["context"]
            .as_str()
            .unwrap()
            .contains("fn unearthed_function"),
        "{data}"
    );
}

#[test]
fn files_that_cannot_be_kept_are_named_and_nothing_is() {
    let server = Running::embedded();
    let file = |path: &str| json!({"path": path, "content": "x"});
    for path in [
        "../x",
        "/etc/passwd",
        "a/../../b",
        "a\u{0}b",
        ".ctx/x",
        "a//b",
        "a\\b",
    ] {
        let files = json!({"files": [file("good.rs"), file(path)]});
        server
            .post(ADA, "/v1/files", &files)
            .refused(422, "files[1].path");
    }
    let twice = json!({"files": [file("a"), file("a")]});
    server
        .post(ADA, "/v1/files", &twice)
        .refused(422, "files[1].path");
    server
        .post(ADA, "/v1/files", &json!({"files": []}))
        .refused(400, "files");
    let through = json!({"files": [file("a"), file("a/b")]});
    server
        .post(ADA, "/v1/files", &through)
        .refused(422, "files[1].path");
    let large = json!({"files": [{"path": "a", "content": "x".repeat((1 << 20) + 1)}]});
    server
        .post(ADA, "/v1/files", &large)
        .refused(413, "files[0].content");
    let data = server
        .post(ADA, "/v1/files", &json!({"files": [file("good.rs")]}))
        .data(200);
    assert_eq!(data["files"][0]["status"], "created");
}

#[test]
fn all_files_of_a_batch_at_fault_are_told() {
    let server = Running::embedded();
    let post = |files: Vec<Value>| server.post(ADA, "/v1/files", &json!({"files": files}));
    let file = |path: &str| json!({"path": path, "content": "x"});
    let fields = |problem: &Value| -> Vec<String> {
        let errors = problem["errors"].as_array().unwrap().iter();
        let field = |it: &Value| it["field"].as_str().unwrap().to_owned();
        errors
            .inspect(|it| assert!(it["detail"].is_string()))
            .map(field)
            .collect()
    };
    let paths = [
        "a",
        "tests/.env",
        "b",
        "certs/server.pem",
        ".ctxignore",
        "c/../d",
    ];
    let answer = post(paths.iter().map(|it| file(it)).collect());
    answer.refused(422, "files[1].path");
    let expected = [1, 3, 4, 5].map(|it| format!("files[{it}].path"));
    assert_eq!(fields(&answer.json()), expected);
    // Also where the first of them has another status.
    let large = json!({"path": "l", "content": "x".repeat((1 << 20) + 1)});
    let answer = post(vec![file("id_rsa"), large, file("a"), file("a"), file("")]);
    answer.refused(413, "files[1].content");
    let expected = [
        "files[0].path",
        "files[1].content",
        "files[3].path",
        "files[4].path",
    ];
    assert_eq!(fields(&answer.json()), expected);
    // One is the problem itself, and of many the first are told.
    let answer = post(vec![file(".env")]);
    assert!(answer.json()["errors"].is_null(), "{answer:?}");
    let answer = post((0..120).map(|it| file(&format!("{it}.pem"))).collect());
    assert_eq!(fields(&answer.json()).len(), 100);
    let detail = answer.json()["detail"].to_string();
    assert!(detail.contains("120 fields are invalid"), "{detail}");
    assert_eq!(server.get(ADA, "/v1/files").data(200), json!([]));
}

/// Keeps one file each; what became of it.
fn keep(server: &Running, path: &str, content: &str) -> Answer {
    let files = json!({"files": [{"path": path, "content": content}]});
    server.post(ADA, "/v1/files", &files)
}

#[test]
fn a_path_is_named_in_either_form_of_unicode() {
    let server = Running::embedded();
    let [composed, decomposed] = ["notes/\u{fc}bersicht.md", "plan/u\u{308}bersicht.md"];
    keep(&server, composed, "# The walrus\n").data(200);
    keep(&server, decomposed, "# The numbat\n").data(200);
    for (asked, says) in [
        (composed, "walrus"),
        ("notes/u\u{308}bersicht.md", "walrus"),
        ("plan/\u{fc}bersicht.md", "numbat"),
    ] {
        let message = format!("what is in @{asked}?");
        let data = build(&server, &json!({"message": message})).data(200);
        assert!(data["context"].to_string().contains(says), "{data}");
        assert_eq!(data["warnings"], Value::Null, "{data}");
        let asked = json!({"message": "?", "references": [asked]});
        let data = build(&server, &asked).data(200);
        assert!(data["context"].to_string().contains(says), "{data}");
    }
}

#[test]
fn a_batch_that_is_refused_changes_nothing() {
    let server = Running::embedded();
    keep(&server, "p/one.txt", "the first zebra\n").data(200);
    let replaced = json!({"files": [
        {"path": "p/one.txt", "content": "the second zebra\n"},
        {"path": "p/one.txt/x", "content": "x\n"},
    ]});
    let added = json!({"files": [
        {"path": "ghost.txt", "content": "a ghost zebra\n"},
        {"path": "p/one.txt/x", "content": "x\n"},
    ]});
    for batch in [replaced, added] {
        server
            .post(ADA, "/v1/files", &batch)
            .refused(422, "files[1].path");
    }
    // A good one, so that what lies about would be found.
    keep(&server, "p/two.txt", "another zebra\n").data(200);
    let data = keep(&server, "p/one.txt", "the first zebra\n").data(200);
    assert_eq!(data["files"][0]["status"], "unchanged");
    let wanted = json!({"message": "zebra", "references": ["p/one.txt"]});
    let data = build(&server, &wanted).data(200);
    let context = data["context"].as_str().unwrap();
    assert!(context.contains("the first zebra") && context.contains("another zebra"));
    assert!(!context.contains("the second zebra") && !context.contains("a ghost zebra"));
}

#[test]
fn a_file_is_no_folder_of_another() {
    no_file_is_a_folder(&Running::embedded());
}

/// Whatever the store is.
pub(crate) fn no_file_is_a_folder(server: &Running) {
    keep(server, "a", "x").data(200);
    keep(server, "b/c/d", "x").data(200);
    for path in ["a/b", "a/b/c", "b", "b/c"] {
        keep(server, path, "x").refused(422, "files[0].path");
    }
    for path in ["a.b", "ab", "b/c.d", "b/cd"] {
        keep(server, path, "x").data(200);
    }
    let backwards = json!({"files": [
        {"path": "e/f", "content": "x"}, {"path": "e", "content": "x"},
    ]});
    server
        .post(ADA, "/v1/files", &backwards)
        .refused(422, "files[1].path");
}

/// Asks with a body, or without one.
pub(crate) fn delete(server: &Running, token: &str, path: &str, body: Option<&Value>) -> Answer {
    let bearer = format!("Bearer {token}");
    let headers = [
        ("Authorization", &*bearer),
        ("Content-Type", "application/json"),
    ];
    let body = body.map(Value::to_string).unwrap_or_default();
    server.send(&format!("DELETE {path}"), &headers, body.as_bytes())
}

#[test]
fn a_file_that_is_removed_is_shown_no_more() {
    removed_files_are_gone(&Running::embedded());
}

/// Whatever the store is.
pub(crate) fn removed_files_are_gone(server: &Running) {
    let remove = |token: &str, paths: Value| {
        delete(server, token, "/v1/files", Some(&json!({"paths": paths})))
    };
    keep(server, "src/a/gone.rs", "fn aardvark() {}\n").data(200);
    keep(server, "src/stays.rs", "fn aardvark_too() {}\n").data(200);
    let wanted = json!({"message": "aardvark", "references": ["src/stays.rs"]});
    let named = json!({"message": "what is it?", "references": ["src/a/gone.rs"]});
    for _ in 0..2 {
        for request in [&wanted, &named] {
            let data = build(server, request).data(200);
            assert!(data["context"].as_str().unwrap().contains("src/a/gone.rs"));
        }
    }
    // Another's is another's.
    let answer = remove(BOB, json!(["src/a/gone.rs"]));
    assert_eq!(answer.data(200)["files"][0]["status"], "absent");
    let answer = remove(ADA, json!(["src/a/gone.rs", "never.rs", "../x"]));
    let statuses: Vec<Value> = answer.data(200)["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["status"].clone())
        .collect();
    assert_eq!(statuses, ["removed", "absent", "absent"]);
    assert_eq!(
        answer.json()["meta"],
        json!({"removedCount": 1, "fileCount": 3})
    );
    for request in [&wanted, &named] {
        let answer = build(server, request);
        let data = answer.data(200);
        assert!(
            !data["context"].as_str().unwrap().contains("gone.rs"),
            "{data}"
        );
        assert_eq!(answer.json()["meta"]["cached"], false);
        assert!(data["omitted"].as_array().unwrap().is_empty(), "{data}");
    }
    let files = server.get(ADA, "/v1/files").data(200);
    assert_eq!(files.as_array().unwrap().len(), 1);
    // What was a folder of it may be a file, and it can come again.
    keep(server, "src/a", "fn antelope() {}\n").data(200);
    remove(ADA, json!(["src/a"])).data(200);
    let data = keep(server, "src/a/gone.rs", "fn aardvark() {}\n").data(200);
    assert_eq!(data["files"][0]["status"], "created");
    let data = build(server, &named).data(200);
    assert!(data["context"].as_str().unwrap().contains("fn aardvark()"));
    remove(ADA, json!([])).refused(400, "paths");
    remove(ADA, json!([""])).refused(400, "paths[0]");
    remove(ADA, json!(["a", "a"])).refused(422, "paths[1]");
}

#[test]
fn files_are_listed_in_the_order_of_their_paths() {
    files_are_listed(&Running::embedded());
}

/// Whatever the store is.
pub(crate) fn files_are_listed(server: &Running) {
    let paths = ["a b&c.rs", "a.rs", "a/b.rs", "z.rs", "ä.rs"];
    for path in paths {
        keep(server, path, &format!("// {path}\n")).data(200);
    }
    let (mut listed, mut after) = (Vec::new(), None::<String>);
    loop {
        let encoded = |it: &String| {
            it.bytes().fold(String::new(), |mut text, byte| {
                write!(text, "%{byte:02x}").unwrap();
                text
            })
        };
        let after_it = after.as_ref().map(|it| format!("&after={}", encoded(it)));
        let page = server.get(
            ADA,
            &format!("/v1/files?limit=2{}", after_it.unwrap_or_default()),
        );
        for file in page.data(200).as_array().unwrap() {
            let path = file["path"].as_str().unwrap().to_owned();
            let text = format!("// {path}\n");
            assert_eq!(
                file["hash"],
                blake3::hash(text.as_bytes()).to_hex().as_str()
            );
            assert_eq!(file["bytes"], text.len());
            listed.push(path);
        }
        match page.json()["meta"]["next"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(listed, paths);
    assert_eq!(server.get(BOB, "/v1/files").data(200), json!([]));
    server.get(ADA, "/v1/files?limit=0").refused(400, "limit");
}

#[test]
fn a_thread_is_read_and_removed_with_what_was_said_in_it() {
    threads_are_removed(&Running::embedded());
}

/// Whatever the store is.
pub(crate) fn threads_are_removed(server: &Running) {
    keep(server, "a.rs", "fn aardvark() {}\n").data(200);
    for (token, id) in [(ADA, "t"), (ADA, "u"), (BOB, "t")] {
        let thread = json!({"id": id, "title": "It", "pinned": ["a.rs"]});
        server.post(token, "/v1/threads", &thread).data(201);
        for content in ["the first zebra", "the second zebra"] {
            let message = json!({"role": "user", "content": content});
            server
                .post(token, &format!("/v1/threads/{id}/messages"), &message)
                .data(201);
        }
    }
    let told = server.get(ADA, "/v1/threads/t").data(200);
    assert_eq!((&told["id"], &told["title"]), (&json!("t"), &json!("It")));
    assert_eq!(told["pinned"], json!(["a.rs"]));
    assert_eq!(told["messageCount"], 2);
    let wanted = json!({"message": "and then?", "threadId": "t"});
    let others = [
        (ADA, json!({"message": "and then?", "threadId": "u"})),
        (BOB, wanted.clone()),
    ]
    .map(|(token, wanted)| {
        let built = server.post(token, "/v1/context/build", &wanted).data(200);
        (
            token,
            format!("/v1/context/{}", built["id"].as_str().unwrap()),
        )
    });
    let data = build(server, &wanted).data(200);
    assert!(data["context"].as_str().unwrap().contains("zebra"));
    assert_eq!(delete(server, ADA, "/v1/threads/t", None).data(200), told);
    delete(server, ADA, "/v1/threads/t", None).refused(404, "id");
    server.get(ADA, "/v1/threads/t").refused(404, "id");
    server.get(ADA, "/v1/threads/t/messages").refused(404, "id");
    build(server, &wanted).refused(404, "threadId");
    // Neither is what it was shown.
    let receipt = format!("/v1/context/{}", data["id"].as_str().unwrap());
    server.get(ADA, &receipt).refused(404, "id");
    let answer = json!({"answer": "x"});
    server
        .post(ADA, &format!("{receipt}/resolve"), &answer)
        .refused(404, "id");
    for (token, receipt) in &others {
        server.get(token, receipt).data(200);
    }
    // One that begins anew has nothing of it, also from the cache.
    server
        .post(ADA, "/v1/threads", &json!({"id": "t"}))
        .data(201);
    let data = build(server, &wanted).data(200);
    let context = data["context"].as_str().unwrap();
    assert!(!context.contains("zebra"), "{data}");
    assert_eq!(
        server.get(ADA, "/v1/threads/t").data(200)["messageCount"],
        0
    );
    for (token, id) in [(ADA, "u"), (BOB, "t")] {
        let told = server.get(token, &format!("/v1/threads/{id}")).data(200);
        assert_eq!(told["messageCount"], 2);
    }
}

#[test]
fn a_message_that_is_sent_again_is_kept_once() {
    is_kept_once(&Running::embedded());
}

/// Whatever the store is.
pub(crate) fn is_kept_once(server: &Running) {
    for thread in ["t", "u"] {
        server
            .post(ADA, "/v1/threads", &json!({"id": thread}))
            .data(201);
    }
    let send = |thread: &str, message: &Value| {
        server.post(ADA, &format!("/v1/threads/{thread}/messages"), message)
    };
    let message = json!({"id": "m.1", "role": "user", "content": "said once"});
    let first = send("t", &message).data(201);
    assert_eq!(first["id"], "m.1");
    for _ in 0..2 {
        assert_eq!(send("t", &message).data(200), first);
    }
    for (role, content) in [("user", "said otherwise"), ("assistant", "said once")] {
        let other = json!({"id": "m.1", "role": role, "content": content});
        send("t", &other).refused(409, "id");
    }
    // In another thread it is another message.
    let other = json!({"id": "m.1", "role": "user", "content": "said elsewhere"});
    send("u", &other).data(201);
    for id in ["", "a b", "a/b", &"x".repeat(65)] {
        let odd = json!({"id": id, "role": "user", "content": "x"});
        send("t", &odd).refused(400, "id");
    }
    // Without an id each is another.
    let nameless = json!({"role": "user", "content": "said twice"});
    for _ in 0..2 {
        send("t", &nameless).data(201);
    }
    let said = server.get(ADA, "/v1/threads/t/messages").data(200);
    let said: Vec<&str> = said
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["content"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["said once", "said twice", "said twice"]);
    let together: usize = std::thread::scope(|scope| {
        let message = json!({"id": "m.2", "role": "user", "content": "said at once"});
        let one = move || send("t", &message);
        let callers: Vec<_> = (0..4).map(|_| scope.spawn(one.clone())).collect();
        let answers = callers.into_iter().map(|it| it.join().unwrap());
        answers.filter(|it| it.status == 201).count()
    });
    assert_eq!(together, 1);
}

#[test]
fn who_asks_for_a_receipt_that_is_not_kept_is_told_how_long_they_are() {
    let server = Running::embedded();
    let answer = server.get(ADA, "/v1/context/ctx-0");
    answer.refused(404, "id");
    let detail = "context \"ctx-0\" is not stored: receipts are kept for 24 hours, or shorter if they exceed 256 MiB";
    assert_eq!(answer.json()["detail"], detail);
}

#[test]
fn content_that_is_no_text_is_refused() {
    no_text_is_refused(&Running::embedded());
}

/// Whatever the store is.
pub(crate) fn no_text_is_refused(server: &Running) {
    keep(server, "src/a.rs", "fn aardvark() {}\n").data(200);
    let late = format!("{}\0", "x".repeat(5_000));
    for content in ["fn armadillo() {}\0\n", "\0", &late, "%PDF-1.7\n"] {
        let files = json!({"files": [
            {"path": "src/b.rs", "content": "fn bison() {}\n"},
            {"path": "src/a.rs", "content": content},
        ]});
        server
            .post(ADA, "/v1/files", &files)
            .refused(422, "files[1].content");
    }
    let wanted = json!({"message": "aardvark bison armadillo", "references": ["src/a.rs"]});
    let data = build(server, &wanted).data(200);
    let context = data["context"].as_str().unwrap();
    assert!(context.contains("fn aardvark"), "{data}");
    assert!(!context.contains("bison") && !context.contains("armadillo"));
}

#[test]
fn files_without_a_word_can_be_named() {
    blank_files_can_be_named(&Running::embedded());
}

/// Whatever the store is.
pub(crate) fn blank_files_can_be_named(server: &Running) {
    keep(server, "pkg/__init__.py", "").data(200);
    keep(server, "pkg/blank.py", "\n").data(200);
    keep(server, "pkg/said.py", "word = 1\n").data(200);
    let names = ["pkg/__init__.py", "blank.py", "pkg/said.py"];
    let wanted = json!({"message": "what is in these?", "references": names});
    let data = build(server, &wanted).data(200);
    assert_eq!(data.get("warnings"), None, "{data}");
    let context = data["context"].as_str().unwrap();
    assert!(context.contains("pkg/__init__.py"), "{data}");
    assert!(context.contains("pkg/blank.py"), "{data}");
    assert!(context.contains("word = 1"), "{data}");
    for (path, content) in [("pkg/__init__.py", ""), ("pkg/blank.py", "\n")] {
        let data = keep(server, path, content).data(200);
        assert_eq!(data["files"][0]["status"], "unchanged");
    }
}

#[test]
fn a_file_that_could_not_be_indexed_is_not_said_to_be_unchanged_before_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::within(folder.path());
    keep(&server, "a.rs", "fn aardvark() {}\n").data(200);
    let mut owners = std::fs::read_dir(folder.path().join("owners")).unwrap();
    let index = owners.next().unwrap().unwrap().path().join("index");
    // Somebody else writes the index.
    let writer = std::fs::File::options()
        .write(true)
        .open(index.join("writer.lock"))
        .unwrap();
    writer.lock().unwrap();
    for _ in 0..2 {
        keep(&server, "a.rs", "fn armadillo() {}\n").refused(500, "");
    }
    drop(writer);
    let data = keep(&server, "a.rs", "fn armadillo() {}\n").data(200);
    assert_eq!(data["files"][0]["status"], "unchanged");
    let data = build(&server, &json!({"message": "armadillo"})).data(200);
    assert!(data["context"].as_str().unwrap().contains("fn armadillo"));
}

#[test]
fn a_context_has_the_thread_and_what_is_pinned() {
    let server = Running::embedded();
    with_files(&server);
    let thread = json!({"id": "t-1", "title": "Budgets", "pinned": ["@src/server.rs:1-2"]});
    let data = server.post(ADA, "/v1/threads", &thread).data(201);
    assert_eq!(data["id"], "t-1");
    let mut said = Vec::new();
    for (role, content) in [("user", "the zebra crossing"), ("assistant", "noted")] {
        let message = json!({"role": role, "content": content});
        let data = server
            .post(ADA, "/v1/threads/t-1/messages", &message)
            .data(201);
        assert_eq!(data["role"], role);
        said.push(data["id"].clone());
    }
    let wanted =
        json!({"threadId": "t-1", "message": "parse_budget", "references": ["listen", "nowhere"]});
    let data = build(&server, &wanted).data(200);
    let context = data["context"].as_str().unwrap();
    for text in [
        "the zebra crossing",
        "noted",
        "text.trim().parse()",
        "pub fn listen",
    ] {
        assert!(context.contains(text), "{text:?} in {context}");
    }
    // A question with its answer is one exchange.
    assert_eq!(data["stats"]["historyCount"], 1);
    let items = data["items"].as_array().unwrap();
    let of = items.iter().find(|it| it["type"] == "message").unwrap();
    assert_eq!(of["metadata"]["messageIds"], json!(said));
    assert_eq!(data["stats"]["explicitCount"], 2);
    assert_eq!(data["warnings"][0]["code"], "unknown_reference");
}

#[test]
fn references_are_included_or_reported() {
    let server = Running::embedded();
    let path = format!("{}deep.md", "a-directory-of-some-length/".repeat(20));
    let files = json!({"files": [{"path": path, "content": "A file far down.\n"}]});
    server.post(ADA, "/v1/files", &files).data(200);
    let names: Vec<String> = (0..60).map(|n| format!("@no{n}.rs")).collect();
    let wanted = json!({"message": names.join(" "), "references": [path]});
    let data = build(&server, &wanted).data(200);
    assert_eq!(data["stats"]["explicitCount"], 1);
    let warnings = data["warnings"].as_array().unwrap();
    let unknown = |it: &&Value| it["code"] == "unknown_reference";
    assert_eq!(warnings.iter().filter(unknown).count(), 60);
}

#[test]
fn threads_and_messages_are_listed_in_parts() {
    let server = Running::embedded();
    for id in ["a", "b", "c"] {
        server
            .post(ADA, "/v1/threads", &json!({"id": id}))
            .data(201);
    }
    let first = server.get(ADA, "/v1/threads?limit=2").json();
    assert_eq!(
        [&first["data"][0]["id"], &first["data"][1]["id"]],
        ["c", "b"]
    );
    let next = format!(
        "/v1/threads?limit=2&order=created&after={}",
        first["meta"]["next"]
    );
    let second = server.get(ADA, &next).json();
    assert_eq!(second["data"][0]["id"], "a");
    assert_eq!(second["meta"], json!({"count": 1}));
    for n in 0..3 {
        let message = json!({"role": "user", "content": format!("m{n}")});
        server
            .post(ADA, "/v1/threads/a/messages", &message)
            .data(201);
    }
    let first = server.get(ADA, "/v1/threads/a/messages?limit=2").json();
    assert_eq!(first["data"][0]["content"], "m0");
    let next = format!("/v1/threads/a/messages?after={}", first["meta"]["next"]);
    assert_eq!(server.get(ADA, &next).json()["data"][0]["content"], "m2");
    assert_eq!(
        server.get(ADA, "/v1/threads/b/messages").data(200),
        json!([])
    );
}

/// Whatever the store is.
pub(crate) fn messages_are_listed_from_either_end(server: &Running) {
    for thread in ["t", "u"] {
        let thread = json!({"id": thread});
        server.post(ADA, "/v1/threads", &thread).data(201);
    }
    // Those of another thread are between.
    for n in 0..5 {
        for thread in ["t", "u"] {
            let message = json!({"role": "user", "content": format!("{thread}{n}")});
            let path = format!("/v1/threads/{thread}/messages");
            server.post(ADA, &path, &message).data(201);
        }
    }
    let listed = |order: &str| {
        let (mut said, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("/v1/threads/t/messages?limit=2{order}{after}");
            let answer = server.get(ADA, &path);
            for message in answer.data(200).as_array().unwrap() {
                said.push(message["content"].as_str().unwrap().to_owned());
            }
            match &answer.json()["meta"]["next"] {
                Value::Null => return said,
                next => after = format!("&after={next}"),
            }
        }
    };
    let mut said = listed("");
    assert_eq!(said, ["t0", "t1", "t2", "t3", "t4"]);
    assert_eq!(listed("&order=oldest"), said);
    said.reverse();
    assert_eq!(listed("&order=latest"), said);
    for path in [
        "/v1/threads/t/messages?order=",
        "/v1/threads/t/messages?order=newest",
    ] {
        server.get(ADA, path).refused(400, "order");
    }
    for order in ["", "latest", "Active"] {
        let answer = server.get(ADA, &format!("/v1/threads?order={order}"));
        answer.refused(400, "order");
        assert_eq!(answer.json()["detail"], "it must be `created` or `active`");
    }
}

#[test]
fn a_page_of_large_messages_has_fewer() {
    a_page_of_messages_has_few_bytes(&Running::embedded());
}

/// Whatever the store is.
pub(crate) fn a_page_of_messages_has_few_bytes(server: &Running) {
    server
        .post(ADA, "/v1/threads", &json!({"id": "large"}))
        .data(201);
    let path = "/v1/threads/large/messages";
    // Of a million bytes each.
    let sizes = [250_000, 250_000, 250_000, 250_000, 1, 250_000];
    for size in sizes {
        let message = json!({"role": "user", "content": "🌊".repeat(size)});
        server.post(ADA, path, &message).data(201);
    }
    for (order, pages) in [("oldest", [5, 1]), ("latest", [5, 1])] {
        let mut after = String::new();
        for (number, count) in pages.into_iter().enumerate() {
            let answer = server.get(ADA, &format!("{path}?order={order}{after}"));
            assert_eq!(answer.data(200).as_array().unwrap().len(), count);
            let next = answer.json()["meta"]["next"].clone();
            assert_eq!(next.is_null(), number == 1, "{order}: {next}");
            after = format!("&after={next}");
        }
    }
}

#[test]
fn threads_are_listed_by_their_last_activity() {
    threads_are_listed_by_activity(&Running::embedded());
}

/// Whatever the store is.
pub(crate) fn threads_are_listed_by_activity(server: &Running) {
    for (token, ids) in [(ADA, &["a", "b", "c", "d", "e"][..]), (BOB, &["a", "x"])] {
        for id in ids {
            let begun = server.post(token, "/v1/threads", &json!({"id": id}));
            let begun = begun.data(201);
            assert_eq!(begun["activeAt"], begun["createdAt"]);
        }
    }
    let say = |thread: &str| -> i64 {
        let message = json!({"role": "user", "content": "x"});
        let path = format!("/v1/threads/{thread}/messages");
        let said = server.post(ADA, &path, &message).data(201);
        said["createdAt"].as_i64().unwrap()
    };
    let page = |query: &str| {
        let answer = server.get(ADA, &format!("/v1/threads?{query}"));
        let threads = answer.data(200);
        let ids = threads.as_array().unwrap().iter();
        let ids: String = ids.map(|it| it["id"].as_str().unwrap()).collect();
        (ids, answer.json()["meta"]["next"].as_i64())
    };
    say("b");
    let last = say("d");
    assert_eq!(page("order=active").0, "dbeca");
    assert_eq!(page("order=created"), page(""));
    assert_eq!(page("").0, "edcba");
    let of_d = server.get(ADA, "/v1/threads/d").data(200);
    assert_eq!(of_d["activeAt"], last);
    assert!(of_d["createdAt"].as_i64().unwrap() <= last);
    // A thread that speaks between two pages is on none of those that follow, and the others are
    // on one each.
    let (first, next) = page("order=active&limit=2");
    assert_eq!(first, "db");
    say("c");
    let (second, next) = page(&format!("order=active&limit=2&after={}", next.unwrap()));
    assert_eq!((&*second, next), ("ea", None));
    assert_eq!(page("order=active&limit=5"), ("cdbea".to_owned(), None));
    let next = page("order=active&limit=1").1.unwrap();
    assert_eq!(page(&format!("order=active&after={next}")).0, "dbea");
    // To change a thread otherwise is no activity, nor is a message that is there.
    let message = json!({"id": "m", "role": "user", "content": "x"});
    let path = "/v1/threads/a/messages";
    server.post(ADA, path, &message).data(201);
    server
        .post(ADA, "/v1/threads/b/messages", &message)
        .data(201);
    server.post(ADA, path, &message).data(200);
    pin(server, ADA, "c", &json!(["x.rs"])).data(200);
    server
        .patch(ADA, "/v1/threads/d", &json!({"title": "D"}))
        .data(200);
    assert_eq!(page("order=active").0, "bacde");
    // Of one that is removed nothing is left, and its name begins anew.
    delete(server, ADA, "/v1/threads/b", None).data(200);
    assert_eq!(page("order=active").0, "acde");
    server
        .post(ADA, "/v1/threads", &json!({"id": "b"}))
        .data(201);
    assert_eq!(page("order=active").0, "bacde");
    let of_bob = server.get(BOB, "/v1/threads?order=active").data(200);
    assert_eq!(
        (&of_bob[0]["id"], &of_bob[1]["id"]),
        (&json!("x"), &json!("a"))
    );
}

#[test]
fn the_title_of_a_thread_is_changed() {
    titles_are_changed(&Running::embedded());
}

/// Whatever the store is.
pub(crate) fn titles_are_changed(server: &Running) {
    let thread = json!({"id": "t", "title": "first", "pinned": ["a.rs"]});
    for token in [ADA, BOB] {
        server.post(token, "/v1/threads", &thread).data(201);
    }
    let before = server.get(ADA, "/v1/threads/t").data(200);
    let change = |body: &Value| server.patch(ADA, "/v1/threads/t", body);
    let told = || server.get(ADA, "/v1/threads/t").data(200);
    let titled = |title: Option<&str>| {
        let mut expected = before.clone();
        match title {
            Some(title) => expected["title"] = title.into(),
            None => drop(expected.as_object_mut().unwrap().remove("title")),
        }
        expected
    };
    for (body, title) in [
        (json!({"title": "second"}), Some("second")),
        (json!({}), Some("second")),
        (json!({"title": ""}), Some("")),
        (json!({"title": null}), None),
        (json!({}), None),
        (json!({"title": "ä".repeat(256)}), Some(&*"ä".repeat(256))),
    ] {
        let mut changed = change(&body).data(200);
        assert_eq!(changed.get("messageCount"), None);
        changed["messageCount"] = 0.into();
        assert_eq!(changed, titled(title), "{body}");
        assert_eq!(told(), titled(title), "{body}");
    }
    // What it was begun with is no longer what it is.
    server.post(ADA, "/v1/threads", &thread).refused(409, "id");
    let now = told();
    for (body, status, field) in [
        (json!({"title": "ä".repeat(257)}), 400, "title"),
        (json!({"title": 5}), 400, "title"),
        (json!({"title": "a\0b"}), 422, "title"),
        (json!({"pinned": []}), 400, "pinned"),
        (json!({"id": "u"}), 400, "id"),
        (json!([]), 400, ""),
        (json!(null), 400, ""),
    ] {
        change(&body).refused(status, field);
        assert_eq!(told(), now, "{body}");
    }
    let title = json!({"title": "x"});
    server
        .patch(ADA, "/v1/threads/none", &title)
        .refused(404, "id");
    server
        .patch(ADA, "/v1/threads/none", &json!({}))
        .refused(404, "id");
    server
        .patch(ADA, "/v1/threads/a%20b", &title)
        .refused(400, "id");
    assert_eq!(server.get(BOB, "/v1/threads/t").data(200)["title"], "first");
}

#[test]
fn a_stored_file_is_read_back() {
    files_are_read(&Running::embedded());
}

/// Whatever the store is.
pub(crate) fn files_are_read(server: &Running) {
    let read = |token: &str, path: &str| {
        let path = path.bytes().fold(String::new(), |mut text, byte| {
            write!(text, "%{byte:02x}").unwrap();
            text
        });
        server.get(token, &format!("/v1/files/content?path={path}"))
    };
    let crlf = "one\r\ntwo\u{feff}\u{1}🦀";
    for (path, text) in [
        ("src/a b&c.rs", "fn aardvark() {}\n"),
        ("empty", ""),
        ("ä/ü+%.md", crlf),
        ("src/a b&c.rs", "fn zebra() {}\n"),
    ] {
        keep(server, path, text).data(200);
        let file = read(ADA, path).data(200);
        let hash = blake3::hash(text.as_bytes()).to_hex();
        let expected =
            json!({"path": path, "content": text, "bytes": text.len(), "hash": hash.as_str()});
        assert_eq!(file, expected);
        read(BOB, path).refused(404, "path");
    }
    let listed = server.get(ADA, "/v1/files").data(200);
    for file in listed.as_array().unwrap() {
        let read = read(ADA, file["path"].as_str().unwrap()).data(200);
        assert_eq!(
            (&read["hash"], &read["bytes"]),
            (&file["hash"], &file["bytes"])
        );
    }
    // As it is kept, and as contexts show it.
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    keep(
        server,
        "s.rs",
        &format!("const KEY: &str = \"{secret}\";\n"),
    )
    .data(200);
    let text = read(ADA, "s.rs").data(200)["content"].to_string();
    assert!(text.contains("****") && !text.contains(&secret), "{text}");
    for path in [
        "none",
        "src",
        "../a",
        "/etc/passwd",
        "src/a b&c.rs/",
        "a\0b",
        ".ctx",
    ] {
        read(ADA, path).refused(404, "path");
    }
    read(ADA, "").refused(400, "path");
    read(ADA, &"a".repeat(1_025)).refused(400, "path");
    read(ADA, &"ä".repeat(600)).refused(422, "path");
    server.get(ADA, "/v1/files/content").refused(400, "path");
    server
        .get(ADA, "/v1/files/content?path=a&hash=b")
        .refused(400, "hash");
    delete(server, ADA, "/v1/files", Some(&json!({"paths": ["empty"]}))).data(200);
    read(ADA, "empty").refused(404, "path");
}

#[test]
fn a_receipt_is_removed() {
    receipts_are_removed(&Running::embedded());
}

/// Whatever the store is.
pub(crate) fn receipts_are_removed(server: &Running) {
    keep(server, "a.rs", "fn aardvark() {}\n").data(200);
    let wanted = json!({"message": "aardvark"});
    let built = build(server, &wanted).data(200);
    let other = build(server, &json!({"message": "another aardvark"})).data(200);
    let path = |built: &Value| format!("/v1/context/{}", built["id"].as_str().unwrap());
    server.get(ADA, &path(&built)).data(200);
    delete(server, BOB, &path(&built), None).refused(404, "id");
    let removed = delete(server, ADA, &path(&built), None).data(200);
    assert_eq!(removed, json!({"id": built["id"]}));
    server.get(ADA, &path(&built)).refused(404, "id");
    delete(server, ADA, &path(&built), None).refused(404, "id");
    delete(server, ADA, "/v1/context/a%20b", None).refused(400, "id");
    server.get(ADA, &path(&other)).data(200);
    // Who asks again is answered anew, and that is kept.
    let answer = build(server, &wanted);
    let again = answer.data(200);
    assert_eq!(answer.json()["meta"]["cached"], false);
    server.get(ADA, &path(&again)).data(200);
}

#[test]
fn what_was_said_last_can_be_listed_first() {
    messages_are_listed_from_either_end(&Running::embedded());
}

#[test]
fn threads_that_are_not_or_are_already_are_named() {
    let server = Running::embedded();
    let thread = json!({"id": "a", "title": "A", "pinned": ["a.rs", "b.rs", "a.rs"]});
    let begun = server.post(ADA, "/v1/threads", &thread).data(201);
    let said = json!({"role": "user", "content": "x"});
    server.post(ADA, "/v1/threads/a/messages", &said).data(201);
    for _ in 0..2 {
        let mut again = server.post(ADA, "/v1/threads", &thread).data(200);
        // It got a message since.
        assert!(again["activeAt"].as_i64() >= begun["activeAt"].as_i64());
        again["activeAt"] = begun["activeAt"].clone();
        assert_eq!(again, begun);
    }
    for other in [
        json!({"id": "a"}),
        json!({"id": "a", "title": "B", "pinned": ["a.rs", "b.rs"]}),
        json!({"id": "a", "title": "A", "pinned": ["b.rs", "a.rs"]}),
    ] {
        server.post(ADA, "/v1/threads", &other).refused(409, "id");
    }
    pin(&server, ADA, "a", &json!(["b.rs"]));
    server.post(ADA, "/v1/threads", &thread).refused(409, "id");
    // Nobody else's.
    server.post(BOB, "/v1/threads", &thread).data(201);
    server
        .post(ADA, "/v1/threads", &json!({"id": "a b"}))
        .refused(400, "id");
    for id in [".", ".."] {
        server
            .post(ADA, "/v1/threads", &json!({"id": id}))
            .refused(422, "id");
    }
    server
        .post(ADA, "/v1/threads", &json!({"id": "b", "pinned": [" "]}))
        .refused(400, "pinned[0]");
    let message = json!({"role": "user", "content": "x"});
    server
        .post(ADA, "/v1/threads/none/messages", &message)
        .refused(404, "id");
    server
        .get(ADA, "/v1/threads/none/messages")
        .refused(404, "id");
    server
        .get(ADA, "/v1/threads/a%20b/messages")
        .refused(400, "id");
    let (range, next) = (
        "it must be a number from 1 to 200",
        "it must be the `next` of an earlier answer",
    );
    for (query, field, detail) in [
        ("foo=0", "foo", "unknown field"),
        ("limit=1&limit=2", "limit", "duplicate field"),
        ("limit=", "limit", range),
        ("limit=0", "limit", range),
        ("limit=x", "limit", range),
        ("limit=-1", "limit", range),
        ("limit=201", "limit", range),
        ("limit=999", "limit", range),
        ("limit=99999999999999999999", "limit", range),
        ("after=x", "after", next),
        ("after=-1", "after", next),
        ("after=99999999999999999999", "after", next),
    ] {
        let answer = server.get(ADA, &format!("/v1/threads?{query}"));
        answer.refused(400, field);
        let told = answer.json()["detail"].to_string();
        assert!(told.contains(detail), "{query}: {told}");
    }
    let silent = json!({"role": "user", "content": ""});
    server
        .post(ADA, "/v1/threads/a/messages", &silent)
        .refused(400, "content");
    let nobody = json!({"role": "nobody", "content": "x"});
    server
        .post(ADA, "/v1/threads/a/messages", &nobody)
        .refused(400, "role");
    build(&server, &json!({"threadId": "none", "message": "x"})).refused(404, "threadId");
}

#[test]
fn a_context_keeps_its_budget() {
    let server = Running::embedded();
    with_files(&server);
    for budget in [60, 100, 1000] {
        let wanted = json!({"message": "parse_budget listen", "options": {"maxTokens": budget}});
        let data = build(&server, &wanted).data(200);
        assert!(
            data["tokens"]["total"].as_u64().unwrap() <= budget,
            "{data}"
        );
    }
    let pinned =
        json!({"message": "x", "references": ["src/server.rs"], "options": {"maxTokens": 3}});
    build(&server, &pinned).refused(422, "options.maxTokens");
}

/// Also where what is reserved of it is a share of it.
#[test]
fn the_smallest_budget_that_is_told_is_enough_and_one_less_is_not() {
    let server = Running::embedded();
    with_files(&server);
    for (words, options) in [
        (0, json!({})),
        (1, json!({})),
        (90, json!({})),
        (3_000, json!({})),
        (4_000, json!({})),
        (9_000, json!({})),
        (90, json!({"reserve": 7})),
    ] {
        let ask = |budget: u64| {
            let mut options = options.clone();
            options["maxTokens"] = budget.into();
            options["contextHeader"] = "word ".repeat(words).into();
            build(
                &server,
                &json!({"message": "parse_budget", "options": options}),
            )
        };
        let refused = ask(1);
        refused.refused(422, "options.maxTokens");
        let problem = refused.json();
        assert_eq!(problem["type"], "/docs#problem-budget");
        let least = problem["smallestMaxTokens"].as_u64().unwrap();
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.ends_with(&format!("the smallest budget that works is {least}")));
        let parts = problem["breakdown"].as_object().unwrap().values();
        let parts = parts.map(|it| it.as_u64().unwrap());
        assert_eq!(parts.sum::<u64>(), problem["needed"].as_u64().unwrap());
        assert!(problem["available"].as_u64() < problem["needed"].as_u64());
        ask(least).data(200);
        ask(least - 1).refused(422, "options.maxTokens");
    }
}

#[test]
fn a_budget_is_at_most_what_the_description_says() {
    let mut limits = patient();
    let described = |server: &Running| -> Value {
        let described = server.send("GET /openapi.json", &[], b"").json();
        let schemas = &described["components"]["schemas"];
        let most = |name: &str| schemas[name]["properties"]["maxTokens"]["maximum"].clone();
        [most("BuildOptions"), most("PrimeOptions")].into()
    };
    for most in [limits.max_tokens, 2_000] {
        limits.max_tokens = most;
        let server = Running::with_limits(limits.clone());
        assert_eq!(described(&server), json!([1_000_000, 1_000_000]));
        let sent = |max_tokens: u32| {
            let options = json!({"maxTokens": max_tokens});
            [
                build(&server, &json!({"message": "x", "options": options})),
                server.post(
                    ADA,
                    "/v1/context/assemble",
                    &json!({"chunks": [], "options": options}),
                ),
            ]
        };
        for answer in sent(most) {
            answer.data(200);
        }
        for refused in sent(most + 1).into_iter().chain(sent(u32::MAX)) {
            refused.refused(400, "options.maxTokens");
            assert_eq!(
                refused.json()["detail"],
                format!("it may be at most {most}")
            );
        }
    }
}

#[test]
fn no_receipt_outlives_its_thread() {
    receipts_go_with_their_thread(&Running::embedded());
}

/// Whatever the store is.
pub(crate) fn receipts_go_with_their_thread(server: &Running) {
    keep(server, "a.rs", "fn aardvark() {}\n").data(200);
    for turn in 0..12 {
        server
            .post(ADA, "/v1/threads", &json!({"id": "t"}))
            .data(201);
        let wanted = json!({"threadId": "t", "message": format!("aardvark {turn}")});
        let built = std::thread::scope(|scope| {
            let building = scope.spawn(|| build(server, &wanted));
            // Removed before, during and after the build.
            std::thread::sleep(std::time::Duration::from_millis(3 * turn));
            delete(server, ADA, "/v1/threads/t", None).data(200);
            building.join().unwrap()
        });
        if built.status != 200 {
            built.refused(404, "threadId");
            continue;
        }
        let id = built.data(200)["id"].as_str().unwrap().to_owned();
        let receipt = server.get(ADA, &format!("/v1/context/{id}"));
        receipt.refused(404, "id");
    }
}

/// One that would be refused is none that works.
#[test]
fn the_smallest_budget_that_is_told_is_one_that_a_request_may_have() {
    let mut limits = patient();
    limits.max_tokens = 500;
    let server = Running::with_limits(limits);
    let ask = |words: usize| {
        let header = "word ".repeat(words);
        let options = json!({"maxTokens": 10, "contextHeader": header});
        let refused = [
            build(&server, &json!({"message": "x", "options": options})),
            server.post(
                ADA,
                "/v1/context/assemble",
                &json!({"chunks": [], "options": options}),
            ),
        ];
        refused.map(|it| {
            it.refused(422, "options.maxTokens");
            it.json()
        })
    };
    for problem in ask(100) {
        assert!(
            problem["smallestMaxTokens"].as_u64().unwrap() <= 500,
            "{problem}"
        );
    }
    for problem in ask(1_000) {
        assert_eq!(problem.get("smallestMaxTokens"), None, "{problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.ends_with("a request may have at most 500, so none works"),
            "{detail}"
        );
    }
}

/// A larger one would be refused.
#[test]
fn no_budget_is_told_that_is_larger_than_a_request_may_have() {
    let tides = |n: usize| {
        let lines = "    moon.pull(tide_height);\n".repeat(8 + n % 5);
        format!("fn tide_height_{n}(moon: Moon) {{\n{lines}}}\n")
    };
    let texts: Vec<String> = (0..12).map(tides).collect();
    let entries = |most: u32| {
        let mut limits = patient();
        limits.max_tokens = most;
        let server = Running::with_limits(limits);
        for (number, text) in texts.iter().enumerate() {
            keep(&server, &format!("src/tide_{number}.rs"), text).data(200);
        }
        let options = json!({"maxTokens": 600, "reserve": 0});
        let wanted = json!({"message": "tide_height of the moon", "options": options});
        let chunks = texts.iter().enumerate();
        let chunks = chunks
            .map(|(id, text)| json!({"id": id.to_string(), "content": text, "relevance": 0.9}));
        let given = json!({"chunks": chunks.collect::<Vec<_>>(), "options": options});
        let answers = [
            build(&server, &wanted),
            server.post(ADA, "/v1/context/assemble", &given),
        ];
        answers.map(|answer| {
            let data = answer.data(200);
            let omitted = data["omitted"].as_array().unwrap();
            let entries = omitted.iter().filter_map(|it| it["entersAt"].as_u64());
            entries.collect::<Vec<u64>>()
        })
    };
    let (of_any, of_few) = (entries(1_000_000), entries(700));
    for (of_any, of_few) in of_any.iter().zip(&of_few) {
        assert!(of_any.iter().any(|it| *it > 700), "{of_any:?}");
        assert!(of_few.iter().all(|it| *it <= 700), "{of_few:?}");
    }
}

/// Who reads it knows what to do.
#[test]
fn problems_name_the_field_and_the_accepted_values() {
    let server = Running::embedded();
    server
        .post(ADA, "/v1/threads", &json!({"id": "t"}))
        .data(201);
    let option = |name: &str, value: Value| json!({"message": "x", "options": {name: value}});
    let lines = |start: u32, end: u32| {
        let chunk = json!({"id": "a", "content": "x", "relevance": 1, "filePath": "a", "startLine": start, "endLine": end});
        json!({"chunks": [chunk]})
    };
    let says = |role: Value| json!({"role": role, "content": "x"});
    let grouped = json!({"message": "x", "options": {"groupByFile": true, "groupBy": "none"}});
    for (path, body, status, field, said) in [
        (
            "context/build",
            json!(" "),
            400,
            "",
            "the body is empty, not an object",
        ),
        (
            "context/build",
            option("format", json!({"markdown": null})),
            400,
            "options.format",
            "invalid type: object, expected a string",
        ),
        (
            "context/build",
            option("selection", json!(1)),
            400,
            "options.selection",
            "invalid type: integer `1`, expected a string",
        ),
        (
            "context/build",
            option("tokenEstimation", json!("gtp")),
            422,
            "options.tokenEstimation",
            "give characterBased, wordBased, an encoding such as o200k_base or a model such as gpt-4o",
        ),
        (
            "context/build",
            grouped,
            422,
            "options.groupBy",
            "groupBy is none but groupByFile is true",
        ),
        (
            "context/assemble",
            lines(0, 1),
            400,
            "chunks[0].startLine",
            "lines are counted from 1",
        ),
        (
            "context/assemble",
            lines(0, 0),
            400,
            "chunks[0].startLine",
            "lines are counted from 1",
        ),
        (
            "threads/t/messages",
            says(json!({"user": null})),
            400,
            "role",
            "invalid type: object, expected a string",
        ),
        (
            "threads/t/messages",
            says(json!(1)),
            400,
            "role",
            "expected a string",
        ),
        (
            "threads/t/messages",
            says(json!("bot")),
            400,
            "role",
            "unknown role \"bot\": it must be user, assistant, system or tool",
        ),
        ("thread", json!({}), 404, "", "/docs lists the routes"),
    ] {
        let answer = server.post(ADA, &format!("/v1/{path}"), &body);
        answer.refused(status, field);
        let problem = answer.json();
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(said), "{path} {body}: {detail}");
    }
    let bearer = format!("Bearer {ADA}");
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let headers = [("Authorization", bearer.as_str()), form];
    let answer = server.send("POST /v1/threads", &headers, b"{}");
    answer.refused(415, "Content-Type");
    assert!(
        answer.body.contains("`Content-Type: application/json`"),
        "{answer:?}"
    );
}

#[test]
fn the_id_of_a_chunk_does_not_change_the_problem() {
    let server = Running::embedded();
    for id in ["a", "a is given without b", "a\": lines b", "x\": id y"] {
        let rendition = json!({"rendition": "mention", "text": "x", "information": 5});
        for (wrong, status, field) in [
            (json!({"relevance": 2}), 400, "relevance"),
            (json!({"startLine": 1}), 422, "startLine"),
            (json!({"startLine": 0, "endLine": 0}), 400, "startLine"),
            (json!({"relevance": "x"}), 400, "relevance"),
            (
                json!({"renditions": [rendition]}),
                400,
                "renditions[0].information",
            ),
            (json!({"filePath": ""}), 400, "filePath"),
        ] {
            let mut chunk = json!({"id": id, "content": "x", "relevance": 1});
            let wrong = wrong.as_object().unwrap().clone();
            chunk.as_object_mut().unwrap().extend(wrong);
            let right = json!({"id": "right", "content": "x", "relevance": 1});
            let body = json!({"chunks": [right, chunk]});
            let answer = server.post(ADA, "/v1/context/assemble", &body);
            answer.refused(status, &format!("chunks[1].{field}"));
        }
    }
}

#[test]
fn fields_that_are_wrong_are_named() {
    let server = Running::embedded();
    for (body, field) in [
        (json!({}), "message"),
        (json!({"message": ""}), "message"),
        (json!({"message": "x".repeat(100_001)}), "message"),
        (json!({"message": 1}), "message"),
        (json!({"message": "x", "tread": "y"}), "tread"),
        (json!({"message": "x", "threadId": "a/b"}), "threadId"),
        (
            json!({"message": "x", "references": vec!["x"; 33]}),
            "references",
        ),
        (json!({"message": "x", "references": [""]}), "references[0]"),
        (
            json!({"message": "x", "references": ["x", " \t\r\n"]}),
            "references[1]",
        ),
        (
            json!({"message": "x", "options": {"maxTokens": -1}}),
            "options.maxTokens",
        ),
        (
            json!({"message": "x", "options": {"maxTokns": 1}}),
            "options.maxTokns",
        ),
        (
            json!({"message": "x", "options": {"format": "pdf"}}),
            "options.format",
        ),
        (
            json!({"message": "x", "options": {"diversity": 2}}),
            "options.diversity",
        ),
        (
            json!({"message": "x", "options": {"tokenEstimation": "/etc/x.json"}}),
            "options.tokenEstimation",
        ),
        (json!([]), ""),
        (json!("{"), ""),
        (json!("{\"message\": \"x\"} {}"), ""),
    ] {
        build(&server, &body).refused(400, field);
    }
    let unknown = json!({"message": "x", "options": {"tokenEstimation": "gtp"}});
    build(&server, &unknown).refused(422, "options.tokenEstimation");
}

#[test]
fn a_field_that_is_there_twice_is_named_wherever_it_stands() {
    let server = Running::embedded();
    for (options, field) in [
        ("\"maxTokens\": 9, \"maxTokens\": 900", "maxTokens"),
        (
            "\"reserve\": 1, \"maxTokens\": 9, \"reserve\": 1",
            "reserve",
        ),
        (
            "\"previous\": {\"digest\": \"a\", \"digest\": \"b\"}",
            "previous.digest",
        ),
    ] {
        let field = format!("options.{field}");
        let built = json!(format!(
            "{{\"message\": \"x\", \"options\": {{{options}}}}}"
        ));
        build(&server, &built).refused(400, &field);
        let assembled = json!(format!("{{\"chunks\": [], \"options\": {{{options}}}}}"));
        let answer = server.post(ADA, "/v1/context/assemble", &assembled);
        answer.refused(400, &field);
    }
}

#[test]
fn a_whole_number_may_have_a_fraction_of_nothing() {
    let server = Running::embedded();
    let body = json!("{\"message\": \"x\", \"options\": {\"maxTokens\": 100.0, \"reserve\": 0}}");
    assert_eq!(build(&server, &body).data(200)["tokens"]["left"], 100);
    let body = json!("{\"chunks\": [], \"options\": {\"maxTokens\": 100.5}}");
    let answer = server.post(ADA, "/v1/context/assemble", &body);
    answer.refused(400, "options.maxTokens");
    let body = json!("{\"chunks\": [], \"options\": {\"maxTokens\": 1e2}}");
    server.post(ADA, "/v1/context/assemble", &body).data(200);
}

#[test]
fn chunks_that_come_along_are_assembled_and_not_kept() {
    let server = Running::embedded();
    let body = json!({
        "chunks": [{"id": "a", "content": "fn a() {}", "relevance": 0.9, "filePath": "a.rs"}],
        "options": {"format": "xml", "maxTokens": 500},
    });
    let answer = server.post(ADA, "/v1/context/assemble", &body);
    let data = answer.data(200);
    assert!(data["context"].as_str().unwrap().starts_with('<'));
    assert_eq!(data["included"][0]["id"], "a");
    assert_eq!(answer.json()["meta"]["sourceCount"], 1);
    let chunk = |it: Value| json!({"chunks": [it]});
    for (body, status, field) in [
        (
            chunk(json!({"id": "a", "content": "x", "relevance": 2})),
            400,
            "chunks[0].relevance",
        ),
        (
            chunk(json!({"id": "a", "content": "x"})),
            400,
            "chunks[0].relevance",
        ),
        (
            chunk(json!({"id": "", "content": "x", "relevance": 1})),
            400,
            "chunks[0].id",
        ),
        (
            chunk(json!({"id": "a", "content": "x", "relevance": 1, "startLine": 3})),
            422,
            "chunks[0].startLine",
        ),
        (
            chunk(json!({"id": "a", "content": "x", "relevance": 1, "x": 3})),
            400,
            "chunks[0].x",
        ),
        (
            json!({"chunks": vec![json!({"id": "a", "content": "x", "relevance": 1}); 2]}),
            422,
            "chunks",
        ),
        (
            json!({"chunks": [], "options": {"contextHeader": "word ".repeat(99), "maxTokens": 9}}),
            422,
            "options.maxTokens",
        ),
    ] {
        server
            .post(ADA, "/v1/context/assemble", &body)
            .refused(status, field);
    }
}

#[test]
fn items_tell_what_they_are_scored_by_where_that_is_asked_for() {
    let server = Running::embedded();
    with_files(&server);
    let wanted = json!({"message": "parse_budget", "options": {"explain": true}});
    let data = build(&server, &wanted).data(200);
    let items = data["items"].as_array().unwrap();
    assert!(!items.is_empty(), "{data}");
    for item in items {
        let signals = item["signals"].as_array().unwrap();
        let names: Vec<&Value> = signals.iter().map(|it| &it["name"]).collect();
        let expected = [
            "textSimilarity",
            "keywordMatch",
            "recency",
            "sourcePriority",
            "usageFrequency",
        ];
        assert_eq!(names, expected);
        let number = |of: &Value| of.as_f64().unwrap_or_default();
        let amounts = signals
            .iter()
            .map(|it| number(&it["value"]) * number(&it["weight"]));
        let (sum, relevance) = (amounts.sum::<f64>(), number(&item["relevance"]));
        assert!((sum - relevance).abs() < 1e-6, "{item}");
    }
    assert_eq!(items[0]["signals"][1]["value"], 1.0, "{}", items[0]);
    // They are kept.
    let receipt = format!("/v1/context/{}", data["id"].as_str().unwrap());
    let kept = server.get(ADA, &receipt).data(200);
    let kept = kept["items"].as_array().unwrap().iter();
    let kept: Vec<[&Value; 2]> = kept.map(|it| [&it["id"], &it["signals"]]).collect();
    let told: Vec<[&Value; 2]> = items.iter().map(|it| [&it["id"], &it["signals"]]).collect();
    assert_eq!(kept, told);
    let unasked = build(&server, &json!({"message": "where is a port read?"})).data(200);
    for item in unasked["items"].as_array().unwrap() {
        assert_eq!(item.get("signals"), None);
    }
    let receipt = format!("/v1/context/{}", unasked["id"].as_str().unwrap());
    assert_eq!(server.get(ADA, &receipt).data(200).get("items"), None);
}

#[test]
fn items_and_citations_are_called_alike_and_say_what_they_are() {
    let server = Running::embedded();
    with_files(&server);
    let wanted =
        json!({"message": "parse_budget", "references": ["src/server.rs"], "itemContent": true});
    let data = build(&server, &wanted).data(200);
    let items = data["items"].as_array().unwrap();
    let citations = data["citations"].as_array().unwrap();
    assert_eq!(items.len(), 2, "{data}");
    for item in items {
        let cited = citations.iter().find(|it| it["id"] == item["id"]).unwrap();
        for same in ["type", "source", "excerpt", "relevance", "citation"] {
            assert_eq!(item[same], cited[same], "{same}");
        }
        assert_eq!(cited["usedInResponse"], false);
        assert_eq!(item["metadata"]["path"], cited["filePath"]);
        let content = item["content"].as_str().unwrap();
        assert!(
            data["context"]
                .as_str()
                .unwrap()
                .contains(content.trim_end())
        );
    }
    let of = |kind: &str| items.iter().find(|it| it["type"] == kind).unwrap();
    let found = &of("chunk")["metadata"];
    assert_eq!(found["searchRank"], 1);
    assert!(found["createdAt"].is_i64(), "{found}");
    let keywords = found["matchedKeywords"].as_array().unwrap();
    assert!(keywords.contains(&json!("parse_budget")), "{found}");
    let named = &of("reference")["metadata"];
    assert_eq!(
        (&named["searchRank"], &named["matchedKeywords"]),
        (&Value::Null, &Value::Null)
    );
    // What an answer cites of them.
    let id = of("chunk")["id"].as_str().unwrap();
    let answer = json!({"answer": format!("It reads a budget [{id}].")});
    let resolve = format!("/v1/context/{}/resolve", data["id"].as_str().unwrap());
    let resolved = server.post(ADA, &resolve, &answer).data(200);
    let used = resolved["citations"].as_array().unwrap().iter();
    let used: Vec<&Value> = used.filter(|it| it["usedInResponse"] == true).collect();
    assert_eq!(used.len(), 1);
    assert_eq!(used[0]["id"], id);
    // The text of items is in the context already.
    let wanted = json!({"message": "parse_budget"});
    let data = build(&server, &wanted).data(200);
    assert_eq!(data["items"][0]["content"], Value::Null);
}

#[test]
fn a_context_can_be_looked_up_and_voted_on_once() {
    let server = Running::embedded();
    with_files(&server);
    let built = build(&server, &json!({"message": "parse_budget"})).data(200);
    let id = built["id"].as_str().unwrap();
    let receipt = server.get(ADA, &format!("/v1/context/{id}")).data(200);
    assert_eq!(receipt["receipt"]["context"], built["context"]);
    assert_eq!(receipt["receipt"]["digest"], built["digest"]);
    // Whatever a receipt has, a field that is new among it, is told with the context too.
    for (field, said) in receipt["receipt"].as_object().unwrap() {
        let told = &built[field];
        let is_same = told == said || ["citations", "buildTime"].contains(&&**field);
        assert!(is_same, "{field}: {told} is not {said}");
    }
    let vote = json!({"handle": built["handle"], "useful": true});
    let counted = |answer: Answer| answer.data(200)["counted"].as_bool().unwrap();
    assert!(counted(server.post(ADA, "/v1/context/feedback", &vote)));
    for _ in 0..20 {
        assert!(!counted(server.post(ADA, "/v1/context/feedback", &vote)));
    }
    for forged in [
        format!("{id}.{}", "0".repeat(64)),
        built["handle"]
            .as_str()
            .unwrap()
            .replace("parser", "server"),
    ] {
        let forged = json!({"handle": forged, "useful": true});
        server
            .post(ADA, "/v1/context/feedback", &forged)
            .refused(422, "handle");
    }
    server.get(ADA, "/v1/context/ctx-none").refused(404, "id");
    server.get(ADA, "/v1/context/a%2Fb").refused(400, "id");
    server
        .post(ADA, "/v1/context/feedback", &json!({"useful": true}))
        .refused(400, "handle");
}

/// What they show is the same.
#[test]
fn each_of_two_contexts_of_named_files_has_a_receipt_of_its_own() {
    let server = Running::embedded();
    with_files(&server);
    server
        .post(ADA, "/v1/threads", &json!({"id": "t"}))
        .data(201);
    let built = |message: &str, references: &[&str]| {
        let wanted = json!({"message": message, "threadId": "t", "references": references});
        build(&server, &wanted).data(200)
    };
    let plain = built("shorter please", &["src/parser.rs"]);
    let missing = built("shorter please", &["src/parser.rs", "gone.rs"]);
    let other = built("und auf deutsch?", &["src/parser.rs"]);
    let mut ids = BTreeSet::new();
    for data in [&plain, &missing, &other] {
        assert_eq!(data["digest"], plain["digest"]);
        let id = data["id"].as_str().unwrap();
        let receipt = server.get(ADA, &format!("/v1/context/{id}")).data(200);
        assert_eq!(receipt["receipt"]["warnings"], data["warnings"]);
        assert!(ids.insert(id), "{id}");
    }
    assert_eq!(missing["warnings"][0]["code"], "unknown_reference");
}

#[test]
fn a_build_tells_how_far_it_is_when_asked_to() {
    let server = Running::embedded();
    with_files(&server);
    let accept = [("Accept", "text/event-stream")];
    let body = json!({"message": "parse_budget"});
    let answer = server.post_with(ADA, "/v1/context/build", &body, &accept);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.header("x-accel-buffering"), Some("no"));
    let names: Vec<&str> = answer
        .body
        .lines()
        .filter_map(|it| it.strip_prefix("event: "))
        .collect();
    let (result, progress) = names.split_last().unwrap();
    assert_eq!((*result, progress), ("result", &["progress"; 6][..]));
    let datas: Vec<Value> = answer
        .body
        .lines()
        .filter_map(|it| it.strip_prefix("data: "))
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    let stages: Vec<&str> = datas[..6]
        .iter()
        .map(|it| it["stage"].as_str().unwrap())
        .collect();
    let all = [
        "queued", "history", "search", "resolve", "score", "assemble",
    ];
    assert_eq!(stages, all);
    assert!(
        datas[6]["data"]["context"]
            .as_str()
            .unwrap()
            .contains("parse_budget")
    );
    let nowhere = json!({"message": "x", "threadId": "none"});
    server
        .post_with(ADA, "/v1/context/build", &nowhere, &accept)
        .refused(404, "threadId");
    // What only the build finds out is told in the stream.
    let small = json!({
        "message": "x", "references": ["src/server.rs"], "options": {"maxTokens": 3},
    });
    let answer = server.post_with(ADA, "/v1/context/build", &small, &accept);
    assert!(
        answer.body.contains("event: problem")
            && answer.body.contains("\"status\":422")
            && answer.body.contains("\"smallestMaxTokens\":"),
        "{answer:?}"
    );
    let image = [("Accept", "image/png")];
    server
        .post_with(ADA, "/v1/context/build", &body, &image)
        .refused(406, "Accept");
}

#[test]
fn the_server_tells_how_it_is() {
    let server = Running::embedded();
    with_files(&server);
    for _ in 0..3 {
        build(&server, &json!({"message": "parse_budget"})).data(200);
    }
    for path in ["/healthz", "/readyz"] {
        let answer = server.send(&format!("GET {path}"), &[], b"");
        assert_eq!(
            (answer.status, answer.json()),
            (200, json!({"status": "ok"}))
        );
    }
    let answer = server.get(OPERATOR, "/metrics");
    assert_eq!(answer.status, 200);
    for name in [
        "context_assembly_time_bucket",
        // What is given again was not built.
        "context_assembly_time_count 1\n",
        // Batches of files have a minute.
        "http_request_seconds_bucket{route=\"/v1/files\",le=\"60\"} 1\n",
        "context_items_retrieved_sum",
        "context_items_selected_count 1\n",
        "context_token_usage ",
        "context_cache_hit_rate ",
        "context_cache_hits_total 2",
        "context_cache_misses_total 1",
        "context_cache_refused_total 0",
        "context_search_latency_count",
        "context_scoring_latency_count",
        "context_optimization_latency_count",
        "context_stage_seconds_bucket{stage=\"search\"",
        "http_shed_total 0",
        "http_requests_total{route=\"/v1/context/build\",method=\"POST\",status=\"200\"} 3",
    ] {
        assert!(answer.body.contains(name), "{name} in {}", answer.body);
    }
    let docs = server.send("GET /docs", &[], b"");
    assert_eq!(docs.status, 200);
    assert!(docs.body.contains("/v1/context/build") && docs.body.contains("problem-overloaded"));
    assert!(
        !docs.body.contains("http://")
            && !docs.body.contains("https://")
            && !docs.body.contains("<script")
    );
    assert!(
        docs.header("content-security-policy")
            .unwrap()
            .contains("default-src 'none'")
    );
}

#[test]
fn unknown_routes_are_refused() {
    let server = Running::embedded();
    server.get(ADA, "/v1/nothing").refused(404, "");
    let answer = server.get(ADA, "/v1/context/build");
    assert!(answer.status == 405 || answer.status == 404, "{answer:?}");
    let answer = server.get(ADA, "/v1/threads/t/pinned");
    answer.refused(405, "");
    assert_eq!(answer.header("allow"), Some("PUT"));
}

/// What the items are called that were named.
fn named(data: &Value) -> Vec<&str> {
    let items = data["items"].as_array().unwrap().iter();
    let named = items.filter(|it| it["type"] == "reference");
    named.map(|it| it["id"].as_str().unwrap()).collect()
}

#[test]
fn stored_data_outlives_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Running::within(folder.path());
    with_files(&server);
    server
        .post(ADA, "/v1/threads", &json!({"id": "a"}))
        .data(201);
    let wanted = json!({"message": "parse_budget", "references": ["src/server.rs"]});
    let built = build(&server, &wanted).data(200);
    // The last of them are answered, and not yet written, when the server is told to end.
    let ids: Vec<String> = (0..24)
        .map(|at| build(&server, &json!({"message": format!("parse_budget {at}")})).data(200))
        .map(|it| it["id"].as_str().unwrap().to_owned())
        .collect();
    server.join();
    // The index is derived: without it, all is found all the same.
    let owners = std::fs::read_dir(folder.path().join("owners")).unwrap();
    for owner in owners {
        std::fs::remove_dir_all(owner.unwrap().path().join("index")).unwrap();
    }
    let server = Running::within(folder.path());
    let in_thread = json!({"message": "parse_budget", "threadId": "a"});
    let found = build(&server, &in_thread).data(200);
    assert!(
        found["context"]
            .as_str()
            .unwrap()
            .contains("text.trim().parse()")
    );
    // What the model was told to cite is called the same.
    let again = build(&server, &wanted).data(200);
    assert_eq!(named(&again), named(&built));
    for id in ids.iter().map(String::as_str).chain(built["id"].as_str()) {
        assert_eq!(server.get(ADA, &format!("/v1/context/{id}")).status, 200);
    }
    let vote = json!({"handle": built["handle"], "useful": false});
    assert_eq!(
        server.post(ADA, "/v1/context/feedback", &vote).data(200)["counted"],
        true
    );
}

#[test]
fn secrets_are_neither_kept_nor_shown() {
    let server = Running::embedded();
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let text =
        format!("/// Connects to the forge.\npub fn connect() {{\n    login(\"{token}\");\n}}\n");
    let files = json!({"files": [{"path": "src/forge.rs", "content": text}]});
    let answer = server.post(ADA, "/v1/files", &files);
    answer.data(200);
    assert_eq!(answer.json()["meta"]["maskedSecrets"], 1);
    for path in [".env", "prod.env", "deploy/id_rsa", "key.pem"] {
        let files = json!({"files": [{"path": path, "content": "some words"}]});
        let answer = server.post(ADA, "/v1/files", &files);
        answer.refused(422, "files[0].path");
    }
    let thread = server.post(ADA, "/v1/threads", &json!({})).data(201);
    let thread = thread["id"].as_str().unwrap();
    let said = json!({"role": "user", "content": format!("we log in with {token}, why?")});
    server
        .post(ADA, &format!("/v1/threads/{thread}/messages"), &said)
        .data(201);
    let asked = json!({"threadId": thread, "message": "how do we connect to the forge?"});
    let answer = build(&server, &asked);
    let data = answer.data(200);
    let context = data["context"].as_str().unwrap();
    assert!(
        context.contains("we log in with ****") && context.contains("login(\"****"),
        "{context}"
    );
    assert!(!answer.json().to_string().contains("ghp_"), "{answer:?}");
    let chunk = json!({"id": "a", "content": text, "relevance": 1});
    let answer = server.post(ADA, "/v1/context/assemble", &json!({"chunks": [chunk]}));
    let data = answer.data(200);
    assert_eq!(data["warnings"][0]["code"], "masked");
    assert!(!answer.json().to_string().contains("ghp_"), "{answer:?}");
}
