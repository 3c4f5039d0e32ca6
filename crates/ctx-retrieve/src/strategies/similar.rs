//! Names similar to those in a question.

use ctx_rank::{Name, Query};

use super::likeness::{likeness, transposed};
use super::{MENTIONS, MOST_FILES, NAMES, WIDE, by_question, has, of_each, parts_of, unique};
use crate::paths::files_ending_with;
use crate::ports::{FileSearch, Hit, PortResult};

/// A name of at most this many bytes resembles too many others.
const SHORT: usize = 4;
/// The least share of common trigrams of similar names.
const LIKE: f64 = 0.4;
/// The most unknown names whose mistakes are searched.
const MISTYPED: usize = 8;

/// Finds names similar to those in the question that nothing has; for files, with all their parts.
pub(crate) async fn similar(search: &dyn FileSearch, query: &Query) -> PortResult<Vec<Hit>> {
    let names = query.mentions.names.iter().take(NAMES / 2);
    // Of a file, its own name is compared.
    let names = names.filter(|it| !it.may_be_file && it.last.len() > SHORT);
    let asked: Vec<String> = names.clone().flat_map(Name::spellings).collect();
    let asked = unique(asked.iter());
    let definitions = search.definitions(&asked, 1).await?;
    let defined = by_question("names", &asked, definitions)?;
    let unknown = names.filter(|it| !it.spellings().any(|it| has(&defined, &it)));
    let unknown = unique(unknown.map(|it| &it.last));
    let files = unknown_files(search, query).await?;
    let (mut hits, near) = tokio::try_join!(alike(search, &unknown), nearly(search, &files))?;
    hits.extend(near);
    with_parts(search, hits).await
}

/// `hits`, with all parts of the first files among them.
async fn with_parts(search: &dyn FileSearch, mut hits: Vec<Hit>) -> PortResult<Vec<Hit>> {
    let files = hits.iter().filter(|it| it.is_file());
    let files = files.take(MOST_FILES).map(|it| (it.path.clone(), it.score));
    let parts = parts_of(search, files.collect()).await?;
    hits.extend(parts);
    Ok(hits)
}

/// Finds names that differ from a word of a typed question by a mistake.
pub(crate) async fn misspelt(search: &dyn FileSearch, query: &Query) -> PortResult<Vec<Hit>> {
    let words = query.words().filter(|it| it.len() > SHORT);
    let words: Vec<String> = words.map(str::to_owned).collect();
    let words = unique(words.iter());
    let near = nearly(search, &words).await?;
    with_parts(search, near).await
}

/// Finds names sufficiently similar to one of `names`.
async fn alike(search: &dyn FileSearch, names: &[String]) -> PortResult<Vec<Hit>> {
    let mut hits = search.similar(names, WIDE / 4).await?;
    hits.retain(|hit| hit.score >= LIKE);
    Ok(hits)
}

/// Finds names that differ from one of `names` by a mistake, the most similar first; swapped
/// letters are tried, since they leave a short name few trigrams. If there are none, finds names
/// sufficiently similar to one of them.
async fn nearly(search: &dyn FileSearch, names: &[String]) -> PortResult<Vec<Hit>> {
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
            // With letters swapped back, it may equal the name.
            Some(like) => hit.score.max(like),
            None if has_mistakes => 0.0,
            None => hit.score,
        };
    }
    hits.retain(|hit| hit.score >= LIKE);
    hits.sort_by(|a, b| {
        let by_key = || a.key().cmp(&b.key());
        b.score.total_cmp(&a.score).then_with(by_key)
    });
    Ok(hits)
}

/// The names of files in the question that no file has.
async fn unknown_files(search: &dyn FileSearch, query: &Query) -> PortResult<Vec<String>> {
    let files = query.mentions.files.iter().take(MENTIONS);
    let named = unique(files.map(|it| &it.path));
    let ends = named.iter().map(|it| it.rsplit('/').next().unwrap_or(it));
    let mut ends: Vec<String> = ends.map(str::to_owned).collect();
    if ends.is_empty() {
        return Ok(ends);
    }
    let found = files_ending_with(search, &ends, 1).await?;
    let mut found = of_each("ends of paths", &ends, found)?.into_iter();
    ends.retain(|it| found.next().is_none_or(|it| it.is_empty()) && it.len() > SHORT);
    Ok(ends)
}
