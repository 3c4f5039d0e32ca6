//! What is read whole has a bound: a device, or a pipe that never ends, takes no more memory than that.

use std::fs::File;
use std::io::{self, Read, Take};
use std::path::Path;

use crate::failure::Failure;
use crate::walk::cause;

/// The most bytes of a receipt, of a context, and of the chunks of one.
pub(crate) const CONTEXT: u64 = 256 << 20;
/// The most bytes of a question, and of what another search found.
pub(crate) const QUESTION: u64 = 16 << 20;

/// So much is read at once.
const PIECE: usize = 1 << 20;

/// What is read whole, and what to do where it cannot be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole<'a> {
    /// What errors call it.
    pub(crate) name: &'a str,
    /// The most bytes it may have.
    pub(crate) most: u64,
    /// The hint where it has more.
    pub(crate) fewer: &'a str,
    /// The hint where it cannot be read.
    pub(crate) other: &'a str,
}

impl Whole<'_> {
    /// All of the file at `path`.
    ///
    /// # Errors
    /// It cannot be read, or has more bytes than it may.
    pub(crate) fn file(self, path: &Path) -> Result<Vec<u8>, Failure> {
        let read = File::open(path).and_then(|file| {
            // Of a file that is too large, nothing is read.
            if file.metadata()?.len() > self.most {
                return Err(too_large(self.most));
            }
            all(file, self.most)
        });
        read.map_err(|error| self.failure(&error, &cause(path, &error)))
    }

    /// All of standard input.
    ///
    /// # Errors
    /// Those of [`Whole::file`].
    pub(crate) fn stdin(self) -> Result<Vec<u8>, Failure> {
        let read = all(io::stdin().lock(), self.most);
        read.map_err(|error| self.failure(&error, &error.to_string()))
    }

    fn failure(self, error: &io::Error, why: &str) -> Failure {
        let hint = match error.kind() {
            io::ErrorKind::FileTooLarge => self.fewer,
            _ => self.other,
        };
        Failure::input(format!("failed to read {}: {why}", self.name)).with_hint(hint)
    }
}

/// All that `reader` has. It is held in pieces until it is known to be little enough: one that grows would be copied, and
/// be there twice.
fn all(reader: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut reader = Bounded::new(reader, most);
    let mut pieces = Vec::new();
    loop {
        let mut piece = Vec::with_capacity(PIECE);
        if reader.by_ref().take(PIECE as u64).read_to_end(&mut piece)? == 0 {
            return Ok(pieces.concat());
        }
        pieces.push(piece);
    }
}

/// A reader that fails where there is more than there may be.
#[derive(Debug)]
pub(crate) struct Bounded<R> {
    reader: Take<R>,
    most: u64,
}

impl<R: Read> Bounded<R> {
    pub(crate) fn new(reader: R, most: u64) -> Self {
        // One more tells that there is more.
        let reader = reader.take(most + 1);
        Bounded { reader, most }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        if self.reader.limit() == 0 {
            return Err(too_large(self.most));
        }
        Ok(read)
    }
}

fn too_large(most: u64) -> io::Error {
    let told = format!("it has more than {} MiB", most >> 20);
    io::Error::new(io::ErrorKind::FileTooLarge, told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_is_read_as_may_be_and_more_is_an_error() {
        for (has, most) in [
            (0, 0),
            (3, 3),
            (3, 4),
            (1, 0),
            (4, 3),
            (100_000, 3),
            (2 * PIECE, 2 * PIECE),
            (2 * PIECE + 1, 2 * PIECE),
            (2 * PIECE + 1, 3 * PIECE),
        ] {
            let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(has).collect();
            match all(&*bytes, most as u64) {
                Ok(read) => assert!(read == bytes && has <= most, "{has} of {most}"),
                Err(error) => {
                    assert!(has > most, "{has} of {most}");
                    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
                }
            }
        }
        let endless = all(io::repeat(0), 16 << 20).unwrap_err();
        assert_eq!(endless.to_string(), "it has more than 16 MiB");
    }
}
