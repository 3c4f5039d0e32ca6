//! What labels and handles are made with: a file of the data folder, so that they outlive the process.

use std::io::{self, Read as _, Write as _};

use cap_std::fs::{Dir, OpenOptions};
use ctx_service::Secret;

use crate::ServerError;

const FILE: &str = "secret";

/// Reads the secret of the data folder, and makes it where there is none.
pub(super) fn secret(
    dir: &Dir,
    failed: &dyn Fn(io::Error) -> ServerError,
) -> Result<Secret, ServerError> {
    match read(dir) {
        Ok(key) => Ok(Secret::new(key)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut key = [0; 32];
            getrandom::fill(&mut key).map_err(ServerError::Random)?;
            write(dir, &key).map_err(failed)?;
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

/// Whole or not at all: a key that is cut short would lock the folder.
fn write(dir: &Dir, key: &[u8; 32]) -> io::Result<()> {
    let unfinished = format!("{FILE}.new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut file = dir.open_with(&unfinished, &options)?;
    file.write_all(key)?;
    file.sync_all()?;
    dir.rename(&unfinished, dir, FILE)
}
