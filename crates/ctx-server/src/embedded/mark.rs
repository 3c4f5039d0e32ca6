//! How far an owner's state has come, in a file beside it. A crash leaves what was written last in a log, and where
//! that is damaged `SQLite` drops its end and says nothing: then the state is not as far as the mark says.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

/// The file, beside `state.db`.
pub(super) const FILE: &str = "state.mark";

/// A number that only grows. It is written after what it counts is on the disk, and not waited for: so it may be behind
/// and is never ahead.
#[derive(Debug)]
pub(super) struct Mark(File);

impl Mark {
    /// Opens the mark in `folder`, and makes it where there is none; and says how far it is, if it can be read.
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

    /// Notes that `changes` are on the disk.
    pub(super) fn reach(&mut self, changes: i64) -> io::Result<()> {
        self.0.rewind()?;
        self.0.write_all(&bytes(changes))
    }
}

/// The number, and a hash of it: a mark that is damaged says nothing.
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
