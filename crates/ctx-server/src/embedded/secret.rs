//! What labels and handles are made with: a file of the data folder, so that they outlive the process. Beside it stands what
//! keeps the folder from a repository.

use std::io::{self, Read as _};

use cap_std::fs::Dir;
use ctx_service::Secret;
use ctx_source::{ignore_in_git, write_private};

use crate::ServerError;
use crate::chance::random;

const FILE: &str = "secret";

/// Reads the secret of the data folder, and makes it where there is none. Before that nothing of the folder may get into a
/// repository by an oversight, unless somebody says otherwise afterwards.
pub(super) fn secret(
    dir: &Dir,
    failed: &dyn Fn(io::Error) -> ServerError,
) -> Result<Secret, ServerError> {
    let ignored = ignore_in_git(dir);
    match read(dir) {
        // One that an earlier version made may be on a disk that is full by now, and is used all the same.
        Ok(key) => Ok(Secret::new(key)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            ignored.map_err(failed)?;
            let key = random().map_err(ServerError::Random)?;
            // A key that is cut short would lock the folder.
            write_private(dir, FILE, &key).map_err(failed)?;
            Ok(Secret::new(key))
        }
        Err(error) => Err(failed(error)),
    }
}

fn read(dir: &Dir) -> io::Result<[u8; 32]> {
    let mut key = Vec::new();
    // One more tells that there is more.
    dir.open(FILE)?.take(33).read_to_end(&mut key)?;
    key.try_into().map_err(|_| {
        let told = "its file `secret` is not 32 bytes long: restore it, or remove it, after which no handle is good that was given out";
        io::Error::new(io::ErrorKind::InvalidData, told)
    })
}
