//! The ways to find something, one by one.

use std::collections::BTreeMap;

use ctx_rank::{Name, Query, Region, Term};

use crate::options::Weights;
use crate::ports::{Answer, FileSearch, Hit, Key, Relations, TextQuery};

/// Parts that each search asks for.
const WIDE: usize = 400;
/// Files whose parts are looked at.
const FILES: usize = 20;
/// Names that are looked up.
const NAMES: usize = 48;
/// A name with more definitions than this is nobody's in particular.
const MOST_DEFINITIONS: usize = 40;
/// Places that are looked up.
const PLACES: usize = 48;
/// The best parts that relations are followed from.
const SEEDS: usize = 10;

fn weighted(terms: &[Term]) -> Vec<(String, f32)> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a score of f32 is no finer"
    )]
    terms
        .iter()
        .map(|it| (it.text.clone(), it.weight as f32))
        .collect()
}

fn terms(query: &Query) -> Vec<(String, f32)> {
    weighted(&query.terms)
}

/// Parts of files by their text: by all of the question, and by its first line, which says what it is about.
pub(crate) async fn text(
    search: &dyn FileSearch,
    query: &Query,
    weights: &Weights,
) -> Answer<Vec<Hit>> {
    let all = search
        .passages(&TextQuery::new(terms(query), weights.fields.clone(), WIDE))
        .await?;
    let title = search
        .passages(&TextQuery::new(
            weighted(&query.title),
            weights.fields.clone(),
            WIDE,
        ))
        .await?;
    let mut found: BTreeMap<Key, Hit> = BTreeMap::new();
    for (hits, weight) in [(all, 1.0), (title, weights.title)] {
        let best = hits.first().map_or(0.0, |it| it.score);
        // 0 of 0 is no share, and would take what the other search says along.
        for hit in hits.into_iter().filter(|_| best > 0.0) {
            let score = weight * hit.score / best;
            add(&mut found, hit, score);
        }
    }
    Ok(in_order(found))
}

/// The best files, and the parts in them that fit best. The score of a part is that of its file.
pub(crate) async fn files(
    search: &dyn FileSearch,
    query: &Query,
    weights: &Weights,
) -> Answer<Vec<Hit>> {
    let wanted = TextQuery::new(terms(query), weights.file_fields.clone(), WIDE);
    let files = search.files(&wanted).await?;
    let scores: BTreeMap<&str, f64> = files
        .iter()
        .map(|(path, score)| (path.as_str(), *score))
        .collect();
    let best: Vec<String> = files
        .iter()
        .take(FILES)
        .map(|(path, _)| path.clone())
        .collect();
    if best.is_empty() {
        return Ok(Vec::new());
    }
    let within = TextQuery::new(terms(query), weights.fields.clone(), WIDE).within(best);
    let mut hits = search.passages(&within).await?;
    for hit in &mut hits {
        hit.score = scores.get(hit.path.as_str()).copied().unwrap_or(0.0);
    }
    // Files without a part among these keep their say over parts that others find.
    let named: Vec<Hit> = files
        .into_iter()
        .map(|(path, score)| whole(path, score))
        .collect();
    hits.extend(named);
    Ok(hits)
}

/// A hit that stands for a file.
fn whole(path: String, score: f64) -> Hit {
    let first = ctx_model::LineSpan::new(1, 1).expect("1 is not before 1");
    let mut hit = Hit::new(path, first, score);
    "file".clone_into(&mut hit.kind);
    hit
}

/// What an identifier of the question is worth by where it stands.
fn worth(name: &Name) -> f64 {
    match name.region {
        Region::Title => 1.5,
        Region::InlineCode => 1.0,
        Region::Prose => 0.8,
        Region::Trace => 0.5,
        _ => 0.3,
    }
}

/// Definitions of the names in the question: each shares its worth among those that bear it.
pub(crate) async fn names(search: &dyn FileSearch, query: &Query) -> Answer<Vec<Hit>> {
    let mut found: BTreeMap<Key, Hit> = BTreeMap::new();
    for name in query.names.iter().take(NAMES) {
        let hits = search
            .definitions(std::slice::from_ref(&name.last), MOST_DEFINITIONS + 1)
            .await?;
        if hits.len() > MOST_DEFINITIONS {
            continue;
        }
        let is_within = |hit: &Hit| {
            let within = name.within.as_deref().filter(|it| it.len() > 2);
            let qualified = hit.qualified_name.as_deref().unwrap_or_default();
            within.is_some_and(|it| qualified.contains(it) || hit.path.contains(&it.to_lowercase()))
        };
        let exactly: Vec<bool> = hits.iter().map(is_within).collect();
        let has_exact = exactly.contains(&true);
        let count = exactly.iter().filter(|&&it| it || !has_exact).count();
        for (hit, is_exact) in hits.into_iter().zip(exactly) {
            let share = if has_exact && !is_exact { 0.2 } else { 1.0 };
            #[expect(clippy::cast_precision_loss, reason = "there are at most 40")]
            let score = worth(name) * share / (count as f64).sqrt();
            add(&mut found, hit, score);
        }
    }
    Ok(in_order(found))
}

