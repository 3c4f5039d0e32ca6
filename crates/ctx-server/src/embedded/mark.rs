//! A counter beside an owner's state that shows how far the state has come. After a crash the last
//! writes are in a log; if that is damaged, `SQLite` silently drops its end, and then the state is
//! behind the counter.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

/// The file name, beside `state.db`.
pub(super) const FILE: &str = "state.mark";

/// A counter that only grows. It is written after the changes that it counts are on the disk,
/// without a sync: so it may lag behind the state but is never ahead of it.
#[derive(Debug)]
pub(super) struct Mark(File);

impl Mark {
    /// Opens the counter in `folder`, and creates it if it does not exist. Also returns its value,
    /// if it can be read.
    pub(super) fn open(folder: &Path) -> io::Result<(Self, Option<i64>)> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(folder.join(FILE))?;
        let mut bytes = [0; 16];
        let reached = match file.read_exact(&mut bytes) {
            Ok(()) => read(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(error) => return Err(error),
        };
        Ok((Mark(file), reached))
    }

    /// Records that `changes` are on the disk.
    pub(super) fn reach(&mut self, changes: i64) -> io::Result<()> {
        self.0.rewind()?;
        self.0.write_all(&bytes(changes))
    }
}

/// The number and a hash of it, so that a damaged mark is ignored.
fn bytes(changes: i64) -> [u8; 16] {
    let number = changes.to_le_bytes();
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&number);
    bytes[8..].copy_from_slice(&blake3::hash(&number).as_bytes()[..8]);
    bytes
}

fn read(found: [u8; 16]) -> Option<i64> {
    let (number, _) = found.split_first_chunk()?;
    let changes = i64::from_le_bytes(*number);
    (bytes(changes) == found).then_some(changes)
}
