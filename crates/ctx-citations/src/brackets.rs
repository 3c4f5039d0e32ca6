//! What stands between brackets, and may be a citation: in answers, and in messages that quote
//! them.

use std::ops::Range;

use ctx_model::LineSpan;

use crate::label::{is_label, resembles_label};
use crate::lines::{cited_lines, more_lines};
use crate::quote::{EMPHASIS, MARKS};
use crate::script::is_wide;

/// No list of labels between brackets is longer, in bytes.
pub(crate) const LONGEST_LIST: usize = 400;

/// What members of a list are separated by.
const BETWEEN: [char; 2] = [',', ';'];
/// Words and signs between two ids of one member.
const JOINTS: [&str; 5] = ["&", "and", "et", "or", "und"];
/// Words before an id, in lower case: `[see fil-9f2a1c]`, `[source: fil-9f2a1c]`.
const LEADING: [&str; 17] = [
    "also", "cf", "citation", "cite", "from", "id", "ids", "quelle", "ref", "refs", "see", "siehe",
    "source", "sources", "via", "vgl", "voir",
];
const SQUARE: [char; 6] = ['[', ']', '【', '】', '［', '］'];
const ROUND: [char; 4] = ['(', ')', '（', '）'];

/// What may be a citation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Where its list begins, with the bracket.
    pub(crate) open: usize,
    /// Where it stands, without the space around it.
    range: Range<usize>,
    kind: Kind,
}

/// What a part stands between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Square brackets, be they as wide as scripts without spaces: it may be an id, or lines of the
    /// one before it.
    Square,
    /// Round ones, which are of prose and code: it may have labels in it that are known.
    Round,
}

/// What becomes of a square bracket that is open at the end of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unclosed {
    /// It is text.
    Text,
    /// It is read up to there: people forget to close one.
    Read,
}

/// What is between brackets on one line, cut at commas and semicolons, in order; no two overlap.
/// O(bytes).
pub(crate) fn parts(text: &str, unclosed: Unclosed) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut start, mut is_code) = (0, false);
    for line in text.split_inclusive('\n') {
        let begins = line.trim_start();
        if begins.starts_with("```") || begins.starts_with("~~~") {
            is_code = !is_code;
        }
        let line = start..start + line.len();
        start = line.end;
        in_line(text, line, is_code, unclosed, &mut parts);
    }
    parts
}

/// Adds what is between brackets on `line`, which may be one of a block of code.
fn in_line(
    text: &str,
    line: Range<usize>,
    is_code: bool,
    unclosed: Unclosed,
    parts: &mut Vec<Part>,
) {
    let body = text[line.clone()].trim_end_matches(['\n', '\r']);
    let (mut read_to, mut marks, mut counted_to) = (0, 0, 0);
    for (at, bracket) in body.match_indices(['[', '【', '［', '(', '（']) {
        let is_round = bracket.starts_with(ROUND);
        if is_round {
            let runs = body.as_bytes()[counted_to..at].chunk_by(|a, b| a == b);
            marks += runs.filter(|it| it[0] == b'`').count();
            counted_to = at;
            let is_in_code = is_code || marks % 2 == 1;
            if at < read_to || is_in_code || bracket == "(" && ends_operand(&body[..at]) {
                continue;
            }
        }
        let first = at + bracket.len();
        let inner = &body[first..];
        let near = &inner[..inner.floor_char_boundary(LONGEST_LIST)];
        let is_bracket = |c: char| SQUARE.contains(&c) || is_round && ROUND.contains(&c);
        let end = near.find(is_bracket).unwrap_or(near.len());
        let is_closed = match near[end..].chars().next() {
            Some(c) if is_round => matches!(c, ')' | '）'),
            Some(c) => matches!(c, ']' | '】' | '］'),
            None => !is_round && unclosed == Unclosed::Read && end == inner.len(),
        };
        if !is_closed {
            continue;
        }
        let kind = if is_round { Kind::Round } else { Kind::Square };
        let open = line.start + at;
        let mut start = line.start + first;
        for part in near[..end].split_inclusive(BETWEEN) {
            let bare = part.trim_end_matches(BETWEEN);
            let range = trimmed(text, start..start + bare.len(), char::is_whitespace);
            parts.push(Part { open, range, kind });
            start += part.len();
        }
        read_to = first + end;
    }
}

/// Whether a round bracket after `before` is one of a call, or of a link of Markdown.
fn ends_operand(before: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() && !is_wide(c);
    before.ends_with(|c: char| is_of_name(c) || "_)]}!>".contains(c))
}

/// `range` of `text` without what `is_around` at both ends.
fn trimmed(text: &str, range: Range<usize>, is_around: impl Fn(char) -> bool) -> Range<usize> {
    let inner = text[range.clone()].trim_start_matches(&is_around);
    let start = range.end - inner.len();
    start..start + inner.trim_end_matches(&is_around).len()
}

