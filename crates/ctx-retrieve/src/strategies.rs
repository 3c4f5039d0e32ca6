//! The ways to find something, one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use ctx_rank::{Frame, Name, Place, Query, Region, Role, Term};
use rapidhash::{RapidHashMap, RapidHashSet};

use crate::keys::ByPlace;
use crate::likeness::{likeness, transposed};
use crate::named::{below, called, may_name_files, parts_of};
use crate::options::{Strategy, Weights};
use crate::ports::{
    Answer, Changes, FileSearch, Hit, Part, PartQuery, PortError, Relations, TextQuery, Touched,
};

/// Parts that are asked for of files, or of what is called so.
pub(crate) const WIDE: usize = 400;
/// The heaviest terms, of which it is told how many a part holds.
const COVERED: usize = 24;
/// Files whose parts are looked at.
const FILES: usize = 20;
/// The best files of which every part is taken, whether it fits or not.
const WHOLE: usize = 8;
/// Names that are looked up.
const NAMES: usize = 48;
/// A name with more definitions than this is nobody's in particular.
const MOST_DEFINITIONS: usize = 40;
/// Places that are looked up.
const PLACES: usize = 48;
/// An end of paths that more files have says nothing.
pub(crate) const MOST_FILES: usize = 4;
/// A shorter name, in bytes, is like too many.
const SHORT: usize = 4;
/// Names have at least this share of their trigrams in common to be alike.
const LIKE: f64 = 0.4;
/// Names, of those that nothing has, whose mistakes are looked for.
const MISTYPED: usize = 8;
/// Places of earlier changes that are looked up.
const TOUCHED: usize = 200;
/// For each frame that is looked for, the parts that it is taken for.
pub(crate) type Traced = Vec<Vec<Arc<Part>>>;

/// What a call of a trace is worth.
const OF_FRAME: f64 = 0.7;
/// The best parts that relations are followed from.
pub(crate) const SEEDS: usize = 10;
/// What uses a name is not followed to its definition where there are more.
const MOST_DEFINED: usize = 8;
/// What defines a name is not followed to its users where there are more.
const MOST_USERS: usize = 16;

/// Whether `query` has anything that `strategy` could look for.
pub(crate) fn has_a_say(strategy: Strategy, query: &Query) -> bool {
    let has_places = !query.places.is_empty();
    match strategy {
        Strategy::Names => !query.names.is_empty(),
        Strategy::Places => has_places || may_name_files(query) || !query.frames.is_empty(),
        Strategy::Similar => has_places || !query.names.is_empty(),
        Strategy::Changes => !query.terms.is_empty(),
        Strategy::Text | Strategy::Coverage | Strategy::Files | Strategy::Relations => true,
    }
}

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
    wide: usize,
) -> Answer<Vec<Hit>> {
    let wanted = |terms| TextQuery::new(terms, weights.fields.clone(), wide);
    let whole = wanted(terms(query));
    let searches = if is_alike(&query.terms, &query.title) {
        vec![(search.passages(&whole).await?, 1.0 + weights.title)]
    } else {
        let first = wanted(weighted(&query.title));
        let (all, title) = tokio::try_join!(search.passages(&whole), search.passages(&first))?;
        vec![(all, 1.0), (title, weights.title)]
    };
    let mut found = Sum::default();
    for (hits, weight) in searches {
        let best = hits.first().map_or(0.0, |it| it.score);
        // 0 of 0 is no share, and would take what the other search says along.
        for hit in hits.into_iter().filter(|_| best > 0.0) {
            let score = weight * hit.score / best;
            found.add(&hit.part, score);
        }
    }
    Ok(found.hits)
}

/// Whether both ask for the same, each term worth as many times as much: a question of one line is its own title.
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

/// Parts of files by how many of the question's heaviest terms they hold: a long part that repeats one of them
/// holds no more than a short one that has it.
pub(crate) async fn coverage(
    search: &dyn FileSearch,
    query: &Query,
    weights: &Weights,
    wide: usize,
) -> Answer<Vec<Hit>> {
    let heaviest = &query.terms[..query.terms.len().min(COVERED)];
    let wanted = TextQuery::new(weighted(heaviest), weights.fields.clone(), wide);
    search.passages(&wanted.by_presence()).await
}

