//! Files are stored, changed and removed.

use ctx_model::UnixSeconds;
use ctx_postgres::{FileText, StoreError};
use ctx_retrieve::{Field, FileSearch as _, TaskFailed, TextQuery};
use ctx_syntax::{Language, Outline};
use ctx_testkit::pool::while_busy;
use tokio::runtime::Handle;

use crate::server::raw;
use crate::{fresh, texts};

#[tokio::test(flavor = "multi_thread")]
async fn files_are_stored_while_all_threads_that_build_are_busy() {
    let fresh = fresh!();
    let (store, runtime) = (fresh.owner("alice"), Handle::current());
    let ingest = move || runtime.block_on(store.ingest(texts([("a.rs", "fn a() {}\n")])));
    let ingested = tokio::task::spawn_blocking(|| while_busy(ingest)).await;
    assert_eq!(ingested.unwrap().unwrap().unwrap().stored, 1);
}

#[tokio::test]
async fn a_file_that_is_stored_again_is_stored_once() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let at = |text: &str, time| {
        vec![FileText::new("a.rs", text).with_modified_at(UnixSeconds::new(time))]
    };
    let first = store.ingest(at("fn first() {}\n", 1)).await.unwrap();
    assert_eq!((first.stored, first.unchanged), (1, 0));
    let again = store.ingest(at("fn first() {}\n", 2)).await.unwrap();
    assert_eq!((again.stored, again.unchanged), (0, 1));
    let [file] = &store.stored_files("", 10).await.unwrap()[..] else {
        panic!("there is one file");
    };
    // When its text was last another.
    assert_eq!(
        (file.modified_at, file.lines, file.parts),
        (Some(UnixSeconds::new(1)), 1, 1)
    );
    assert_eq!(file.hash, *blake3::hash(b"fn first() {}\n").as_bytes());

    store.ingest(at("fn second() {}\n", 3)).await.unwrap();
    let defined = async |name: &str| {
        let found = store.definitions(&[name.to_owned()], 5).await;
        found.unwrap()[0].len()
    };
    assert_eq!((defined("first").await, defined("second").await), (0, 1));
    assert_eq!(
        store.text("a.rs").await.unwrap().as_deref(),
        Some("fn second() {}\n")
    );
    let gone = store.remove(&["a.rs".to_owned(), "b.rs".to_owned()]).await;
    assert_eq!(gone.unwrap(), ["a.rs".to_owned()].into());
    assert_eq!(defined("second").await, 0);
    let totals = store.totals().await.unwrap();
    assert_eq!((totals.files, totals.parts), (0, 0));
    assert_eq!(totals.generation, 3, "each change is a generation");
}

#[tokio::test]
async fn the_outline_of_a_file_comes_with_its_text() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let text = "fn first() { second(); }\n";
    let files = texts([("a.rs", text), ("b.unknown", text)]);
    store.ingest(files).await.unwrap();
    let paths = ["a.rs", "b.unknown"];
    let [known, unknown] = &store.texts(&paths, &[]).await.unwrap()[..] else {
        panic!("there are two files");
    };
    let language = Language::of("a.rs", text);
    let outline = Outline::of(text, language, &ctx_syntax::Limits::default());
    let sealed = known.outline.as_ref().unwrap();
    assert_eq!(Outline::unseal(sealed, &known.hash), Some(outline));
    assert_eq!(unknown.outline, None);
    // Neither is sent again.
    for file in store.texts(&paths, &[known.hash]).await.unwrap() {
        assert_eq!((file.text, file.outline), (None, None));
    }
}

