//! Prose without its markup, as a reader sees it and a model quotes it.

use ctx_model::Origin;

use crate::cited::Cited;

/// Extensions of files in which words may have markup around them that a reader does not see.
const PROSE: [&str; 7] = ["adoc", "markdown", "md", "mdx", "org", "rst", "txt"];
/// The longest link target that is removed, in bytes.
const LONGEST_TARGET: usize = 500;
/// The longest reStructuredText role that is removed, in bytes.
const LONGEST_ROLE: usize = 40;

/// Whether the source is prose: a message, or a file with such an extension.
pub(crate) fn is_prose(cited: &Cited) -> bool {
    match cited.metadata.path.as_deref() {
        Some(path) => path
            .rsplit_once('.')
            .is_some_and(|it| PROSE.iter().any(|prose| it.1.eq_ignore_ascii_case(prose))),
        None => cited.origin == Origin::Message,
    }
}

/// `text` without the markup of Markdown and reStructuredText around words: emphasis, code, links
/// with their targets, and roles. O(bytes).
pub(crate) fn unmarked(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let is_inside = plain.ends_with(char::is_alphanumeric);
        let is_mark = match c {
            '`' | '*' | '~' | '[' | ']' => true,
            '_' => !(is_inside && after.starts_with(char::is_alphanumeric)),
            '!' => after.starts_with('['),
            _ => false,
        };
        if !is_mark {
            plain.push(c);
        }
        rest = match c {
            ']' => without_target(after),
            ':' if !is_inside => match without_role(after) {
                Some(after) => {
                    plain.pop();
                    after
                }
                None => after,
            },
            _ => after,
        };
    }
    plain
}

/// `text` without a link target at its beginning: `(https://example.org)`.
fn without_target(text: &str) -> &str {
    let near = &text[..text.floor_char_boundary(LONGEST_TARGET)];
    let end = near.strip_prefix('(').and_then(|it| it.find(')'));
    end.map_or(text, |it| &text[it + 2..])
}

/// `text` without the rest of a reStructuredText role at its beginning, `class:`, if code marks
/// follow.
fn without_role(text: &str) -> Option<&str> {
    let near = &text[..text.floor_char_boundary(LONGEST_ROLE)];
    let end = near.find(":`")?;
    let is_of_name = |c: char| c.is_alphanumeric() || "-_.:+".contains(c);
    near[..end]
        .chars()
        .all(is_of_name)
        .then_some(&text[end + 1..])
}
