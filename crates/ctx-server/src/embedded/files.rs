//! Files as the owner sent them: written beneath a handle of the owner's folder, never by a path of ours.

use std::io::{self, Write as _};
use std::path::Path;

use cap_std::fs::{Dir, OpenOptions};

use crate::backend::BackendError;

/// Everything that was sent is to be found, whatever files that say otherwise are sent with it, or lie above
/// the data folder.
const IGNORE_FILE: (&str, &[u8]) = (".ctxignore", b"!*\n.ctxignore\n");

/// Makes the folder ready.
pub(super) fn prepare(files: &Dir) -> io::Result<()> {
    let (name, content) = IGNORE_FILE;
    if files.read(name).is_ok_and(|it| it == content) {
        return Ok(());
    }
    files.write(name, content)
}

/// Writes `content` to `path`, whole or not at all. It is on the disk when this returns, but for the entry
/// in its folder: that is for [`sync`].
pub(super) fn write(files: &Dir, path: &str, content: &[u8]) -> Result<(), BackendError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotADirectory
        | io::ErrorKind::AlreadyExists
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::DirectoryNotEmpty => BackendError::Invalid {
            field: String::new(),
            detail: "the path is that of a folder, or leads through a file".to_owned(),
        },
        _ => BackendError::failed("write a file", source),
    };
    let path = Path::new(path);
    if let Some(parent) = path.parent().filter(|it| *it != Path::new("")) {
        files.create_dir_all(parent).map_err(failed)?;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Within a reserved folder's name nobody can have a file of this path.
    files.create_dir_all(".ctx").map_err(failed)?;
    let unfinished = Path::new(".ctx").join(format!("{name}.unfinished"));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let mut file = files.open_with(&unfinished, &options).map_err(failed)?;
    file.write_all(content).map_err(failed)?;
    file.sync_data().map_err(failed)?;
    files.rename(&unfinished, files, path).map_err(failed)
}

/// Puts the entry of `path` in its folder on the disk.
pub(super) fn sync(files: &Dir, path: &str) -> io::Result<()> {
    let parent = Path::new(path)
        .parent()
        .filter(|it| *it != Path::new(""))
        .unwrap_or(Path::new("."));
    files.open(parent)?.sync_all()
}
