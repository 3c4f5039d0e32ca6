//! User input is never interpreted as SQL or as a query language.

use std::collections::BTreeSet;
use std::time::Duration;

use ctx_model::UnixSeconds;
use ctx_postgres::{FileText, Limits, StoreError};
use ctx_retrieve::{Field, FileSearch as _, Hit, Message, PortError, TextQuery, Threads as _};
use ctx_testkit::laws::store as laws;

use crate::server::{Fresh, raw};
use crate::{fresh, of_store, texts};

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
async fn of_a_flood_of_terms_those_that_tell_most_are_looked_for() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    // Word n is in file n alone, but for the first ten, which are in another file too.
    let mut files: Vec<(String, String)> = (0..50)
        .map(|n| (format!("{n}.md"), format!("word{n}")))
        .collect();
    let common: Vec<String> = (0..10).map(|n| format!("word{n}")).collect();
    files.push(("common.md".to_owned(), common.join(" ")));
    store.ingest(texts(files)).await.unwrap();
    let found = async |terms: Vec<(String, f32)>| {
        let query = TextQuery::new(terms, vec![(Field::Body, 1.0)], 99);
        let hits = store.passages(&query).await.unwrap();
        let by_presence = store.passages(&query.by_presence()).await.unwrap();
        assert_eq!(hits.len(), by_presence.len());
        let file = |it: &Hit| it.path.trim_end_matches(".md").parse().unwrap_or(99);
        let files: BTreeSet<u32> = hits.iter().map(file).collect();
        files
    };
    let word = |n: u32| (format!("word{n}"), 1.0);
    let rare = found((0..42).map(word).collect()).await;
    assert!(rare.into_iter().eq(10..42), "the rarest 32");
    let heavy = |n: u8| (format!("word{n}"), f32::from(n));
    let heaviest = found((0..50).map(heavy).collect()).await;
    assert!(heaviest.into_iter().eq(18..50), "the heaviest 32");
    // Of those that nothing holds none is among the 32, but 256 at most are looked up, the
    // heaviest.
    let none = |n: u32| (format!("none{n}"), 2.0);
    let flood = |count| (0..count).map(none).chain([word(20)]).collect();
    assert_eq!(found(flood(255)).await, [20].into());
    assert_eq!(found(flood(256)).await, [].into());
}

#[tokio::test]
async fn no_statement_has_more_terms_than_may_be_or_longer_ones() {
    let Some(fresh) = Fresh::logged().await else {
        return;
    };
    let store = fresh.owner("alice");
    let files = (0..300).map(|n| (format!("{n}.md"), format!("word{n}")));
    store.ingest(texts(files)).await.unwrap();
    let longest = "x".repeat(64);
    let long = "y".repeat(65);
    let weight = |n: u16| 2.0 + f32::from(n) / 1_000.0;
    let stored = (0..300).map(|n| (format!("word{n}"), weight(n)));
    let others = (0..5_000).map(|n| (format!("none{n}"), 1.0));
    let heaviest = [(longest.clone(), 3.0), (long.clone(), 3.0)];
    let terms = others.chain(stored).chain(heaviest);
    let fields = vec![(Field::Body, 1.0), (Field::Text, 1.0)];
    let query = TextQuery::new(terms.collect(), fields, 1_000);
    assert_eq!(store.passages(&query).await.unwrap().len(), 32);
    assert_eq!(store.files(&query).await.unwrap().len(), 32);
    let long_name = "z".repeat(257);
    let names = [long_name.clone()];
    assert!(store.definitions(&names, 9).await.unwrap()[0].is_empty());
    assert!(store.similar(&names, 9).await.unwrap().is_empty());

    let written = fresh.server.log();
    let lines: Vec<&str> = written.lines().collect();
    // The values of a statement come behind its last line.
    let sent = |statement: &str| {
        let values = lines.windows(2).filter(|it| it[0].contains(statement));
        let count = |it: &[&str]| it[1].matches("word").count();
        values.map(count).collect::<Vec<usize>>()
    };
    // 256 terms, one of which is another; each as it is counted, and as it is looked for.
    assert_eq!(sent("LEFT JOIN counted"), [2 * 255; 2]);
    let [parts, files] = sent("unnest($1::tsquery[])")[..] else {
        panic!("what holds terms is asked once for parts, and once for files");
    };
    for held in [parts, files] {
        assert!((1..=32).contains(&held), "{held}");
    }
    assert!(
        written.contains(&longest) && !written.contains(&long) && !written.contains(&long_name)
    );
}

#[tokio::test]
async fn texts_that_cannot_be_stored_are_named_and_the_rest_is_stored() {
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
        let message = Message::new(id, "user", content, UnixSeconds::new(0));
        let error = store.append(thread, &message).await.unwrap_err();
        let error = of_store(&error);
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
    let limits = Limits::default().with_reading(Duration::from_secs(2));
    let Some(fresh) = Fresh::with(limits).await else {
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
    assert!(error.is_transient() && !error.is_away());
    assert!(PortError::from(error).is_transient());
    holding.rollback().await.unwrap();
    assert_eq!(store.text("a.md").await.unwrap(), None);
}

#[tokio::test]
async fn no_error_repeats_a_message_of_the_server() {
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
    let message = Message::new("m", "user", "a canary", UnixSeconds::new(0));
    let of_constraint = store.append("t", &message).await.unwrap_err();
    let of_words = store.ingest(texts([("canary.rs", "fn a() {}")])).await;
    let of_words = PortError::from(of_words.unwrap_err());
    for (error, said) in [
        (
            of_constraint,
            "ERROR 23514, table messages, constraint no_birds",
        ),
        (of_words, "ERROR P0001"),
    ] {
        assert!(of_store(&error).to_string().ends_with(said), "{error:?}");
        let mut next: Option<&dyn std::error::Error> = Some(&error);
        while let Some(error) = next {
            let all = format!("{error} {error:?}");
            assert!(!all.contains("canary"), "{all}");
            next = error.source();
        }
    }
}
