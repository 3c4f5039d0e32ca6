//! Lists between brackets, which may contain ids, and whether they are in prose or in code.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::lines::DASHES;
use crate::names::is_of_name;
use crate::script::is_wide;

/// The most bytes of a list between brackets, and of the lists of a run together.
pub(crate) const LONGEST_LIST: usize = 400;

/// What members of a list are separated by.
pub(crate) const SEPARATORS: [char; 2] = [',', ';'];
const OPENING: [char; 5] = ['[', '【', '［', '(', '（'];
const SQUARE: [char; 6] = ['[', ']', '【', '】', '［', '］'];
const ROUND: [char; 4] = ['(', ')', '（', '）'];
/// So many marks at the start of a line begin or end a block of code.
const FENCE: usize = 3;
/// Languages of blocks that contain prose: models put whole answers in one.
const PROSE: [&str; 2] = ["markdown", "md"];
/// The fewest words before brackets that make a clause of prose.
const CLAUSE: usize = 4;
/// The most adjacent brackets that end a clause together.
const TOUCHING: usize = 16;
/// How far before brackets those words are searched for, in bytes.
const CLAUSE_BYTES: usize = 100;

/// The content of two brackets on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct List {
    /// Its place, including its brackets.
    pub(crate) range: Range<usize>,
    pub(crate) kind: Kind,
    /// The word that it directly follows, where that matters; otherwise empty.
    pub(crate) word: Range<usize>,
    /// The places of its members, without surrounding space.
    pub(crate) members: Vec<Range<usize>>,
}

/// The kind of brackets around a list, and where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Square brackets in prose, also the wide ones of scripts without spaces.
    Prose,
    /// Square brackets of code or of a link: within code marks, in a code block, or as an index.
    Code,
    /// Square brackets directly after the last word of a clause, which they end: an index of a
    /// name, or a citation in prose.
    EndOfClause,
    /// Square brackets directly after another word: an index, unless that is a word of prose.
    Word,
    /// Round brackets in prose.
    Round,
}

/// How a square bracket is treated that is not closed on its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unclosed {
    /// It is text.
    Text,
    /// It ends with the line: people forget to close one.
    Read,
}

/// The lists of `text`, in order; no two overlap. O(bytes).
pub(crate) fn lists(text: &str, unclosed: Unclosed) -> Vec<List> {
    let mut lists = Vec::new();
    lines(text).for_each(|it| it.lists(unclosed, &mut lists));
    lists
}

/// A piece of code in a text.
pub(crate) struct Code<'t> {
    pub(crate) text: &'t str,
    /// Whether it is between code marks, rather than a line of a block.
    pub(crate) is_span: bool,
}

/// The code of `text`: the lines of code blocks, and what is between code marks. O(bytes).
pub(crate) fn code_of(text: &str) -> impl Iterator<Item = Code<'_>> {
    lines(text).flat_map(|line| {
        let (body, is_span) = (line.body, !line.is_block);
        let all = 0..body.len();
        let ranges = if is_span { line.spans } else { vec![all] };
        ranges.into_iter().map(move |it| Code {
            text: body[it].trim_matches('`'),
            is_span,
        })
    })
}

/// The lines of `text`, in order. O(bytes).
fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let (mut start, mut open) = (0, None);
    text.split_inclusive('\n').map(move |line| {
        open = match (open, fence(line)) {
            (None, opening) => opening,
            (Some((run, _)), Some((closing, ""))) if closing.starts_with(run) => None,
            (block, _) => block,
        };
        let is_code = open.is_some_and(|(_, language)| !PROSE.contains(&language));
        let body = line.trim_end_matches(['\n', '\r']);
        start += line.len();
        Line::new(body, start - line.len(), is_code)
    })
}

