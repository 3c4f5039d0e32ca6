//! Strategies that truncate a span to a number of tokens, including the marks for omitted lines.

use std::fmt;

use ctx_model::{LineSpan, RenditionKind, Tokens};
use ctx_tokens::TokenCounter;

use crate::lines::{Line, Lines, Shown, mark};
use crate::rendition::{Marks, Source};

/// A truncation strategy: which lines matter most if not all fit. `ctx_testkit::laws::truncate`
/// checks one of your own.
pub trait Truncate: fmt::Debug + Send + Sync {
    /// The name by which the strategy is selected.
    fn name(&self) -> &'static str;

    /// All lines of `span`, the most important first.
    fn order(&self, source: &Source<'_>, span: LineSpan) -> Vec<u32>;

    /// As many lines of `span` as fit in `limit` by `counter`, in order, with a mark for each run
    /// that is left out; the whole span if it fits. If not even one line fits, the beginning of a
    /// line, cut between two characters; if nothing fits, nothing. The result never counts more
    /// than `limit`. O(log lines) counts of the shown text.
    fn truncate<'t>(
        &self,
        source: &Source<'t>,
        span: LineSpan,
        limit: Tokens,
        counter: &dyn TokenCounter,
    ) -> Lines<'t> {
        let fits = |lines: &Lines<'_>| counter.count_up_to(&lines.text(), limit).is_some();
        let whole = source.render(span, RenditionKind::Full, &[]);
        if fits(&whole) {
            return whole;
        }
        let order = self.order(source, span);
        let clipped = span.end().min(source.line_count());
        let Ok(span) = LineSpan::new(span.start(), clipped) else {
            return Lines::default();
        };
        let first = |count: usize| {
            let mut shown = Shown::none(span);
            for &number in &order[..count] {
                shown.show(number, number);
            }
            source.show(span, &shown, Marks::All)
        };
        // More lines cost more, except that a mark disappears with the last line of its run: the
        // search may miss the optimum, but it has counted what it returns.
        let (mut low, mut high) = (0, order.len());
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if fits(&first(middle)) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        if low > 0 {
            return first(low);
        }
        cut(source, span, order.first().copied(), &fits)
    }
}

/// The longest beginning of line `number` that fits, with a mark for the rest.
fn cut<'t>(
    source: &Source<'t>,
    span: LineSpan,
    number: Option<u32>,
    fits: &dyn Fn(&Lines<'_>) -> bool,
) -> Lines<'t> {
    let text = number.map_or("", |number| source.line(number));
    let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let beginning = |characters: usize| {
        let end = boundaries.get(characters).copied().unwrap_or(text.len());
        let mut lines = Vec::new();
        if end > 0 {
            // A part of a line has no number.
            lines.push(Line {
                number: None,
                text: text[..end].into(),
            });
        }
        lines.push(mark(source.language(), "", span.line_count() as usize));
        Lines(lines)
    };
    let (mut low, mut high) = (0, boundaries.len());
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(&beginning(middle)) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let lines = beginning(low);
    if fits(&lines) {
        lines
    } else {
        Lines::default()
    }
}

/// Keeps lines from the top.
#[derive(Clone, Copy, Debug)]
pub struct Head;

impl Truncate for Head {
    fn name(&self) -> &'static str {
        "head"
    }

    fn order(&self, source: &Source<'_>, span: LineSpan) -> Vec<u32> {
        (span.start()..=span.end().min(source.line_count())).collect()
    }
}

/// Keeps the first line and the last, the second and the last but one, and so on inwards.
#[derive(Clone, Copy, Debug)]
pub struct Bookend;

impl Truncate for Bookend {
    fn name(&self) -> &'static str {
        "bookend"
    }

    fn order(&self, source: &Source<'_>, span: LineSpan) -> Vec<u32> {
        let (first, last) = (span.start(), span.end().min(source.line_count()));
        let mut order = Vec::new();
        let (mut front, mut back) = (first, last);
        while front <= back && back >= first {
            order.push(front);
            if back > front {
                order.push(back);
            }
            front += 1;
            back = back.saturating_sub(1);
        }
        order
    }
}

/// Keeps signatures and doc comments, then the rest from the top.
#[derive(Clone, Copy, Debug)]
pub struct SignatureFirst;

impl Truncate for SignatureFirst {
    fn name(&self) -> &'static str {
        "signature-first"
    }

    fn order(&self, source: &Source<'_>, span: LineSpan) -> Vec<u32> {
        these_first(source, span, RenditionKind::Signature)
    }
}

/// Keeps the skeleton, then the bodies from the top.
#[derive(Clone, Copy, Debug)]
pub struct OutlineFirst;

impl Truncate for OutlineFirst {
    fn name(&self) -> &'static str {
        "outline"
    }

    fn order(&self, source: &Source<'_>, span: LineSpan) -> Vec<u32> {
        these_first(source, span, RenditionKind::Skeleton)
    }
}

fn these_first(source: &Source<'_>, span: LineSpan, kind: RenditionKind) -> Vec<u32> {
    let Ok(span) = LineSpan::new(span.start(), span.end().min(source.line_count())) else {
        return Vec::new();
    };
    let first = source.shown(span, kind, &[]);
    first.numbers(true).chain(first.numbers(false)).collect()
}

/// All strategies.
pub fn strategies() -> [&'static dyn Truncate; 4] {
    [&SignatureFirst, &Bookend, &Head, &OutlineFirst]
}
