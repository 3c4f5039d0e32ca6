//! Files that a question refers to and no store has.

use std::collections::BTreeSet;

use ctx_model::{Warning, WarningCode, join_first};
use ctx_rank::{Analyzer, Name, Query, Region};
use ctx_retrieve::{Field, FileSearch, TextQuery, files_ending_with};

/// The most files that a warning names; the others are counted.
pub const FILES_NAMED: usize = 8;

/// The most files that are looked at for one name.
const FILES_OF_A_NAME: usize = 1_000;

/// What `query` calls the files that it refers to ([`Query::mentioned_files`]) and that none of
/// `stores` has, without duplicates: first the names of those that are nowhere, and then the paths
/// of those whose name others have, in order. What precedes a whole path of a file may lead to the
/// root, as in `/home/me/project/src/a.rs`, so such a file is there. A store that fails may have
/// any of them, so nothing counts as missing then; the search reports the failure. Without stores
/// nothing is missing either.
pub async fn missing_files<'q>(query: &'q Query, stores: &[&dyn FileSearch]) -> Vec<&'q str> {
    let paths = unique(query.mentioned_files().map(below_here));
    if stores.is_empty() || paths.is_empty() {
        return Vec::new();
    }
    missing(query, paths, stores).await.unwrap_or_default()
}

/// Whether `query` names anything that may be missing.
pub(crate) fn may_miss(query: &Query) -> bool {
    query.mentioned_files().next().is_some() || quoted(query).next().is_some()
}

/// [`missing_files`] of `paths`; `None` if a store fails.
async fn missing<'q>(
    query: &'q Query,
    paths: Vec<&'q str>,
    stores: &[&dyn FileSearch],
) -> Option<Vec<&'q str>> {
    let paths = without(stores, paths, 1, whole).await?;
    let names = unique(paths.iter().map(|it| name_of(it)));
    let mut names = without(stores, names, 1, whole).await?;
    let elsewhere = paths.into_iter().filter(|it| !names.contains(&name_of(it)));
    let elsewhere = without(stores, elsewhere.collect(), FILES_OF_A_NAME, ends_of).await?;
    // The name may begin words before: `Meeting Notes.md`.
    let longer = query.mentions.spaced_names.iter().map(String::as_str);
    let longer = longer.filter(|it| names.iter().any(|name| it.ends_with(name)));
    let longer: Vec<&str> = longer.collect();
    let gone = without(stores, longer.clone(), 1, whole).await?;
    for there in longer.iter().filter(|it| !gone.contains(it)) {
        names.retain(|name| !there.ends_with(name));
    }
    names.extend(elsewhere);
    Some(names)
}

/// Those of `names` for which no store has a file with one of their `ends` as its whole path, or
/// `limit` files whose paths end so. A store that gives no answer for an end may have such a file.
/// `None` if a store fails.
async fn without<'q>(
    stores: &[&dyn FileSearch],
    mut names: Vec<&'q str>,
    limit: usize,
    ends: fn(&str) -> Vec<String>,
) -> Option<Vec<&'q str>> {
    for store in stores {
        if names.is_empty() {
            break;
        }
        let wanted: Vec<Vec<String>> = names.iter().map(|it| ends(it)).collect();
        let found = files_ending_with(*store, &wanted.concat(), limit).await;
        let mut found = found.ok()?.into_iter();
        let mut there = wanted.iter().map(|ends| {
            any_is_there(ends, &mut found, |end, paths| {
                let is_whole = |path: &String| folders(path) == folders(end);
                paths.len() >= limit || paths.iter().any(is_whole)
            })
        });
        names.retain(|_| there.next() == Some(false));
    }
    Some(names)
}

/// Whether the next of `answers`, which are to `asked`, say that any of them `is_there`, as one
/// does that a store does not give.
fn any_is_there<A>(
    asked: &[String],
    answers: &mut impl Iterator<Item = A>,
    is_there: impl Fn(&String, A) -> bool,
) -> bool {
    let there = asked.iter();
    let there = there.map(|it| answers.next().is_none_or(|answer| is_there(it, answer)));
    // Each has an answer, so none is passed over.
    there.fold(false, |any, it| any | it)
}

