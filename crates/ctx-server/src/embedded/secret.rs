//! What labels and handles are made with: a file of the data folder, so that they outlive the process. Beside it stands what
//! keeps the folder from a repository.

use std::io::{self, Read as _, Write as _};

use cap_std::fs::{Dir, OpenOptions};
use ctx_service::Secret;

use crate::ServerError;

const FILE: &str = "secret";
/// What git reads, and every walk of this workspace that heeds such files.
const IGNORE: &str = ".gitignore";

/// Reads the secret of the data folder, and makes it where there is none. Before that nothing of the folder may get into a
/// repository by an oversight, unless somebody says otherwise afterwards.
pub(super) fn secret(
    dir: &Dir,
    failed: &dyn Fn(io::Error) -> ServerError,
) -> Result<Secret, ServerError> {
    let ignored = ignore(dir);
    match read(dir) {
        // One that an earlier version made may be on a disk that is full by now, and is used all the same.
        Ok(key) => Ok(Secret::new(key)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            ignored.map_err(failed)?;
            let mut key = [0; 32];
            getrandom::fill(&mut key).map_err(ServerError::Random)?;
            write(dir, FILE, &key).map_err(failed)?;
            Ok(Secret::new(key))
        }
        Err(error) => Err(failed(error)),
    }
}

fn read(dir: &Dir) -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    dir.open(FILE)?.read_exact(&mut key)?;
    Ok(key)
}

/// Has git pass over all of the folder, as it does over the folder of an index. One that is there stays as it is.
fn ignore(dir: &Dir) -> io::Result<()> {
    match dir.symlink_metadata(IGNORE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => write(dir, IGNORE, b"*\n"),
        there => there.map(drop),
    }
}

/// Whole or not at all: a key that is cut short would lock the folder.
fn write(dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let unfinished = format!("{name}.new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = dir.open_with(&unfinished, &options)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    dir.rename(&unfinished, dir, name)
}
