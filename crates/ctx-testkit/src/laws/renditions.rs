//! Laws of the renditions of a source.

use ctx_model::{LineSpan, RenditionKind};
use ctx_syntax::{Line, Lines, Source, beginning};

/// Checks the renditions of the lines `span` of `source`, which has `text`, where the lines
/// `matches` are those that an excerpt is about:
///
/// * every line with a number is the source's line of that number, and they are in order;
/// * each rendition shows a part of the lines of the one above it, except that an excerpt may show
///   less than a skeleton that leaves out no more than blank lines and the ends of long ones;
/// * its marks say how many lines it left out: with those shown, they are all of the span.
///
/// # Panics
/// If it does not hold.
#[track_caller]
pub fn is_nested(text: &str, source: &Source<'_>, span: LineSpan, matches: &[u32]) {
    let mut above: Option<Vec<u32>> = None;
    for kind in RenditionKind::ALL {
        let lines = source.render(span, kind, matches);
        is_verbatim(text, &lines);
        let numbers: Vec<u32> = lines.numbers().collect();
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

/// Checks that every line with a number is the line of `text` of that number, and that they are in
/// order.
///
/// # Panics
/// If it is not.
#[track_caller]
pub fn is_verbatim(text: &str, lines: &Lines<'_>) {
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

/// Whether every line of `span` that is not blank is in `lines`, as a whole or by its beginning.
fn leaves_nothing_out(source: &Source<'_>, span: LineSpan, lines: &Lines<'_>) -> bool {
    let mut shown = lines.as_slice().iter().filter(|it| left_out(it).is_none());
    let mut said = source.lines(span).filter(|(_, it)| !it.trim().is_empty());
    said.all(|(number, line)| {
        shown.any(|it| it.number == Some(number) || beginning(line) == Some(&*it.text))
    })
}

fn left_out(line: &Line<'_>) -> Option<usize> {
    if line.number.is_some() {
        return None;
    }
    let (_, after) = line.text.split_once('…')?;
    after.split_whitespace().next()?.parse().ok()
}
