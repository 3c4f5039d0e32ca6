//! Parts and files by their text.

use ctx_model::PartKind;
use ctx_rank::{Query, Role, Term};
use rapidhash::{RapidHashMap, RapidHashSet};

use super::{Sum, WIDE, of_each, terms, weighted};
use crate::options::Weights;
use crate::ports::{FileSearch, Hit, Part, PartQuery, PortResult, TextQuery};

/// The most terms whose presence is counted, the heaviest ones.
const COVERED: usize = 24;
/// The most files whose parts are searched.
const FILES: usize = 20;
/// Extensions of files whose lines are independent of each other.
const TABLES: [&str; 6] = ["csv", "ipynb", "jsonl", "log", "ndjson", "tsv"];
/// The number of best files whose parts are all taken, matching or not.
const WHOLE: usize = 8;
/// How many times deeper each further search for parts of the wanted kinds goes, and the most parts
/// that it requests.
const DEEPER: usize = 5;
const DEEPEST: usize = 10_000;

/// How many parts are requested from a search.
#[derive(Clone, Debug)]
pub(crate) struct Depth {
    /// The most parts of any kind.
    pub(crate) wide: usize,
    /// The kinds that are wanted; all if empty.
    pub(crate) kinds: Vec<PartKind>,
    /// How many parts of these kinds are enough.
    pub(crate) enough: usize,
}

impl Depth {
    /// The parts that match `wanted` best. If there are too few of the wanted kinds among them,
    /// those that deeper searches find follow: parts of a rare kind may rank behind hundreds of
    /// others, and would all be missed.
    async fn passages(&self, search: &dyn FileSearch, wanted: TextQuery) -> PortResult<Vec<Hit>> {
        let mut hits = search.passages(&wanted).await?;
        if self.kinds.is_empty() {
            return Ok(hits);
        }
        let is_wanted = |it: &Hit| self.kinds.contains(&it.kind);
        let deepest = DEEPEST.min(search.longest_list());
        let (mut wanted, mut answered) = (wanted, hits.len());
        // A store may leave some out whose scores equal the last, but not half of a list.
        while wanted.limit < deepest
            && answered >= wanted.limit / 2
            && hits.iter().filter(|&it| is_wanted(it)).count() < self.enough
        {
            wanted.limit = (wanted.limit * DEEPER).min(deepest);
            let mut deeper = search.passages(&wanted).await?;
            answered = deeper.len();
            let known: RapidHashSet<_> = hits.iter().map(|it| it.key()).collect();
            deeper.retain(|it| is_wanted(it) && !known.contains(&it.key()));
            hits.extend(deeper);
        }
        Ok(hits)
    }
}

/// Finds parts of files by their text: by the whole question, and by its first line, which has its
/// topic.
pub(crate) async fn text(
    search: &dyn FileSearch,
    query: &Query,
    weights: &Weights,
    depth: &Depth,
) -> PortResult<Vec<Hit>> {
    let wanted = |terms| TextQuery::new(terms, weights.fields.clone(), depth.wide);
    let whole = wanted(terms(query));
    let searches = if is_alike(&query.terms, &query.title) {
        vec![(depth.passages(search, whole).await?, 1.0 + weights.title)]
    } else {
        let first = wanted(weighted(&query.title));
        let (whole, first) = (depth.passages(search, whole), depth.passages(search, first));
        let (all, title) = tokio::try_join!(whole, first)?;
        vec![(all, 1.0), (title, weights.title)]
    };
    let mut found = Sum::default();
    for (hits, weight) in searches {
        let best = hits.first().map_or(0.0, |it| it.score);
        // A best score of 0 has no shares; NaN would spoil the sum with the other search.
        for hit in hits.into_iter().filter(|_| best > 0.0) {
            let score = weight * hit.score / best;
            found.add(&hit.part, score);
        }
    }
    Ok(found.hits)
}

