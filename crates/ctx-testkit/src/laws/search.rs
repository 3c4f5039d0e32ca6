//! Laws of `ctx_retrieve::FileSearch`, for a store with any texts.

use std::collections::BTreeSet;

use ctx_retrieve::{FileSearch, Hit, Part, PartQuery, TextQuery};

/// The most results asked for of names and paths.
const FEW: usize = 3;

/// Checks that `store` keeps the promises of [`FileSearch`] for `queries`, of which at least one
/// must find something; names, paths and folders are taken from what they find. It may hold any
/// texts, and implement [`passages`](FileSearch::passages) alone:
///
/// * a list has at most `limit` results, the best first, with finite scores; a part comes once, and
///   so does what stands for a file;
/// * only the files of `paths` are searched, if there are any;
/// * there is one list for each name, path or request, the same as if it was requested alone;
/// * parts of a file are of that file, in the order of their lines;
/// * the same question has the same answer.
///
/// # Panics
/// If a law does not hold, if a search fails, or if all find nothing.
pub async fn file_search<S: FileSearch + ?Sized>(store: &S, queries: &[TextQuery]) {
    let mut found = Vec::new();
    for query in queries {
        let hits = passages(store, query).await;
        let paths: BTreeSet<String> = hits.iter().map(|it| it.path.clone()).collect();
        for path in paths {
            passages(store, &query.clone().within(vec![path.clone()])).await;
            files(store, &query.clone().within(vec![path])).await;
        }
        for limit in [0, 1] {
            let mut query = query.clone();
            query.limit = limit;
            passages(store, &query).await;
            files(store, &query).await;
        }
        files(store, query).await;
        found.extend(hits);
    }
    assert!(!found.is_empty(), "no query finds anything");
    found.sort_by(|a, b| a.key().cmp(&b.key()));
    found.dedup_by(|a, b| a.key() == b.key());
    found.truncate(16);
    names(store, &found).await;
    part_requests(store, &found).await;
}

async fn passages<S: FileSearch + ?Sized>(store: &S, query: &TextQuery) -> Vec<Hit> {
    let hits = store.passages(query).await.expect("a search of passages");
    is_sound(&hits, query);
    let again = store.passages(query).await.expect("a search of passages");
    assert_eq!(again, hits, "the same answer to {query:?}");
    hits
}

async fn files<S: FileSearch + ?Sized>(store: &S, query: &TextQuery) {
    let hits = store.files(query).await.expect("a search of files");
    is_sound(&hits, query);
    let again = store.files(query).await.expect("a search of files");
    assert_eq!(again, hits, "the same answer to {query:?}");
}

/// Checks what holds for any answer to `query`.
#[track_caller]
fn is_sound(hits: &[Hit], query: &TextQuery) {
    is_ranked(hits, query.limit);
    let is_within = |it: &Hit| query.paths.is_empty() || query.paths.contains(&it.path);
    assert!(
        hits.iter().all(is_within),
        "not of {:?}: {hits:?}",
        query.paths
    );
}

/// Checks what holds for any list of parts, the best first.
#[track_caller]
fn is_ranked(hits: &[Hit], limit: usize) {
    assert!(hits.len() <= limit, "{} results of {limit}", hits.len());
    let keys: BTreeSet<_> = hits.iter().map(|it| (it.key(), it.is_file())).collect();
    assert_eq!(keys.len(), hits.len(), "each part once: {hits:?}");
    let is_finite = hits.iter().all(|it| it.score.is_finite());
    assert!(is_finite, "a score is not finite: {hits:?}");
    let is_sorted = hits.is_sorted_by(|a, b| a.score >= b.score);
    assert!(is_sorted, "the best first: {hits:?}");
}

async fn names<S: FileSearch + ?Sized>(store: &S, found: &[Hit]) {
    let mut names: Vec<String> = found.iter().filter_map(|it| it.name.clone()).collect();
    names.push("no_such_name_anywhere".to_owned());
    let defined = async |names: &[String]| {
        let lists = store.definitions(names, FEW).await.expect("definitions");
        assert_eq!(lists.len(), names.len(), "one list for each name");
        lists
    };
    let together = defined(&names).await;
    for (name, list) in names.iter().zip(&together) {
        is_ranked(list, FEW);
        let alone = defined(std::slice::from_ref(name)).await;
        assert_eq!(&alone[0], list, "the definitions of {name:?} alone");
    }
    assert!(defined(&[]).await.is_empty(), "no list for no name");
    let similar = store.similar(&names, FEW).await.expect("similar names");
    is_ranked(&similar, FEW);
    let is_share = similar.iter().all(|it| (0.0..=1.0).contains(&it.score));
    assert!(is_share, "a likeness is no share: {similar:?}");
}

async fn part_requests<S: FileSearch + ?Sized>(store: &S, found: &[Hit]) {
    let paths: BTreeSet<&str> = found.iter().map(|it| it.path.as_str()).collect();
    let paths: Vec<String> = paths.into_iter().map(str::to_owned).collect();
    let lists = store.ending_with(&paths, FEW).await.expect("paths");
    assert_eq!(lists.len(), paths.len(), "one list for each end of a path");
    for (end, list) in paths.iter().zip(&lists) {
        are_paths(list, FEW);
        let is_so = |it: &String| ends_with(it, end);
        assert!(list.iter().all(is_so), "not ending with {end:?}: {list:?}");
    }
    let folders = paths.iter().filter_map(|it| Some(it.rsplit_once('/')?.0));
    let folders: Vec<String> = folders.map(str::to_owned).collect();
    let lists = store.below(&folders, FEW).await.expect("paths");
    assert_eq!(lists.len(), folders.len(), "one list for each folder");
    for list in &lists {
        are_paths(list, FEW);
    }
    let whole = paths.iter().map(PartQuery::new);
    let first = |it: &Hit| PartQuery::new(&it.path).at(it.span.start());
    let around = |it: &Hit| PartQuery::new(&it.path).overlapping(it.span);
    let narrow = found.iter().flat_map(|it| [first(it), around(it)]);
    let wanted: Vec<PartQuery> = whole.chain(narrow).collect();
    let lists = store.parts_of(&wanted, FEW).await.expect("parts");
    assert_eq!(lists.len(), wanted.len(), "one list for each file");
    for (query, list) in wanted.iter().zip(&lists) {
        are_parts(list, query);
    }
}

#[track_caller]
fn are_paths(list: &[String], limit: usize) {
    assert!(list.len() <= limit, "{} paths of {limit}", list.len());
    let once: BTreeSet<&String> = list.iter().collect();
    assert_eq!(once.len(), list.len(), "each path once: {list:?}");
}

#[track_caller]
fn are_parts(list: &[Hit], query: &PartQuery) {
    assert!(list.len() <= FEW, "{} parts of {FEW}", list.len());
    let is_met_by = |it: &Hit| query.is_met_by(it);
    assert!(list.iter().all(is_met_by), "not {query:?}: {list:?}");
    let start = |it: &Hit| Part::key(it).1;
    assert!(list.is_sorted_by_key(start), "by lines: {list:?}");
}

fn ends_with(path: &str, end: &str) -> bool {
    let [path, end] = [path, end].map(|it| format!("/{}", it.to_lowercase()));
    path.ends_with(&end)
}