/// The marks that begin or end a code block on `line`, and the language after them; nothing follows
/// marks that end one.
fn fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches([' ', '\t', '>']);
    let mark = line.chars().next().filter(|it| matches!(it, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let run = &line[..line.len() - rest.len()];
    // Further ones on the line would be code marks within it.
    let is_fence = run.len() >= FENCE && !(mark == '`' && rest.contains(mark));
    is_fence.then(|| (run, rest.trim()))
}

/// A line of a text.
struct Line<'t> {
    body: &'t str,
    /// Where it begins.
    start: usize,
    /// Where its text begins within `body`, after space and quotation marks.
    indent: usize,
    /// Whether it is in a code block.
    is_block: bool,
    /// The places of code marks, with what is between them, in `body`.
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
        let mut read_to = 0;
        let mut behind_word: Option<(usize, Kind, Range<usize>)> = None;
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
            // Adjacent brackets all belong to the same word.
            let touching = behind_word.filter(|it| it.0 == at);
            let touching = touching.map(|(_, kind, word)| (kind, word));
            let behind = || touching.or_else(|| self.behind_word(at, end));
            let behind = (bracket == "[").then(behind).flatten();
            let is_link = || bracket == "[" && self.is_link(at, end);
            let kind = if is_round {
                Kind::Round
            } else if self.is_code(at) || is_link() {
                Kind::Code
            } else {
                behind.as_ref().map_or(Kind::Prose, |it| it.0)
            };
            let word = behind.as_ref().map_or(0..0, |it| it.1.clone());
            lists.push(List {
                range: self.start + at..self.start + end,
                kind,
                word: self.start + word.start..self.start + word.end,
                members: members(self.body, first..last, self.start),
            });
            behind_word = behind.map(|(kind, word)| (end, kind, word));
        }
    }

    /// The end of the bracketed text that begins at `first`, without and with the closing bracket;
    /// `None` if nothing closes it.
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

    /// Whether the brackets at `at` are within code marks or a code block.
    fn is_code(&self, at: usize) -> bool {
        let next = self.spans.partition_point(|it| it.end <= at);
        self.is_block || self.spans.get(next).is_some_and(|it| it.start <= at)
    }

    /// The word, or name in code, directly before the square brackets from `at` to `end`, and
    /// whether these are an index of it; `None` if that is no word, or a number.
    fn behind_word(&self, at: usize, end: usize) -> Option<(Kind, Range<usize>)> {
        let (before, after) = (&self.body[..at], behind_brackets(&self.body[end..]));
        let word = before.rsplit(|c| !is_of_name(c)).next()?;
        if !ends_operand(before, "_)") || word.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let is_end = begins_with_end(after);
        let kind = if is_end && ends_in_prose(before) {
            Kind::EndOfClause
        } else if (is_end || goes_on(after)) && is_among_words(before, word) {
            Kind::Word
        } else {
            Kind::Code
        };
        Some((kind, at - word.len()..at))
    }

    /// Whether the square brackets from `at` to `end` are the text of a Markdown link,
    /// `[1](https://example.org)`, or define its target, `[1]: https://example.org`.
    fn is_link(&self, at: usize, end: usize) -> bool {
        let after = &self.body[end..];
        let is_definition = || after.strip_prefix(':').is_some_and(is_target);
        after.starts_with('(') || at == self.indent && is_definition()
    }
}

/// The places of the members of the list at `range` of a line that begins at `start`.
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

/// `range` of `text` without the characters at both ends for which `is_around` is true.
pub(crate) fn trimmed(
    text: &str,
    range: Range<usize>,
    is_around: impl Fn(char) -> bool,
) -> Range<usize> {
    let inner = text[range.clone()].trim_start_matches(&is_around);
    let start = range.end - inner.len();
    start..start + inner.trim_end_matches(&is_around).len()
}

/// The places of code marks, with what is between them, on a line, in order. O(bytes).
fn code_spans(line: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let mut runs: Vec<Range<usize>> = Vec::new();
    for run in line.as_bytes().chunk_by(|a, b| a == b) {
        if run[0] == b'`' {
            runs.push(at..at + run.len());
        }
        at += run.len();
    }
    // Marks that do not occur again open nothing, and the rest of the line is not searched for
    // them.
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

/// Whether a bracket after `before` directly follows a name, or one of `signs`: then it belongs to
/// a call, an index or a link.
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
    words.len() == CLAUSE && is_long(last) && others.iter().all(|it| is_word(it))
}

/// Whether `word`, at the end of `before`, may be a word of prose: it is longer than a name such as
/// `x`, and is preceded by another word, or by nothing.
fn is_among_words(before: &str, word: &str) -> bool {
    let before = &before[..before.len() - word.len()];
    let near = before.ceil_char_boundary(before.len().saturating_sub(CLAUSE_BYTES));
    let is_apart =
        before.is_empty() || before.ends_with(|c: char| c.is_whitespace() || "(\"“‘*".contains(c));
    let other = before[near..].split_whitespace().next_back().map(bare_word);
    is_long(word) && is_apart && other.is_none_or(|it| it.is_empty() || is_word(it))
}

/// Whether it is a word, and longer than the name in `x[1]`.
fn is_long(word: &str) -> bool {
    word.chars().nth(1).is_some() && word.chars().all(|c| is_of_word(c, ""))
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| is_of_word(c, "0123456789.,%"))
}

/// `word` without surrounding punctuation and following citations.
fn bare_word(word: &str) -> &str {
    let word = word.split('[').next().unwrap_or_default();
    let word = word.trim_start_matches(['(', '"', '\'', '“', '‘', '*']);
    word.trim_end_matches([')', '"', '\'', '”', '’', '*', ',', ';', ':'])
}

fn is_of_word(c: char, others: &str) -> bool {
    c.is_alphabetic() || matches!(c, '-' | '\'' | '’') || others.contains(c)
}

/// What follows the brackets that `after` begins with, or with which it forms a range.
fn behind_brackets(after: &str) -> &str {
    let mut after = after;
    for _ in 0..TOUCHING {
        let next = after
            .strip_prefix(DASHES)
            .unwrap_or(after)
            .strip_prefix('[');
        match next.and_then(|it| Some(&it[it.find(']')? + 1..])) {
            Some(next) => after = next,
            None => break,
        }
    }
    after
}

/// Whether `after` continues with another word.
fn goes_on(after: &str) -> bool {
    let next = after.strip_prefix(' ');
    next.is_some_and(|it| it.starts_with(|c: char| c.is_alphanumeric() || "(\"“‘*–—".contains(c)))
}

/// Whether a clause or the line ends before `after`.
fn begins_with_end(after: &str) -> bool {
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
