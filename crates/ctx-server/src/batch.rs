//! Batches of files: what holds of one, whatever store it is for.

use std::collections::BTreeSet;

use ctx_source::Decoded;

use crate::backend::{BackendError, NewFile};
use crate::paths;

/// Where a path goes through a file,
pub(crate) const THROUGH_FILE: &str = "the path leads through a file";
/// and where one that is kept goes through it.
pub(crate) const OF_FOLDER: &str = "the path is that of a folder";

/// Masks the secrets in `files`, and counts them: before anything else is done with what is to be kept. O(bytes).
pub(crate) fn mask(files: &mut [NewFile]) -> usize {
    files.iter_mut().map(NewFile::mask).sum()
}

/// Sees to it that each path can be kept, that each content is text, and that no file of the batch is a folder of
/// another: of two that do not go together the later one is named. O(bytes).
///
/// # Errors
/// [`BackendError::Invalid`], which names the path or the content.
pub(crate) fn check(files: &[NewFile]) -> Result<(), BackendError> {
    let mut taken = BTreeSet::new();
    let mut folders = BTreeSet::new();
    for (number, file) in files.iter().enumerate() {
        let path = file.path.as_str();
        if let Some(detail) = paths::fault(path) {
            return Err(refused(number, detail));
        }
        if let Some(detail) = no_text(&file.content) {
            return Err(refused_content(number, detail));
        }
        if above(path).any(|it| taken.contains(it)) {
            return Err(refused(number, THROUGH_FILE));
        }
        if folders.contains(path) {
            return Err(refused(number, OF_FOLDER));
        }
        taken.insert(path);
        folders.extend(above(path));
    }
    Ok(())
}

/// Why `content` is no text, if it is none: nothing is read of such a file, whichever the store.
fn no_text(content: &str) -> Option<&'static str> {
    if content.contains('\0') {
        return Some("the content has a NUL character in it, so it is no text");
    }
    let bytes = content.as_bytes().to_vec();
    let is_binary = ctx_source::decode(bytes) == Decoded::Binary;
    is_binary.then_some("the content begins as that of a format that is no text")
}

/// The folders that `path` leads through: `a` and `a/b` of `a/b/c`.
pub(crate) fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// The path of file `number`, counted from 0, cannot be kept.
pub(crate) fn refused(number: usize, detail: &str) -> BackendError {
    refused_field(number, "path", detail)
}

/// The same of its content.
pub(crate) fn refused_content(number: usize, detail: &str) -> BackendError {
    refused_field(number, "content", detail)
}

fn refused_field(number: usize, field: &str, detail: &str) -> BackendError {
    BackendError::Invalid {
        field: format!("files[{number}].{field}"),
        detail: detail.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which file of a batch with these paths is refused.
    fn fault(paths: &[&str]) -> Option<String> {
        let file = |it: &&str| NewFile {
            path: (*it).to_owned(),
            content: String::new(),
        };
        let files: Vec<NewFile> = paths.iter().map(file).collect();
        match check(&files) {
            Err(BackendError::Invalid { field, .. }) => Some(field),
            _ => None,
        }
    }

    #[test]
    fn a_file_is_no_folder_of_another_and_the_later_one_is_named() {
        for (paths, at) in [
            (&["a", "a/b"][..], 1),
            (&["a/b", "a"], 1),
            (&["x", "a/b/c", "y", "a/b"], 3),
            (&["a/b", "x", "a/b/c/d"], 2),
            (&["a", "../b"], 1),
        ] {
            let field = format!("files[{at}].path");
            assert_eq!(fault(paths), Some(field), "{paths:?}");
        }
    }

    #[test]
    fn names_that_begin_alike_go_together() {
        assert_eq!(fault(&["a", "ab/c", "a.b", "b/a", "b/ab"]), None);
    }
}
