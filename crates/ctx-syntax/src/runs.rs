//! Where runs of lines may begin and end: at blank rows, and at headings within comments.

/// What a row is to a run of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// Anything else.
    Plain,
    /// A blank row, or only the mark of a comment.
    Empty,
    /// The same mark within a fenced code block of the comment.
    EmptyInCode,
    /// A heading in a comment or in a documentation string.
    Heading,
}

/// Marks of comments that end with the line; each is tried before those that are its beginning.
const MARKS: [&str; 8] = ["///", "//!", "//", "#", "--", ";;", "%%", "%"];
/// The characters of a line that underlines a heading.
const UNDERLINES: [char; 4] = ['=', '-', '~', '^'];
/// A shorter line underlines nothing.
const SHORTEST_UNDERLINE: usize = 3;

/// The text of a row, by where it is.
#[derive(Clone, Copy, Debug)]
enum Said<'t> {
    /// None: it is blank, or code.
    Nothing,
    /// The text after a comment mark, or within a comment of several lines.
    Comment(&'t str),
    /// The text within a string of several lines.
    Text(&'t str),
}

impl<'t> Said<'t> {
    fn text(self) -> Option<&'t str> {
        match self {
            Said::Nothing => None,
            Said::Comment(text) | Said::Text(text) => Some(text.trim()),
        }
    }
}

/// What each of `lines` is. O(bytes).
pub(crate) fn rows(lines: &[&str]) -> Vec<Row> {
    let said = said(lines);
    let text = |row: usize| said.get(row).and_then(|it| it.text());
    let mut rows = Vec::with_capacity(lines.len());
    // The fence of the code that the comment has.
    let mut fence: Option<&str> = None;
    for (row, line) in lines.iter().enumerate() {
        let Some(own) = text(row) else {
            fence = None;
            rows.push(if line.trim().is_empty() {
                Row::Empty
            } else {
                Row::Plain
            });
            continue;
        };
        let mark = ["```", "~~~"].into_iter().find(|it| own.starts_with(it));
        if mark.is_some() && (fence.is_none() || fence == mark) {
            fence = if fence.is_none() { mark } else { None };
            rows.push(Row::Plain);
            continue;
        }
        let is_comment = matches!(said[row], Said::Comment(_));
        let before = row.checked_sub(1).and_then(text).unwrap_or_default();
        let is_heading = || {
            is_comment && is_marked_heading(own)
                || !is_line(own) && before.is_empty() && is_underlined(own, text(row + 1))
                || is_line(own) && is_underlined(text(row + 1).unwrap_or_default(), text(row + 2))
        };
        rows.push(match fence {
            None if own.is_empty() => Row::Empty,
            Some(_) if own.is_empty() && line.trim().is_empty() => Row::Empty,
            Some(_) if own.is_empty() => Row::EmptyInCode,
            None if is_heading() => Row::Heading,
            _ => Row::Plain,
        });
    }
    rows
}

/// What each of `lines` says. A comment or string of several lines begins at the beginning of a
/// line.
fn said<'t>(lines: &[&'t str]) -> Vec<Said<'t>> {
    // What ends the comment or string that the line is in.
    let mut end: Option<&str> = None;
    let mut all = Vec::with_capacity(lines.len());
    for line in lines {
        let text = line.trim();
        let said = match end {
            Some(mark) if text.contains(mark) => {
                end = None;
                Said::Nothing
            }
            Some("*/") => Said::Comment(text.strip_prefix('*').unwrap_or(text)),
            Some(_) => Said::Text(text),
            None => {
                let (said, ends) = opened(text);
                end = ends;
                said
            }
        };
        all.push(said);
    }
    all
}

/// What a line says that is in no comment or string of several lines, and what ends the one that it
/// opens.
fn opened(text: &str) -> (Said<'_>, Option<&'static str>) {
    let string = text.trim_start_matches(['r', 'R', 'u', 'U']);
    for (begin, end, rest) in [
        ("/*", "*/", text.strip_prefix("/*")),
        ("\"\"\"", "\"\"\"", string.strip_prefix("\"\"\"")),
        ("'''", "'''", string.strip_prefix("'''")),
    ] {
        if let Some(rest) = rest.filter(|it| !it.contains(end)) {
            let is_comment = begin == "/*";
            let rest = rest.trim_start_matches(['*', '!']);
            // Where nothing follows, the next line is the first that says something.
            let said = if rest.is_empty() {
                Said::Nothing
            } else if is_comment {
                Said::Comment(rest)
            } else {
                Said::Text(rest)
            };
            return (said, Some(end));
        }
    }
    let behind = MARKS
        .iter()
        .find_map(|mark| Some((*mark, text.strip_prefix(mark)?)));
    match behind {
        // `## heading`: of such marks the second is part of what is said.
        Some(("#", rest)) => (Said::Comment(rest), None),
        Some((_, rest)) if rest.is_empty() || rest.starts_with([' ', '\t']) => {
            (Said::Comment(rest), None)
        }
        _ => (Said::Nothing, None),
    }
}

/// `# a`, `## a`, `= a`.
fn is_marked_heading(text: &str) -> bool {
    ['#', '='].into_iter().any(|mark| {
        let rest = text.trim_start_matches(mark);
        let level = text.len() - rest.len();
        (1..=6).contains(&level)
            && rest.starts_with(' ')
            && rest.trim_start().starts_with(char::is_alphabetic)
    })
}

/// Whether `text` is a line of signs.
fn is_line(text: &str) -> bool {
    let first = text.chars().next();
    text.len() >= SHORTEST_UNDERLINE
        && first.is_some_and(|it| UNDERLINES.contains(&it))
        && text.chars().all(|it| Some(it) == first)
}

/// Whether `text` is underlined by what stands below it.
fn is_underlined(text: &str, below: Option<&str>) -> bool {
    let below = below.unwrap_or_default();
    text.contains(char::is_alphanumeric) && is_line(below) && below.len() >= text.chars().count()
}