/// The best files, the parts in them that fit best, and the others of the very best: what is declared or
/// imported beside that which fits need not share a word with the question. The score of a part is that of its file.
pub(crate) async fn files(
    search: &dyn FileSearch,
    query: &Query,
    weights: &Weights,
    wide: usize,
) -> Answer<Vec<Hit>> {
    let wanted = TextQuery::new(terms(query), weights.file_fields.clone(), wide);
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
    let within = TextQuery::new(terms(query), weights.fields.clone(), wide).within(best);
    let (mut hits, all) = tokio::try_join!(
        search.passages(&within),
        search.parts_of(&whole_files, WIDE)
    )?;
    let all = of_each("files", &whole_files, all)?;
    let fitting: RapidHashSet<_> = hits.iter().map(|it| it.place()).collect();
    let mut others: Vec<Hit> = all.into_iter().flatten().collect();
    others.retain(|it| !fitting.contains(&it.place()));
    hits.extend(others);
    let scores = files.iter().take(FILES);
    let scores: RapidHashMap<&str, f64> = scores.map(|it| (&*it.path, it.score)).collect();
    for hit in &mut hits {
        hit.score = scores.get(&*hit.path).copied().unwrap_or(0.0);
    }
    // Files without a part among these keep their say over parts that others find.
    hits.extend(files.into_iter().map(|it| {
        if it.is_file() {
            it
        } else {
            Hit::new(Part::of_file(it.path.clone()), it.score)
        }
    }));
    Ok(hits)
}

/// Whether parts of the file at `path` are made of each other: a passage of a text that shares no word with the
/// question says nothing of it.
fn is_code(path: &str) -> bool {
    Role::of(path) != Role::Documentation
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
    let mut found = Sum::default();
    let names = &query.names[..query.names.len().min(NAMES)];
    let last = unique(names.iter().map(|it| &it.last));
    let answers = search.definitions(&last, MOST_DEFINITIONS + 1).await?;
    let of_name = by_question("names", &last, answers)?;
    for name in names {
        let hits = of_name.get(&name.last).map_or(&[][..], Vec::as_slice);
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
        for (hit, is_exact) in hits.iter().zip(exactly) {
            let share = if has_exact && !is_exact { 0.2 } else { 1.0 };
            #[expect(clippy::cast_precision_loss, reason = "there are at most 40")]
            let score = worth(name) * share / (count as f64).sqrt();
            found.add(&hit.part, score);
        }
    }
    Ok(found.hits)
}

/// Each of `questions` once, in the order met.
fn unique<'q, T: Ord + Clone + 'q>(questions: impl Iterator<Item = &'q T>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    questions.filter(|&it| seen.insert(it)).cloned().collect()
}

/// What a port said to each of `questions`, which are `kind`.
fn by_question<'q, Q: Ord, A>(
    kind: &str,
    questions: &'q [Q],
    answers: Vec<A>,
) -> Answer<BTreeMap<&'q Q, A>> {
    let answers = of_each(kind, questions, answers)?;
    Ok(questions.iter().zip(answers).collect())
}

/// The `answers` of a port, if they are one for each of `questions`: with fewer or more nobody knows which is whose.
pub(crate) fn of_each<Q, A>(kind: &str, questions: &[Q], answers: Vec<A>) -> Answer<Vec<A>> {
    let (answered, asked) = (answers.len(), questions.len());
    if answered != asked {
        return Err(PortError::new(format!(
            "it answered {answered} of {asked} {kind}"
        )));
    }
    Ok(answers)
}

/// Parts, each with the sum of what was said for it, in the order met: so sums are of the same numbers in the same
/// order every time.
#[derive(Default)]
struct Sum {
    hits: Vec<Hit>,
    /// Where each is among them.
    numbers: RapidHashMap<ByPlace, usize>,
}

impl Sum {
    fn add(&mut self, part: &Arc<Part>, score: f64) {
        let next = self.hits.len();
        let number = self.numbers.entry(ByPlace(Arc::clone(part)));
        let number = *number.or_insert(next);
        if number == next {
            self.hits.push(Hit::new(Arc::clone(part), score));
        } else {
            self.hits[number].score += score;
        }
    }
}

/// Files, lines and frames that the question names, and files that it may name. To `traced` comes what the frames were taken for.
pub(crate) async fn places(
    search: &dyn FileSearch,
    query: &Query,
    traced: &OnceLock<Traced>,
) -> Answer<Vec<Hit>> {
    let (mut hits, called, below) = tokio::try_join!(
        written(search, query, traced),
        called(search, query),
        below(search, query)
    )?;
    hits.extend(called);
    hits.extend(below);
    Ok(hits)
}

