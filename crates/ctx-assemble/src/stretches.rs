//! The weight of each part of a merged chunk. The ways to show it repeat these parts, so each part
//! is weighed once, and recognised by its bytes where it comes again.

use ctx_model::LineSpan;
use ctx_tokens::is_safe_joint;
use memchr::memchr_iter;

use crate::AssembleError;
use crate::price::cut_after;
use crate::unit::{Merged, Unit};

/// The first line of a chunk is looked for among this many first lines of a block.
const OPENING: usize = 4;

/// The stretches of lines of one unit, as its blocks write them.
#[derive(Debug, Default)]
pub(crate) struct Stretches {
    /// The lines of the unit, if several chunks were merged.
    span: Option<LineSpan>,
    first_line: String,
    /// The indices of lines at which a part, or its last line, begins or ends; ascending.
    breaks: Vec<usize>,
    /// The block that shows all parts, without its head. Empty until it was weighed.
    text: String,
    /// All of it, in order, if its lines were found.
    known: Vec<Stretch>,
}

#[derive(Debug)]
struct Stretch {
    /// The index of its first line in the block.
    line: usize,
    line_count: usize,
    start: usize,
    end: usize,
    weight: u64,
}

impl Stretches {
    /// Begins with another unit. O(n log n) for n parts.
    pub(crate) fn begin(&mut self, unit: &Unit<'_>) {
        self.text.clear();
        self.known.clear();
        self.span = None;
        if let Unit::Many(merged) = unit {
            self.begin_merged(merged);
        }
    }

    fn begin_merged(&mut self, merged: &Merged<'_>) {
        let Some(span) = merged.whole.span else {
            return;
        };
        self.span = Some(span);
        self.first_line.clear();
        let first = merged.whole.content.lines().next();
        self.first_line.push_str(first.unwrap_or_default());
        self.breaks.clear();
        for part in merged.parts.iter().filter_map(|part| part.span) {
            let start = (part.start() - span.start()) as usize;
            let end = start + part.line_count() as usize;
            // A part by itself may end with an empty line: it is then known up to its last line.
            self.breaks.extend([start, end - 1, end]);
        }
        self.breaks.sort_unstable();
        self.breaks.dedup();
    }

    /// The weight of `text`: a block of the unit that shows the lines of `span`, without its head.
    /// `weigh` weighs what is not known. O(bytes).
    pub(crate) fn weigh(
        &mut self,
        text: &str,
        span: Option<LineSpan>,
        weigh: impl Fn(&str) -> Result<u64, AssembleError>,
    ) -> Result<u64, AssembleError> {
        match (self.span, span) {
            (Some(all), Some(shown)) if all == shown => self.learn(text, weigh),
            (Some(all), Some(shown)) if !self.known.is_empty() && all.contains(shown) => {
                self.recognise(text, (shown.start() - all.start()) as usize, weigh)
            }
            _ => weigh(text),
        }
    }

    /// Weighs the block that shows all lines.
    fn learn(
        &mut self,
        text: &str,
        weigh: impl Fn(&str) -> Result<u64, AssembleError>,
    ) -> Result<u64, AssembleError> {
        let mut opening = text.lines().take(OPENING);
        let Some(opening) = opening.position(|line| line == self.first_line) else {
            return weigh(text);
        };
        self.known.clear();
        self.text.clear();
        self.text.push_str(text);
        let mut breaks = self.breaks.iter().map(|line| line + opening).peekable();
        let (mut start, mut first) = (0, 0);
        for (line, newline) in (1..).zip(memchr_iter(b'\n', text.as_bytes())) {
            let end = newline + 1;
            let is_break = end == text.len() || breaks.peek().is_some_and(|&it| it <= line);
            if !is_break || !is_safe_joint(&text[..end], &text[end..]) {
                continue;
            }
            while breaks.next_if(|&it| it <= line).is_some() {}
            self.known.push(Stretch {
                line: first,
                line_count: line - first,
                start,
                end,
                weight: weigh(&text[start..end])?,
            });
            (start, first) = (end, line);
        }
        let rest = weigh(&text[start..])?;
        let weights = self.known.iter().map(|it| it.weight);
        Ok(weights.fold(rest, u64::saturating_add))
    }

    /// Weighs a block whose lines begin `skipped` lines below those of the unit.
    fn recognise(
        &self,
        text: &str,
        skipped: usize,
        weigh: impl Fn(&str) -> Result<u64, AssembleError>,
    ) -> Result<u64, AssembleError> {
        let mut weight = 0_u64;
        let (mut line, mut at, mut unknown) = (skipped, 0, 0);
        while at < text.len() {
            if let Some(known) = self.known_at(line, &text[at..]) {
                let before = weigh(&text[unknown..at])?;
                weight = weight.saturating_add(before).saturating_add(known.weight);
                line += known.line_count;
                at += known.end - known.start;
                unknown = at;
            } else {
                let end = at + cut_after(&text[at..], 0);
                line += memchr_iter(b'\n', &text.as_bytes()[at..end]).count();
                at = end;
            }
        }
        Ok(weight.saturating_add(weigh(&text[unknown..])?))
    }

    /// The stretch that begins at this line of the block that shows all, if `text` begins with its
    /// bytes and may be cut after them.
    fn known_at(&self, line: usize, text: &str) -> Option<&Stretch> {
        let index = self.known.binary_search_by_key(&line, |it| it.line).ok()?;
        let stretch = &self.known[index];
        let bytes = &self.text[stretch.start..stretch.end];
        let after = text.strip_prefix(bytes)?;
        (after.is_empty() || is_safe_joint(bytes, after)).then_some(stretch)
    }
}
