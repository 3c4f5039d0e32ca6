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
use ctx_syntax::{Lines, Source, beginning};

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
    for kind in RenditionKind::ALL {
        let lines = source.render(span, kind, matches);
        is_verbatim(text, &lines);
        let numbers: Vec<u32> = lines.numbers().collect();
        // If a skeleton leaves no more out than blank lines and the ends of long ones, the excerpt
        // may show less.
        let is_whole = kind == RenditionKind::Skeleton && leaves_nothing_out(source, span, &lines);
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

/// Whether every line of `span` that is not blank is in `lines`, as a whole or by its beginning.
fn leaves_nothing_out(source: &Source<'_>, span: ctx_model::LineSpan, lines: &Lines<'_>) -> bool {
    let mut shown = lines.as_slice().iter().filter(|it| left_out(it).is_none());
    let mut said = source.lines(span).filter(|(_, it)| !it.trim().is_empty());
    said.all(|(number, line)| {
        shown.any(|it| it.number == Some(number) || beginning(line) == Some(&*it.text))
    })
}

fn left_out(line: &ctx_syntax::Line<'_>) -> Option<usize> {
    if line.number.is_some() {
        return None;
    }
    let (_, after) = line.text.split_once('…')?;
    after.split_whitespace().next()?.parse().ok()
}