/// Files, lines and frames that the question names. A frame nearer to the fault is worth more.
async fn written(
    search: &dyn FileSearch,
    query: &Query,
    traced: &OnceLock<Traced>,
) -> Answer<Vec<Hit>> {
    let places = &query.places[..query.places.len().min(PLACES)];
    let frames = &query.frames[..query.frames.len().min(PLACES)];
    let named = places.iter().map(|it| &it.path);
    let called = frames.iter().filter_map(|it| it.path.as_ref());
    let paths = unique(named.chain(called));
    let files = files_at(search, &paths).await?;
    let at = |path: &String| files.get(path).map_or(&[][..], Vec::as_slice);
    let of_place = |it: &Place| -> Vec<PartQuery> {
        let files = at(&it.path).iter();
        files.map(|path| place_in(path, it)).collect()
    };
    let of_frame = |it: &Frame| -> Vec<PartQuery> {
        let files = it.path.as_ref().map_or(&[][..], at).iter();
        files.filter_map(|path| frame_in(path, it)).collect()
    };
    let wanted: Vec<PartQuery> = (places.iter().flat_map(of_place))
        .chain(frames.iter().flat_map(of_frame))
        .collect();
    let wanted = unique(wanted.iter());
    let astray = frames.iter().filter(|it| of_frame(it).is_empty());
    let functions = astray.filter_map(|it| it.function.as_deref().map(last_name));
    let functions: Vec<String> = functions.collect();
    let functions = unique(functions.iter());
    let (answers, of_functions) =
        tokio::try_join!(search.parts_of(&wanted, WIDE), by_name(search, &functions))?;
    let parts = by_question("places", &wanted, answers)?;
    let taken_for = |frame: &Frame| -> Vec<Arc<Part>> {
        let wanted = of_frame(frame);
        let by_place = wanted.iter().filter_map(|it| parts.get(it)).flatten();
        let name = frame.function.as_deref().map(last_name);
        let name = name.filter(|_| wanted.is_empty());
        let number = name.and_then(|name| functions.iter().position(|it| *it == name));
        let by_name = number.and_then(|it| of_functions.get(it));
        let hits = by_place.chain(by_name.into_iter().flatten());
        hits.map(|it| Arc::clone(&it.part)).collect()
    };
    // Nobody else asks for this question.
    let _ = traced.set(frames.iter().map(taken_for).collect());
    let (mut found, mut named) = (Sum::default(), BTreeSet::new());
    for place in places {
        let worth = if place.line.is_some() { 1.0 } else { 0.3 };
        for query in of_place(place) {
            let hits = parts.get(&query).into_iter().flatten();
            hits.for_each(|hit| found.add(&hit.part, worth));
            named.insert(query.path);
        }
    }
    for query in frames.iter().flat_map(of_frame) {
        let hits = parts.get(&query).into_iter().flatten();
        hits.for_each(|hit| found.add(&hit.part, OF_FRAME));
    }
    for hits in of_functions {
        #[expect(clippy::cast_precision_loss, reason = "there are at most 40")]
        let share = OF_FRAME / (hits.len() as f64).sqrt();
        for hit in &hits {
            found.add(&hit.part, share);
        }
    }
    let mut hits = found.hits;
    let named = named.into_iter().map(Part::of_file);
    hits.extend(named.map(|it| Hit::new(it, 0.3)));
    Ok(hits)
}

/// Definitions of each of `names`, none where they are nobody's in particular: compiled code has other files than what it was
/// made of, and the same names.
async fn by_name(search: &dyn FileSearch, names: &[String]) -> Answer<Vec<Vec<Hit>>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let answers = search.definitions(names, MOST_DEFINITIONS + 1).await?;
    let mut answers = of_each("names", names, answers)?;
    for answer in answers.iter_mut().filter(|it| it.len() > MOST_DEFINITIONS) {
        answer.clear();
    }
    Ok(answers)
}

/// What `place` means in the file at `path`.
fn place_in(path: &str, place: &Place) -> PartQuery {
    let mut query = PartQuery::new(path);
    query.line = place.line;
    query
}

/// What `frame` means in the file at `path`. The report may be of another version: the function tells more than
/// the line.
fn frame_in(path: &str, frame: &Frame) -> Option<PartQuery> {
    let query = PartQuery::new(path);
    match (&frame.function, frame.line) {
        (Some(function), _) => Some(query.called(last_name(function))),
        (None, Some(line)) => Some(query.at(line)),
        (None, None) => None,
    }
}

/// `f` of `a::b::f` and `C.f`.
fn last_name(function: &str) -> String {
    let last = function.rsplit(['.', ':']).next();
    last.unwrap_or(function).to_owned()
}

