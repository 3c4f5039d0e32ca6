//! Lines, as they are cited.

use ctx_model::LineSpan;

/// Signs between the ends of a range: hyphens, including the non-breaking one, and the dash.
pub(crate) const DASHES: [char; 3] = ['-', '\u{2011}', '–'];

/// The lines that `text` states, if it states nothing else: `10`, `10-20`, `10–20`, `L10-L20`.
/// O(bytes).
///
/// ```
/// assert_eq!(ctx_citations::cited_lines("L10-L20"), ctx_model::LineSpan::new(10, 20).ok());
/// assert_eq!(ctx_citations::cited_lines("20-10"), None);
/// ```
pub fn cited_lines(text: &str) -> Option<LineSpan> {
    let number = |text: &str| -> Option<u32> {
        let text = text.strip_prefix('L').unwrap_or(text);
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().ok())?
    };
    let (start, end) = text.split_once(DASHES).unwrap_or((text, text));
    LineSpan::new(number(start)?, number(end)?).ok()
}

/// The path and the lines of a location: `path:10`, `path:10-20`, `path:10:5`, `path#L10-L20`. Of
/// two numbers after colons the second is a column. Without lines, the path is all of `text`.
/// O(bytes).
///
/// ```
/// let lines = ctx_model::LineSpan::new(10, 20).ok();
/// assert_eq!(ctx_citations::path_and_lines("a.rs#L10-L20"), ("a.rs", lines));
/// assert_eq!(ctx_citations::path_and_lines("a.rs"), ("a.rs", None));
/// ```
pub fn path_and_lines(text: &str) -> (&str, Option<LineSpan>) {
    let cut = |text: &'_ str| -> Option<(usize, LineSpan)> {
        let behind = |mark| {
            let (path, lines) = text.rsplit_once(mark)?;
            Some((path.len(), cited_lines(lines)?)).filter(|(end, _)| *end > 0)
        };
        // A path may have the first in it: `C#Labs/a.cs:3`.
        behind("#L").or_else(|| behind(":"))
    };
    let Some((end, lines)) = cut(text) else {
        return (text, None);
    };
    match cut(&text[..end]) {
        Some((end, line)) => (&text[..end], Some(line)),
        // A number before a column must be a valid line: `a.rs:0:5` is none.
        None if ends_in_number(&text[..end]) => (text, None),
        None => (&text[..end], Some(lines)),
    }
}

/// Whether `text` ends in a colon and a number.
fn ends_in_number(text: &str) -> bool {
    let number = text.rsplit_once(':').map(|(_, it)| it);
    number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What `text`, which follows an id and is not an id, states about lines, if anything: `999-1000`,
/// `L7`, `lines 5-9`. The lines may be invalid.
pub(crate) fn more_lines(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(char::is_alphabetic);
    let word = text[..text.len() - rest.len()].to_ascii_lowercase();
    let lines = rest.trim_start_matches(['.', ':', '#', ' ']);
    let is_number = lines.starts_with(|c: char| c.is_ascii_digit());
    match word.as_str() {
        "" | "l" | "ll" | "ln" | "z" if is_number => Some(lines),
        "line" | "lines" | "zeile" | "zeilen" => Some(lines),
        _ => None,
    }
}

/// The first and the last.
pub(crate) fn ends(lines: LineSpan) -> (u32, u32) {
    (lines.start(), lines.end())
}
