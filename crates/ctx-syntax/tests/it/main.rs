//! Real code in every language: what is defined in it, and what each rendition shows.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod definitions;
mod headings;
mod hostile;
mod languages;
mod nesting;
mod packed;
mod pieces;
mod registry;
mod relations;
mod renditions;
mod truncation;

use ctx_model::RenditionKind;
use ctx_syntax::{Lines, Source};

/// Every line with a number is the source's line of that number.
#[track_caller]
fn is_verbatim(text: &str, lines: &Lines<'_>) {
    let all: Vec<&str> = text.split('\n').collect();
    let mut last = 0;
    for line in lines.as_slice() {
        if let Some(number) = line.number {
            let expected = all[number as usize - 1];
            let expected = expected.strip_suffix('\r').unwrap_or(expected);
            assert_eq!(line.text, expected, "line {number}");
            assert!(number > last, "line {number} after {last}");
            last = number;
        }
    }
}

/// Each rendition shows a part of the lines of the one above it, and says how many it left out.
#[track_caller]
fn is_nested(text: &str, source: &Source<'_>, span: ctx_model::LineSpan, matches: &[u32]) {
    let mut above: Option<Vec<u32>> = None;
    let mut full: Option<Vec<u32>> = None;
    for kind in RenditionKind::ALL {
        let lines = source.render(span, kind, matches);
        is_verbatim(text, &lines);
        let numbers: Vec<u32> = lines.numbers().collect();
        // Of a declaration that a skeleton shows whole the excerpt may have less.
        let is_whole = kind == RenditionKind::Skeleton && Some(&numbers) == full.as_ref();
        full = full.or_else(|| Some(numbers.clone()));
        if let Some(above) = above.filter(|_| !is_whole) {
            let is_there = |number: &u32| above.binary_search(number).is_ok();
            assert!(
                numbers.iter().all(is_there),
                "{kind}: {numbers:?} of {above:?}"
            );
        }
        if kind != RenditionKind::Mention {
            let left_out: usize = lines.as_slice().iter().filter_map(left_out).sum();
            let past_the_end = source.line_count() + 1;
            let count = past_the_end
                .min(span.end() + 1)
                .saturating_sub(span.start());
            assert_eq!(numbers.len() + left_out, count as usize, "{kind}");
        }
        above = Some(numbers);
    }
}

fn left_out(line: &ctx_syntax::Line<'_>) -> Option<usize> {
    if line.number.is_some() {
        return None;
    }
    let (_, after) = line.text.split_once('…')?;
    after.split_whitespace().next()?.parse().ok()
}
