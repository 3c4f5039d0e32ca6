//! Checks on batches of files that are the same for every store.

use std::collections::BTreeSet;

use ctx_source::Decoded;

#[cfg(any(feature = "embedded", feature = "postgres"))]
use crate::backend::{BackendError, NewFile};
use crate::paths;
use crate::problem::Fault;

/// Why a path is refused that has a file as one of its folders.
pub(crate) const THROUGH_FILE: &str = "a part of the path is a file";
/// Why a path is refused that is a folder of an existing file.
pub(crate) const OF_FOLDER: &str = "the path is a folder";

/// Masks the secrets in `files`, before anything else is done with them, and returns how many there
/// were. O(bytes).
#[cfg(any(feature = "embedded", feature = "postgres"))]
pub(crate) fn mask(files: &mut [NewFile]) -> usize {
    files.iter_mut().map(NewFile::mask).sum()
}

/// Checks that each path can be stored, that each content is text of at most `most` bytes, which
/// the store takes of a file, and that no file of the batch is a folder of another; of two
/// conflicting files the later one is reported. O(bytes).
///
/// # Errors
/// [`BackendError::Invalid`], which names the path or the content; [`BackendError::InvalidBatch`]
/// where there are several.
#[cfg(any(feature = "embedded", feature = "postgres"))]
pub(crate) fn check(files: &[NewFile], most: usize) -> Result<(), BackendError> {
    let mut faults = Vec::new();
    let mut looked = Looked::default();
    for (number, file) in files.iter().enumerate() {
        faults.extend(looked.fault(number, &file.path, &file.content));
        // A store would skip it and store the others.
        if file.content.len() > most {
            let detail =
                format!("it has more than {most} bytes, the most that is stored of a file");
            faults.push(fault(number, "content", &detail));
        }
    }
    match faults.pop() {
        None => Ok(()),
        Some(Fault { field, detail }) if faults.is_empty() => {
            Err(BackendError::Invalid { field, detail })
        }
        Some(last) => {
            faults.push(last);
            Err(BackendError::InvalidBatch(faults))
        }
    }
}

/// The files of a batch that were looked at.
#[derive(Debug, Default)]
pub(crate) struct Looked<'f> {
    taken: BTreeSet<&'f str>,
    folders: BTreeSet<&'f str>,
}

impl<'f> Looked<'f> {
    /// What is wrong with file `number`, counted from 0, if anything is. O(bytes).
    pub(crate) fn fault(&mut self, number: usize, path: &'f str, content: &str) -> Option<Fault> {
        if let Some(detail) = paths::fault(path) {
            return Some(fault(number, "path", detail));
        }
        if let Some(detail) = no_text(content) {
            return Some(fault(number, "content", detail));
        }
        if above(path).any(|it| self.taken.contains(it)) {
            return Some(fault(number, "path", THROUGH_FILE));
        }
        if self.folders.contains(path) {
            return Some(fault(number, "path", OF_FOLDER));
        }
        self.taken.insert(path);
        self.folders.extend(above(path));
        None
    }
}

fn fault(number: usize, field: &str, detail: &str) -> Fault {
    Fault {
        field: format!("files[{number}].{field}"),
        detail: detail.to_owned(),
    }
}

/// Why `content` is not text, if so: no store indexes such a file.
fn no_text(content: &str) -> Option<&'static str> {
    if content.contains('\0') {
        return Some("the content has a NUL character in it, so it is not text");
    }
    let bytes = content.as_bytes().to_vec();
    let is_binary = ctx_source::decode(bytes) == Decoded::Binary;
    is_binary.then_some("the content begins like that of a binary format")
}

/// The folders of `path`: `a` and `a/b` for `a/b/c`.
pub(crate) fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// Reports that the path of file `number`, counted from 0, cannot be stored.
#[cfg(any(feature = "embedded", feature = "postgres"))]
pub(crate) fn refused(number: usize, detail: &str) -> BackendError {
    refused_field(number, "path", detail)
}

/// Reports that the content of file `number`, counted from 0, cannot be stored.
#[cfg(any(feature = "embedded", feature = "postgres"))]
pub(crate) fn refused_content(number: usize, detail: &str) -> BackendError {
    refused_field(number, "content", detail)
}

#[cfg(any(feature = "embedded", feature = "postgres"))]
fn refused_field(number: usize, field: &str, detail: &str) -> BackendError {
    let Fault { field, detail } = fault(number, field, detail);
    BackendError::Invalid { field, detail }
}

#[cfg(all(test, any(feature = "embedded", feature = "postgres")))]
mod tests {
    use super::*;

    /// The fields at fault of a batch with these paths.
    fn faults(paths: &[&str]) -> Vec<String> {
        let file = |it: &&str| NewFile {
            path: (*it).to_owned(),
            content: String::new(),
        };
        let files: Vec<NewFile> = paths.iter().map(file).collect();
        match check(&files, 10) {
            Ok(()) => Vec::new(),
            Err(BackendError::Invalid { field, .. }) => vec![field],
            Err(BackendError::InvalidBatch(all)) => all.into_iter().map(|it| it.field).collect(),
            Err(error) => panic!("{error}"),
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
            assert_eq!(faults(paths), [field], "{paths:?}");
        }
    }

    #[test]
    fn names_that_begin_alike_go_together() {
        assert!(faults(&["a", "ab/c", "a.b", "b/a", "b/ab"]).is_empty());
    }

    #[test]
    fn a_file_that_is_too_large_is_named() {
        let file = |bytes| NewFile {
            path: format!("{bytes}"),
            content: "x".repeat(bytes),
        };
        assert!(check(&[file(9), file(10)], 10).is_ok());
        let refused = check(&[file(9), file(11)], 10);
        let Err(BackendError::Invalid { field, detail }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(field, "files[1].content");
        assert!(detail.contains("more than 10 bytes"), "{detail}");
    }

    #[test]
    fn all_files_at_fault_are_named() {
        let paths = ["a", ".env", "a/b", "b", "../c"];
        let fields = ["files[1].path", "files[2].path", "files[4].path"];
        assert_eq!(faults(&paths), fields);
    }
}
