//! What is asked is never SQL and never a query language.

use ctx_postgres::{FileText, Limits, Snippet, StoreError};
use ctx_retrieve::{Field, FileSearch as _, Message, TextQuery};
use ctx_testkit::laws::store as laws;

use crate::{fresh, texts};

#[tokio::test]
async fn questions_that_look_like_queries_are_words() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    store
        .ingest(texts([(
            "a.md",
            "Don't panic: it's a tab\\tab, a | b, not !c.",
        )]))
        .await
        .unwrap();
    let find = async |term: &str| {
        let query = TextQuery::new(vec![(term.to_owned(), 1.0)], vec![(Field::Body, 1.0)], 5);
        store.passages(&query).await.unwrap().len()
    };
    assert_eq!(find("panic").await, 1);
    for none in [
        "pan:*",
        "panic | x",
        "!x",
        "' | !",
        "panic:A",
        "panic & panic",
        "\\",
        "'",
    ] {
        assert_eq!(find(none).await, 0, "{none:?}");
    }
}

#[tokio::test]
async fn snippets_take_any_question() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let text = "one\ntwo\nThe parser reads settings, and \u{1}parses\u{2} them.\nfour\n";
    store.ingest(texts([("a.md", text)])).await.unwrap();
    let keys = [("a.md", 1, 4), ("b.md", 1, 1), ("a\0b", 1, 1)];
    let snippets = store.snippets("how are they parsed?", &keys).await.unwrap();
    let Snippet { text, matches, .. } = &snippets[0];
    let words: Vec<&str> = matches.iter().map(|it| &text[it.clone()]).collect();
    assert_eq!(words, ["parses"], "{text:?}");
    assert_eq!(snippets[1..], [Snippet::default(), Snippet::default()]);
    for question in laws::hostile_texts() {
        store.snippets(&question, &keys).await.unwrap();
    }
}

#[tokio::test]
async fn what_cannot_be_stored_is_named_and_the_rest_is_stored() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let long = format!("{}.rs", "x".repeat(2000));
    let large = "x ".repeat(1 << 20);
    let refused = [
        ("", "x"),
        ("/etc/passwd", "x"),
        ("../a", "x"),
        ("a/./b", "x"),
        ("a//b", "x"),
        ("a\0b", "x"),
        ("nul.rs", "a\0b"),
        (&long, "x"),
        ("large.rs", &large),
    ];
    let mut files = texts(refused);
    files.push(FileText::new("good.rs", "fn good() {}"));
    let ingested = store.ingest(files).await.unwrap();
    assert_eq!(ingested.stored, 1);
    let skipped: Vec<&str> = ingested
        .skipped
        .iter()
        .map(|(path, _)| path.as_str())
        .collect();
    assert_eq!(skipped, refused.map(|(path, _)| path));

    let long_key = "x".repeat(5000);
    for (thread, id, content) in [
        ("", "m", "x"),
        ("t", "", "x"),
        ("t\0", "m", "x"),
        ("t", "m", "a\0"),
        (&long_key, "m", "x"),
    ] {
        let message = Message::new(id, "user", content, 0);
        let error = store.append(thread, &message).await.unwrap_err();
        assert!(matches!(error, StoreError::Invalid { .. }), "{error}");
    }
}

#[tokio::test]
async fn texts_of_any_shape_are_indexed() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    // Each is near a limit of the server's: terms, bytes of terms, lengths of names, occurrences.
    let joined = |words: Vec<String>| words.concat();
    let distinct = joined((0..90_000).map(|it| format!("a{it:x}B ")).collect());
    let unspaced: String = (0..87_000_u32)
        .filter_map(|it| char::from_u32(0x4e00 + it % 20_000))
        .collect();
    let scattered: String = (0..87_000_u32)
        .filter_map(|it| char::from_u32(0x4e00 + it * 7919 % 20_000))
        .collect();
    let shapes = [
        ("distinct.txt", distinct),
        ("unspaced.txt", unspaced),
        ("scattered.txt", scattered),
        ("one line.txt", "word ".repeat(200_000)),
        ("long name.rs", format!("fn {}() {{}}", "x".repeat(100_000))),
        (
            "many names.rs",
            joined(
                (0..5_000)
                    .map(|it| format!("fn f{it}() {{ g{it}(); }}\n"))
                    .collect(),
            ),
        ),
        ("empty.txt", String::new()),
        (
            "hostile.txt",
            laws::hostile_texts().join("\n").replace('\0', ""),
        ),
    ];
    let count = shapes.len();
    let ingested = store.ingest(texts(shapes)).await.unwrap();
    assert_eq!((ingested.stored, ingested.skipped), (count, Vec::new()));
    let hits = store.definitions(&["f4321".to_owned()], 5).await.unwrap();
    assert_eq!(hits[0].len(), 1);
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_ended_and_says_so() {
    let Some(fresh) = crate::server::Fresh::new().await else {
        return;
    };
    let store = fresh.owner("alice");
    let line = "the parser reads settings and parses them again\n";
    store
        .ingest(texts([("a.md", line.repeat(20_000))]))
        .await
        .unwrap();
    let keys = vec![("a.md", 1, 20_000)];
    let hasty = Limits::default().with_reading(std::time::Duration::from_millis(1));
    let hasty = ctx_postgres::Store::connect(&fresh.url, hasty)
        .await
        .unwrap();
    let hasty = hasty.owner("alice").unwrap();
    let error = hasty.snippets("parser", &keys).await.unwrap_err();
    assert!(matches!(error, StoreError::Late { .. }), "{error}");
}
