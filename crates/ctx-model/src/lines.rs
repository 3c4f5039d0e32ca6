//! What a line is.

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
