//! What stands between brackets, and may be a citation: in answers, and in messages that quote them.

use std::ops::Range;

use crate::label::is_label;
use crate::lines::more_lines;

/// No list of labels between brackets is longer, in bytes.
pub(crate) const LONGEST_LIST: usize = 400;

/// What members of a list are separated by.
const BETWEEN: [char; 2] = [',', ';'];

/// What may be an id, or lines of the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Where its list begins, with the bracket.
    pub(crate) open: usize,
    /// Where it stands, without the space around it.
    pub(crate) range: Range<usize>,
}

/// What becomes of a bracket that is open at the end of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unclosed {
    /// It is text.
    Text,
    /// It is read up to there: people forget to close one.
    Read,
}

/// What is between brackets on one line, cut at commas and semicolons. O(bytes).
pub(crate) fn parts(text: &str, unclosed: Unclosed) -> Vec<Part> {
    let mut parts = Vec::new();
    for (open, _) in text.match_indices('[') {
        let inner = &text[open + 1..];
        let inner = &inner[..inner.floor_char_boundary(LONGEST_LIST)];
        let end = inner.find(['[', ']', '\n']).unwrap_or(inner.len());
        let is_end = match inner[end..].chars().next() {
            Some(c) => c == ']' || c == '\n' && unclosed == Unclosed::Read,
            None => unclosed == Unclosed::Read && open + 1 + end == text.len(),
        };
        if !is_end {
            continue;
        }
        let mut at = open + 1;
        for part in inner[..end].split_inclusive(BETWEEN) {
            let text = part.trim_end_matches(BETWEEN);
            let start = at + (text.len() - text.trim_start().len());
            let range = start..start + text.trim().len();
            parts.push(Part { open, range });
            at += part.len();
        }
    }
    parts
}

/// The id that `text` is or begins with, and what it says of lines. An id that `is_known` may have the marks in it that lines
/// follow.
pub(crate) fn taken_apart<'t>(
    text: &'t str,
    is_known: impl Fn(&str) -> bool,
) -> (&'t str, Option<&'t str>) {
    let marks = [':', '#'];
    if is_known(text) {
        return (text, None);
    }
    let known = text.rsplit_once(marks);
    let known = known.filter(|it| is_known(it.0.trim_end()));
    match known.or_else(|| text.split_once(marks)) {
        Some((id, lines)) => (id.trim_end(), Some(lines.trim())),
        None => (text, None),
    }
}

/// The label that `text`, a member of a list, cites, with or without lines, whatever these are.
fn label_in(text: &str) -> Option<&str> {
    let (id, _) = taken_apart(text, |_| false);
    is_label(id).then_some(id)
}

/// The labels ([`is_label`]) that a message cites between brackets, and where each begins, in their order; read as
/// [`resolve`](crate::resolve) reads an answer, with lines or without. Whether a context shows them is not known here. A bracket that
/// is not closed ends with its line. O(bytes).
///
/// ```
/// let labels = ctx_citations::cited_labels("what of [fil-9f2a1c:3, mes-9f2a1c] and a[0]?");
/// assert_eq!(labels.collect::<Vec<_>>(), [(9, "fil-9f2a1c"), (23, "mes-9f2a1c")]);
/// ```
pub fn cited_labels(text: &str) -> impl Iterator<Item = (usize, &str)> {
    parts(text, Unclosed::Read).into_iter().filter_map(|part| {
        let start = part.range.start;
        Some((start, label_in(&text[part.range])?))
    })
}

/// The labels of a list as it stands between brackets, with these or without them, where it is nothing else: `fil-9f2a1c:10-12`,
/// `[fil-9f2a1c, mes-9f2a1c]`. Lines are passed over. `None` for any other text. O(bytes).
///
/// ```
/// assert_eq!(ctx_citations::label_list("fil-9f2a1c:3, 7-9"), Some(vec!["fil-9f2a1c"]));
/// assert_eq!(ctx_citations::label_list("src/a.rs:3"), None);
/// ```
pub fn label_list(text: &str) -> Option<Vec<&str>> {
    let text = text.trim();
    let inner = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let mut labels = Vec::new();
    for part in inner.unwrap_or(text).split(BETWEEN) {
        let part = part.trim();
        match label_in(part) {
            Some(label) => labels.push(label),
            None if !labels.is_empty() && more_lines(part).is_some() => {}
            None => return None,
        }
    }
    Some(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_of_labels_alone() {
        for (text, labels) in [
            ("fil-9f2a1c", Some(&["fil-9f2a1c"][..])),
            ("[fil-9f2a1c]", Some(&["fil-9f2a1c"])),
            (" [ fil-9f2a1c : 3-4 ] ", Some(&["fil-9f2a1c"])),
            ("fil-9f2a1c#L3", Some(&["fil-9f2a1c"])),
            (
                "[fil-9f2a1c:3, 7; mes-9f2a1c-2]",
                Some(&["fil-9f2a1c", "mes-9f2a1c-2"]),
            ),
            ("", None),
            ("[]", None),
            ("3, fil-9f2a1c", None),
            ("fil-9f2a1c, a.rs", None),
            ("fil-9f2a1c.md", None),
            ("[fil-9f2a1c", None),
            ("[[fil-9f2a1c]]", None),
        ] {
            assert_eq!(label_list(text).as_deref(), labels, "{text}");
        }
    }
}
