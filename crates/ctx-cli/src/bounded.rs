//! What is read whole has a bound: a device, or a pipe that never ends, takes no more memory than that.

use std::io::{self, Read, Take};

/// No input has more bytes.
const MOST_BYTES: u64 = 1 << 30;

/// A reader that fails where there is more than there may be.
#[derive(Debug)]
pub(crate) struct Bounded<R>(Take<R>);

impl<R: Read> Bounded<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self::to(reader, MOST_BYTES)
    }

    fn to(reader: R, most: u64) -> Self {
        // One more tells that there is more.
        Bounded(reader.take(most + 1))
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        if self.0.limit() == 0 {
            let kind = io::ErrorKind::FileTooLarge;
            return Err(io::Error::new(kind, "it has more than 1 GiB"));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_is_read_as_may_be_and_more_is_an_error() {
        for (has, most) in [(0, 0), (3, 3), (3, 4), (1, 0), (4, 3), (100_000, 3)] {
            let bytes = vec![b'x'; has];
            let mut read = String::new();
            let all = Bounded::to(&*bytes, most).read_to_string(&mut read);
            match all {
                Ok(all) => assert!(all == has && has as u64 <= most, "{has} of {most}"),
                Err(error) => {
                    assert!(has as u64 > most, "{has} of {most}");
                    assert_eq!(error.to_string(), "it has more than 1 GiB");
                }
            }
        }
        let endless = Bounded::to(io::repeat(0), 1 << 16).read_to_end(&mut Vec::new());
        assert_eq!(endless.unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
