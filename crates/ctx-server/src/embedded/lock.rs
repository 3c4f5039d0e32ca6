//! One process at a time: what two of them keep in memory of one folder would contradict each other.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

use cap_std::fs::{Dir, OpenOptions};

use crate::ServerError;

const FILE: &str = "lock";

/// The right to a data folder. It ends with the process at the latest.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "closing it gives the right back")] File);

/// Takes `dir`, which is `folder`.
///
/// # Errors
/// [`ServerError::Busy`] while another has it, and [`ServerError::DataFolder`].
pub(super) fn lock(folder: &Path, dir: &Dir) -> Result<Lock, ServerError> {
    let failed = |source: io::Error| ServerError::DataFolder {
        folder: folder.to_owned(),
        source,
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true);
    let mut file = dir.open_with(FILE, &options).map_err(failed)?.into_std();
    match file.try_lock() {
        Ok(()) => {
            // Who has it is told as far as it can be: a full disk takes nothing away from the right.
            let _ = file
                .set_len(0)
                .and_then(|()| file.rewind())
                .and_then(|()| write!(file, "{}", std::process::id()));
            Ok(Lock(file))
        }
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            Err(ServerError::Busy {
                folder: folder.to_owned(),
                process: holder.parse().ok(),
            })
        }
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}
