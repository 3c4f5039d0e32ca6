//! Files as the owner sent them: written beneath a handle of the owner's folder, never by a path of ours.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, OpenOptions};

use crate::backend::BackendError;
use crate::batch::{OF_FOLDER, THROUGH_FILE, above};

/// What earlier versions kept in the folder so that ignore files were not heeded. Nobody can send a file of that name.
const IGNORE_FILE: &str = ".ctxignore";

/// Makes the folder ready.
pub(super) fn prepare(files: &Dir) -> io::Result<()> {
    match files.remove_file(IGNORE_FILE) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What the file that is to get to `path` is called until then.
fn staged_name(path: &str) -> String {
    blake3::hash(path.as_bytes()).to_hex().to_string()
}

/// Writes what is to get to `path` to `staged`. It is on the disk when this returns, but for its name: that is for
/// [`sync`].
pub(super) fn stage(staged: &Dir, path: &str, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let mut file = staged.open_with(staged_name(path), &options)?;
    file.write_all(content)?;
    file.sync_data()
}

/// Makes the folders of `path`, and sees to it that nothing is in its way.
///
/// # Errors
/// What is wrong with the path, or with the disk.
pub(super) fn make_way(files: &Dir, path: &str) -> Result<(), BackendError> {
    clear_way(files, path).map_err(|source| match source.kind() {
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => invalid(THROUGH_FILE),
        io::ErrorKind::DirectoryNotEmpty => invalid(OF_FOLDER),
        _ => BackendError::failed("write a file", source),
    })
}

/// The same, for a path of which it is known already that nothing is.
pub(super) fn clear_way(files: &Dir, path: &str) -> io::Result<()> {
    if let Some(folder) = above(path).last() {
        files.create_dir_all(folder)?;
    }
    match files.symlink_metadata(path) {
        Ok(found) if found.is_dir() => remove_folders(files, path),
        _ => Ok(()),
    }
}

/// Removes a folder in which there are folders and nothing else: a batch that came to nothing made them.
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
    // Each comes after the one it is in.
    let mut inner_first = folders.iter().rev();
    inner_first.try_for_each(|it| files.remove_dir(it))
}

fn invalid(detail: &str) -> BackendError {
    BackendError::Invalid {
        field: String::new(),
        detail: detail.to_owned(),
    }
}

/// Puts the staged file of `path` in its place, if it is not there already: then the file that is there has `hash`.
pub(super) fn place(staged: &Dir, files: &Dir, path: &str, hash: [u8; 32]) -> io::Result<()> {
    let placed = staged.rename(staged_name(path), files, path);
    match placed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match files.read(path) {
            Ok(content) if *blake3::hash(&content).as_bytes() == hash => Ok(()),
            _ => Err(error),
        },
        placed => placed,
    }
}

/// Removes the files at `paths`, where they are, and the folders in which nothing is left. Their names are off the disk when this
/// returns.
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
            // One in which there is something stays.
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

/// Whether the file at `path` has so many bytes, of this hash. O(bytes).
pub(super) fn holds(files: &Dir, path: &str, bytes: u64, hash: [u8; 32]) -> bool {
    let has_length = files.metadata(path).is_ok_and(|it| it.len() == bytes);
    let is_it = |content: Vec<u8>| *blake3::hash(&content).as_bytes() == hash;
    has_length && files.read(path).is_ok_and(is_it)
}

/// Removes what was staged and came to nothing.
pub(super) fn clear(staged: &Dir) -> io::Result<()> {
    for entry in staged.entries()? {
        entry?.remove_file()?;
    }
    Ok(())
}

/// Puts the names in `folder` on the disk.
pub(super) fn sync(folder: &Dir) -> io::Result<()> {
    folder.open(".")?.sync_all()
}

/// Puts the names of these files on the disk, and those of the folders they are in.
pub(super) fn sync_names<'p>(files: &Dir, paths: impl Iterator<Item = &'p str>) -> io::Result<()> {
    let folders: BTreeSet<&str> = paths.flat_map(above).collect();
    for folder in folders {
        files.open(Path::new(folder))?.sync_all()?;
    }
    sync(files)
}
