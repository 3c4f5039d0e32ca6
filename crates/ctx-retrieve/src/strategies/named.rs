//! Files that a question names by a folder, a pattern, or a name without an extension, any of which
//! may also be an ordinary word.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use ctx_model::{Warning, WarningCode};
use ctx_rank::{Analyzer, FRONT_FILES, Intent, Query};

use super::pattern::fits;
use super::{MOST_FILES, WIDE, of_each, parts_of};
use crate::paths::{composed, files_below, files_ending_with, is_same_path};
use crate::ports::{Field, FileSearch, Hit, Part, PartQuery, PortResult, TextQuery};

/// The most folders that are looked up, besides those of several words.
const FOLDERS: usize = 8;
/// A folder with more files than this is ignored.
const MOST_BELOW: usize = 100;
/// The most files of a folder or pattern whose parts are all taken in a typed question; otherwise
/// the files only raise other results.
const WHOLE: usize = 40;
/// The score of a file in a folder: a third of one that is named.
const OF_FOLDER: f64 = 0.1;
/// The most patterns that are looked up.
const PATTERNS: usize = 4;
/// The most names that are looked up.
const NAMES: usize = 16;
/// Extensions that may be omitted in names of documents.
const EXTENSIONS: [&str; 6] = ["adoc", "markdown", "md", "rdoc", "rst", "txt"];
/// The score of a file that is named.
const OF_NAME: f64 = 0.3;

/// Whether `query` has anything that may be a folder, a pattern, or a file without an extension.
pub(crate) fn may_name_files(query: &Query) -> bool {
    !query.mentions.folders.is_empty()
        || !query.mentions.file_names.is_empty()
        || !query.mentions.patterns.is_empty()
}

/// The files among `paths` that are all that `query` asks for: those it names, if it asks for
/// nothing else. A file whose whole path equals the name wins over files in folders.
pub(crate) fn asked_for_alone<'p>(
    query: &Query,
    paths: impl Iterator<Item = &'p str>,
) -> BTreeSet<&'p str> {
    let mut ends: Vec<String> = query
        .spaced_names_alone()
        .iter()
        .flat_map(with_extensions)
        .collect();
    if query.asks_for(Intent::Files) {
        ends.extend(query.mentions.file_names.iter().flat_map(with_extensions));
        ends.extend(query.mentions.files.iter().map(|it| it.path.clone()));
    }
    if ends.is_empty() {
        return BTreeSet::new();
    }
    let ends: Vec<Cow<'_, str>> = ends.iter().map(|it| composed(it)).collect();
    let is_end = |path: &str, end: &str| {
        let start = path.len().checked_sub(end.len())?;
        let is_it = path.get(start..)?.eq_ignore_ascii_case(end);
        (is_it && (start == 0 || path[..start].ends_with('/'))).then_some(start)
    };
    let (mut whole, mut ending) = (BTreeSet::new(), BTreeSet::new());
    for path in paths {
        let own = composed(path);
        match ends.iter().filter_map(|end| is_end(&own, end)).min() {
            Some(0) => whole.insert(path),
            Some(_) => ending.insert(path),
            None => false,
        };
    }
    if !whole.is_empty() {
        whole
    } else if ending.len() <= MOST_FILES {
        ending
    } else {
        BTreeSet::new()
    }
}

/// The contributions to a part of a file.
pub(crate) struct Contributions<'p> {
    pub(crate) path: &'p str,
    pub(crate) is_document: bool,
    /// The contribution for having a name similar to one in the question.
    pub(crate) similar: f64,
    /// The contribution for having a name, or being mentioned, in the question.
    pub(crate) mentions: f64,
    /// The sum of all other contributions.
    pub(crate) others: f64,
}

/// The documents that `query` names with a mistake, if it asks for nothing else: the most similar
/// ones, if they are few.
pub(crate) fn mistyped_alone<'p>(query: &Query, parts: &[Contributions<'p>]) -> BTreeSet<&'p str> {
    let names_file = query.asks_for(Intent::Files)
        && !query.asks_for(Intent::Project)
        && !query.asks_for(Intent::News);
    let is_word = query.words().count() == 1;
    let likest = parts.iter().map(|it| it.similar).fold(0.0, f64::max);
    let is_named = parts.iter().any(|it| it.mentions > 0.0);
    let is_likest = |it: &&Contributions<'_>| it.similar >= likest;
    // A single word also means source files of that name.
    let is_of_source = parts.iter().filter(is_likest).any(|it| !it.is_document);
    let may_name = names_file || is_word && !is_of_source;
    if !may_name || likest <= 0.0 || is_named {
        return BTreeSet::new();
    }
    // A word may also match texts, while a mistyped file name matches texts only by its extension.
    let is_meant = |it: &&Contributions<'_>| {
        it.is_document && is_likest(it) && (names_file || it.others <= 0.0)
    };
    let meant: BTreeSet<&str> = parts.iter().filter(is_meant).map(|it| it.path).collect();
    if meant.len() > MOST_FILES {
        return BTreeSet::new();
    }
    meant
}