fn add(found: &mut BTreeMap<Key, Hit>, mut hit: Hit, score: f64) {
    if let Some(known) = found.get_mut(&hit.key()) {
        known.score += score;
    } else {
        hit.score = score;
        found.insert(hit.key(), hit);
    }
}

fn in_order(found: BTreeMap<Key, Hit>) -> Vec<Hit> {
    let mut hits: Vec<Hit> = found.into_values().collect();
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    hits
}

/// Files, lines and frames that the question names. A frame nearer to the fault is worth more.
pub(crate) async fn places(search: &dyn FileSearch, query: &Query) -> Answer<Vec<Hit>> {
    let mut found: BTreeMap<Key, Hit> = BTreeMap::new();
    for place in query.places.iter().take(PLACES) {
        for path in files_at(search, &place.path).await? {
            for hit in search.parts_of(&path, place.line, WIDE).await? {
                add(
                    &mut found,
                    hit,
                    if place.line.is_some() { 1.0 } else { 0.3 },
                );
            }
            found.insert((path.as_str().into(), 0, 0), whole(path, 0.3));
        }
    }
    for frame in query.frames.iter().take(PLACES) {
        let Some(path) = &frame.path else {
            continue;
        };
        let function = frame
            .function
            .as_deref()
            .map(|it| it.rsplit(['.', ':']).next().unwrap_or(it));
        for path in files_at(search, path).await? {
            let parts = search.parts_of(&path, None, WIDE * 4).await?;
            for hit in parts {
                // The report may be of another version: the function tells more than the line.
                let is_named = function.is_some() && hit.name.as_deref() == function;
                let is_there = function.is_none()
                    && frame
                        .line
                        .is_some_and(|it| hit.span.start() <= it && it <= hit.span.end());
                if is_named || is_there {
                    add(&mut found, hit, 0.7);
                }
            }
        }
    }
    Ok(in_order(found))
}

/// The files that a path of another machine may mean: those with the longest end in common.
async fn files_at(search: &dyn FileSearch, path: &str) -> Answer<Vec<String>> {
    let mut end = path.trim_start_matches('/');
    loop {
        let found = search.ending_with(end, 5).await?;
        // A name that many files have says nothing.
        if found.len() > 4 {
            return Ok(Vec::new());
        }
        if !found.is_empty() {
            return Ok(found);
        }
        match end.split_once('/') {
            Some((_, rest)) => end = rest,
            None => return Ok(Vec::new()),
        }
    }
}

/// Names that are nearly those in the question, where those are of nothing.
pub(crate) async fn similar(search: &dyn FileSearch, query: &Query) -> Answer<Vec<Hit>> {
    let mut unknown = Vec::new();
    for name in query.names.iter().take(NAMES / 2) {
        if name.last.len() > 4
            && search
                .definitions(std::slice::from_ref(&name.last), 1)
                .await?
                .is_empty()
        {
            unknown.push(name.last.clone());
        }
    }
    let mut hits = search.similar(&unknown, WIDE / 4).await?;
    hits.retain(|hit| hit.score >= 0.4);
    Ok(hits)
}

/// What uses, and what is used by, `best`, which come with their scores.
pub(crate) async fn relations(
    search: &dyn FileSearch,
    relations: &dyn Relations,
    best: &[(Hit, f64)],
) -> Answer<Vec<Hit>> {
    let mut found: BTreeMap<Key, Hit> = BTreeMap::new();
    for (hit, score) in best.iter().take(SEEDS) {
        for name in &hit.refers_to {
            let definitions = search.definitions(std::slice::from_ref(name), 9).await?;
            spread(&mut found, definitions, *score, 8);
        }
        if let Some(name) = &hit.name {
            let users = relations.users_of(std::slice::from_ref(name), 17).await?;
            spread(&mut found, users, *score, 16);
        }
    }
    Ok(in_order(found))
}

/// Shares `score` among `hits`, if they are at most `most`.
fn spread(found: &mut BTreeMap<Key, Hit>, hits: Vec<Hit>, score: f64, most: usize) {
    if hits.len() > most {
        return;
    }
    #[expect(clippy::cast_precision_loss, reason = "there are at most 16")]
    let share = score / hits.len().max(1) as f64;
    for hit in hits {
        add(found, hit, share);
    }
}