#[tokio::test]
async fn texts_come_in_pieces_that_take_little_time() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let text = |name: &str| format!("{name}\n{}", "a line like others\n".repeat(50_000));
    let files = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"];
    let all = files.iter().map(|it| (*it, text(it)));
    store.ingest(texts(all)).await.unwrap();
    let many: Vec<String> = (0..20).map(|it| format!("{it:02}.txt")).collect();
    let all = many.iter().map(|it| (it.as_str(), text(it)));
    store.ingest(texts(all)).await.unwrap();

    let mut left: Vec<&str> = files
        .iter()
        .copied()
        .chain(many.iter().map(|it| &**it))
        .collect();
    left.push("nowhere.txt");
    let known = *blake3::hash(text("03.txt").as_bytes()).as_bytes();
    let (mut read, mut rounds) = (0, 0);
    while !left.is_empty() {
        rounds += 1;
        let found = store.texts(&left, &[known]).await.unwrap();
        let (again, now): (Vec<_>, Vec<_>) = found.into_iter().partition(|it| it.is_left);
        assert!(again.iter().all(|it| it.text.is_none()));
        let bytes = now
            .iter()
            .filter_map(|it| it.text.as_ref())
            .map(String::len);
        assert!(bytes.sum::<usize>() < 10 << 20);
        for file in &now {
            assert_eq!(file.text.is_none(), file.path == "03.txt");
            assert!(file.text.as_ref().is_none_or(|it| *it == text(&file.path)));
        }
        read += now.len();
        left.retain(|it| again.iter().any(|file| file.path == **it));
    }
    assert_eq!((read, rounds), (25, 3));
}

#[tokio::test]
async fn of_files_with_one_path_the_last_counts() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    store
        .ingest(texts([("a.rs", "fn a() {}"), ("a.rs", "fn b() {}")]))
        .await
        .unwrap();
    assert_eq!(
        store.text("a.rs").await.unwrap().as_deref(),
        Some("fn b() {}")
    );
}

#[tokio::test]
async fn counts_of_terms_are_those_of_what_is_stored() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let versions = ["alpha beta beta", "alpha gamma", "beta"];
    for text in versions {
        store
            .ingest(texts([("a.md", text), ("b.md", "alpha")]))
            .await
            .unwrap();
    }
    store.remove(&["b.md".to_owned()]).await.unwrap();
    let client = raw(&fresh.url).await;
    // The path is of the file alone. Terms of what went went with it.
    let counts = terms(&client, "alice").await;
    assert_eq!(counts, ["a: 0, 1", "beta: 1, 1", "md: 0, 1"]);
    let sql = "SELECT files, parts, part_terms, file_terms FROM ctx.owners";
    let row = client.query_one(sql, &[]).await.unwrap();
    let totals: [i64; 4] = [row.get(0), row.get(1), row.get(2), row.get(3)];
    assert_eq!(totals, [1, 1, 1, 3]);
}

/// The terms of an owner, each with how many parts and files hold it.
async fn terms(client: &tokio_postgres::Client, owner: &str) -> Vec<String> {
    let sql = "SELECT term, parts, files FROM ctx.terms WHERE owner = $1 ORDER BY 1";
    let rows = client.query(sql, &[&owner]).await.unwrap();
    let count = |it: &tokio_postgres::Row| {
        let (term, parts, files): (&str, i32, i32) = (it.get(0), it.get(1), it.get(2));
        format!("{term}: {parts}, {files}")
    };
    rows.iter().map(count).collect()
}

#[tokio::test]
async fn of_an_owner_whose_files_went_no_term_stays() {
    let fresh = fresh!();
    let (alice, bob) = (fresh.owner("alice"), fresh.owner("bob"));
    let words = |round: usize| (0..50).map(move |it| format!("word{round}x{it} "));
    for store in [&alice, &bob] {
        let text: String = words(0).collect();
        store.ingest(texts([("a.md", text)])).await.unwrap();
    }
    let client = raw(&fresh.url).await;
    let bobs = terms(&client, "bob").await;
    for round in 1..4 {
        let text: String = words(round).collect();
        alice.ingest(texts([("a.md", text)])).await.unwrap();
        let now = terms(&client, "alice").await;
        assert_eq!(now.len(), bobs.len(), "those of the last text: {now:?}");
    }
    alice.remove(&["a.md".to_owned()]).await.unwrap();
    assert!(terms(&client, "alice").await.is_empty());
    assert_eq!(terms(&client, "bob").await, bobs);
}