/// Finds files of the folders in `query`.
pub(super) async fn below(search: &dyn FileSearch, query: &Query) -> PortResult<Vec<Hit>> {
    let mut folders = query.mentions.folders[..query.mentions.folders.len().min(FOLDERS)].to_vec();
    let spaced = query.mentions.spaced_names.iter();
    folders.extend(spaced.filter(|it| it.ends_with('/')).cloned());
    if folders.is_empty() {
        return Ok(Vec::new());
    }
    let answers = files_below(search, &folders, MOST_BELOW + 1).await?;
    let files: BTreeSet<String> = of_each("folders", &folders, answers)?
        .into_iter()
        .filter(|it| it.len() <= MOST_BELOW)
        .flatten()
        .collect();
    many(search, files, OF_FOLDER, query.typed.is_some()).await
}

/// Finds files that match a pattern in `query`, among the 400 whose paths have most of its words: a
/// few files score like named ones, more of them like those of a folder. A pattern with more than
/// 100 matches is ignored, unless it is all that `query` asks for: then its first 100 are taken.
/// Warnings about patterns that may match more go to `warnings`.
pub(super) async fn fitting(
    search: &dyn FileSearch,
    query: &Query,
    warnings: &OnceLock<Vec<Warning>>,
) -> PortResult<Vec<Hit>> {
    let is_all = query.asks_for(Intent::Patterns);
    let (mut hits, mut cut) = (Vec::new(), Vec::new());
    for pattern in query.mentions.patterns.iter().take(PATTERNS) {
        let words = Analyzer::default().terms(&pattern.replace('*', " "));
        let words = words.into_iter().map(|it| (it, 1.0)).collect();
        let wanted = TextQuery::new(words, vec![(Field::Path, 1.0)], WIDE);
        let found = search.files(&wanted).await?;
        let looked_at = found.len();
        let paths = found.iter().map(|it| it.path.clone());
        let mut files: BTreeSet<String> = paths.filter(|it| fits(pattern, it)).collect();
        let fitting = files.len();
        if is_all && fitting > MOST_BELOW {
            files = files.into_iter().take(MOST_BELOW).collect();
        }
        let is_cut = looked_at >= WIDE.min(search.longest_list());
        let looked_at = is_cut.then_some(looked_at);
        cut.extend(may_fit_more(pattern, looked_at, (fitting, files.len())));
        if is_all && files.len() > WHOLE {
            hits.extend(heads(search, &files).await?);
        } else if files.len() <= MOST_BELOW {
            let is_few = files.len() <= MOST_FILES;
            let worth = if is_few { OF_NAME } else { OF_FOLDER };
            hits.extend(many(search, files, worth, true).await?);
        }
    }
    // Set once per question.
    let _ = warnings.set(cut);
    Ok(hits)
}

/// The warning about `pattern`, if only `looked_at` files of possibly more were inspected, or if
/// only `taken` of the `fitting` files were taken.
fn may_fit_more(
    pattern: &str,
    looked_at: Option<usize>,
    (fitting, taken): (usize, usize),
) -> Option<Warning> {
    let mut told = Vec::new();
    if let Some(most) = looked_at {
        told.push(format!(
            "was searched only in the {most} files whose paths have most of its words"
        ));
    }
    if fitting > MOST_BELOW {
        told.push(if taken < fitting {
            format!("matches {fitting} files, of which the first {taken} are used")
        } else {
            format!("matches {fitting} files, too many to be used")
        });
    }
    let detail = format!("the pattern {pattern} {}", told.join(", and "));
    (!told.is_empty()).then(|| Warning::new(WarningCode::PatternLimited, detail))
}

/// The first part of each of `files`.
async fn heads(search: &dyn FileSearch, files: &BTreeSet<String>) -> PortResult<Vec<Hit>> {
    let wanted: Vec<PartQuery> = files.iter().map(PartQuery::new).collect();
    let parts = search.parts_of(&wanted, 1).await?;
    let parts = of_each("files", &wanted, parts)?.into_iter().flatten();
    Ok(parts.map(|it| Hit::new(it.part, OF_FOLDER)).collect())
}

