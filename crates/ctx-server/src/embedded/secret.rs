//! The key that signs labels and handles: a file in the data folder, so that they outlive the
//! process. Beside it, an ignore file keeps the folder out of repositories.

use std::io::{self, Read as _};

use cap_std::fs::Dir;
use ctx_service::SigningKey;
use ctx_source::{ignore_in_git, write_private};

use crate::ServerError;
use crate::random::random;

const FILE: &str = "secret";

/// Reads the key of the data folder, and creates it if there is none. Before it is created, the
/// folder is excluded from repositories, unless a user later decides otherwise.
pub(super) fn secret(
    dir: &Dir,
    failed: &dyn Fn(io::Error) -> ServerError,
) -> Result<SigningKey, ServerError> {
    let ignored = ignore_in_git(dir);
    match read(dir) {
        // A key made by an earlier version may be on a disk that is full by now; it is used all the
        // same.
        Ok(key) => Ok(SigningKey::new(key)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            ignored.map_err(failed)?;
            let key = random().map_err(ServerError::Random)?;
            // Written atomically: a truncated key would lock the folder.
            write_private(dir, FILE, &key).map_err(failed)?;
            Ok(SigningKey::new(key))
        }
        Err(error) => Err(failed(error)),
    }
}

fn read(dir: &Dir) -> io::Result<[u8; 32]> {
    let mut key = Vec::new();
    // One byte more shows that the file is too long.
    dir.open(FILE)?.take(33).read_to_end(&mut key)?;
    key.try_into().map_err(|_| {
        let told = "its file `secret` is not 32 bytes long: restore it, or remove it, which makes all handles given out invalid";
        io::Error::new(io::ErrorKind::InvalidData, told)
    })
}