#[tokio::test]
async fn writers_of_one_owner_take_turns_and_none_is_lost() {
    let fresh = fresh!();
    let mut tasks = Vec::new();
    for writer in 0..6 {
        let store = fresh.owner("alice");
        tasks.push(tokio::spawn(async move {
            for round in 0..4 {
                let text = format!("fn shared() {{ common_{writer}_{round}(); }}\n");
                store
                    .ingest(texts([
                        ("shared.rs".to_owned(), text.clone()),
                        (format!("{writer}.rs"), text),
                    ]))
                    .await
                    .unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let store = fresh.owner("alice");
    let totals = store.totals().await.unwrap();
    assert_eq!((totals.files, totals.parts, totals.generation), (7, 7, 24));
    let query = TextQuery::new(
        vec![("share".to_owned(), 1.0)],
        vec![(Field::Name, 1.0)],
        50,
    );
    assert_eq!(store.passages(&query).await.unwrap().len(), 7);
}

#[test]
fn the_cause_of_a_failed_thread_is_named_once() {
    let error = StoreError::from(TaskFailed::Panicked);
    let said = ctx_model::error_chain(&error);
    assert_eq!(said, "split files into parts: it panicked");
}

/// How many are read at once goes by how large they are stored.
#[tokio::test]
async fn vectors_are_kept_as_they_are_sent_however_much_their_terms_are_alike() {
    let fresh = fresh!();
    let alike = |n: usize| {
        let letter = |at: u32| char::from(b'a' + u8::try_from(n / 26_usize.pow(at) % 26).unwrap());
        format!("{}{}{}", "walrus".repeat(8), letter(1), letter(0))
    };
    let text: Vec<String> = (0..600).map(alike).collect();
    let store = fresh.owner("alice");
    // Numbers stand before the terms, and where there are many of them the server compresses
    // neither.
    let both = [
        ("a.txt", text.join("\n")),
        ("b.txt", text[..150].join("\n")),
    ];
    store.ingest(texts(both)).await.unwrap();
    let raw = raw(&fresh.url).await;
    let stored = async || {
        let sql = "SELECT pg_column_size(terms), pg_column_compression(terms), terms::text FROM ctx.files
                   UNION ALL SELECT pg_column_size(terms), pg_column_compression(terms), terms::text FROM ctx.parts
                   ORDER BY 3, 1";
        let rows = raw.query(sql, &[]).await.unwrap();
        let found = |row: &tokio_postgres::Row| (row.get(0), row.get(1), row.get(2));
        let found: Vec<(i32, Option<String>, String)> = rows.iter().map(found).collect();
        found
    };
    let found = stored().await;
    assert!(found.iter().any(|it| it.0 > 600 * 50), "{found:?}");
    assert!(found.iter().all(|it| it.1.is_none()), "{found:?}");
    // As before version 16 of the tables, and what note 0008 does about it.
    let change = async |sql: &str| raw.batch_execute(sql).await.unwrap();
    change("ALTER TABLE ctx.files ALTER COLUMN terms SET STORAGE EXTENDED").await;
    change("UPDATE ctx.files SET terms = terms || ''").await;
    change("ALTER TABLE ctx.files ALTER COLUMN terms SET STORAGE EXTERNAL").await;
    assert!(stored().await.iter().any(|it| it.1.is_some()));
    for table in ["files", "parts"] {
        let compressed = "pg_column_compression(terms) IS NOT NULL";
        change(&format!(
            "UPDATE ctx.{table} SET terms = terms || '' WHERE {compressed}"
        ))
        .await;
    }
    assert_eq!(stored().await, found);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_those_that_store_a_new_file_at_once_one_finds_nothing_before() {
    let fresh = fresh!();
    let hash = |text: &str| *blake3::hash(text.as_bytes()).as_bytes();
    for round in 0..10 {
        let path = format!("{round}.rs");
        let store = async |text: &str| {
            let store = fresh.owner("alice");
            store.ingest(texts([(&*path, text)])).await.unwrap().before
        };
        let (first, second) = tokio::join!(store("fn a() {}"), store("fn b() {}"));
        let mut found: Vec<_> = first.into_iter().chain(second).collect();
        let (its, before) = found.pop().unwrap();
        assert!(found.is_empty() && its == path, "{found:?}");
        assert!([hash("fn a() {}"), hash("fn b() {}")].contains(&before.unwrap()));
    }
}