/// For each of `parts`, if a pattern is all that `query` asks for and its file matches: how many
/// parts of that file come before it. A question about which files exist should see a little of
/// each before more of any.
pub(crate) fn before_in_file<'p>(
    query: &Query,
    parts: impl Iterator<Item = &'p Part>,
) -> Vec<Option<usize>> {
    let parts: Vec<&Part> = parts.collect();
    let mut before = vec![None; parts.len()];
    if !query.asks_for(Intent::Patterns) {
        return before;
    }
    let mut files: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, part) in parts.iter().enumerate() {
        files.entry(&part.path).or_default().push(at);
    }
    let patterns = &query.mentions.patterns[..query.mentions.patterns.len().min(PATTERNS)];
    files.retain(|path, _| patterns.iter().any(|it| fits(it, path)));
    for mut indices in files.into_values() {
        indices.sort_by_key(|&at| parts[at].key());
        for (number, at) in indices.into_iter().enumerate() {
            before[at] = Some(number);
        }
    }
    before
}

/// All of `files`, each with the score `worth`; with their parts, if these are `wanted` and the
/// files are not too many.
async fn many(
    search: &dyn FileSearch,
    files: BTreeSet<String>,
    worth: f64,
    wanted: bool,
) -> PortResult<Vec<Hit>> {
    let is_whole = wanted && files.len() <= WHOLE;
    let whole = files.iter().filter(|_| is_whole).cloned();
    let mut hits = parts_of(search, whole.map(|it| (it, worth)).collect()).await?;
    let files = files.into_iter().map(Part::of_file);
    hits.extend(files.map(|it| Hit::new(it, worth)));
    Ok(hits)
}

/// `name`, and with each extension of a document.
fn with_extensions(name: &String) -> impl Iterator<Item = String> {
    let longer = EXTENSIONS.iter().map(move |it| format!("{name}.{it}"));
    std::iter::once(name.clone()).chain(longer)
}

/// Finds files named exactly like a possible file name in `query`, with or without the extension of
/// a document; if many files have the name, the one at the root. In a typed question, the latter
/// also applies to names with an extension. Case matters in names of one word alone.
pub(super) async fn called(search: &dyn FileSearch, query: &Query) -> PortResult<Vec<Hit>> {
    let names = query.mentions.file_names.iter().take(NAMES);
    let mut ends: Vec<String> = names.flat_map(with_extensions).collect();
    let names = ends.len();
    let spaced = query.mentions.spaced_names.iter();
    let spaced = spaced.filter(|it| !it.ends_with('/'));
    ends.extend(spaced.flat_map(with_extensions));
    let spaced = names..ends.len();
    let places = query
        .mentions
        .files
        .iter()
        .filter(|_| query.typed.is_some());
    let places = places.map(|it| it.path.as_str());
    let bare = places.filter(|it| !it.contains('/')).take(NAMES);
    ends.extend(bare.map(str::to_owned));
    if ends.is_empty() {
        return Ok(Vec::new());
    }
    let answers = files_ending_with(search, &ends, MOST_FILES + 1).await?;
    let found = of_each("ends of paths", &ends, answers)?;
    let (mut files, mut roots) = (BTreeSet::new(), BTreeSet::new());
    for (number, (end, found)) in ends.into_iter().zip(found).enumerate() {
        let is_called = |it: &String| is_called(&end, it.rsplit('/').next().unwrap_or(it));
        if found.len() <= MOST_FILES {
            let is_spaced = spaced.contains(&number);
            let is_it = |it: &String| is_spaced || number < names && is_called(it);
            files.extend(found.into_iter().filter(is_it));
            continue;
        }
        if number < names {
            // It may be spelt differently there: `Readme.md` sorts before all folders, and
            // `readme.md` after them.
            let at_root = found.into_iter().filter(|it| !it.contains('/'));
            roots.extend(at_root.filter(is_called));
            roots.extend(Some(end.to_lowercase()).filter(is_called));
        }
        roots.insert(end);
    }
    let wanted = roots.into_iter().chain(files.iter().cloned());
    let mut hits = parts_of(search, wanted.map(|it| (it, OF_NAME)).collect()).await?;
    let files = files.into_iter().map(Part::of_file);
    hits.extend(files.map(|it| Hit::new(it, OF_NAME)));
    Ok(hits)
}

/// Whether a file with this `name` is the one that `asked` names: exactly, except that front pages
/// match in any case.
fn is_called(asked: &str, name: &str) -> bool {
    let stem = asked.split('.').next().unwrap_or_default();
    let is_front = FRONT_FILES.contains(&stem) || stem.eq_ignore_ascii_case(FRONT_FILES[0]);
    is_same_path(asked, name) || is_front && asked.eq_ignore_ascii_case(name)
}
