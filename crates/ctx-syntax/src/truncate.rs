//! Strategies that cut a span to a number of tokens, the mark of what was cut included.

use std::fmt;

use ctx_model::{LineSpan, RenditionKind, Tokens};
use ctx_tokens::TokenCounter;

use crate::lines::{Line, Lines, Shown, mark};
use crate::rendition::{Marks, Source};

/// Which lines matter most, when not all of them fit.
pub trait Truncate: fmt::Debug + Send + Sync {
    /// The name by which it is asked for.
    fn name(&self) -> &'static str;

    /// All lines of `span`, the most important first.
    fn order(&self, source: &Source<'_>, span: LineSpan) -> Vec<u32>;

    /// As many lines of `span` as fit in `limit` by `counter`, in their order, with a mark for each run
    /// that is left out; the whole of it where it fits. Where not even one line fits, its beginning
    /// between two characters; where not even that, nothing. What is returned never counts more than
    /// `limit`. O(log lines) counts of what is shown.
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
        // More lines cost more, but for a mark that goes when its last line comes: what is found is
        // tried out.
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

/// The longest beginning of line `number` that fits, and a mark for what is left out besides.
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
            // Not the whole line, so it has no number.
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

/// The lines from the top.
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

/// The first line and the last, the second and the last but one, and so on inwards.
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

/// Signatures and doc comments, then the rest from the top.
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

/// The skeleton, then the bodies from the top.
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

/// Every strategy.
pub fn strategies() -> [&'static dyn Truncate; 4] {
    [&SignatureFirst, &Bookend, &Head, &OutlineFirst]
}
