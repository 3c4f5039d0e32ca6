//! Lists the files of a folder.

use ctx_assemble::Cancel;
use ctx_format::{Slot, neutralise};
use ctx_secrets::is_secret_file;
use ctx_source::{EntryKind, Root, Step, WalkFault, WalkOptions};

use crate::fault::{Fault, FaultKind, echo};

/// The most files that one walk lists.
const MOST: usize = 100_000;

/// The result of one walk.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// The paths, ordered by their bytes.
    pub(crate) files: Vec<String>,
    /// Notes on files that are missing from the list, and on faults of the walk, a sentence each.
    pub(crate) notes: Vec<String>,
}

/// The files below `within`, which is relative to `root` and may be empty. Ignore files apply, and
/// links are not followed, so that nothing outside the root is listed. A file that is itself named
/// by `within` is listed whatever ignore files say. Files that are not read because of their names,
/// which suggest secrets, are only counted. O(files below the root that are not ignored).
///
/// # Errors
/// `within` is not a path below a root; the caller cancelled.
pub(crate) fn files(root: &Root, within: &str, cancel: &Cancel) -> Result<Listed, Fault> {
    let within = clean(within)?;
    let mut listed = Listed::default();
    let mut secret = 0;
    let faults = root.walk(&WalkOptions::default(), &mut |entry| {
        if cancel.is_cancelled() {
            return Step::Stop;
        }
        let path = entry.path();
        let is_own = path.file_name().is_some_and(|it| it == ".ctx");
        let Some(path) = path.to_str().filter(|_| !is_own) else {
            return Step::Past;
        };
        let path = path.replace(std::path::MAIN_SEPARATOR, "/");
        if !is_on_the_way(&path, &within) {
            return Step::Past;
        }
        if entry.kind() == EntryKind::File && is_secret_file(&path) {
            secret += 1;
        } else if entry.kind() == EntryKind::File {
            if listed.files.len() == MOST {
                let note = format!("There are more than {MOST} files; not all are listed.");
                listed.notes.push(note);
                return Step::Stop;
            }
            listed.files.push(path);
        }
        Step::On
    });
    if cancel.is_cancelled() {
        return Err(Fault::Cancelled);
    }
    listed.files.sort_unstable();
    listed.notes.extend(note_of_secrets(secret));
    listed.notes.extend(note(&faults));
    Ok(listed)
}

/// A note on how many files exist that none of the tools reads.
fn note_of_secrets(files: usize) -> Option<String> {
    match files {
        0 => None,
        1 => Some("1 file is not listed: its name says that it holds secrets.".to_owned()),
        n => Some(format!(
            "{n} files are not listed: their names say that they hold secrets."
        )),
    }
}

/// A note with the first fault and the number of others: a reply has little room.
fn note(faults: &[WalkFault]) -> Option<String> {
    let first = faults
        .iter()
        .find(|it| !it.is_of_rules())
        .or(faults.first())?;
    let first = neutralise(&first.to_string(), Slot::Line).into_owned();
    Some(match faults.len() {
        1 => format!("Warning: {first}."),
        n => format!("Warning: {first}; and {} more warnings like this.", n - 1),
    })
}

/// Whether one of `path` and `folder` contains the other.
fn is_on_the_way(path: &str, folder: &str) -> bool {
    let is_in = |inner: &str, outer: &str| {
        outer.is_empty()
            || inner
                .strip_prefix(outer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_in(path, folder) || is_in(folder, path)
}

fn clean(within: &str) -> Result<String, Fault> {
    let parts = within.split('/').filter(|it| !it.is_empty() && *it != ".");
    let parts: Vec<&str> = parts.collect();
    if within.starts_with('/') || parts.contains(&"..") || within.contains(['\0', '\\']) {
        return Err(Fault::refused_for(
            FaultKind::Parameters,
            format!("list {}: it may lead out of the root", echo(within)),
            "a path relative to the root, as the tools show them",
        ));
    }
    Ok(parts.join("/"))
}
