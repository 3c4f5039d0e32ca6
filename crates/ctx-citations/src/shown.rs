//! What a context shows of a source: its text, and the lines of it.

use std::ops::Range;
use std::sync::Arc;

use ctx_model::{Chunk, Citation, ELISION, LineSpan, Rendition, without_line_end};

/// The shown part of a source.
// Invariant: the runs of `lines` are in order, and no two touch; `numbers` has none or one for each
// line of `text`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The text that an answer may quote.
    pub(crate) text: Arc<str>,
    /// The shown lines of the source.
    pub(crate) lines: Vec<LineSpan>,
    /// The number in the source of each line of the text; `None` for a mark, and for a part of an
    /// unknown line. Empty if the text is all of `lines`.
    pub(crate) numbers: Vec<Option<u32>>,
    /// Whether the shown text is unknown, so that nothing can be checked against it.
    pub(crate) is_unknown: bool,
}

impl Shown {
    /// What the context shows for `citation` of `chunk`, the leading one of those that were
    /// `merged` into it: the text that has the hash in the receipt, with its lines. O(bytes of all
    /// forms in which the chunk can be shown).
    pub(crate) fn of(citation: &Citation, chunk: &Chunk, merged: &[&Chunk]) -> Self {
        let hash = blake3::Hash::from_hex(&citation.content_hash).ok();
        let is_it = |text: &str| hash == Some(blake3::hash(text.as_bytes()));
        if is_it(chunk.full_text()) {
            return Shown::whole(chunk.full_text(), span_of(citation));
        }
        if let Some(rendition) = chunk.renditions.iter().find(|it| is_it(it.text())) {
            return Shown::part(rendition, chunk);
        }
        if !merged.is_empty() {
            let text = merged_text(chunk, merged);
            // For single lines without their line endings, only a chunk that is not shown may have
            // revealed the line endings of the file.
            let ended = || (!text.contains('\r')).then(|| text.replace('\n', "\r\n"));
            if is_it(&text) {
                return Shown::whole(&text, span_of(citation));
            } else if let Some(text) = ended().filter(|it| is_it(it)) {
                return Shown::whole(&text, span_of(citation));
            }
        }
        let summary = chunk.summary.as_deref().unwrap_or_default();
        if is_it(summary) {
            return Shown::whole(summary, None);
        }
        Shown {
            is_unknown: true,
            ..Shown::default()
        }
    }

    /// All of `lines`.
    pub(crate) fn whole(text: &str, lines: Option<LineSpan>) -> Self {
        Shown {
            text: Arc::from(text),
            lines: lines.into_iter().collect(),
            numbers: Vec::new(),
            is_unknown: false,
        }
    }

