//! Spans of lines in a file.

use std::fmt;
use std::str::FromStr;

use crate::ModelError;

/// A run of lines: 1-based, inclusive at both ends, never empty.
// Invariant: 1 <= start <= end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineSpan {
    start: u32,
    end: u32,
}

impl LineSpan {
    /// Makes the span from line `start` to line `end`, both included.
    ///
    /// # Errors
    /// [`ModelError::SpanStartsAtZero`] and [`ModelError::SpanEndsBeforeStart`].
    pub fn new(start: u32, end: u32) -> Result<Self, ModelError> {
        if start == 0 {
            return Err(ModelError::SpanStartsAtZero);
        }
        if end < start {
            return Err(ModelError::SpanEndsBeforeStart { start, end });
        }
        Ok(LineSpan { start, end })
    }

    /// The first line's number.
    pub const fn start(self) -> u32 {
        self.start
    }

    /// The last line's number.
    pub const fn end(self) -> u32 {
        self.end
    }

    /// How many lines there are: at least one.
    pub const fn line_count(self) -> u32 {
        // `end - start` is at most `u32::MAX - 1`, because `start` is at least 1.
        self.end - self.start + 1
    }

    /// Whether every line of `other` is in this span.
    pub const fn contains(self, other: LineSpan) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether line `number` is in this span.
    pub const fn contains_line(self, number: u32) -> bool {
        self.start <= number && number <= self.end
    }

    /// Whether the two share a line, or one begins on the line after the other ends.
    pub const fn touches(self, other: LineSpan) -> bool {
        self.start <= other.end.saturating_add(1) && other.start <= self.end.saturating_add(1)
    }
}

impl fmt::Display for LineSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.start, self.end)
    }
}

/// Parses the form that `Display` writes: `a-b`.
impl FromStr for LineSpan {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self, ModelError> {
        let number = |digits: &str| -> Option<u32> {
            let is_number = digits.bytes().all(|it| it.is_ascii_digit());
            digits.parse().ok().filter(|_| is_number)
        };
        let ends = text.split_once('-');
        let ends = ends.and_then(|(start, end)| Some((number(start)?, number(end)?)));
        let (start, end) = ends.ok_or_else(|| ModelError::NoSpan {
            text: text.to_owned(),
        })?;
        LineSpan::new(start, end)
    }
}