/// A citation, or what is meant for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cite<'t> {
    /// Where it stands, with its lines.
    pub(crate) range: Range<usize>,
    pub(crate) id: &'t str,
    pub(crate) lines: Lines,
    /// Whether it has lines alone, and the id stands before it in its list.
    pub(crate) is_more: bool,
}

/// What a citation says of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    /// Nothing.
    Unsaid,
    These(LineSpan),
    /// Something that is none, or it has not the form of an id itself.
    Malformed,
}

impl Lines {
    fn of(text: &str) -> Self {
        cited_lines(text).map_or(Lines::Malformed, Lines::These)
    }

    pub(crate) fn span(self) -> Option<LineSpan> {
        match self {
            Lines::These(span) => Some(span),
            Lines::Unsaid | Lines::Malformed => None,
        }
    }
}

/// Reads the citations in parts of a text.
pub(crate) struct Reader<'t, 'k> {
    pub(crate) text: &'t str,
    /// Whether the context shows an id. What does not is a citation where it has the form of a
    /// label.
    pub(crate) is_known: &'k dyn Fn(&str) -> bool,
}

impl<'t> Cite<'t> {
    fn new(range: Range<usize>, id: &'t str, lines: Lines) -> Self {
        Cite {
            range,
            id,
            lines,
            is_more: false,
        }
    }
}

impl<'t> Reader<'t, '_> {
    /// The citations in `part`; `before` is the id before it in its list.
    ///
    /// An id that has not the form of a label is one as the whole part, with lines, marks of
    /// emphasis, of code and of quotation, words such as `see` before it, and `and` between two. A
    /// label is one among any other words.
    pub(crate) fn read(&self, part: &Part, before: Option<&'t str>) -> Vec<Cite<'t>> {
        let range = part.range.clone();
        if part.kind == Kind::Round {
            let mut labels = self.labels(range);
            labels.retain(|it| (self.is_known)(it.id));
            return labels;
        }
        let core = self.core(range.clone());
        let alone = self.alone(range.clone());
        let alone = alone.or_else(|| self.alone(core.clone()));
        if let Some(cite) = alone.as_ref().filter(|it| it.lines != Lines::Malformed) {
            return vec![cite.clone()];
        }
        if let Some(cites) = self.joined(range.clone(), before) {
            return cites;
        }
        let labels = self.labels(range.clone());
        if labels.len() > usize::from(alone.is_some()) {
            return labels;
        }
        let more = || self.more(range.clone(), before);
        let meant = || {
            let (id, _) = self.taken_apart(core.clone());
            let lines = Lines::Malformed;
            resembles_label(id).then(|| Cite::new(core.clone(), id, lines))
        };
        alone.or_else(more).or_else(meant).into_iter().collect()
    }

    fn taken_apart(&self, range: Range<usize>) -> (&'t str, Option<&'t str>) {
        taken_apart(&self.text[range], self.is_known)
    }

    /// The citation that all of `range` is.
    fn alone(&self, range: Range<usize>) -> Option<Cite<'t>> {
        let (id, lines) = self.taken_apart(range.clone());
        let is_id = (self.is_known)(id) || is_label(id);
        is_id.then(|| Cite::new(range, id, lines.map_or(Lines::Unsaid, Lines::of)))
    }

    /// The lines of the id `before` that all of `range` is.
    fn more(&self, range: Range<usize>, before: Option<&'t str>) -> Option<Cite<'t>> {
        let lines = Lines::of(more_lines(&self.text[range.clone()])?);
        let cite = Cite::new(range, before?, lines);
        Some(Cite {
            is_more: true,
            ..cite
        })
    }

    /// `range` without marks around it, and words that lead to an id.
    fn core(&self, range: Range<usize>) -> Range<usize> {
        let is_around = |c: char| {
            let is_quote = || MARKS.iter().any(|it| it.contains(&c));
            c.is_whitespace() || EMPHASIS.contains(&c) || "\\.:".contains(c) || is_quote()
        };
        let mut core = trimmed(self.text, range, is_around);
        loop {
            let text = &self.text[core.clone()];
            let rest = text.trim_start_matches(char::is_alphabetic);
            let word = text[..text.len() - rest.len()].to_lowercase();
            let is_apart = rest.starts_with(|c: char| is_around(c) && c != '_');
            if !is_apart || !LEADING.contains(&word.as_str()) {
                return core;
            }
            core = trimmed(self.text, core.end - rest.len()..core.end, is_around);
        }
    }

    /// The citations that all of `range` is, with words such as `and` between them; none where it
    /// is one.
    fn joined(&self, range: Range<usize>, before: Option<&'t str>) -> Option<Vec<Cite<'t>>> {
        let (mut pieces, mut start, mut at) = (Vec::new(), range.start, range.start);
        for word in self.text[range.clone()].split_inclusive(char::is_whitespace) {
            if JOINTS.contains(&word.trim_end().to_lowercase().as_str()) {
                pieces.push(start..at);
                start = at + word.len();
            }
            at += word.len();
        }
        if pieces.is_empty() {
            return None;
        }
        pieces.push(start..range.end);
        let (mut cites, mut before) = (Vec::new(), before);
        for piece in pieces {
            let piece = trimmed(self.text, piece, char::is_whitespace);
            let cite = self.alone(self.core(piece.clone()));
            let cite = cite.or_else(|| self.more(piece, before))?;
            before = Some(cite.id);
            cites.push(cite);
        }
        Some(cites)
    }

    /// The labels among the words of `range`, each with the lines that follow it.
    fn labels(&self, range: Range<usize>) -> Vec<Cite<'t>> {
        let mut found = Vec::new();
        let mut at = range.start;
        for word in self.text[range.clone()].split(|c| !is_of_label(c)) {
            let place = trimmed(self.text, at..at + word.len(), |c| c == '_');
            at += word.len();
            at += self.text[at..].chars().next().map_or(0, char::len_utf8);
            let label = &self.text[place.clone()];
            if is_label(label) && ((self.is_known)(label) || self.stands_alone(&place, &range)) {
                found.push(place);
            }
        }
        let ends = found.iter().skip(1).map(|it| it.start).chain([range.end]);
        let cite = |(place, end): (&Range<usize>, usize)| {
            let (lines, length) = lines_after(&self.text[place.end..end]);
            let id = &self.text[place.clone()];
            Cite::new(place.start..place.end + length, id, lines)
        };
        found.iter().zip(ends).map(cite).collect()
    }

    /// Whether the word at `place` is none of a path, an address or a formula.
    fn stands_alone(&self, place: &Range<usize>, range: &Range<usize>) -> bool {
        let before = self.text[range.start..place.start].chars().next_back();
        let mut after = self.text[place.end..range.end].chars();
        let (after, then) = (after.next(), after.next());
        let is_of_others =
            |c: char| c.is_alphanumeric() && !is_wide(c) || "/\\@=+$%&<>".contains(c);
        let is_extended = after == Some('.') && then.is_some_and(char::is_alphanumeric);
        !before.is_some_and(|c| is_of_others(c) || c == '.')
            && !after.is_some_and(|c| is_of_others(c) || c == '(')
            && !is_extended
    }
}

