//! Names that are nearly others.

use ctx_rank::Query;

use super::likeness::{likeness, transposed};
use super::{MOST_FILES, NAMES, PLACES, WIDE, of_each, parts_of, unique};
use crate::ports::{Answer, FileSearch, Hit};

/// A shorter name, in bytes, is like too many.
const SHORT: usize = 4;
/// Names have at least this share of their trigrams in common to be alike.
const LIKE: f64 = 0.4;
/// Names, of those that nothing has, whose mistakes are looked for.
const MISTYPED: usize = 8;

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
