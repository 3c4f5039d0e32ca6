//! Lists between brackets, which may be of ids, and whether they stand in prose or in code.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::script::is_wide;

/// No list between brackets is longer, in bytes, nor are those of a run together.
pub(crate) const LONGEST_LIST: usize = 400;

/// What members of a list are separated by.
pub(crate) const SEPARATORS: [char; 2] = [',', ';'];
const OPENING: [char; 5] = ['[', '【', '［', '(', '（'];
const SQUARE: [char; 6] = ['[', ']', '【', '】', '［', '］'];
const ROUND: [char; 4] = ['(', ')', '（', '）'];
/// So many marks at the start of a line begin a block of code, and end it.
const FENCE: usize = 3;
/// Languages of blocks that are prose: whole answers are put in one.
const PROSE: [&str; 2] = ["markdown", "md"];
/// So many words before brackets are a clause of prose.
const CLAUSE: usize = 4;
/// So many brackets that touch end a clause together.
const TOUCHING: usize = 16;
/// So far before brackets those words are looked for, in bytes.
const CLAUSE_BYTES: usize = 100;

/// What stands between two brackets on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct List {
    /// Where it stands, with its brackets.
    pub(crate) range: Range<usize>,
    pub(crate) kind: Kind,
    /// Where its members stand, without the space around them.
    pub(crate) members: Vec<Range<usize>>,
}

/// What a list stands between, and in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Square brackets of prose, be they as wide as scripts without spaces.
    Prose,
    /// Square brackets that are or may be of code: in marks of code, in a block of it, as an index,
    /// or of a link.
    Code,
    /// Round ones of prose.
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

/// The lists of `text`, in order; no two overlap. O(bytes).
pub(crate) fn lists(text: &str, unclosed: Unclosed) -> Vec<List> {
    let (mut lists, mut start, mut open) = (Vec::new(), 0, None);
    for line in text.split_inclusive('\n') {
        open = match (open, fence(line)) {
            (None, opening) => opening,
            (Some((run, _)), Some((closing, ""))) if closing.starts_with(run) => None,
            (block, _) => block,
        };
        let is_code = open.is_some_and(|(_, language)| !PROSE.contains(&language));
        let body = line.trim_end_matches(['\n', '\r']);
        Line::new(body, start, is_code).lists(unclosed, &mut lists);
        start += line.len();
    }
    lists
}

/// The marks that begin or end a block of code on `line`, and the language behind them; nothing is
/// behind those that end one.
fn fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches([' ', '\t', '>']);
    let mark = line.chars().next().filter(|it| matches!(it, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let run = &line[..line.len() - rest.len()];
    // More of them on the line are marks of code within it.
    let is_fence = run.len() >= FENCE && !(mark == '`' && rest.contains(mark));
    is_fence.then(|| (run, rest.trim()))
}

/// A line of a text.
struct Line<'t> {
    body: &'t str,
    /// Where it begins.
    start: usize,
    /// Where it begins within `body`, behind space and marks of quotation.
    indent: usize,
    /// Whether it is one of a block of code.
    is_block: bool,
    /// Where marks of code and what is between them stand in `body`.
    spans: Vec<Range<usize>>,
}

impl<'t> Line<'t> {
    fn new(body: &'t str, start: usize, is_block: bool) -> Self {
        Line {
            body,
            start,
            indent: body.len() - body.trim_start_matches([' ', '\t', '>']).len(),
            is_block,
            spans: code_spans(body),
        }
    }

    /// Adds its lists.
    fn lists(&self, unclosed: Unclosed, lists: &mut Vec<List>) {
        let (mut read_to, mut index_end) = (0, None);
        for (at, bracket) in self.body.match_indices(OPENING) {
            let is_round = bracket.starts_with(ROUND);
            let is_call = || bracket == "(" && ends_operand(&self.body[..at], "_)]}!>");
            if is_round && (at < read_to || self.is_code(at) || is_call()) {
                continue;
            }
            let first = at + bracket.len();
            let Some((last, end)) = self.closed(first, is_round, unclosed) else {
                continue;
            };
            read_to = last;
            let is_index = bracket == "[" && (index_end == Some(at) || self.is_index(at, end));
            if is_index {
                index_end = Some(end);
            }
            let is_link = || bracket == "[" && self.is_link(at, end);
            let kind = if is_round {
                Kind::Round
            } else if is_index || self.is_code(at) || is_link() {
                Kind::Code
            } else {
                Kind::Prose
            };
            lists.push(List {
                range: self.start + at..self.start + end,
                kind,
                members: members(self.body, first..last, self.start),
            });
        }
    }

    /// Where what stands between brackets from `first` on ends, without the closing one and with
    /// it; `None` where nothing closes it.
    fn closed(&self, first: usize, is_round: bool, unclosed: Unclosed) -> Option<(usize, usize)> {
        let inner = &self.body[first..];
        let near = &inner[..inner.floor_char_boundary(LONGEST_LIST)];
        let is_bracket = |c: char| SQUARE.contains(&c) || is_round && ROUND.contains(&c);
        let Some(length) = near.find(is_bracket) else {
            let is_read = !is_round && unclosed == Unclosed::Read && near.len() == inner.len();
            return is_read.then_some((self.body.len(), self.body.len()));
        };
        let closing = near[length..].chars().next()?;
        let is_closing = if is_round {
            matches!(closing, ')' | '）')
        } else {
            matches!(closing, ']' | '】' | '］')
        };
        let last = first + length;
        is_closing.then(|| (last, last + closing.len_utf8()))
    }

