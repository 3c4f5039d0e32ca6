//! Files that a question refers to and no store has.

use ctx_model::{Warning, WarningCode, join_first};
use ctx_rank::{Analyzer, Query, Region};
use ctx_retrieve::{Field, FileSearch, TextQuery, files_ending_with};

/// The most files that a warning names; the others are counted.
pub const FILES_NAMED: usize = 8;

/// The names of files that `query` refers to ([`Query::mentioned_files`]) and that none of `stores`
/// has, in order and without duplicates. A store that fails may have any of them, so nothing counts
/// as missing then; the search reports the failure. Without stores nothing is missing either.
pub async fn missing_files<'q>(query: &'q Query, stores: &[&dyn FileSearch]) -> Vec<&'q str> {
    let mut names: Vec<&str> = Vec::new();
    if stores.is_empty() {
        return names;
    }
    for name in query.mentioned_files() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for store in stores {
        if names.is_empty() {
            break;
        }
        let ends: Vec<String> = names.iter().map(|&it| it.to_owned()).collect();
        let Ok(found) = files_ending_with(*store, &ends, 1).await else {
            return Vec::new();
        };
        let mut found = found.iter();
        // A store that gives no answer for a name may have the file.
        names.retain(|_| found.next().is_some_and(Vec::is_empty));
    }
    // The name may begin words before: `Meeting Notes.md`.
    let longer = query.mentions.spaced_names.iter();
    let longer = longer.filter(|it| names.iter().any(|name| it.ends_with(name)));
    let longer: Vec<String> = longer.cloned().collect();
    for store in stores {
        if names.is_empty() || longer.is_empty() {
            break;
        }
        let Ok(found) = files_ending_with(*store, &longer, 1).await else {
            return Vec::new();
        };
        let is_there = |it: &(&String, Vec<String>)| !it.1.is_empty();
        for (there, _) in longer.iter().zip(found).filter(is_there) {
            names.retain(|name| !there.ends_with(name));
        }
    }
    names
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
    let mut names: Vec<(&str, &str)> = Vec::new();
    if stores.is_empty() || query.typed.is_none() {
        return Vec::new();
    }
    let quoted = query
        .mentions
        .names
        .iter()
        .filter(|it| it.region == Region::InlineCode);
    for name in quoted.take(FILES_NAMED) {
        let is_of_file = query
            .mentions
            .files
            .iter()
            .any(|it| it.path.contains(&name.text));
        if !is_of_file && names.iter().all(|(_, last)| *last != name.last) {
            names.push((&name.text, &name.last));
        }
    }
    for store in stores {
        let lasts: Vec<String> = names.iter().map(|(_, last)| (*last).to_owned()).collect();
        let Ok(defined) = store.definitions(&lasts, 1).await else {
            return Vec::new();
        };
        let mut missing = Vec::new();
        for (&name, defined) in names.iter().zip(&defined) {
            if !defined.is_empty() {
                continue;
            }
            match is_said(*store, name.1).await {
                None => return Vec::new(),
                Some(true) => {}
                Some(false) => missing.push(name),
            }
        }
        names = missing;
    }
    names.into_iter().map(|(text, _)| text).collect()
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
