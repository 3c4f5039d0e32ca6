//! What a line is, and where lines stand in a wider text.

use crate::LineSpan;

/// The lines of `text`, without what ends them: those that a [`LineSpan`](crate::LineSpan) numbers.
///
/// A line ends with `\n`. An end at the very end begins no further line, so an empty text has one empty line. A `\r` right
/// before an end is part of it; any other is a character like all the rest. O(bytes).
///
/// ```
/// let lines: Vec<&str> = ctx_model::lines("a\r\nb\rc\n\n").collect();
/// assert_eq!(lines, ["a", "b\rc", ""]);
/// ```
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.split('\n').map(without_line_end)
}

/// `line` without the `\n` or `\r\n` that ends it, or what is left of one that was cut through.
pub fn without_line_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// The lines of a file that `wider` holds, where `content`, which is its lines `span`, stands in it exactly once, line by
/// line, whatever ends the lines. `None` where it does not, and where `content` has not as many lines. O(bytes).
///
/// ```
/// use ctx_model::{LineSpan, widened};
///
/// let span = LineSpan::new(5, 6)?;
/// assert_eq!(widened(span, "b\nc", "a\r\nb\r\nc\r\nd"), LineSpan::new(4, 7).ok());
/// assert_eq!(widened(span, "b\nc", "b\nc\nb\nc"), None);
/// # Ok::<(), ctx_model::ModelError>(())
/// ```
pub fn widened(span: LineSpan, content: &str, wider: &str) -> Option<LineSpan> {
    let part: Vec<&str> = lines(content).collect();
    let said = span.line_count() as usize;
    // A last line that is empty may have lost its own end.
    let is_short = part.len() + 1 == said && content.ends_with('\n');
    if part.len() != said && !is_short {
        return None;
    }
    let (before, count) = found_once(&part, lines(wider))?;
    // So may that of the wider text, where it is the same.
    let is_end = is_short && before + part.len() == count && wider.ends_with('\n');
    let count = count + usize::from(is_end);
    let start = span.start().checked_sub(u32::try_from(before).ok()?)?;
    let end = start.checked_add(u32::try_from(count - 1).ok()?)?;
    LineSpan::new(start, end).ok()
}

/// How many of `lines` come before those of `part`, where they follow each other in one place alone; and how many there are.
/// As Knuth, Morris and Pratt search (1977).
fn found_once<'t>(part: &[&str], lines: impl Iterator<Item = &'t str>) -> Option<(usize, usize)> {
    let borders = borders(part);
    let (mut found, mut matched, mut count) = (None, 0, 0);
    for line in lines {
        count += 1;
        while matched > 0 && part.get(matched) != Some(&line) {
            matched = borders[matched - 1];
        }
        matched += usize::from(part[matched] == line);
        if matched == part.len() && found.replace(count - matched).is_some() {
            return None;
        }
    }
    Some((found?, count))
}

/// For each beginning of `part`, how many lines it both begins and ends with, short of all.
fn borders(part: &[&str]) -> Vec<usize> {
    let mut borders = vec![0; part.len()];
    let mut border = 0;
    for at in 1..part.len() {
        while border > 0 && part[border] != part[at] {
            border = borders[border - 1];
        }
        border += usize::from(part[border] == part[at]);
        borders[at] = border;
    }
    borders
}