    /// Whether the brackets at `at` stand in marks of code, or in a block of it.
    fn is_code(&self, at: usize) -> bool {
        let next = self.spans.partition_point(|it| it.end <= at);
        self.is_block || self.spans.get(next).is_some_and(|it| it.start <= at)
    }

    /// Whether the square brackets from `at` to `end` are an index: they stand right behind a name,
    /// which is no number, and do not end a clause of prose.
    fn is_index(&self, at: usize, end: usize) -> bool {
        let before = &self.body[..at];
        let name = before
            .rsplit(|c: char| !c.is_alphanumeric() && c != '_')
            .next();
        let is_number = name.is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()));
        let is_prose = || begins_with_end(&self.body[end..]) && ends_in_prose(before);
        ends_operand(before, "_)") && !is_number && !is_prose()
    }

    /// Whether the square brackets from `at` to `end` are the text of a link of Markdown,
    /// `[1](https://example.org)`, or say what its target is, `[1]: https://example.org`.
    fn is_link(&self, at: usize, end: usize) -> bool {
        let after = &self.body[end..];
        let is_definition = || after.strip_prefix(':').is_some_and(is_target);
        after.starts_with('(') || at == self.indent && is_definition()
    }
}

/// Where the members of the list at `range` of a line stand, which begins at `start`.
fn members(body: &str, range: Range<usize>, start: usize) -> Vec<Range<usize>> {
    let mut at = range.start;
    let member = |part: &str| {
        let bare = part.trim_end_matches(SEPARATORS);
        let member = trimmed(body, at..at + bare.len(), char::is_whitespace);
        at += part.len();
        start + member.start..start + member.end
    };
    let parts = body[range.clone()].split_inclusive(SEPARATORS);
    parts.map(member).collect()
}

/// `range` of `text` without what `is_around` at both ends.
pub(crate) fn trimmed(
    text: &str,
    range: Range<usize>,
    is_around: impl Fn(char) -> bool,
) -> Range<usize> {
    let inner = text[range.clone()].trim_start_matches(&is_around);
    let start = range.end - inner.len();
    start..start + inner.trim_end_matches(&is_around).len()
}

/// Where marks of code and what is between them stand on a line, in order. O(bytes).
fn code_spans(line: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let mut runs: Vec<Range<usize>> = Vec::new();
    for run in line.as_bytes().chunk_by(|a, b| a == b) {
        if run[0] == b'`' {
            runs.push(at..at + run.len());
        }
        at += run.len();
    }
    // Marks that are never repeated open nothing, and are not looked for along the line.
    let last: BTreeMap<usize, usize> = (runs.iter().enumerate())
        .map(|(number, run)| (run.len(), number))
        .collect();
    let (mut spans, mut number) = (Vec::new(), 0);
    while let Some(open) = runs.get(number) {
        let last = last.get(&open.len()).copied().unwrap_or(number);
        match (number + 1..=last).find(|it| runs[*it].len() == open.len()) {
            Some(closing) => {
                spans.push(open.start..runs[closing].end);
                number = closing + 1;
            }
            None => number += 1,
        }
    }
    spans
}

/// Whether a bracket after `before` stands right behind a name, or one of `signs`: it is of a call,
/// an index or a link.
fn ends_operand(before: &str, signs: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() && !is_wide(c);
    before.ends_with(|c: char| is_of_name(c) || signs.contains(c))
}

/// Whether `before` ends in words of prose, the last of which is longer than the name of `x[1]`.
fn ends_in_prose(before: &str) -> bool {
    let near = before.ceil_char_boundary(before.len().saturating_sub(CLAUSE_BYTES));
    let words = before[near..].split_whitespace().rev().take(CLAUSE);
    let words: Vec<&str> = words.map(bare_word).collect();
    let Some((last, others)) = words.split_first() else {
        return false;
    };
    let is_last = last.chars().nth(1).is_some() && last.chars().all(|c| is_of_word(c, ""));
    let is_word = |it: &&str| !it.is_empty() && it.chars().all(|c| is_of_word(c, "0123456789.,%"));
    words.len() == CLAUSE && is_last && others.iter().all(is_word)
}

/// `word` without punctuation around it, and citations behind it.
fn bare_word(word: &str) -> &str {
    let word = word.split('[').next().unwrap_or_default();
    let word = word.trim_start_matches(['(', '"', '\'', '“', '‘', '*']);
    word.trim_end_matches([')', '"', '\'', '”', '’', '*', ',', ';', ':'])
}

fn is_of_word(c: char, others: &str) -> bool {
    c.is_alphabetic() || matches!(c, '-' | '\'' | '’') || others.contains(c)
}

/// Whether a clause or the line ends before `after`, or behind brackets that it begins with.
fn begins_with_end(after: &str) -> bool {
    let mut after = after;
    for _ in 0..TOUCHING {
        match after.strip_prefix('[').and_then(|it| it.find(']')) {
            Some(end) => after = &after[end + 2..],
            None => break,
        }
    }
    let is_between = |c: char| c.is_whitespace() || "\"'”’»)*_".contains(c);
    match after.strip_prefix([',', '.', ';', ':', '!', '?']) {
        Some(after) => after.is_empty() || after.starts_with(is_between),
        None => after.trim_start().is_empty(),
    }
}

/// Whether `text` is the target of a link, with a title or without.
fn is_target(text: &str) -> bool {
    let text = text.trim();
    let (target, title) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let is_place = target.trim_end_matches('.').contains(['/', '.', '#', '<']);
    is_place && (title.is_empty() || title.trim_start().starts_with(['"', '\'', '(']))
}