/// Each of `names` once.
fn unique<'q>(names: impl Iterator<Item = &'q str>) -> Vec<&'q str> {
    let mut seen = BTreeSet::new();
    names.filter(|it| seen.insert(*it)).collect()
}

fn whole(path: &str) -> Vec<String> {
    vec![path.to_owned()]
}

/// `path` without `./` and `../` before it, since nobody says from where.
fn below_here(path: &str) -> &str {
    let mut below = path;
    while let Some(rest) = below.strip_prefix("./").or(below.strip_prefix("../")) {
        below = rest;
    }
    below
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn folders(path: &str) -> usize {
    path.matches('/').count()
}

/// The ends of `path` after each of its folders.
fn ends_of(path: &str) -> Vec<String> {
    let after = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
    after.map(str::to_owned).collect()
}

/// The warning `no_such_file` for missing files of these names; `None` if there are none. It names
/// at most [`FILES_NAMED`] and counts the others.
pub fn no_such_file(names: &[&str]) -> Option<Warning> {
    let detail = match names {
        [] => return None,
        [name] => format!("no file called {name} is searched"),
        _ => format!(
            "no files called {} are searched",
            join_first(names, FILES_NAMED)
        ),
    };
    Some(Warning::new(WarningCode::NoSuchFile, detail))
}

/// The identifiers between backticks in a [typed](Query::typed) `query` that no definition in
/// `stores` is called by, and that no file or text contains, in their order. A store that cannot
/// look them up may have them, as in [`missing_files`].
pub async fn missing_names<'q>(query: &'q Query, stores: &[&dyn FileSearch]) -> Vec<&'q str> {
    let mut names: Vec<&Name> = Vec::new();
    if stores.is_empty() {
        return Vec::new();
    }
    for name in quoted(query).take(FILES_NAMED) {
        let is_of_file = query
            .mentions
            .files
            .iter()
            .any(|it| it.path.contains(&name.text));
        if !is_of_file && names.iter().all(|it| it.last != name.last) {
            names.push(name);
        }
    }
    for store in stores {
        let asked: Vec<Vec<String>> = names.iter().map(|it| it.spellings().collect()).collect();
        let Ok(defined) = store.definitions(&asked.concat(), 1).await else {
            return Vec::new();
        };
        let mut defined = defined.into_iter();
        let mut missing = Vec::new();
        for (&name, asked) in names.iter().zip(&asked) {
            if any_is_there(asked, &mut defined, |_, it| !it.is_empty()) {
                continue;
            }
            match is_said(*store, &name.last).await {
                None => return Vec::new(),
                Some(true) => {}
                Some(false) => missing.push(name),
            }
        }
        names = missing;
    }
    names.into_iter().map(|it| it.text.as_str()).collect()
}

/// The identifiers between backticks in a typed `query`.
fn quoted(query: &Query) -> impl Iterator<Item = &Name> {
    let is_quoted = |it: &&Name| query.typed.is_some() && it.region == Region::InlineCode;
    query.mentions.names.iter().filter(is_quoted)
}

/// Whether a path or a text of `store` contains `name`; `None` if the store cannot tell.
async fn is_said(store: &dyn FileSearch, name: &str) -> Option<bool> {
    // All of an identifier is the longest of its terms.
    let terms = Analyzer::default().terms(name);
    let Some(term) = terms.into_iter().max_by_key(String::len) else {
        return Some(true);
    };
    let wanted = |fields: &[Field]| {
        let fields = fields.iter().map(|it| (*it, 1.0)).collect();
        TextQuery::new(vec![(term.clone(), 1.0)], fields, 1)
    };
    let of_files = wanted(&[Field::Path, Field::Text]);
    let of_parts = wanted(&[Field::Name, Field::Signature, Field::Doc, Field::Body]);
    let in_files = store.files(&of_files).await.ok()?;
    let in_parts = store.passages(&of_parts).await.ok()?;
    Some(!in_files.is_empty() || !in_parts.is_empty())
}

/// The warning `no_such_name` for names that nothing has; it lists at most [`FILES_NAMED`].
pub fn no_such_name(names: &[&str]) -> Option<Warning> {
    if names.is_empty() {
        return None;
    }
    let detail = format!("nothing here is called {}", join_first(names, FILES_NAMED));
    Some(Warning::new(WarningCode::NoSuchName, detail))
}
