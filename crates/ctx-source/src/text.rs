//! The decoded text of a file.

use std::ops::Range;

use ctx_model::{LineSpan, without_line_end};
use ctx_secrets::Secret;

use crate::decode::{Decoded, decode};
use crate::lines::LineIndex;

/// The decoded text of one state of a file, with its line index and masks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    content: Box<str>,
    lines: LineIndex,
    unmasked_hash: [u8; 32],
    shown_hash: [u8; 32],
    converted: Option<Conversion>,
    masked: Box<[Secret]>,
}

/// Whether secrets are masked or shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Secrets {
    /// Secrets in a text are masked, and files that exist to hold secrets are not read: see
    /// [`ctx_secrets`].
    #[default]
    Masked,
    /// Secrets are treated like any other text.
    Shown,
}

/// How the bytes of a file were converted to text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conversion {
    /// The original encoding, such as `UTF-16LE` or `windows-1252`, or `CR line ends`.
    pub from: &'static str,
    /// How many undecodable sequences were replaced by U+FFFD.
    pub replaced: usize,
}

impl Text {
    /// Decodes the `bytes` of the file at `path`; `None` if they are not text, or 4 GiB of it or
    /// more. O(bytes).
    pub fn decode(path: &str, bytes: Vec<u8>, secrets: Secrets) -> Option<Self> {
        let (mut content, converted) = match decode(bytes) {
            Decoded::Text(text) => (text, None),
            Decoded::Converted {
                text,
                from,
                replaced,
            } => (text, Some(Conversion { from, replaced })),
            Decoded::Empty => (String::new(), None),
            Decoded::Binary => return None,
        };
        let unmasked_hash = *blake3::hash(content.as_bytes()).as_bytes();
        let masked = match secrets {
            Secrets::Masked => ctx_secrets::mask(path, &mut content),
            Secrets::Shown => Vec::new(),
        };
        let shown_hash = match masked.as_slice() {
            [] => unmasked_hash,
            _ => *blake3::hash(content.as_bytes()).as_bytes(),
        };
        Some(Text {
            lines: LineIndex::new(&content)?,
            unmasked_hash,
            shown_hash,
            content: content.into(),
            converted,
            masked: masked.into(),
        })
    }

    /// The whole text, with secrets masked.
    pub fn as_str(&self) -> &str {
        &self.content
    }

    /// The index of its lines.
    pub fn lines(&self) -> &LineIndex {
        &self.lines
    }

    /// How the file was converted to text, if it was.
    pub fn converted(&self) -> Option<Conversion> {
        self.converted
    }

    /// The masked secrets, in order.
    pub fn masked(&self) -> &[Secret] {
        &self.masked
    }

    /// How many masked secrets overlap the lines of `span`. O(log secrets).
    pub fn masked_in(&self, span: LineSpan) -> usize {
        if self.masked.is_empty() {
            return 0;
        }
        let lines = self.lines.range(span).unwrap_or_default();
        let before = self.masked.partition_point(|it| it.span.end <= lines.start);
        let begun = self.masked.partition_point(|it| it.span.start < lines.end);
        begun.saturating_sub(before)
    }

    /// BLAKE3 of the unmasked text, which identifies a state of the file. A caller who learns
    /// whether a guess has this hash learns whether a guessed secret is right, so
    /// [`locate`](crate::locate) does not compare it.
    pub fn unmasked_hash(&self) -> &[u8; 32] {
        &self.unmasked_hash
    }

    /// BLAKE3 of the text as it is shown, with masks: the one that can be the
    /// [`content_hash`](ctx_model::Chunk::content_hash) of a chunk.
    pub fn shown_hash(&self) -> &[u8; 32] {
        &self.shown_hash
    }

    /// The masked byte ranges of line `number`, relative to its start, in order. O(log secrets) and
    /// O(1) per range.
    pub fn masked_on(&self, number: u32) -> impl Iterator<Item = Range<usize>> {
        let line = LineSpan::new(number, number).ok();
        let line = line.and_then(|it| self.lines.range(it)).unwrap_or_default();
        let first = self.masked.partition_point(|it| it.span.end <= line.start);
        let there = self.masked[first..].iter().map(|it| &it.span);
        let there = there.take_while(move |it| it.start < line.end);
        there.map(move |it| it.start.saturating_sub(line.start)..it.end.min(line.end) - line.start)
    }

    /// Whether line `number` has a letter or digit of ASCII outside masks. O(log secrets + bytes).
    pub(crate) fn shows(&self, number: u32) -> bool {
        let line = self.line(number).unwrap_or_default().as_bytes();
        let has_word = |part: &[u8]| part.iter().any(u8::is_ascii_alphanumeric);
        let mut at = 0;
        for masked in self.masked_on(number) {
            if has_word(&line[at..masked.start.clamp(at, line.len())]) {
                return true;
            }
            at = masked.end.min(line.len());
        }
        has_word(&line[at..])
    }

    /// Whether line `number` may equal `said`: masked bytes match anything, so only the length
    /// counts for them.
    pub(crate) fn may_say(&self, number: u32, said: &str) -> bool {
        let Some(line) = self.line(number).filter(|it| it.len() == said.len()) else {
            return false;
        };
        let (line, said) = (line.as_bytes(), said.as_bytes());
        let mut at = 0;
        for masked in self.masked_on(number) {
            // A mask may include the line end.
            let start = masked.start.min(line.len());
            if line[at..start] != said[at..start] {
                return false;
            }
            at = masked.end.min(line.len());
        }
        line[at..] == said[at..]
    }

    /// Lines `span`, without the terminator of the last; `None` if `span` is past the end.
    pub fn slice(&self, span: LineSpan) -> Option<&str> {
        let lines = &self.content[self.lines.range(span)?];
        Some(without_line_end(lines))
    }

    /// Line `number`, from 1, without its terminator.
    pub fn line(&self, number: u32) -> Option<&str> {
        self.slice(LineSpan::new(number, number).ok()?)
    }

    /// An upper bound of its memory, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.content.len() + self.lines.size() + size_of_val(&*self.masked) + size_of::<Self>()
    }
}
