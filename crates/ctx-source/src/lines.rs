//! An index of the lines of a text.

use std::ops::Range;

use ctx_model::LineSpan;
use memchr::memchr_iter;

/// The byte offset at which each line of a text begins. Lines are those of [`ctx_model::lines`], as
/// in outlines and merged blocks: a line ends with `\n`, a `\r` before it is part of the line end,
/// and a final line end begins no further line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineIndex {
    /// The first byte of each line, ascending; never empty.
    starts: Vec<u32>,
    /// One past the last byte of the text.
    end: u32,
}

impl LineIndex {
    /// Indexes the lines of `text`; `None` for texts of 4 GiB and more. O(bytes).
    pub fn new(text: &str) -> Option<Self> {
        let end = u32::try_from(text.len()).ok()?;
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for at in memchr_iter(b'\n', bytes) {
            let next = at + 1;
            if next < bytes.len() {
                // It is below `end`.
                starts.extend(u32::try_from(next));
            }
        }
        Some(LineIndex { starts, end })
    }

    /// How many lines there are; at least one.
    pub fn count(&self) -> u32 {
        u32::try_from(self.starts.len()).unwrap_or(u32::MAX)
    }

    /// The byte range of lines `span`, with the terminator of the last; `None` if `span` is past
    /// the end.
    pub fn range(&self, span: LineSpan) -> Option<Range<usize>> {
        let start = *self.starts.get(span.start() as usize - 1)?;
        let end = match self.starts.get(span.end() as usize) {
            Some(&next) => next,
            None if span.end() == self.count() => self.end,
            None => return None,
        };
        Some(start as usize..end as usize)
    }

    /// The number, from 1, of the line that contains byte `offset`; the last line for offsets past
    /// the end. O(log lines).
    pub fn line_of(&self, offset: usize) -> u32 {
        let before = self
            .starts
            .partition_point(|&start| start as usize <= offset);
        u32::try_from(before).unwrap_or(u32::MAX)
    }

    /// The heap memory of the index, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.starts.capacity() * size_of::<u32>()
    }
}
