//! The best match comes first.

use ctx_postgres::Limits;
use ctx_rank::Query;
use ctx_retrieve::{Field, FileSearch, Hit, TextQuery};

use crate::{fresh, texts};

pub(crate) fn asked(question: &str, limit: usize) -> TextQuery {
    let query = Query::analyse(question);
    #[expect(clippy::cast_possible_truncation, reason = "as the retriever does")]
    let terms = query
        .terms
        .iter()
        .map(|it| (it.text.clone(), it.weight as f32));
    let fields = vec![
        (Field::Name, 2.0),
        (Field::Signature, 1.2),
        (Field::Doc, 0.5),
        (Field::Body, 1.0),
    ];
    TextQuery::new(terms.collect(), fields, limit)
}

fn names(hits: &[Hit]) -> Vec<&str> {
    hits.iter().filter_map(|it| it.name.as_deref()).collect()
}

fn function(name: &str, body: &str) -> String {
    format!("fn {name}() {{\n    {body}\n}}\n")
}

#[tokio::test]
async fn a_question_finds_the_function_it_is_about_among_many() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let mut files: Vec<(String, String)> = (0..300)
        .map(|n| {
            let text = function(
                &format!("handle_{n}"),
                "let config = request.load(); respond(config, request);",
            );
            (format!("src/{n}.rs"), text)
        })
        .collect();
    let text = function(
        "throttle_requests",
        "while bucket.is_empty() { wait(refill); }",
    );
    files.push(("src/limit.rs".to_owned(), text));
    store.ingest(texts(files)).await.unwrap();
    let hits = store
        .passages(&asked(
            "where are requests throttled when the bucket is empty?",
            10,
        ))
        .await
        .unwrap();
    assert_eq!(names(&hits)[0], "throttle_requests");
    let mut query = asked("limit", 5);
    query.fields = vec![(Field::Path, 1.0), (Field::Text, 1.0)];
    assert_eq!(store.files(&query).await.unwrap()[0].path, "src/limit.rs");
}

#[tokio::test]
async fn more_occurrences_and_shorter_parts_count() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let filler = "let unrelated = compute_something_else(with, many, words);\n    ".repeat(30);
    store
        .ingest(texts([
            ("a.rs", function("often", "walrus(walrus, walrus, walrus)")),
            ("b.rs", function("once", "walrus(one, two, three)")),
            (
                "c.rs",
                function("lost", &format!("{filler} walrus(one, two, three)")),
            ),
        ]))
        .await
        .unwrap();
    let hits = store.passages(&asked("walrus", 10)).await.unwrap();
    assert_eq!(names(&hits), ["often", "once", "lost"]);
}

#[tokio::test]
async fn words_that_are_everywhere_rank_when_nothing_else_is_asked() {
    let Some(fresh) = crate::server::Fresh::with(Limits::default().with_candidates(20)).await
    else {
        return;
    };
    let store = fresh.owner("alice");
    let files = (0..100).map(|n| {
        let body = if n == 5 {
            "common(); common(); shared(); rare();"
        } else {
            "common(); shared();"
        };
        (format!("{n:03}.rs"), function(&format!("f{n}"), body))
    });
    store.ingest(texts(files)).await.unwrap();
    let hits = store.passages(&asked("common shared", 10)).await.unwrap();
    assert_eq!(hits.len(), 10);
    assert!(hits[0].score > 0.0);
    let hits = store
        .passages(&asked("common shared rare", 10))
        .await
        .unwrap();
    assert_eq!(names(&hits)[0], "f5");
}

/// More parts hold the words than are ranked, and the best one is stored last.
#[tokio::test]
async fn of_words_that_are_everywhere_the_parts_with_most_of_them_rank() {
    let Some(fresh) = crate::server::Fresh::with(Limits::default().with_candidates(20)).await
    else {
        return;
    };
    let store = fresh.owner("alice");
    let two = [
        "common(); shared();",
        "shared(); usual();",
        "usual(); common();",
    ];
    let mut files: Vec<(String, String)> = (0..150)
        .map(|n| (format!("{n:03}.rs"), function(&format!("f{n}"), two[n % 3])))
        .collect();
    let all = function("of_all", "common(); shared(); usual();");
    files.push(("x.rs".to_owned(), all));
    files.push(("y.rs".to_owned(), function("common", "another();")));
    let named = function("common_shared", "another();");
    files.push(("z.rs".to_owned(), named));
    store.ingest(texts(files)).await.unwrap();
    for (question, best) in [
        ("common shared usual", "of_all"),
        ("common shared", "common_shared"),
        ("common", "common"),
    ] {
        let hits = store.passages(&asked(question, 10)).await.unwrap();
        assert_eq!(names(&hits)[0], best, "{question}");
    }
}

#[tokio::test]
async fn names_with_slips_are_found() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let files = [
        "parse_header",
        "parse_headers_strictly",
        "print_footer",
        "HeaderParser",
    ]
    .map(|name| (format!("src/{name}.rs"), function(name, "todo()")));
    store.ingest(texts(files)).await.unwrap();
    let hits = store
        .similar(&["parse_heder".to_owned()], 10)
        .await
        .unwrap();
    assert_eq!(
        hits[0].name.as_deref().or(Some(&hits[0].path)),
        Some("parse_header"),
        "{hits:?}"
    );
    assert!(
        hits.iter()
            .all(|it| it.name.as_deref() != Some("print_footer"))
    );
    let files: Vec<&str> = hits
        .iter()
        .filter(|it| it.is_file())
        .map(|it| it.path.as_str())
        .collect();
    assert!(
        files.contains(&"src/parse_header.rs"),
        "names of files too: {hits:?}"
    );
}
