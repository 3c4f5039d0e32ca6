//! Reads whole inputs with a limit on their size: a device, or a pipe that never ends, takes no
//! more memory than the limit; one that yields zeros is refused at once.

use std::fs::File;
use std::io::{self, Read, Take};
use std::path::Path;

use crate::failure::Failure;
use crate::interrupt::Stdin;
use crate::walk::cause;

/// The most bytes of a receipt, of a context, and of the chunks of one.
pub(crate) const CONTEXT: u64 = 256 << 20;
/// The most bytes of a question, and of the results of another search.
pub(crate) const QUESTION: u64 = 16 << 20;

/// The size in bytes from which an input may be very large.
pub(crate) const MUCH: usize = 1 << 20;
/// No text of any encoding begins with these bytes.
const NO_TEXT: [u8; 2] = [0; 2];

/// The limit and the hints for an input that is read whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole<'a> {
    /// The name of the input in errors.
    pub(crate) name: &'a str,
    /// The most bytes that it may have.
    pub(crate) most: u64,
    /// The hint if it has more.
    pub(crate) fewer: &'a str,
    /// The hint if it cannot be read.
    pub(crate) other: &'a str,
}

impl Whole<'_> {
    /// Reads the whole file at `path`.
    ///
    /// # Errors
    /// It cannot be read, or has too many bytes.
    pub(crate) fn file(self, path: &Path) -> Result<Vec<u8>, Failure> {
        let read = Bounded::open(path, self.most);
        let read = read.and_then(all);
        read.map_err(|error| self.failure(&error, &cause(path, &error)))
    }

    /// Reads standard input to its end.
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

/// Reads everything that `reader` has.
fn all(mut reader: Bounded<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = reader.most;
    read_rest(&mut reader, &mut bytes, most)?;
    Ok(bytes)
}

/// Appends the rest of `reader` to `bytes`, which may grow to `most`.
pub(crate) fn read_rest(reader: &mut impl Read, bytes: &mut Vec<u8>, most: u64) -> io::Result<()> {
    reader.by_ref().take(MUCH as u64).read_to_end(bytes)?;
    make_room(bytes, most);
    reader.read_to_end(bytes).map(drop)
}

/// Reserves room for `most` bytes if there are many already. Reserved memory is not used before it
/// is filled; growing instead would copy the bytes, and hold them twice meanwhile.
pub(crate) fn make_room(bytes: &mut Vec<u8>, most: u64) {
    if bytes.len() >= MUCH {
        // If that much cannot be reserved, they grow as usual.
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let _ = bytes.try_reserve_exact(most.saturating_sub(bytes.len()));
    }
}

/// A reader that fails if there is more input than allowed, or if its beginning cannot be text.
#[derive(Debug)]
pub(crate) struct Bounded<R> {
    reader: Take<R>,
    most: u64,
}

impl Bounded<File> {
    /// Opens the file at `path`; fails before reading if it is too large.
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
        // One byte more shows that there is too much.
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
            let told = "it begins with NUL bytes, so it is not text";
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
    fn an_input_that_begins_with_zeros_is_not_read() {
        let mut zeros = Bounded::new(io::repeat(0), 16 << 20);
        let error = zeros.read(&mut [1; 100]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        // Text in another encoding is reported as that, and so are zeros later in a text.
        for text in ["\0{\0}".as_bytes(), b"{\0\0}", b"\0", b""] {
            assert_eq!(all(Bounded::new(text, 16)).unwrap(), text);
        }
    }
}
