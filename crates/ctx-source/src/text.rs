//! A file as text.

use ctx_model::LineSpan;

use crate::decode::{Decoded, decode};
use crate::lines::{LineIndex, without_terminator};

/// The text of one state of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    content: Box<str>,
    lines: LineIndex,
    hash: [u8; 32],
    converted: Option<Conversion>,
}

/// What was done to make a file text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conversion {
    /// What it was: `UTF-16LE`, `windows-1252`, …
    pub from: &'static str,
    /// How many characters could not be read and are U+FFFD now.
    pub replaced: usize,
}

impl Text {
    /// Decodes `bytes`; `None` where they hold no text, or 4 GiB of it. O(bytes).
    pub fn decode(bytes: Vec<u8>) -> Option<Self> {
        match decode(bytes) {
            Decoded::Text(text) => Text::new(text, None),
            Decoded::Converted {
                text,
                from,
                replaced,
            } => Text::new(text, Some(Conversion { from, replaced })),
            Decoded::Empty => Text::new(String::new(), None),
            Decoded::Binary => None,
        }
    }

    fn new(content: String, converted: Option<Conversion>) -> Option<Self> {
        Some(Text {
            lines: LineIndex::new(&content)?,
            hash: *blake3::hash(content.as_bytes()).as_bytes(),
            content: content.into(),
            converted,
        })
    }

    /// All of it.
    pub fn as_str(&self) -> &str {
        &self.content
    }

    /// Where its lines are.
    pub fn lines(&self) -> &LineIndex {
        &self.lines
    }

    /// What was done to make it text, where something was.
    pub fn converted(&self) -> Option<Conversion> {
        self.converted
    }

    /// BLAKE3 of the text.
    pub fn hash(&self) -> &[u8; 32] {
        &self.hash
    }

    /// BLAKE3 of the text: 64 hexadecimal digits.
    pub fn content_hash(&self) -> String {
        blake3::Hash::from_bytes(self.hash).to_hex().to_string()
    }

    /// Lines `span` as they are, but for the terminator of the last; `None` past the end.
    pub fn slice(&self, span: LineSpan) -> Option<&str> {
        let lines = &self.content[self.lines.range(span)?];
        Some(without_terminator(lines))
    }

    /// Line `number`, from 1, without its terminator.
    pub fn line(&self, number: u32) -> Option<&str> {
        self.slice(LineSpan::new(number, number).ok()?)
    }

    /// Bytes that it takes in memory, or somewhat more.
    pub(crate) fn size(&self) -> usize {
        self.content.len() + self.lines.size() + size_of::<Self>()
    }
}