    /// The places of the lines of the text that have a number, without line endings, in order.
    /// Empty if the numbers are unknown. O(bytes).
    pub(crate) fn rows(&self) -> Vec<(u32, Range<usize>)> {
        let mut start = 0;
        let rows: Vec<Range<usize>> = self
            .text
            .split_inclusive('\n')
            .map(|line| {
                let range = start..start + without_line_end(line).len();
                start += line.len();
                range
            })
            .collect();
        if !self.numbers.is_empty() {
            let numbered = self.numbers.iter().zip(rows);
            let numbered = numbered.filter_map(|(number, row)| Some(((*number)?, row)));
            return numbered.collect();
        }
        match self.lines.as_slice() {
            // An empty line may be missing at the end.
            [all] if rows.len() <= all.line_count() as usize => (all.start()..).zip(rows).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether each of `lines` is shown.
    pub(crate) fn has(&self, lines: LineSpan) -> bool {
        self.lines.iter().any(|it| it.contains(lines))
    }

    /// What `rendition` shows of `chunk`. A line without a number is a part of one of the chunk's
    /// lines, or a mark for omitted text, which cannot be quoted.
    fn part(rendition: &Rendition, chunk: &Chunk) -> Self {
        if rendition.lines().is_empty() {
            return Shown::whole(rendition.text(), None);
        }
        let mut source = Source::of(chunk);
        let ends = ends(rendition.lines(), source.end());
        let mut from = source.first;
        let (mut text, mut numbers): (String, Vec<Option<u32>>) = (String::new(), Vec::new());
        let shown = rendition.text().lines().zip(rendition.lines()).zip(ends);
        for ((line, number), end) in shown {
            if let Some(number) = *number {
                numbers.push(Some(number));
                from = number.saturating_add(1);
                text.push_str(line);
            } else {
                let (is_there, number) = source.find(line, from, end);
                numbers.push(number);
                // The next one may be a part of the same line.
                from = number.unwrap_or(from);
                // No quotation contains it: there it stands for text that the quoter omitted.
                text.push_str(if is_there { line } else { ELISION });
            }
            text.push('\n');
        }
        Shown {
            text: Arc::from(text),
            lines: runs(numbers.iter().copied().flatten().collect()),
            numbers,
            is_unknown: false,
        }
    }
}

/// The lines of the source that `citation` covers.
pub(crate) fn span_of(citation: &Citation) -> Option<LineSpan> {
    LineSpan::new(citation.start_line?, citation.end_line?).ok()
}

/// For each line of a rendition, the number of the next line that has one; `end` if none follows.
fn ends(numbers: &[Option<u32>], end: u32) -> Vec<u32> {
    let mut next = end;
    let of = |number: &Option<u32>| {
        let after = next;
        next = number.unwrap_or(next);
        after
    };
    let mut ends: Vec<u32> = numbers.iter().rev().map(of).collect();
    ends.reverse();
    ends
}

/// How many times the bytes of a chunk are looked through for parts of its lines,
const LOOKS: usize = 16;
/// and how many bytes of a small one.
const LEAST_LOOK: usize = 1 << 20;

/// The lines of a chunk, numbered as in its file.
struct Source<'c> {
    first: u32,
    lines: Vec<&'c str>,
    /// How many more bytes are looked through.
    room: usize,
}

impl<'c> Source<'c> {
    fn of(chunk: &'c Chunk) -> Self {
        Source {
            first: chunk.span.map_or(1, LineSpan::start),
            lines: chunk.content.lines().collect(),
            room: chunk.content.len().saturating_mul(LOOKS).max(LEAST_LOOK),
        }
    }

    /// One past the last.
    fn end(&self) -> u32 {
        let count = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
        self.first.saturating_add(count)
    }

    /// Whether one of the lines `from..end` contains `part`, and which, if only one does. After
    /// [`LOOKS`] times the bytes of the chunk, a part counts as one of a line that is not known.
    fn find(&mut self, part: &str, from: u32, end: u32) -> (bool, Option<u32>) {
        let part = part.trim();
        if part.is_empty() || part == ELISION {
            return (false, None);
        }
        let mut first = None;
        for number in from..end.min(self.end()) {
            let index = number.checked_sub(self.first).map(|it| it as usize);
            let line = index.and_then(|it| self.lines.get(it));
            let line = line.copied().unwrap_or_default();
            let Some(room) = self.room.checked_sub(line.len() + 1) else {
                return (true, None);
            };
            self.room = room;
            if line.contains(part) {
                if first.is_some() {
                    return (true, None);
                }
                first = Some(number);
            }
        }
        (first.is_some(), first)
    }
}

/// Consecutive numbers as runs.
fn runs(mut numbers: Vec<u32>) -> Vec<LineSpan> {
    numbers.sort_unstable();
    numbers.dedup();
    let follows = |a: &u32, b: &u32| a.checked_add(1) == Some(*b);
    let runs = numbers.chunk_by(follows);
    runs.filter_map(|it| LineSpan::new(*it.first()?, *it.last()?).ok())
        .collect()
}

/// The text of `speaker` and of those that were `merged` into it, as one.
fn merged_text(speaker: &Chunk, merged: &[&Chunk]) -> String {
    let parts = std::iter::once(speaker).chain(merged.iter().copied());
    let parts = parts.filter_map(|it| Some((it.span?, it.content.as_str())));
    ctx_model::merging::merged_text(parts)
}

#[cfg(test)]
mod tests;
