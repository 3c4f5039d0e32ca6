//! Files that a question means and no store has.

use ctx_model::{Warning, WarningCode, listed};
use ctx_rank::Query;
use ctx_retrieve::FileSearch;

/// So many files a warning names at most; the others are told by their number.
pub const FILES_NAMED: usize = 8;

/// The names of the files that `query` means ([`Query::meant_files`]) and none of `stores` has one of, in its order and each once. A
/// store that cannot look them up may have them: of that the search tells. Where there is no store, none is searched and none is
/// missing.
pub async fn missing_files<'q>(query: &'q Query, stores: &[&dyn FileSearch]) -> Vec<&'q str> {
    let mut names: Vec<&str> = Vec::new();
    if stores.is_empty() {
        return names;
    }
    for name in query.meant_files() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for store in stores {
        if names.is_empty() {
            break;
        }
        let ends: Vec<String> = names.iter().map(|&it| it.to_owned()).collect();
        let Ok(found) = store.ending_with(&ends, 1).await else {
            return Vec::new();
        };
        let mut found = found.iter();
        // Who says nothing of a name may have it, too.
        names.retain(|_| found.next().is_some_and(Vec::is_empty));
    }
    names
}

/// What is told where files of these names are missing: the warning `no_such_file`, which names [`FILES_NAMED`] at most and
/// counts the others.
pub fn no_such_file(names: &[&str]) -> Option<Warning> {
    let detail = match names {
        [] => return None,
        [name] => format!("no file called {name} is searched"),
        _ => format!(
            "no files called {} are searched",
            listed(names, FILES_NAMED)
        ),
    };
    Some(Warning::new(WarningCode::NoSuchFile, detail))
}