/// The files that each of `paths`, of another machine, may mean: those with the longest end in common.
async fn files_at(
    search: &dyn FileSearch,
    paths: &[String],
) -> Answer<BTreeMap<String, Vec<String>>> {
    let mut files = BTreeMap::new();
    let end = |path: &String| (path.clone(), path.trim_start_matches('/').to_owned());
    let mut open: Vec<(String, String)> = paths.iter().map(end).collect();
    while !open.is_empty() {
        let ends = unique(open.iter().map(|(_, end)| end));
        let answers = search.ending_with(&ends, MOST_FILES + 1).await?;
        let found = by_question("ends of paths", &ends, answers)?;
        let mut longer = Vec::new();
        for (path, end) in &open {
            match found.get(end).map_or(&[][..], Vec::as_slice) {
                [] => longer.extend(
                    end.split_once('/')
                        .map(|(_, rest)| (path.clone(), rest.to_owned())),
                ),
                // A name that many files have says nothing.
                found if found.len() > MOST_FILES => {}
                found => drop(files.insert(path.clone(), found.to_vec())),
            }
        }
        open = longer;
    }
    Ok(files)
}

/// Names that are nearly those in the question, where those are of nothing; and of files, all parts.
pub(crate) async fn similar(search: &dyn FileSearch, query: &Query) -> Answer<Vec<Hit>> {
    let names = query.names.iter().take(NAMES / 2).map(|it| &it.last);
    let mut unknown = unique(names.filter(|it| it.len() > SHORT));
    let definitions = search.definitions(&unknown, 1).await?;
    let mut definitions = of_each("names", &unknown, definitions)?.into_iter();
    unknown.retain(|_| definitions.next().is_none_or(|it| it.is_empty()));
    let files = unknown_files(search, query).await?;
    let (mut hits, near) = tokio::try_join!(alike(search, &unknown), nearly(search, &files))?;
    hits.extend(near);
    with_parts(search, hits).await
}

/// `hits`, and all parts of the first files among them.
async fn with_parts(search: &dyn FileSearch, mut hits: Vec<Hit>) -> Answer<Vec<Hit>> {
    let files = hits.iter().filter(|it| it.is_file());
    let files = files.take(MOST_FILES).map(|it| (it.path.clone(), it.score));
    let parts = parts_of(search, files.collect()).await?;
    hits.extend(parts);
    Ok(hits)
}

/// What is called nearly like a word of a question that was typed as it came to mind.
pub(crate) async fn misspelt(search: &dyn FileSearch, query: &Query) -> Answer<Vec<Hit>> {
    let words = query.words().filter(|it| it.len() > SHORT);
    let words: Vec<String> = words.map(str::to_owned).collect();
    let words = unique(words.iter());
    let near = nearly(search, &words).await?;
    with_parts(search, near).await
}

/// What is called enough like one of `names`.
async fn alike(search: &dyn FileSearch, names: &[String]) -> Answer<Vec<Hit>> {
    let mut hits = search.similar(names, WIDE / 4).await?;
    hits.retain(|hit| hit.score >= LIKE);
    Ok(hits)
}

/// What is called like one of `names` but for a mistake, the likest first: two letters in the wrong order leave a short name few
/// trigrams. Where nothing is, what is called enough like one of them.
async fn nearly(search: &dyn FileSearch, names: &[String]) -> Answer<Vec<Hit>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mistyped = &names[..names.len().min(MISTYPED)];
    let short = mistyped.iter().flat_map(|it| transposed(it));
    let tried: Vec<String> = names.iter().cloned().chain(short).collect();
    let mut hits = search.similar(&tried, WIDE).await?;
    let like = |hit: &Hit| {
        let called = match hit.name.as_deref() {
            _ if hit.is_file() => hit.path.rsplit('/').next(),
            name => name,
        }?;
        let like = mistyped.iter().filter_map(|it| likeness(it, called));
        like.reduce(f64::max)
    };
    let likes: Vec<Option<f64>> = hits.iter().map(like).collect();
    let has_mistakes = likes.iter().any(Option::is_some);
    for (hit, like) in hits.iter_mut().zip(likes) {
        hit.score = match like {
            // With letters that are swapped back it is the name itself.
            Some(like) => hit.score.max(like),
            None if has_mistakes => 0.0,
            None => hit.score,
        };
    }
    hits.retain(|hit| hit.score >= LIKE);
    hits.sort_by(|a, b| {
        let by_place = || a.place().cmp(&b.place());
        b.score.total_cmp(&a.score).then_with(by_place)
    });
    Ok(hits)
}

