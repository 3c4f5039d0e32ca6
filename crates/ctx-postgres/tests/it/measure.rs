//! Figures, not facts: run where the environment names what to measure.
//!
//! * `CTX_PASSAGES`: a folder with `codebase_chunks.json` and `codebase_questions.jsonl`; both stores answer, and how
//!   often the passage that answers is among the first is printed.
//! * `CTX_SOURCES`: a folder of source files; they are stored, and how long searches among them take is printed.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ctx_index::{Index, Options};
use ctx_postgres::{FileText, OwnedStore};
use ctx_retrieve::{Field, FileSearch, Relations as _, TextQuery, Usage as _};
use serde_json::Value;

use crate::ranking::asked;
use crate::{fresh, texts};

#[tokio::test]
async fn how_often_the_answer_is_among_the_first() {
    let Some(folder) = std::env::var_os("CTX_PASSAGES").map(PathBuf::from) else {
        return;
    };
    let fresh = fresh!();
    let chunks = fs::read_to_string(folder.join("codebase_chunks.json")).unwrap();
    let chunks: Value = serde_json::from_str(&chunks).unwrap();
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for document in chunks.as_array().unwrap() {
        let id = document["original_uuid"].as_str().unwrap();
        for chunk in document["chunks"].as_array().unwrap() {
            let path = format!("{id}/{}.rs", chunk["original_index"]);
            files.insert(path, chunk["content"].as_str().unwrap().to_owned());
        }
    }
    let root = tempfile::tempdir().unwrap();
    for (path, text) in &files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let at = tempfile::tempdir().unwrap();
    let (index, _) = Index::open(root.path(), at.path(), Options::default()).unwrap();
    index.update(&mut |_| ControlFlow::Continue(())).unwrap();
    let store = fresh.owner("alice");
    store.ingest(texts(files)).await.unwrap();
    let questions = fs::read_to_string(folder.join("codebase_questions.jsonl")).unwrap();
    for (name, store) in [("embedded", &index as &dyn FileSearch), ("shared", &store)] {
        let (mut first, mut ten, mut ranks, mut of) = (0, 0, 0.0, 0);
        for line in questions.lines() {
            let question: Value = serde_json::from_str(line).unwrap();
            let golden: Vec<String> = question["golden_chunk_uuids"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| format!("{}/{}.rs", it[0].as_str().unwrap(), it[1]))
                .collect();
            let hits = store
                .passages(&asked(question["query"].as_str().unwrap(), 60))
                .await
                .unwrap();
            let mut paths: Vec<String> = Vec::new();
            for hit in hits {
                if !paths.contains(&hit.path) {
                    paths.push(hit.path);
                }
            }
            of += 1;
            if let Some(rank) = paths.iter().position(|it| golden.contains(it)) {
                first += u32::from(rank == 0);
                ten += u32::from(rank < 10);
                ranks += 1.0 / f64::from(u32::try_from(rank + 1).unwrap());
            }
        }
        println!(
            "{name}: first {first}, among ten {ten} of {of}, mean reciprocal rank {:.3}",
            ranks / f64::from(of)
        );
    }
}

fn sources(folder: &Path, files: &mut Vec<FileText>, bytes: &mut usize) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|it| it.path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, files, bytes);
        } else if path.extension().is_some_and(|it| it == "rs" || it == "md") && *bytes < 70 << 20 {
            let Ok(text) = fs::read_to_string(&path) else {
                continue;
            };
            if text.len() < 200_000 && !text.contains('\0') {
                *bytes += text.len();
                let path = path.to_str().unwrap().trim_start_matches('/').to_owned();
                files.push(FileText::new(path, text));
            }
        }
    }
}

fn figures(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    println!(
        "{what}: {} times, p50 {:?}, p90 {:?}, p99 {:?}",
        times.len(),
        at(50),
        at(90),
        at(99)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_long_searches_take_among_many_files() {
    let Some(folder) = std::env::var_os("CTX_SOURCES").map(PathBuf::from) else {
        return;
    };
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let (mut files, mut bytes) = (Vec::new(), 0);
    sources(&folder, &mut files, &mut bytes);
    let questions: Vec<String> = files
        .iter()
        .step_by((files.len() / 200).max(1))
        .filter_map(|file| {
            let mut said = file
                .text
                .lines()
                .filter_map(|it| it.trim().strip_prefix("/// "));
            said.find(|it| it.split(' ').count() > 5).map(str::to_owned)
        })
        .collect();
    let start = Instant::now();
    let ingested = store.ingest(files).await.unwrap();
    println!(
        "{} files, {} parts, {} MB stored in {:?}",
        ingested.stored,
        ingested.parts,
        bytes >> 20,
        start.elapsed()
    );
    let raw = crate::server::raw(&fresh.url).await;
    raw.batch_execute("VACUUM ANALYZE").await.unwrap();
    let sizes = "SELECT relname, pg_size_pretty(pg_total_relation_size(oid)) FROM pg_class
                 WHERE relnamespace = 'ctx'::regnamespace AND relkind IN ('r', 'i') AND relpages > 1000 ORDER BY 1";
    for row in raw.query(sizes, &[]).await.unwrap() {
        println!("  {}: {}", row.get::<_, &str>(0), row.get::<_, &str>(1));
    }
    measure(&store, &questions).await;
}

async fn measure(store: &OwnedStore, questions: &[String]) {
    for round in ["first", "again"] {
        let mut times: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
        for question in questions {
            let query = asked(question, 200);
            let mut of_files = query.clone();
            of_files.fields = vec![(Field::Path, 1.0), (Field::Text, 1.0)];
            let start = Instant::now();
            let mut note =
                |what, start: Instant| times.entry(what).or_default().push(start.elapsed());
            let hits = store.passages(&query).await.unwrap();
            note("passages", start);
            let start = Instant::now();
            let files = store.files(&of_files).await.unwrap();
            note("files", start);
            let within = files.into_iter().take(20).map(|it| it.0).collect();
            let start = Instant::now();
            store.passages(&query.clone().within(within)).await.unwrap();
            note("passages in 20 files", start);
            let names: Vec<String> = hits
                .iter()
                .filter_map(|it| it.name.clone())
                .take(1)
                .collect();
            let start = Instant::now();
            store.definitions(&names, 41).await.unwrap();
            note("definitions", start);
            let start = Instant::now();
            store.users_of(&names, 41).await.unwrap();
            note("users", start);
            let start = Instant::now();
            store.similar(&names, 50).await.unwrap();
            note("similar", start);
            let start = Instant::now();
            store
                .ending_with(&["src/lib.rs".to_owned()], 5)
                .await
                .unwrap();
            note("ending with", start);
            let start = Instant::now();
            store.recent(5).await.unwrap();
            note("recent", start);
        }
        for (what, times) in times {
            figures(&format!("{round} {what}"), times);
        }
    }
}

/// A whole build asks about this much: all terms, those of the title, files, and parts in them.
#[tokio::test]
async fn what_is_asked_is_bounded_by_terms() {
    let fresh = fresh!();
    let store = fresh.owner("alice");
    let text: String = (0..3_000).fold(String::new(), |text, it| text + &format!("word{it} "));
    store.ingest(texts([("a.md", text)])).await.unwrap();
    let terms = (0..3_000).map(|it| (format!("word{it}"), 1.0)).collect();
    let query = TextQuery::new(terms, vec![(Field::Body, 1.0)], 5);
    assert!(!store.passages(&query).await.unwrap().is_empty());
}
