//! The definition of a line, and the position of lines within a wider text.

use crate::LineSpan;

/// The lines of `text` without their line endings, as a [`LineSpan`](crate::LineSpan) numbers them.
///
/// A line ends with `\n`. A line end at the very end of the text begins no further line, so an
/// empty text has one empty line. A `\r` right before `\n` belongs to the line ending; any other
/// `\r` is an ordinary character. O(bytes).
///
/// ```
/// let lines: Vec<&str> = ctx_model::lines("a\r\nb\rc\n\n").collect();
/// assert_eq!(lines, ["a", "b\rc", ""]);
/// ```
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.split('\n').map(without_line_end)
}

/// `line` without the `\n` or `\r\n` that ends it. A lone `\r` at the end, left of a cut `\r\n`, is
/// removed too.
pub fn without_line_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// Whether `text` has a `\r` and no `\n`, so that only `\r` can end its lines, as on old Macs. In
/// files of such text each `\r` counts as `\n`. O(bytes).
pub fn has_returns_alone(text: &str) -> bool {
    // Most texts have a `\n` near their start, and no `\r` at all.
    !text.contains('\n') && text.contains('\r')
}

/// The text of a file with the content `text`, by which its lines are numbered: without a byte
/// order mark, and with `\n` for each `\r` if only `\r` ends lines. `None` if that is `text`
/// itself. O(bytes).
///
/// ```
/// use ctx_model::decoded;
///
/// assert_eq!(decoded("a\rb").as_deref(), Some("a\nb"));
/// assert_eq!(decoded("\u{feff}a\n").as_deref(), Some("a\n"));
/// assert_eq!(decoded("a\rb\n"), None);
/// ```
pub fn decoded(text: &str) -> Option<String> {
    let unmarked = text.strip_prefix('\u{feff}');
    let text = unmarked.unwrap_or(text);
    if has_returns_alone(text) {
        return Some(text.replace('\r', "\n"));
    }
    unmarked.map(str::to_owned)
}

/// The lines of the file that `wider` holds, if `content` is the lines `span` of that file and
/// occurs in `wider` exactly once. Texts are compared line by line, whatever their line endings.
/// `None` if it does not occur exactly once, or has another number of lines than `span`. O(bytes).
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
    // If the last line is empty, `content` may lack the line end that follows it.
    let is_short = part.len() + 1 == said && content.ends_with('\n');
    if part.len() != said && !is_short {
        return None;
    }
    let (before, count) = found_once(&part, lines(wider))?;
    // So may `wider`, if both end with the same line.
    let is_end = is_short && before + part.len() == count && wider.ends_with('\n');
    let count = count + usize::from(is_end);
    let start = span.start().checked_sub(u32::try_from(before).ok()?)?;
    let end = start.checked_add(u32::try_from(count - 1).ok()?)?;
    LineSpan::new(start, end).ok()
}

/// Finds the only occurrence of `part` in `lines` by the algorithm of Knuth, Morris and Pratt
/// (1977). Returns how many lines precede it and how many lines there are in all; `None` unless
/// there is exactly one occurrence.
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

/// For each prefix of `part`, the length of its longest proper prefix that is also its suffix.
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
