//! What is read whole has a bound: a device, or a pipe that never ends, takes no more memory than that; one of zeros, none.

use std::fs::File;
use std::io::{self, Read, Take};
use std::path::Path;

use crate::failure::Failure;
use crate::interrupt::Stdin;
use crate::walk::cause;

/// The most bytes of a receipt, of a context, and of the chunks of one.
pub(crate) const CONTEXT: u64 = 256 << 20;
/// The most bytes of a question, and of what another search found.
pub(crate) const QUESTION: u64 = 16 << 20;

/// What has more may have much more, in bytes.
pub(crate) const MUCH: usize = 1 << 20;
/// No text begins so, in whatever encoding.
const NO_TEXT: [u8; 2] = [0; 2];

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
        let read = Bounded::open(path, self.most);
        let read = read.and_then(all);
        read.map_err(|error| self.failure(&error, &cause(path, &error)))
    }

    /// All of standard input.
    ///
    /// # Errors
    /// Those of [`Whole::file`].
    pub(crate) fn stdin(self) -> Result<Vec<u8>, Failure> {
        let read = all(Bounded::new(Stdin::lock(), self.most));
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

/// All that `reader` has.
fn all(mut reader: Bounded<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = reader.most;
    read_rest(&mut reader, &mut bytes, most)?;
    Ok(bytes)
}

/// Adds the rest of `reader` to `bytes`, which may come to `most`.
pub(crate) fn read_rest(reader: &mut impl Read, bytes: &mut Vec<u8>, most: u64) -> io::Result<()> {
    reader.by_ref().take(MUCH as u64).read_to_end(bytes)?;
    make_room(bytes, most);
    reader.read_to_end(bytes).map(drop)
}

/// Where `bytes` are many, room for as many as there may be. It takes no memory before it is filled; and bytes that grow would be
/// copied, and be there twice.
pub(crate) fn make_room(bytes: &mut Vec<u8>, most: u64) {
    if bytes.len() >= MUCH {
        // Where there is no such room, they grow.
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let _ = bytes.try_reserve_exact(most.saturating_sub(bytes.len()));
    }
}

/// A reader that fails where there is more than there may be, and where it is seen at once that there is no text.
#[derive(Debug)]
pub(crate) struct Bounded<R> {
    reader: Take<R>,
    most: u64,
}

impl Bounded<File> {
    /// The file at `path`, of which nothing is read if it is too large.
    pub(crate) fn open(path: &Path, most: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata()?.len() > most {
            return Err(too_large(most));
        }
        Ok(Bounded::new(file, most))
    }
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
        let is_first = self.reader.limit() > self.most;
        let read = self.reader.read(buffer)?;
        if self.reader.limit() == 0 {
            return Err(too_large(self.most));
        }
        if is_first && buffer[..read].starts_with(&NO_TEXT) {
            let told = "it begins with NUL bytes, as no text does";
            return Err(io::Error::new(io::ErrorKind::InvalidData, told));
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
            (2 * MUCH, 2 * MUCH),
            (2 * MUCH + 1, 2 * MUCH),
            (2 * MUCH + 1, 3 * MUCH),
        ] {
            let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(has).collect();
            match all(Bounded::new(&*bytes, most as u64)) {
                Ok(read) => assert!(read == bytes && has <= most, "{has} of {most}"),
                Err(error) => {
                    assert!(has > most, "{has} of {most}");
                    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
                }
            }
        }
        let endless = all(Bounded::new(io::repeat(b'x'), 16 << 20)).unwrap_err();
        assert_eq!(endless.to_string(), "it has more than 16 MiB");
    }

    #[test]
    fn what_begins_with_zeros_is_not_read() {
        let mut zeros = Bounded::new(io::repeat(0), 16 << 20);
        let error = zeros.read(&mut [1; 100]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        // Text in another encoding is told to be that, and where a text has them later that is told.
        for text in ["\0{\0}".as_bytes(), b"{\0\0}", b"\0", b""] {
            assert_eq!(all(Bounded::new(text, 16)).unwrap(), text);
        }
    }
}
