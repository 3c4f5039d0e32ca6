//! Files that a question refers to and no store has.

use ctx_model::{Warning, WarningCode, listed};
use ctx_rank::Query;
use ctx_retrieve::{FileSearch, files_ending_with};

/// The most files that a warning names; the others are counted.
pub const FILES_NAMED: usize = 8;

/// The names of files that `query` refers to ([`Query::meant_files`]) and of which none of `stores`
/// has one, in order and without duplicates. A store that fails may have any of them, so nothing is
/// missing then; the search reports the failure. Without stores nothing is missing either.
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
        let Ok(found) = files_ending_with(*store, &ends, 1).await else {
            return Vec::new();
        };
        let mut found = found.iter();
        // A store that gives no answer for a name may have the file.
        names.retain(|_| found.next().is_some_and(Vec::is_empty));
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
            listed(names, FILES_NAMED)
        ),
    };
    Some(Warning::new(WarningCode::NoSuchFile, detail))
}
