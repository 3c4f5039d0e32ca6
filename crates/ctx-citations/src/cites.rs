//! Citations in lists between brackets, in answers and in messages that quote them.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use ctx_model::LineSpan;

use crate::ids::{following, may_be_code};
use crate::label::{is_label, resembles_label};
use crate::lines::{DASHES, cited_lines, more_lines};
use crate::lists::{Kind, LONGEST_LIST, List, SEPARATORS, Unclosed, lists, trimmed};
use crate::quote::{EMPHASIS, MARKS};
use crate::script::is_wide;

/// Words and signs between two ids of one list member, and between two lists of a run.
const JOINTS: [&str; 5] = ["&", "and", "et", "or", "und"];
/// Words before an id, in lower case: `[see fil-9f2a1c]`, `[source: fil-9f2a1c]`, `[Document 1]`.
const LEADING: [&str; 30] = [
    "also",
    "cf",
    "citation",
    "cite",
    "doc",
    "docs",
    "document",
    "documents",
    "dokument",
    "dokumente",
    "excerpt",
    "from",
    "id",
    "ids",
    "passage",
    "passages",
    "quelle",
    "quellen",
    "ref",
    "refs",
    "result",
    "results",
    "see",
    "siehe",
    "snippet",
    "source",
    "sources",
    "via",
    "vgl",
    "voir",
];

/// A citation, or an attempt at one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cite<'t> {
    /// Its place, including its lines. For an id between the ends of a range, an empty place before
    /// the second end.
    pub(crate) range: Range<usize>,
    pub(crate) id: Cow<'t, str>,
    pub(crate) lines: Lines,
    /// Whether it consists of lines only, and its id precedes it in its list.
    pub(crate) is_more: bool,
}

impl<'t> Cite<'t> {
    fn new(range: Range<usize>, id: impl Into<Cow<'t, str>>, lines: Lines) -> Self {
        Cite {
            range,
            id: id.into(),
            lines,
            is_more: false,
        }
    }
}

/// The lines of a citation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    /// None are cited.
    Absent,
    These(LineSpan),
    /// They are invalid, or the id is malformed.
    Malformed,
}

impl Lines {
    /// What follows an id.
    fn of(text: Option<&str>) -> Self {
        text.map_or(Lines::Absent, |it| {
            cited_lines(it).map_or(Lines::Malformed, Lines::These)
        })
    }

    pub(crate) fn span(self) -> Option<LineSpan> {
        match self {
            Lines::These(span) => Some(span),
            Lines::Absent | Lines::Malformed => None,
        }
    }
}

/// The citations of a run: of lists on one line that only space, separators and words such as `and`
/// separate. Not empty.
pub(crate) struct Run<'t> {
    /// Where the first list begins.
    pub(crate) start: usize,
    pub(crate) cites: Vec<Cite<'t>>,
}

/// Parses the citations of a text.
pub(crate) struct Reader<'t, 'k> {
    pub(crate) text: &'t str,
    /// Whether the context shows an id.
    pub(crate) is_known: &'k dyn Fn(&str) -> bool,
    /// Whether a text that is neither shown nor a label has the shape of an id.
    pub(crate) has_shape: &'k dyn Fn(&str) -> bool,
    /// Whether code has a word as the name of something that is indexed.
    pub(crate) is_indexed: &'k dyn Fn(&str) -> bool,
    /// Whether the source shown under an id is prose that contains a word.
    pub(crate) says: &'k dyn Fn(&str, &str) -> bool,
    /// How many more ids between the ends of ranges are read.
    pub(crate) room: Cell<usize>,
}

