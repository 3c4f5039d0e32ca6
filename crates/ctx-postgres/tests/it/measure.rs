//! Measurements, which are ignored in a usual run. The environment names their input.
//!
//! * `CTX_PASSAGES`: a folder with `codebase_chunks.json` and `codebase_questions.jsonl`; both
//!   stores are queried, and the share of questions whose passage is among the first results is
//!   printed.
//! * `CTX_SOURCES`: a folder of source files; they are stored, and the time of searches among them
//!   is printed. With `CTX_DATABASE`, the address of a database, they are stored there the first
//!   time, and kept.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ctx_index::{Index, Options};
use ctx_postgres::{FileText, Limits, OwnedStore, Store};
use ctx_rank::Query;
use ctx_retrieve::{Field, FileSearch, Relations as _, Retriever, Usage as _};
use serde_json::Value;

use crate::ranking::asked;
use crate::server::Fresh;
use crate::{fresh, texts};

#[tokio::test]
#[ignore = "measures; set CTX_PASSAGES"]
async fn how_often_the_answer_is_among_the_first() {
    let folder = std::env::var_os("CTX_PASSAGES").expect("CTX_PASSAGES names a folder");
    let folder = PathBuf::from(folder);
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
    let index = Index::open(root.path(), at.path(), Options::default()).unwrap();
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
                    paths.push(hit.path.clone());
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

/// The files that `CTX_SOURCES` names.
pub(crate) struct Sources {
    pub(crate) files: Vec<FileText>,
}

impl Sources {
    pub(crate) fn named() -> Sources {
        let folder = std::env::var_os("CTX_SOURCES").expect("CTX_SOURCES names a folder");
        let (mut files, mut bytes) = (Vec::new(), 0);
        sources(Path::new(&folder), &mut files, &mut bytes);
        Sources { files }
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

/// What is said of something, with the name that it is said of.
fn questions(files: &[FileText]) -> Vec<String> {
    let step = (files.len() / 200).max(1);
    let about = |file: &FileText| {
        let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
        let at = lines.iter().position(|line| {
            let said = line.strip_prefix("/// ").unwrap_or_default();
            said.split(' ').count() > 5
        })?;
        let said = lines[at].strip_prefix("/// ")?;
        let name = lines[at..].iter().find_map(|it| it.split_once("fn "));
        let name = name.and_then(|(_, it)| it.split(['(', '<']).next());
        let mut path: Vec<&str> = file.path.rsplitn(4, '/').take(3).collect();
        path.reverse();
        let name = name.unwrap_or("new");
        Some(format!("{said} `{name}` in {}:7", path.join("/")))
    };
    files.iter().step_by(step).filter_map(about).collect()
}

/// The address of a database with these files of alice; what `CTX_DATABASE` names is filled once,
/// and kept.
pub(crate) async fn filled(files: Vec<FileText>) -> Option<(Option<Fresh>, String)> {
    let (fresh, store, url) = if let Ok(url) = std::env::var("CTX_DATABASE") {
        let store = Store::connect(&url, Limits::default()).await.unwrap();
        store.migrate().await.unwrap();
        (None, store.owner("alice").unwrap(), url)
    } else {
        let fresh = Fresh::new().await?;
        let (store, url) = (fresh.owner("alice"), fresh.url.clone());
        (Some(fresh), store, url)
    };
    if store.totals().await.unwrap().files > 0 {
        return Some((fresh, url));
    }
    let start = Instant::now();
    let bytes: usize = files.iter().map(|it| it.text.len()).sum();
    let ingested = store.ingest(files).await.unwrap();
    println!(
        "{} files, {} parts, {} MB stored in {:?}",
        ingested.stored,
        ingested.parts,
        bytes >> 20,
        start.elapsed()
    );
    let raw = crate::server::raw(&url).await;
    raw.batch_execute("VACUUM ANALYZE").await.unwrap();
    let sizes = "SELECT relname, pg_size_pretty(pg_total_relation_size(oid)) FROM pg_class
                 WHERE relnamespace = 'ctx'::regnamespace AND relkind IN ('r', 'i') AND relpages > 1000 ORDER BY 1";
    for row in raw.query(sizes, &[]).await.unwrap() {
        println!("  {}: {}", row.get::<_, &str>(0), row.get::<_, &str>(1));
    }
    Some((fresh, url))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures; set CTX_SOURCES"]
async fn how_long_searches_take_among_many_files() {
    let Sources { files } = Sources::named();
    let questions = questions(&files);
    let Some((_fresh, url)) = filled(files).await else {
        return;
    };
    let store = Store::connect(&url, Limits::default()).await.unwrap();
    let store = store.owner("alice").unwrap();
    retrievals(&store, &questions).await;
    measure(&store, &questions).await;
}

/// Whole retrievals, one after the other, and what each strategy takes of them.
async fn retrievals(store: &OwnedStore, questions: &[String]) {
    let store = Arc::new(store.clone());
    let retriever = Retriever::new(Arc::clone(&store) as _)
        .with_relations(Arc::clone(&store) as _)
        .with_usage(store);
    let wanted = ctx_retrieve::Options::default();
    for round in ["first", "again"] {
        let mut times: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
        for question in questions {
            let query = Arc::new(Query::analyse(question));
            let start = Instant::now();
            let answer = retriever.retrieve(&query, &wanted).await;
            times.entry("retrieval").or_default().push(start.elapsed());
            for report in answer.reports {
                assert_eq!(report.failure, None, "{:?}", report.strategy);
                let its = times.entry(report.strategy.as_str()).or_default();
                its.push(report.took);
            }
        }
        for (what, times) in times {
            figures(&format!("{round} {what}"), times);
        }
    }
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
            let within = files
                .into_iter()
                .take(20)
                .map(|it| it.path.clone())
                .collect();
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
            store.below(&["src".to_owned()], 101).await.unwrap();
            note("below", start);
            let start = Instant::now();
            store.recent(5).await.unwrap();
            note("recent", start);
        }
        for (what, times) in times {
            figures(&format!("{round} {what}"), times);
        }
    }
}
