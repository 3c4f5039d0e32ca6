//! Files as the owner sent them, written relative to a handle of the owner's folder, never by an
//! absolute path.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, OpenOptions};

use crate::backend::BackendError;
use crate::batch::{OF_FOLDER, THROUGH_FILE, above};

/// A file that earlier versions wrote so that ignore files had no effect. No owner can send a file
/// of that name.
const IGNORE_FILE: &str = ".ctxignore";

/// Prepares the folder.
pub(super) fn prepare(files: &Dir) -> io::Result<()> {
    match files.remove_file(IGNORE_FILE) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The name of a staged file whose content has `hash` and that will be moved to `path`. A later
/// content for the same path has another name.
fn staged_name(path: &str, hash: [u8; 32]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&hash).update(path.as_bytes());
    hasher.finalize().to_hex().to_string()
}

/// The name that earlier versions gave to the staged file of `path`.
fn earlier_name(path: &str) -> String {
    blake3::hash(path.as_bytes()).to_hex().to_string()
}

/// Writes the content of `path`, which has `hash`, to `staged`. The content is on the disk when
/// this returns, its name only after [`sync`].
pub(super) fn stage(staged: &Dir, path: &str, hash: [u8; 32], content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let name = staged_name(path, hash);
    // What is staged already may be the only text of a pending file.
    let unfinished = format!("{name}.new");
    let mut file = staged.open_with(&unfinished, &options)?;
    file.write_all(content)?;
    file.sync_data()?;
    staged.rename(&unfinished, staged, &name)
}

/// Creates the folders of `path`, and removes empty folders that are in its way.
///
/// # Errors
/// The path conflicts with another file, or the disk fails.
pub(super) fn make_way(files: &Dir, path: &str) -> Result<(), BackendError> {
    clear_way(files, path).map_err(|source| match source.kind() {
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => invalid(THROUGH_FILE),
        io::ErrorKind::DirectoryNotEmpty => invalid(OF_FOLDER),
        _ => BackendError::failed("write a file", source),
    })
}

/// Same as `make_way`, for a path that is known not to conflict with a file.
pub(super) fn clear_way(files: &Dir, path: &str) -> io::Result<()> {
    if let Some(folder) = above(path).last() {
        files.create_dir_all(folder)?;
    }
    match files.symlink_metadata(path) {
        Ok(found) if found.is_dir() => remove_folders(files, path),
        _ => Ok(()),
    }
}

/// Removes a folder that contains nothing but folders: those are left from a batch that failed.
fn remove_folders(files: &Dir, path: &str) -> io::Result<()> {
    let mut folders = vec![PathBuf::from(path)];
    let mut looked_at = 0;
    while let Some(folder) = folders.get(looked_at).cloned() {
        looked_at += 1;
        for entry in files.read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(folder.join(entry.file_name()));
            }
        }
    }
    // Each folder comes after its parent.
    let mut inner_first = folders.iter().rev();
    inner_first.try_for_each(|it| files.remove_dir(it))
}

fn invalid(detail: &str) -> BackendError {
    BackendError::Invalid {
        field: String::new(),
        detail: detail.to_owned(),
    }
}

/// Moves the staged file of `path` to its place. If no file is staged, the file in its place must
/// have `hash`.
pub(super) fn place(staged: &Dir, files: &Dir, path: &str, hash: [u8; 32]) -> io::Result<()> {
    let placed = staged.rename(staged_name(path, hash), files, path);
    let Err(error) = placed else {
        return Ok(());
    };
    if !is_absent(&error) {
        return Err(error);
    }
    let earlier = earlier_name(path);
    if has_hash(staged, &earlier, hash) {
        return staged.rename(earlier, files, path);
    }
    if has_hash(files, path, hash) {
        return Ok(());
    }
    Err(error)
}

/// The content of `path` that has `hash`, in its place or staged, if there is one. O(bytes).
pub(super) fn content(
    staged: &Dir,
    files: &Dir,
    path: &str,
    hash: [u8; 32],
) -> io::Result<Option<Vec<u8>>> {
    let (name, earlier) = (staged_name(path, hash), earlier_name(path));
    // The last again: it may have been moved there since.
    for (folder, name) in [
        (files, path),
        (staged, &name),
        (staged, &earlier),
        (files, path),
    ] {
        match with_hash(folder, name, hash) {
            Err(error) if is_absent(&error) => {}
            Ok(None) => {}
            found => return found,
        }
    }
    Ok(None)
}

/// Whether the file at `path` in `folder` can be read and has this hash. O(bytes).
fn has_hash(folder: &Dir, path: &str, hash: [u8; 32]) -> bool {
    with_hash(folder, path, hash).is_ok_and(|it| it.is_some())
}

/// The content of the file at `path` in `folder`, if it has this hash. O(bytes).
fn with_hash(folder: &Dir, path: &str, hash: [u8; 32]) -> io::Result<Option<Vec<u8>>> {
    let content = folder.read(path)?;
    Ok((*blake3::hash(&content).as_bytes() == hash).then_some(content))
}

/// Removes the files at `paths` that exist, and folders that become empty. Their names are off the
/// disk when this returns.
pub(super) fn remove(files: &Dir, paths: &[String]) -> io::Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    for path in paths {
        match files.remove_file(path) {
            Err(error) if !is_absent(&error) => return Err(error),
            _ => {}
        }
        let folders: Vec<&str> = above(path).collect();
        for folder in folders.into_iter().rev() {
            // A folder that is not empty stays.
            if files.remove_dir(folder).is_err() {
                break;
            }
        }
    }
    let folders: BTreeSet<&str> = paths.iter().flat_map(|it| above(it)).collect();
    for folder in folders {
        match files.open(Path::new(folder)) {
            Ok(folder) => folder.sync_all()?,
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(error),
        }
    }
    sync(files)
}

fn is_absent(error: &io::Error) -> bool {
    let kind = error.kind();
    kind == io::ErrorKind::NotFound || kind == io::ErrorKind::NotADirectory
}

/// Whether the file at `path` has this many bytes, and this hash. O(bytes).
pub(super) fn holds(files: &Dir, path: &str, bytes: u64, hash: [u8; 32]) -> bool {
    let has_length = files.metadata(path).is_ok_and(|it| it.len() == bytes);
    has_length && has_hash(files, path, hash)
}

/// Removes staged files of batches that failed: all but those of `pending`, each a path and the
/// hash of its content.
pub(super) fn clear(staged: &Dir, pending: &[(String, [u8; 32])]) -> io::Result<()> {
    let names: BTreeSet<String> = (pending.iter())
        .flat_map(|(path, hash)| [staged_name(path, *hash), earlier_name(path)])
        .collect();
    for entry in staged.entries()? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_str().is_none_or(|it| !names.contains(it)) {
            entry.remove_file()?;
        }
    }
    Ok(())
}

/// Syncs the names in `folder` to the disk.
pub(super) fn sync(folder: &Dir) -> io::Result<()> {
    folder.open(".")?.sync_all()
}

/// Syncs the names of these files, and of their folders, to the disk.
pub(super) fn sync_names<'p>(files: &Dir, paths: impl Iterator<Item = &'p str>) -> io::Result<()> {
    let folders: BTreeSet<&str> = paths.flat_map(above).collect();
    for folder in folders {
        files.open(Path::new(folder))?.sync_all()?;
    }
    sync(files)
}
