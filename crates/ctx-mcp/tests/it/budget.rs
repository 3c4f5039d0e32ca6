//! No reply takes more tokens than requested, counted on the line as it arrives.

use ctx_testkit::few;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::Project;
use crate::client::Client;

/// Text that takes many more tokens in JSON than by itself.
fn hostile() -> Vec<(String, String)> {
    let escapes = "let s = \"\\\\\\\"\\t\\n\\u{1b}\"; // \u{1b}[31m \u{202e} \u{0}\n".repeat(200);
    let emoji = "🦀👩‍👩‍👧‍👦é\u{feff}漢字\n".repeat(300);
    let long = format!("var x = \"{}\";\n", "\\\"ab".repeat(40_000));
    let words = "the sum of the total is the parser of the sum\n".repeat(500);
    let code = "use std::fmt;\nuse \"x\";\n".to_owned() + &crate::PARSER.repeat(30);
    [
        ("a/escapes \"quoted\".rs", escapes),
        ("a/emoji.md", emoji),
        ("a/long.js", long),
        ("a/words.txt", words),
        ("a/code.rs", code),
        ("a/empty.rs", String::new()),
    ]
    .into_iter()
    .map(|(path, text)| (path.to_owned(), text))
    .collect()
}

fn path() -> impl Strategy<Value = String> {
    let known: Vec<String> = hostile().into_iter().map(|(path, _)| path).collect();
    prop_oneof![
        8 => proptest::sample::select(known),
        1 => Just("a".to_owned()),
        1 => Just(String::new()),
        1 => "\\PC{0,300}",
    ]
}

fn session() -> impl Strategy<Value = Option<String>> {
    proptest::option::of("[ab]")
}

fn format() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec!["markdown", "xml", "json", "plain"])
}

fn call() -> impl Strategy<Value = (&'static str, Value)> {
    let query = prop_oneof![
        4 => Just("parse_sum total of the sum".to_owned()),
        2 => Just("escapes emoji words long code".to_owned()),
        1 => "\\PC{0,400}",
    ];
    let flags = (any::<bool>(), any::<bool>());
    let query = (query, format(), session(), flags).prop_map(
        |(query, format, session, (imports, relations))| {
            let arguments = json!({
                "query": query, "format": format, "session": session, "imports": imports, "relations": relations,
            });
            ("context_query", arguments)
        },
    );
    let chunk = (path(), 1..400_u32, 0..200_u32, 0..=100_u32).prop_map(|(path, start, more, relevance)| {
        json!({
            "relevance": f64::from(relevance) / 100.0, "filePath": path, "startLine": start, "endLine": start + more,
        })
    });
    let assemble = (proptest::collection::vec(chunk, 1..30), format(), session()).prop_map(
        |(mut chunks, format, session)| {
            for (number, chunk) in chunks.iter_mut().enumerate() {
                chunk["id"] = format!("\"{number}\"").into();
            }
            (
                "context_assemble",
                json!({"chunks": chunks, "format": format, "session": session}),
            )
        },
    );
    let rendition =
        proptest::sample::select(vec!["full", "excerpt", "skeleton", "signature", "mention"]);
    let read = (path(), rendition).prop_map(|(path, rendition)| {
        (
            "context_read",
            json!({"path": path, "rendition": rendition}),
        )
    });
    let outline = path().prop_map(|path| ("context_outline", json!({"path": path})));
    prop_oneof![query, assemble, read, outline]
}

/// Mostly small: there the frame counts.
fn size() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 256..600_u64, 2 => 600..4_000_u64, 1 => 4_000..40_000_u64]
}

/// How many calls: a heavier run by `CTX_MCP_CALLS`.
fn cases() -> u32 {
    let asked = std::env::var("CTX_MCP_CALLS")
        .ok()
        .and_then(|it| it.parse().ok());
    asked.unwrap_or_else(|| few::cases(40))
}

#[test]
fn no_reply_takes_more_than_was_asked_for() {
    let files = hostile();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (&**path, &**text))
        .collect();
    let project = Project::of(&files);
    let server = project.server();
    let runtime = Runtime::new().unwrap();
    let client = runtime.block_on(Client::connect(&server));
    let client = std::cell::RefCell::new(client);
    few::run(
        cases(),
        &(call(), size()),
        |((tool, mut arguments), size)| {
            arguments["max_tokens"] = size.into();
            let mut client = client.borrow_mut();
            // Up to three pages.
            for _ in 0..3 {
                let reply = runtime.block_on(client.call(tool, arguments.clone()));
                let limit = u32::try_from(size.min(25_000)).unwrap();
                prop_assert!(
                    reply.tokens() <= limit,
                    "{} of {limit}: {tool} {arguments}",
                    reply.tokens()
                );
                let Some(cursor) = reply.cursor() else { break };
                arguments["cursor"] = cursor.into();
            }
            Ok(())
        },
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_uses_what_it_may_take() {
    let words = "the sum of the total is the parser of the sum\n".repeat(2_000);
    let project = Project::of(&[("words.txt", &words)]);
    let mut client = Client::connect(&project.server()).await;
    for size in [1_000, 8_000, 20_000] {
        let reply = client
            .call(
                "context_read",
                json!({"path": "words.txt", "max_tokens": size}),
            )
            .await;
        let least = size * 9 / 10;
        assert!(reply.tokens() > least, "{} of {size}", reply.tokens());
    }
}
