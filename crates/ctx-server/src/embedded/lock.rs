//! An exclusive lock on a data folder: the memory of two processes would contradict each other.

use std::fs::File;
use std::io::{self, Read as _};
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
/// [`ServerError::Busy`] while another process holds the lock, and [`ServerError::DataFolder`],
/// also if the file of the lock is of something else.
pub(super) fn lock(folder: &Path, dir: &Dir) -> Result<Lock, ServerError> {
    let failed = |source: io::Error| ServerError::DataFolder {
        folder: folder.to_owned(),
        source,
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true);
    let mut file = dir.open_with(FILE, &options).map_err(failed)?.into_std();
    if is_foreign(&file) {
        let why = "its file \"lock\" was not written by a server, so it is no data folder";
        return Err(failed(io::Error::new(io::ErrorKind::InvalidData, why)));
    }
    match ctx_source::lock(&mut file).map_err(failed)? {
        Taken::Ours => Ok(Lock(file)),
        Taken::Theirs(process) => Err(ServerError::Busy {
            folder: folder.to_owned(),
            process,
        }),
    }
}

/// Whether `file` holds anything but the number of a process, or what a loss of power leaves of it.
/// What cannot be read, as while another holds the lock on some systems, is not.
fn is_foreign(file: &File) -> bool {
    /// More than the digits of any number.
    const MOST: u64 = 32;
    let mut bytes = Vec::new();
    let read = file.take(MOST).read_to_end(&mut bytes);
    let is_own = |it: &u8| it.is_ascii_digit() || *it == 0;
    read.is_ok() && !bytes.iter().all(is_own)
}