impl<'t> Reader<'t, '_> {
    /// All citations of a text; `None` once `is_awaited`, which is called at each list, returns
    /// false. A run is at most as long as a list may be.
    pub(crate) fn runs(&self, is_awaited: &dyn Fn() -> bool) -> Option<Vec<Run<'t>>> {
        let mut runs: Vec<Run<'t>> = Vec::new();
        let mut end = 0;
        for list in lists(self.text, Unclosed::Text) {
            if !is_awaited() {
                return None;
            }
            let cites = self.read(&list);
            if cites.is_empty() {
                continue;
            }
            let between = &self.text[end..list.range.start];
            let run = runs.last_mut();
            let run = run.filter(|it| list.range.end - it.start <= LONGEST_LIST);
            let is_range = is_dash(between);
            let rest = run.as_ref().filter(|_| is_range);
            let rest = rest.and_then(|it| self.rest_of_range(it.cites.last()?, &cites));
            match (run, rest) {
                (Some(run), Some(rest)) => run.cites.extend(rest),
                (Some(run), None) if is_joint(between) => run.cites.extend(cites),
                _ => runs.push(Run {
                    start: list.range.start,
                    cites,
                }),
            }
            end = list.range.end;
        }
        Some(runs)
    }

    /// The citations of `list`.
    fn read(&self, list: &List) -> Vec<Cite<'t>> {
        let mut cites: Vec<Cite<'t>> = Vec::new();
        for member in &list.members {
            if list.kind == Kind::Round {
                let labels = self.labels(member.clone()).into_iter();
                cites.extend(labels.filter(|it| (self.is_known)(&it.id)));
            } else {
                // A member that is not an id cannot be followed by lines.
                let before = cites.iter().rev().find(|it| self.is_id(&it.id)).cloned();
                cites.extend(self.member(member.clone(), before.as_ref()));
            }
        }
        if !cites.iter().any(|it| may_be_code(&it.id)) {
            return cites;
        }
        let word = &self.text[list.word.clone()];
        let is_prose = match list.kind {
            Kind::Prose | Kind::Round => true,
            Kind::Code => false,
            Kind::EndOfClause => !(self.is_indexed)(word),
            Kind::Word => {
                let is_said = cites.iter().any(|it| (self.says)(&it.id, word));
                is_said && !(self.is_indexed)(word)
            }
        };
        if !is_prose {
            cites.retain(|it| !may_be_code(&it.id));
        }
        cites
    }

    /// The citations of the rest of a range between two lists, `[1]–[3]`, which `first` begins and
    /// the first of `cites` ends, and the others of `cites`. `None` if it is not such a range.
    fn rest_of_range(&self, first: &Cite<'t>, cites: &[Cite<'t>]) -> Option<Vec<Cite<'t>>> {
        let (last, others) = cites.split_first()?;
        let are_ids = [first, last].iter().all(|it| it.lines == Lines::Absent);
        let are_ids = are_ids && (self.is_known)(&first.id);
        let mut rest = are_ids.then(|| self.up_to(&first.id, last.range.clone()))??;
        rest.extend_from_slice(others);
        Some(rest)
    }

    /// The citations of the range of ids that all of `range` is, if its first id is shown: `1-3`.
    fn range_of_ids(&self, range: Range<usize>) -> Option<Vec<Cite<'t>>> {
        let text = &self.text[range.clone()];
        text.match_indices(DASHES).find_map(|(at, dash)| {
            let id = text[..at].trim_end();
            let rest = range.start + at + dash.len()..range.end;
            let rest = (self.is_known)(id).then_some(rest)?;
            let rest = self.up_to(id, trimmed(self.text, rest, char::is_whitespace))?;
            let first = Cite::new(range.start..range.start + id.len(), id, Lines::Absent);
            Some([vec![first], rest].concat())
        })
    }

    /// The citations of the ids after `first` up to the id, or only its number, at `end`. `None` if
    /// that is not a range of ids, or there is no room for those between.
    fn up_to(&self, first: &str, end: Range<usize>) -> Option<Vec<Cite<'t>>> {
        let room = self.room.get();
        let (last, between) = following(first, &self.text[end.clone()], room)?;
        if !self.is_id(&last) {
            return None;
        }
        let between: Vec<String> = between.collect();
        self.room.set(room - between.len());
        let ids = between.into_iter().filter(|it| self.is_id(it));
        let cites = ids.map(|it| Cite::new(end.start..end.start, it, Lines::Absent));
        let last = Cite::new(end.clone(), last, Lines::Absent);
        Some(cites.chain([last]).collect())
    }

    /// The citations in a list member; `before` is the one before it in the list.
    ///
    /// An id that does not have the form of a label must be the whole member, apart from lines,
    /// marks of emphasis, code and quotation, words such as `see` before it, and `and` between two
    /// ids. A label may be among any other words.
    fn member(&self, range: Range<usize>, before: Option<&Cite<'t>>) -> Vec<Cite<'t>> {
        let core = self.core(range.clone());
        let shown = self.shown(range.clone());
        let shown = shown.or_else(|| self.shown(core.clone()));
        if let Some(cite) = shown.as_ref().filter(|it| it.lines != Lines::Malformed) {
            return vec![cite.clone()];
        }
        if let Some(cites) = self.joined(range.clone(), before) {
            return cites;
        }
        let labels = self.labels(range.clone());
        if labels.len() > usize::from(shown.is_some()) {
            return labels;
        }
        let cites = shown.map(|it| vec![it]);
        let cites = cites.or_else(|| self.unshown(&range, &core, before));
        let cites = cites.or_else(|| Some(vec![self.misspelt(core)?]));
        cites.unwrap_or_default()
    }

    /// Whether lines may follow an id in its list.
    fn is_id(&self, id: &str) -> bool {
        (self.is_known)(id) || is_label(id) || (self.has_shape)(id)
    }

    /// The citation of a shown id, or of a label, that all of `range` is.
    fn shown(&self, range: Range<usize>) -> Option<Cite<'t>> {
        let (id, lines) = taken_apart(&self.text[range.clone()], self.is_known);
        let is_it = !id.is_empty() && (self.is_known)(id) || is_label(id);
        is_it.then(|| Cite::new(with_lines(range, id, lines), id, Lines::of(lines)))
    }

    /// The citations of another id or a range of ids that `range` or its `core` is, or of further
    /// lines of the id `before`.
    fn unshown(
        &self,
        range: &Range<usize>,
        core: &Range<usize>,
        before: Option<&Cite<'t>>,
    ) -> Option<Vec<Cite<'t>>> {
        let ids = || {
            let whole = self.shaped(range.clone());
            let shaped = whole.or_else(|| self.shaped(core.clone()));
            let shaped = shaped.map(|it| vec![it]);
            shaped.or_else(|| self.range_of_ids(core.clone()))
        };
        let more = || Some(vec![self.more(range.clone(), before)?]);
        // A number after lines is a line, too: `[1:10, 12]`.
        if before.is_some_and(|it| it.lines != Lines::Absent) {
            more().or_else(ids)
        } else {
            ids().or_else(more)
        }
    }

    /// The citation of an id of the right shape that all of `range` is.
    fn shaped(&self, range: Range<usize>) -> Option<Cite<'t>> {
        let (id, behind) = taken_apart(&self.text[range.clone()], self.has_shape);
        let lines = Lines::of(behind);
        let is_it = !id.is_empty() && lines != Lines::Malformed && (self.has_shape)(id);
        is_it.then(|| Cite::new(with_lines(range, id, behind), id, lines))
    }

    /// The citation that all of `range` is an attempt at.
    fn misspelt(&self, range: Range<usize>) -> Option<Cite<'t>> {
        let (id, _) = taken_apart(&self.text[range.clone()], self.is_known);
        resembles_label(id).then(|| Cite::new(range, id, Lines::Malformed))
    }

    /// The lines of the id `before` that all of `range` is.
    fn more(&self, range: Range<usize>, before: Option<&Cite<'t>>) -> Option<Cite<'t>> {
        let lines = Lines::of(Some(more_lines(&self.text[range.clone()])?));
        let cite = Cite::new(range, before?.id.clone(), lines);
        Some(Cite {
            is_more: true,
            ..cite
        })
    }

    /// `range` without surrounding marks and words that lead to an id.
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

    /// The citations that all of `range` consists of, with words such as `and` between them; none
    /// if it is a single one.
    fn joined(&self, range: Range<usize>, before: Option<&Cite<'t>>) -> Option<Vec<Cite<'t>>> {
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
        // After a comma: `[1, 2, and 3]`.
        if before.is_some() && pieces[0].is_empty() {
            pieces.remove(0);
        }
        let mut cites: Vec<Cite<'t>> = Vec::new();
        for piece in pieces {
            let before = cites.last().or(before);
            let piece = trimmed(self.text, piece, char::is_whitespace);
            let core = self.core(piece.clone());
            let shown = self.shown(core.clone()).map(|it| vec![it]);
            cites.extend(shown.or_else(|| self.unshown(&piece, &core, before))?);
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

    /// Whether the word at `place` is not part of a path, an address or a formula.
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

/// The lines that follow a label at the beginning of `text`, and where they end.
fn lines_after(text: &str) -> (Lines, usize) {
    let absent = (Lines::Absent, 0);
    let marked = text.trim_start_matches(EMPHASIS);
    let signed = marked.strip_prefix([':', '#', '†']).map(str::trim_start);
    let Some(rest) = signed.or_else(|| worded_lines(marked)) else {
        return absent;
    };
    let is_of_ends = |c: char| c == 'L' || DASHES.contains(&c);
    let others = rest.trim_start_matches(|c: char| c.is_ascii_digit() || is_of_ends(c));
    let lines = rest[..rest.len() - others.len()].trim_end_matches(is_of_ends);
    if lines.is_empty() {
        return absent;
    }
    (
        Lines::of(Some(lines)),
        text.len() - rest.len() + lines.len(),
    )
}

/// What follows a word such as `lines` at the beginning of `text`.
fn worded_lines(text: &str) -> Option<&str> {
    let text = text.trim_start_matches([' ', '(']);
    more_lines(text).filter(|_| text.starts_with(char::is_alphabetic))
}

/// Whether two lists with `text` between them are one list.
fn is_joint(text: &str) -> bool {
    let is_between = |c: char| c == ' ' || c == '\t' || SEPARATORS.contains(&c);
    let mut words = text.split(is_between);
    words.all(|it| it.is_empty() || JOINTS.contains(&it.to_lowercase().as_str()))
}

/// Whether two lists with `text` between them are one range.
fn is_dash(text: &str) -> bool {
    text.strip_prefix(DASHES) == Some("")
}

/// The place of the `id` at the beginning of `range`, including what may be its lines; only that of
/// the id if there are none.
fn with_lines(range: Range<usize>, id: &str, lines: Option<&str>) -> Range<usize> {
    let end = lines.map_or(range.start + id.len(), |_| range.end);
    range.start..end
}

/// The id that `text` is or begins with, and what follows it. An id according to `is_id` may
/// contain the signs that lines follow. After a dagger there are lines, or a name that is ignored:
/// `1†source`.
fn taken_apart(text: &str, is_id: impl Fn(&str) -> bool) -> (&str, Option<&str>) {
    let marks = [':', '#'];
    if is_id(text) {
        return (text, None);
    }
    if let Some((id, name)) = text.split_once('†')
        && is_id(id.trim_end())
    {
        let lines = Some(name.trim()).filter(|it| cited_lines(it).is_some());
        return (id.trim_end(), lines);
    }
    let last = text.rsplit_once(marks);
    let last = last.filter(|it| is_id(it.0.trim_end()));
    match last.or_else(|| text.split_once(marks)) {
        Some((id, lines)) => (id.trim_end(), Some(lines.trim())),
        None => (text, None),
    }
}

/// The label that `text`, a list member, cites, with or without lines, whether these are valid or
/// not.
fn label_in(text: &str) -> Option<&str> {
    let (id, _) = taken_apart(text, |_| false);
    is_label(id).then_some(id)
}

/// The labels ([`is_label`]) that a message cites between brackets, in their order, with the place
/// of each. They are parsed as [`resolve`](crate::resolve) parses an answer, with or without lines.
/// Whether a context shows them is not known here. An unclosed bracket ends with its line.
/// O(bytes).
///
/// ```
/// let labels = ctx_citations::cited_labels("what of [fil-9f2a1c:3, mes-9f2a1c] and a[0]?");
/// assert_eq!(labels.collect::<Vec<_>>(), [(9, "fil-9f2a1c"), (23, "mes-9f2a1c")]);
/// ```
pub fn cited_labels(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let reader = Reader {
        text,
        is_known: &|_| false,
        has_shape: &|_| false,
        is_indexed: &|_| false,
        says: &|_, _| false,
        room: Cell::new(0),
    };
    let lists = lists(text, Unclosed::Read);
    let cites: Vec<Cite<'_>> = lists.iter().flat_map(|it| reader.read(it)).collect();
    // Each is returned as it is written.
    cites.into_iter().filter_map(|it| match it.id {
        Cow::Borrowed(id) if is_label(id) && !it.is_more => Some((it.range.start, id)),
        _ => None,
    })
}

/// The labels of a list, with or without its brackets, if `text` is nothing else:
/// `fil-9f2a1c:10-12`, `[fil-9f2a1c, mes-9f2a1c]`. Lines are ignored. `None` for any other text.
/// O(bytes).
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
    for part in inner.unwrap_or(text).split(SEPARATORS) {
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
mod tests;