fn is_of_label(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// What `text`, which follows a label, says of its lines, and up to where.
fn lines_after(text: &str) -> (Lines, usize) {
    let rest = text.trim_start_matches(EMPHASIS);
    let signed = rest.strip_prefix([':', '#', '†']).map(str::trim_start);
    let said = signed.or_else(|| {
        let rest = rest.trim_start_matches([' ', '(']);
        more_lines(rest).filter(|_| rest.starts_with(char::is_alphabetic))
    });
    let Some(said) = said else {
        return (Lines::Unsaid, 0);
    };
    let others = said.trim_start_matches(|c: char| c.is_ascii_digit() || "L-–".contains(c));
    let lines = said[..said.len() - others.len()].trim_end_matches(['L', '-', '–']);
    if lines.is_empty() {
        return (Lines::Unsaid, 0);
    }
    (Lines::of(lines), text.len() - said.len() + lines.len())
}

/// The id that `text` is or begins with, and what it says of lines. An id that `is_known` may have
/// the marks in it that lines follow.
pub(crate) fn taken_apart(text: &str, is_known: impl Fn(&str) -> bool) -> (&str, Option<&str>) {
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

/// The labels ([`is_label`]) that a message cites between brackets, and where each begins, in their
/// order; read as [`resolve`](crate::resolve) reads an answer, with lines or without. Whether a
/// context shows them is not known here. A bracket that is not closed ends with its line. O(bytes).
///
/// ```
/// let labels = ctx_citations::cited_labels("what of [fil-9f2a1c:3, mes-9f2a1c] and a[0]?");
/// assert_eq!(labels.collect::<Vec<_>>(), [(9, "fil-9f2a1c"), (23, "mes-9f2a1c")]);
/// ```
pub fn cited_labels(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let reader = Reader {
        text,
        is_known: &|_| false,
    };
    let read = |part: Part| reader.read(&part, None);
    let cites = parts(text, Unclosed::Read).into_iter().flat_map(read);
    let labels: Vec<_> = cites
        .filter(|it| is_label(it.id))
        .map(|it| (it.range.start, it.id))
        .collect();
    labels.into_iter()
}

/// The labels of a list as it stands between brackets, with these or without them, where it is
/// nothing else: `fil-9f2a1c:10-12`, `[fil-9f2a1c, mes-9f2a1c]`. Lines are passed over. `None` for
/// any other text. O(bytes).
///
/// ```
/// assert_eq!(ctx_citations::label_list("fil-9f2a1c:3, 7-9"), Some(vec!["fil-9f2a1c"]));
/// assert_eq!(ctx_citations::label_list("src/a.rs:3"), None);
/// ```
pub fn label_list(text: &str) -> Option<Vec<&str>> {
    let text = text.trim();
    let inner = text.strip_prefix(['[', '【', '［']);
    let inner = inner.and_then(|it| it.strip_suffix([']', '】', '］']));
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
            ("【fil-9f2a1c】", Some(&["fil-9f2a1c"])),
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