/// The names of files in the question that no file has.
async fn unknown_files(search: &dyn FileSearch, query: &Query) -> Answer<Vec<String>> {
    let places = query.places.iter().take(PLACES);
    let named = unique(places.map(|it| &it.path));
    let ends = named.iter().map(|it| it.rsplit('/').next().unwrap_or(it));
    let mut ends: Vec<String> = ends.map(str::to_owned).collect();
    if ends.is_empty() {
        return Ok(ends);
    }
    let found = search.ending_with(&ends, 1).await?;
    let mut found = of_each("ends of paths", &ends, found)?.into_iter();
    ends.retain(|it| found.next().is_none_or(|it| it.is_empty()) && it.len() > SHORT);
    Ok(ends)
}

/// What earlier changes touched whose messages fit: what a report tells of, somebody said before in the words of
/// reports, of code that may share none of them.
pub(crate) async fn changes(
    search: &dyn FileSearch,
    changes: &dyn Changes,
    query: &Query,
) -> Answer<Vec<Hit>> {
    let touched = changes.touched(&terms(query), TOUCHED).await?;
    let paths = unique(touched.iter().map(|it| &it.path));
    let wanted: Vec<PartQuery> = paths.iter().map(PartQuery::new).collect();
    let answers = search.parts_of(&wanted, WIDE).await?;
    let called = by_question("files", &paths, answers)?.into_iter();
    let called: BTreeMap<&String, Called> =
        called.map(|(path, it)| (path, Called::of(it))).collect();
    let of_place = |it: &Touched| {
        let named = called.get(&it.path).map(|parts| parts.first(&it.names));
        let score = it.score;
        let named = named.unwrap_or_default().into_iter();
        named.map(move |part| Hit::new(part, score))
    };
    Ok(touched.iter().flat_map(of_place).collect())
}

/// The parts of a file, by what they are called.
struct Called(RapidHashMap<String, Vec<Arc<Part>>>);

impl Called {
    fn of(parts: Vec<Hit>) -> Self {
        let mut called: RapidHashMap<String, Vec<Arc<Part>>> = RapidHashMap::default();
        for hit in parts {
            if let Some(name) = &hit.name {
                called.entry(name.clone()).or_default().push(hit.part);
            }
        }
        Called(called)
    }

    /// Those called by the first of `names` that any is called by; of several, those that are in what another of the names is,
    /// where some are.
    fn first(&self, names: &[String]) -> Vec<Arc<Part>> {
        let mut names = names.iter();
        let found = names.by_ref().find_map(|name| self.0.get(name));
        let mut found = found.cloned().unwrap_or_default();
        if found.len() > 1 {
            let outer: Vec<&String> = names.collect();
            let is_within = |it: &Arc<Part>| {
                let qualified = it.qualified_name.as_deref().unwrap_or_default();
                let is_of_name = |it: char| it.is_alphanumeric() || it == '_' || it == '$';
                let mut around = qualified.rsplit(|it| !is_of_name(it)).skip(1);
                around.any(|it| outer.iter().any(|name| *name == it))
            };
            if found.iter().any(is_within) {
                found.retain(is_within);
            }
        }
        found
    }
}

/// What uses, and what is used by, `best`.
pub(crate) async fn relations(
    search: &dyn FileSearch,
    relations: &dyn Relations,
    best: &[Hit],
) -> Answer<Vec<Hit>> {
    let used = unique(best.iter().flat_map(|hit| &hit.refers_to));
    let names = unique(best.iter().filter_map(|hit| hit.name.as_ref()));
    if used.is_empty() && names.is_empty() {
        return Ok(Vec::new());
    }
    let (definitions, users) = tokio::try_join!(
        search.definitions(&used, MOST_DEFINED + 1),
        relations.users_of(&names, MOST_USERS + 1)
    )?;
    let definitions = by_question("names", &used, definitions)?;
    let users = by_question("names", &names, users)?;
    let mut found = Sum::default();
    for hit in best {
        for name in &hit.refers_to {
            spread(&mut found, definitions.get(name), hit.score, MOST_DEFINED);
        }
        if let Some(name) = &hit.name {
            spread(&mut found, users.get(name), hit.score, MOST_USERS);
        }
    }
    Ok(found.hits)
}

/// Shares `score` among `hits`, if they are at most `most`.
fn spread(found: &mut Sum, hits: Option<&Vec<Hit>>, score: f64, most: usize) {
    let Some(hits) = hits.filter(|it| it.len() <= most) else {
        return;
    };
    #[expect(clippy::cast_precision_loss, reason = "there are at most 16")]
    let share = score / hits.len().max(1) as f64;
    for hit in hits {
        found.add(&hit.part, share);
    }
}
