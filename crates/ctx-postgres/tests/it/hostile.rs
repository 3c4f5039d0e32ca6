//! What is asked is never SQL and never a query language.

use ctx_postgres::{FileText, Limits, StoreError};
use ctx_retrieve::{Field, FileSearch as _, Message, TextQuery};
use ctx_testkit::laws::store as laws;

use crate::server::raw;
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
    let limits = Limits::default().with_reading(std::time::Duration::from_secs(2));
    let Some(fresh) = crate::server::Fresh::with(limits).await else {
        return;
    };
    let store = fresh.owner("alice");
    // The server takes a statement apart before it has a limit: that is done here.
    assert_eq!(store.text("a.md").await.unwrap(), None);
    let mut other = raw(&fresh.url).await;
    let holding = other.transaction().await.unwrap();
    let lock = "LOCK TABLE ctx.files IN ACCESS EXCLUSIVE MODE";
    holding.batch_execute(lock).await.unwrap();
    let error = store.text("a.md").await.unwrap_err();
    assert!(matches!(error, StoreError::Late { .. }), "{error}");
    holding.rollback().await.unwrap();
    assert_eq!(store.text("a.md").await.unwrap(), None);
}

#[tokio::test]
async fn what_the_server_says_in_words_is_in_no_error() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let change = raw(&fresh.url).await;
    change
        .batch_execute(
            "ALTER TABLE ctx.messages ADD CONSTRAINT no_birds CHECK (content NOT LIKE '%canary%');
             CREATE FUNCTION ctx.refuse() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE 'no % here', NEW.path USING DETAIL = NEW.path, HINT = NEW.path; END $$;
             CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON ctx.files
             FOR EACH ROW EXECUTE FUNCTION ctx.refuse();",
        )
        .await
        .unwrap();
    let message = Message::new("m", "user", "a canary", 0);
    let of_constraint = store.append("t", &message).await.unwrap_err();
    let of_words = store.ingest(texts([("canary.rs", "fn a() {}")])).await;
    let of_words = of_words.unwrap_err();
    for (error, said) in [
        (
            of_constraint,
            "ERROR 23514, table messages, constraint no_birds",
        ),
        (of_words, "ERROR P0001"),
    ] {
        assert!(error.to_string().ends_with(said), "{error}");
        let mut next: Option<&dyn std::error::Error> = Some(&error);
        while let Some(error) = next {
            let all = format!("{error} {error:?}");
            assert!(!all.contains("canary"), "{all}");
            next = error.source();
        }
    }
}
