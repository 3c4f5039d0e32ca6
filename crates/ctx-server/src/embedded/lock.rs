//! An exclusive lock on a data folder: the memory of two processes would contradict each other.

use std::fs::File;
use std::io;
use std::path::Path;

use cap_std::fs::{Dir, OpenOptions};
use ctx_source::Lock as Taken;

use crate::ServerError;

const FILE: &str = "lock";

/// The lock on a data folder. It ends with the process at the latest.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "closing it gives the right back")] File);

/// Locks `dir`, whose path is `folder`.
///
/// # Errors
/// [`ServerError::Busy`] while another process holds the lock, and [`ServerError::DataFolder`].
pub(super) fn lock(folder: &Path, dir: &Dir) -> Result<Lock, ServerError> {
    let failed = |source: io::Error| ServerError::DataFolder {
        folder: folder.to_owned(),
        source,
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true);
    let mut file = dir.open_with(FILE, &options).map_err(failed)?.into_std();
    match ctx_source::lock(&mut file).map_err(failed)? {
        Taken::Ours => Ok(Lock(file)),
        Taken::Theirs(process) => Err(ServerError::Busy {
            folder: folder.to_owned(),
            process,
        }),
    }
}