/// Whether both have the same terms with proportional weights: a question of one line is its own
/// title.
fn is_alike(all: &[Term], title: &[Term]) -> bool {
    let (Some(first), Some(first_of_title)) = (all.first(), title.first()) else {
        return false;
    };
    let times = first.weight / first_of_title.weight;
    let is_same = |(one, other): (&Term, &Term)| {
        one.text == other.text && (one.weight / other.weight / times - 1.0).abs() < 1e-6
    };
    all.len() == title.len() && all.iter().zip(title).all(is_same)
}

/// Finds parts of files by how many of the question's heaviest terms they have: a long part that
/// repeats one of them counts no more than a short one that has it.
pub(crate) async fn coverage(
    search: &dyn FileSearch,
    query: &Query,
    weights: &Weights,
    depth: &Depth,
) -> PortResult<Vec<Hit>> {
    let heaviest = &query.terms[..query.terms.len().min(COVERED)];
    let wanted = TextQuery::new(weighted(heaviest), weights.fields.clone(), depth.wide);
    depth.passages(search, wanted.by_presence()).await
}

/// Finds the best files, their best-matching parts, and all parts of the very best files: a
/// declaration or an import beside a match need not share a word with the question. The score of a
/// part is that of its file.
pub(crate) async fn files(
    search: &dyn FileSearch,
    query: &Query,
    weights: &Weights,
    depth: &Depth,
) -> PortResult<Vec<Hit>> {
    let wanted = TextQuery::new(terms(query), weights.file_fields.clone(), depth.wide);
    let files = search.files(&wanted).await?;
    let best: Vec<String> = (files.iter().take(FILES))
        .map(|it| it.path.clone())
        .collect();
    if best.is_empty() {
        return Ok(Vec::new());
    }
    let whole_files: Vec<PartQuery> = best
        .iter()
        .filter(|it| is_code(it))
        .take(WHOLE)
        .map(PartQuery::new)
        .collect();
    let within = TextQuery::new(terms(query), weights.fields.clone(), depth.wide).within(best);
    let (mut hits, all) = tokio::try_join!(
        depth.passages(search, within),
        search.parts_of(&whole_files, WIDE)
    )?;
    let all = of_each("files", &whole_files, all)?;
    let fitting: RapidHashSet<_> = hits.iter().map(|it| it.key()).collect();
    let mut others: Vec<Hit> = all.into_iter().flatten().collect();
    others.retain(|it| !fitting.contains(&it.key()));
    hits.extend(others);
    let scores = files.iter().take(FILES);
    let scores: RapidHashMap<&str, f64> = scores.map(|it| (&*it.path, it.score)).collect();
    for hit in &mut hits {
        hit.score = scores.get(&*hit.path).copied().unwrap_or(0.0);
    }
    // Files without a part here still contribute to parts that other strategies find.
    hits.extend(files.into_iter().map(|it| {
        if it.is_file() {
            it
        } else {
            Hit::new(Part::of_file(it.path.clone()), it.score)
        }
    }));
    Ok(hits)
}

/// Whether the parts of the file at `path` depend on each other: a passage of a document that
/// shares no word with the question is unrelated to it, and so is a row of a table, a cell of a
/// notebook or an entry of a log.
fn is_code(path: &str) -> bool {
    // A log that was rotated has a number or a date after its extension.
    let name = path.trim_end_matches(|it: char| it.is_ascii_digit() || "-_.".contains(it));
    let extension = name.rsplit_once('.').map_or("", |(_, it)| it);
    let is_table = TABLES.iter().any(|it| it.eq_ignore_ascii_case(extension));
    !is_table && Role::of(path) != Role::Documentation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_notebooks_logs_and_documents_are_no_code() {
        for path in [
            "a/orders.csv",
            "a.TSV",
            "log.jsonl",
            "plot.ipynb",
            "server.log",
            "server.log.1",
            "notes.md",
        ] {
            assert!(!is_code(path), "{path}");
        }
        assert!(is_code("src/csv.rs") && is_code("Makefile") && is_code("src/log.rs"));
    }
}
