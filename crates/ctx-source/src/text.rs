//! A file as text.

use std::ops::Range;

use ctx_model::{LineSpan, without_line_end};
use ctx_secrets::Secret;

use crate::decode::{Decoded, decode};
use crate::lines::LineIndex;

/// The text of one state of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    content: Box<str>,
    lines: LineIndex,
    hash: [u8; 32],
    /// Of the text with its masks.
    shown: [u8; 32],
    converted: Option<Conversion>,
    masked: Box<[Secret]>,
}

/// Whether secrets are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Secrets {
    /// Each is masked in a text, and files that are there to hold some are not read: see [`ctx_secrets`].
    #[default]
    Masked,
    /// They are text as all else is.
    Shown,
}

/// What was done to make a file text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conversion {
    /// What it was: `UTF-16LE`, `windows-1252`, … or `CR line ends`.
    pub from: &'static str,
    /// How many characters could not be read and are U+FFFD now.
    pub replaced: usize,
}

impl Text {
    /// Decodes the `bytes` of the file at `path`; `None` where they hold no text, or 4 GiB of it. O(bytes).
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
        let hash = *blake3::hash(content.as_bytes()).as_bytes();
        let masked = match secrets {
            Secrets::Masked => ctx_secrets::mask(path, &mut content),
            Secrets::Shown => Vec::new(),
        };
        let shown = match masked.as_slice() {
            [] => hash,
            _ => *blake3::hash(content.as_bytes()).as_bytes(),
        };
        Some(Text {
            lines: LineIndex::new(&content)?,
            hash,
            shown,
            content: content.into(),
            converted,
            masked: masked.into(),
        })
    }

    /// All of it, with secrets masked.
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

    /// The secrets that are masked in it, in order.
    pub fn masked(&self) -> &[Secret] {
        &self.masked
    }

    /// How many of them have bytes on the lines of `span`. O(log secrets).
    pub fn masked_in(&self, span: LineSpan) -> usize {
        if self.masked.is_empty() {
            return 0;
        }
        let lines = self.lines.range(span).unwrap_or_default();
        let before = self.masked.partition_point(|it| it.span.end <= lines.start);
        let begun = self.masked.partition_point(|it| it.span.start < lines.end);
        begun.saturating_sub(before)
    }

    /// BLAKE3 of the text as it is without masks: it tells one state of the file from another. Whoever is told whether it is that
    /// of a guess knows what is masked, so that [`locate`](crate::locate) does not tell.
    pub fn hash(&self) -> &[u8; 32] {
        &self.hash
    }

    /// [`hash`](Text::hash) in 64 hexadecimal digits.
    pub fn content_hash(&self) -> String {
        blake3::Hash::from_bytes(self.hash).to_hex().to_string()
    }

    /// BLAKE3 of the text as it is shown.
    pub fn shown_hash(&self) -> &[u8; 32] {
        &self.shown
    }

    /// The bytes of line `number` that are masked, from its beginning, in order. O(log secrets), and O(1) each.
    pub fn masked_on(&self, number: u32) -> impl Iterator<Item = Range<usize>> {
        let line = LineSpan::new(number, number).ok();
        let line = line.and_then(|it| self.lines.range(it)).unwrap_or_default();
        let first = self.masked.partition_point(|it| it.span.end <= line.start);
        let there = self.masked[first..].iter().map(|it| &it.span);
        let there = there.take_while(move |it| it.start < line.end);
        there.map(move |it| it.start.saturating_sub(line.start)..it.end.min(line.end) - line.start)
    }

    /// Whether line `number` has a word that is not masked. O(log secrets + bytes).
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

    /// Whether line `number` may say `said`, as far as it is shown: of what is masked only the length is looked at.
    pub(crate) fn may_say(&self, number: u32, said: &str) -> bool {
        let Some(line) = self.line(number).filter(|it| it.len() == said.len()) else {
            return false;
        };
        let (line, said) = (line.as_bytes(), said.as_bytes());
        let mut at = 0;
        for masked in self.masked_on(number) {
            // What ends the line may be in it.
            let start = masked.start.min(line.len());
            if line[at..start] != said[at..start] {
                return false;
            }
            at = masked.end.min(line.len());
        }
        line[at..] == said[at..]
    }

    /// Lines `span` as they are, but for the terminator of the last; `None` past the end.
    pub fn slice(&self, span: LineSpan) -> Option<&str> {
        let lines = &self.content[self.lines.range(span)?];
        Some(without_line_end(lines))
    }

    /// Line `number`, from 1, without its terminator.
    pub fn line(&self, number: u32) -> Option<&str> {
        self.slice(LineSpan::new(number, number).ok()?)
    }

    /// Bytes that it takes in memory, or somewhat more.
    pub(crate) fn size(&self) -> usize {
        self.content.len() + self.lines.size() + size_of_val(&*self.masked) + size_of::<Self>()
    }
}
