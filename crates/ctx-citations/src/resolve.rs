//! What an answer cites, and whether it may.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use ctx_format::{Slot, neutralise};
use ctx_model::LineSpan;
use serde::Serialize;

use crate::cited::{Cited, ends};
use crate::label::{is_label, resembles_label};
use crate::lines::cited_lines;

/// No list of labels between brackets is longer, in bytes.
const LONGEST_LIST: usize = 400;
/// So far before a citation its quotation begins at most, in bytes.
const LONGEST_QUOTE: usize = 4_000;
/// So many times the bytes of the answer and of all sources are looked through for quotations.
const LOOKS: usize = 64;
/// So many times the bytes of the answer are kept of quotations,
const KEPT: usize = 4;
/// and so many besides: enough for the longest before a list of as many labels as there may be.
const KEPT_BESIDES: usize = 1 << 20;
/// So many bytes of a source are read before it is asked again whether they are wanted.
const STEP: usize = 256 << 10;
/// Fewer words between quotation marks are a name or irony.
const FEWEST_WORDS: usize = 3;
/// Words that lead from a quotation to what it is of, in lower case: `"…" (see also [fil-9f2a1c])`.
const LEADING: [&str; 28] = [
    "according",
    "also",
    "as",
    "at",
    "aus",
    "by",
    "cf",
    "compare",
    "from",
    "in",
    "laut",
    "nach",
    "of",
    "per",
    "quelle",
    "quoted",
    "ref",
    "said",
    "says",
    "see",
    "shown",
    "siehe",
    "source",
    "stated",
    "states",
    "to",
    "vgl",
    "voir",
];
/// More of them are a sentence of its own.
const MOST_LEADING: usize = 4;
/// So many characters are a word where there are no spaces between words.
const CHARACTERS_OF_WORD: usize = 3;
/// Marks of emphasis and of code around a quotation.
const EMPHASIS: [char; 4] = ['*', '_', '`', '~'];
/// Those of code, and of what is struck out.
const CODE: [char; 2] = ['`', '~'];
/// So many of them on a line begin a block of code, and end it.
const FENCE: usize = 3;
/// A block of quotation begins at most so far in, in bytes.
const DEEPEST: usize = 64;
/// Quotation marks: those of a row go together.
const MARKS: [&[char]; 6] = [
    &['"', '„', '“', '”', '＂'],
    &['«', '»'],
    &['‹', '›'],
    &['「', '」'],
    &['『', '』'],
    &['\'', '‘', '’', '‚'],
];

/// Tells a model how to cite: a sentence for the header of a context or a system prompt.
pub const CITING: &str = "Cite what you use by its id in square brackets, as in [fil-9f2a1c], or with lines, as \
                          in [fil-9f2a1c:10-12]. Put words that you quote between quotation marks right before it.";

/// What is wrong with a citation, if anything is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing.
    Sound,
    /// The context has no source of that id.
    Unknown,
    /// It is meant for an id and has not the form of one, or its lines are none.
    Malformed,
    /// The context does not show those lines of the source.
    OutOfRange,
    /// The words quoted before it are not among those that the context shows of the source.
    Misquoted,
    /// The answer quotes so much that the words before it were not looked for, or not even kept: more than 4,000 bytes before
    /// this citation, or too much of all. Or no text of the source has the hash in the receipt, so that its words and lines could
    /// not be looked at.
    Unchecked,
}

impl Verdict {
    /// What a mark says, after a colon.
    fn words(self) -> &'static str {
        match self {
            Verdict::Sound => "",
            Verdict::Unknown => "unknown",
            Verdict::Malformed => "malformed",
            Verdict::OutOfRange => "no such lines",
            Verdict::Misquoted => "not a quotation",
            Verdict::Unchecked => "not checked",
        }
    }
}

/// One citation of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Mark {
    /// Where it stands in the answer, in bytes, without its brackets.
    pub range: Range<usize>,
    /// The id, as it is written.
    pub id: String,
    /// The lines, where some are cited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// The words quoted right before it, where there are any, and they were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// What is wrong with it.
    pub verdict: Verdict,
}

/// An answer, with what it cites.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Resolved {
    /// The answer. Sound citations stand as they stood; the others say what is wrong with them:
    /// `[fil-000000: unknown]`.
    pub text: String,
    /// The ids of the sources cited, each once, in the order they are first cited.
    pub used: Vec<String>,
    /// Every citation, in order.
    pub marks: Vec<Mark>,
}

impl Resolved {
    /// The citations with this verdict, in order.
    pub fn with(&self, verdict: Verdict) -> impl Iterator<Item = &Mark> {
        self.marks.iter().filter(move |it| it.verdict == verdict)
    }
}

/// Finds what `answer` cites of `citations`: ids between brackets, alone or in a list, each with lines or
/// without; a member of a list that is lines is of the id before it. O(bytes of the answer and of the sources): quotations are looked for in so many times those bytes, which is enough
/// for 64 different ones that each take the whole of all sources, and the rest is [`Verdict::Unchecked`]. So is what
/// is quoted before a citation once four times the bytes of the answer, and 1 MiB, are kept of quotations: many citations may follow the same
/// words, and each has them.
///
/// An id that is none of theirs is unknown where it has the form of those that this crate gives out: `ref`, `fil`, `chu` or
/// `mes`, a hyphen, and 6 to 64 hexadecimal digits. Other words between brackets are text.
pub fn resolve(answer: &str, citations: &[Cited]) -> Resolved {
    resolve_while(answer, citations, || true).unwrap_or_default()
}

/// The same, as long as it `is_wanted`, which is asked at each citation and every 256 KiB of a source; `None` once it is not.
pub fn resolve_while(
    answer: &str,
    citations: &[Cited],
    is_wanted: impl Fn() -> bool,
) -> Option<Resolved> {
    resolved(answer, &Known::new(answer, citations, &is_wanted))
}

fn resolved(answer: &str, known: &Known<'_>) -> Option<Resolved> {
    let mut resolved = Resolved::default();
    let mut from = 0;
    let mut list = None;
    for part in parts(answer) {
        if !(known.is_wanted)() {
            return None;
        }
        let open = part.open;
        let before = list.as_ref().filter(|(its, _)| *its == open);
        let Some(mark) = mark(answer, part, before.map(|(_, id)| id), known) else {
            continue;
        };
        // What is no id leads no list.
        if known.of(&mark.id).is_some() || is_label(&mark.id) {
            list = Some((open, mark.id.clone()));
        }
        let used = known.of(&mark.id).map(|it| &it.id);
        if let Some(id) = used.filter(|id| !resolved.used.contains(id)) {
            resolved.used.push(id.clone());
        }
        resolved.text.push_str(&answer[from..mark.range.end]);
        from = mark.range.end;
        if mark.verdict != Verdict::Sound {
            let _ = write!(resolved.text, ": {}", mark.verdict.words());
        }
        resolved.marks.push(mark);
    }
    resolved.text.push_str(&answer[from..]);
    // The last source may have been read in part.
    (known.is_wanted)().then_some(resolved)
}

/// What may be an id, or lines of the one before it.
struct Part {
    /// Where its list begins, with the bracket.
    open: usize,
    /// Where it stands, without the space around it.
    range: Range<usize>,
}

/// What is between brackets on one line, cut at commas and semicolons.
fn parts(answer: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for (open, _) in answer.match_indices('[') {
        let inner = &answer[open + 1..];
        let inner = &inner[..inner.floor_char_boundary(LONGEST_LIST)];
        let Some(end) = inner
            .find(['[', ']', '\n'])
            .filter(|&end| inner[end..].starts_with(']'))
        else {
            continue;
        };
        let mut at = open + 1;
        for part in inner[..end].split_inclusive([',', ';']) {
            let text = part.trim_end_matches([',', ';']);
            let start = at + (text.len() - text.trim_start().len());
            let range = start..start + text.trim().len();
            parts.push(Part { open, range });
            at += part.len();
        }
    }
    parts
}

/// What may be cited, by id.
struct Known<'c> {
    sources: BTreeMap<&'c str, Source<'c>>,
    /// Where the lines of the answer end.
    line_ends: Vec<usize>,
    /// So many more bytes of sources are looked through,
    left: Cell<usize>,
    /// and so many more of quotations kept.
    room: Cell<usize>,
    is_wanted: &'c dyn Fn() -> bool,
}

/// What is quoted right before a citation.
#[derive(Clone, Debug, PartialEq)]
enum Quote {
    Nothing,
    Words(String),
    /// Something, of which nothing is kept.
    TooMuch,
}

/// What may be cited; and what it says, as quotations are held against it, once one is.
struct Source<'c> {
    cited: &'c Cited,
    text: OnceCell<String>,
    /// What was said of the quotations that were looked for.
    quotes: RefCell<BTreeMap<String, Verdict>>,
}

impl<'c> Known<'c> {
    /// What `answer` may cite, of which no more is read once it is not wanted.
    fn new(answer: &str, citations: &'c [Cited], is_wanted: &'c dyn Fn() -> bool) -> Self {
        let entry = |(id, cited): (&'c String, &'c Cited)| {
            let (text, quotes) = (OnceCell::new(), RefCell::default());
            let source = Source {
                cited,
                text,
                quotes,
            };
            (id.as_str(), source)
        };
        let also = citations
            .iter()
            .flat_map(|it| it.also.iter().zip(std::iter::repeat(it)));
        let ids = also.chain(citations.iter().map(|it| (&it.id, it)));
        let shown = citations.iter().map(|it| it.shown.text.len());
        let bytes = shown.fold(answer.len(), usize::saturating_add);
        Known {
            sources: ids.map(entry).collect(),
            line_ends: answer.match_indices('\n').map(|(at, _)| at).collect(),
            left: Cell::new(bytes.saturating_mul(LOOKS)),
            room: Cell::new(answer.len().saturating_mul(KEPT) + KEPT_BESIDES),
            is_wanted,
        }
    }

    /// What is quoted at the end of `before`, as far as there is room for it.
    fn quote(&self, before: &str) -> Quote {
        let line_at = |at: usize| {
            let above = self.line_ends.partition_point(|end| *end < at);
            above.checked_sub(1).map_or(0, |it| self.line_ends[it] + 1)
        };
        let quote = match quote_before(before, &line_at) {
            Quote::Words(quote) => quote,
            other => return other,
        };
        match self.room.get().checked_sub(quote.len()) {
            Some(room) => {
                self.room.set(room);
                Quote::Words(quote)
            }
            None => Quote::TooMuch,
        }
    }

    /// The id that `text` is or begins with, and what it says of lines. An id that is known may have the marks in it that lines
    /// follow.
    fn taken_apart<'t>(&self, text: &'t str) -> (&'t str, Option<&'t str>) {
        let marks = [':', '#'];
        if self.of(text).is_some() {
            return (text, None);
        }
        let is_known = |it: &(&str, &str)| self.of(it.0.trim_end()).is_some();
        let known = text.rsplit_once(marks).filter(is_known);
        match known.or_else(|| text.split_once(marks)) {
            Some((id, lines)) => (id.trim_end(), Some(lines.trim())),
            None => (text, None),
        }
    }

    fn of(&self, id: &str) -> Option<&'c Cited> {
        self.sources.get(id).map(|it| it.cited)
    }

    /// Whether the source of this id has the words of `quote`. A quotation that was looked for before is not again.
    fn verdict(&self, id: &str, quote: &str) -> Verdict {
        let Some(source) = self.sources.get(id) else {
            return Verdict::Unknown;
        };
        if let Some(verdict) = source.quotes.borrow().get(quote) {
            return *verdict;
        }
        let text = source
            .text
            .get_or_init(|| words(&source.cited.shown.text, self.is_wanted));
        let left = self.left.get();
        let verdict = if text.len() > left {
            Verdict::Unchecked
        } else {
            let (is_there, looked_through) = says(text, quote);
            self.left.set(left - looked_through);
            if is_there {
                Verdict::Sound
            } else {
                Verdict::Misquoted
            }
        };
        let mut quotes = source.quotes.borrow_mut();
        quotes.insert(quote.to_owned(), verdict);
        verdict
    }
}

/// The citation that `part` is, if it is one; `before` is the id before it in its list.
fn mark(answer: &str, part: Part, before: Option<&String>, known: &Known<'_>) -> Option<Mark> {
    let Part { open, range } = part;
    let text = &answer[range.clone()];
    let (id, lines) = known.taken_apart(text);
    let mut mark = Mark {
        range,
        id: id.to_owned(),
        lines: None,
        quote: None,
        verdict: Verdict::Malformed,
    };
    if known.of(id).is_none() && !is_label(id) {
        if let Some((before, lines)) = before.zip(more_lines(text)) {
            before.clone_into(&mut mark.id);
            return Some(match cited_lines(lines) {
                Some(span) => judged(mark, Some(span), Quote::Nothing, known),
                None => mark,
            });
        }
        return resembles_label(id).then_some(mark);
    }
    let span = lines.map(cited_lines);
    if span == Some(None) {
        return Some(mark);
    }
    let quote = match known.of(id) {
        Some(_) => known.quote(&answer[..open]),
        None => Quote::Nothing,
    };
    Some(judged(mark, span.flatten(), quote, known))
}

/// `mark`, with what is to be said of it, of the lines in `span` that it cites and of the `quote` before it.
fn judged(mut mark: Mark, span: Option<LineSpan>, quote: Quote, known: &Known<'_>) -> Mark {
    mark.lines = span.map(ends);
    mark.verdict = match (known.of(&mark.id), &quote) {
        (None, _) => Verdict::Unknown,
        (Some(cited), quote) if cited.shown.is_unknown => match (span, quote) {
            (None, Quote::Nothing) => Verdict::Sound,
            _ => Verdict::Unchecked,
        },
        (Some(cited), _) if span.is_some_and(|it| !cited.shown.has(it)) => Verdict::OutOfRange,
        (_, Quote::Nothing) => Verdict::Sound,
        (_, Quote::Words(quote)) => known.verdict(&mark.id, quote),
        (_, Quote::TooMuch) => Verdict::Unchecked,
    };
    if let Quote::Words(quote) = quote {
        mark.quote = Some(quote);
    }
    mark
}

/// What `text`, which stands after an id and is none, says of lines, if it does: `999-1000`, `L7`, `lines 5-9`. It may be
/// wrong.
fn more_lines(text: &str) -> Option<&str> {
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

/// The words between quotation marks, in marks of code, or in a block of code or of quotation, that a citation after `before`
/// follows. What begins further before than [`LONGEST_QUOTE`] is too much.
///
/// `line_at` tells where the line of a place in `before` begins.
fn quote_before(before: &str, line_at: &dyn Fn(usize) -> usize) -> Quote {
    let start = before.len().saturating_sub(LONGEST_QUOTE);
    let start = before.ceil_char_boundary(start);
    let (window, whole) = (&before[start..], before);
    let unfound = if window.len() < before.len() {
        Quote::TooMuch
    } else {
        Quote::Nothing
    };
    let mut before = without_leading(window);
    if let Some(quote) = code(before, &unfound) {
        return quote;
    }
    while before.ends_with(CODE) {
        before = without_leading(before.trim_end_matches(CODE));
    }
    let Some(last) = before.chars().next_back() else {
        return Quote::Nothing;
    };
    let inner = &before[..before.len() - last.len_utf8()];
    let Some(marks) = MARKS.iter().find(|it| it.contains(&last)) else {
        let line = &whole[line_at(start + before.len())..];
        if window.len() < whole.len() && !before.contains('\n') && is_of_block(line) {
            return Quote::TooMuch;
        }
        return block_quote(before, unfound);
    };
    let is_open = match quoted(inner, marks) {
        Ok(quote) => return of_words(quote),
        Err(is_open) => is_open,
    };
    if is_apostrophe(last) {
        // Most are of a word: `the dogs'`.
        return if ends_sentence(inner) {
            unfound
        } else {
            Quote::Nothing
        };
    }
    // They do not go together: what the last of them opens is looked at.
    match inner.rsplit_once(*marks) {
        Some((_, quote)) if is_open || unfound == Quote::Nothing => of_words(quote),
        _ => unfound,
    }
}

/// `quote`, if it is a paragraph of words and not a name.
fn of_words(quote: &str) -> Quote {
    if quote.contains("\n\n") || has_few_words(quote) {
        Quote::Nothing
    } else {
        Quote::Words(quote.to_owned())
    }
}

/// Whether it has fewer than [`FEWEST_WORDS`]; in writing without spaces, some characters are a word.
fn has_few_words(quote: &str) -> bool {
    let words = |word: &str| {
        let unspaced = word.chars().filter(|it| is_unspaced(*it)).count();
        1_usize.max(unspaced / CHARACTERS_OF_WORD)
    };
    let words: usize = quote.split_whitespace().map(words).sum();
    words < FEWEST_WORDS
}

/// Whether words that `c` is in have no spaces between them: in Chinese, Japanese, Thai, Lao, Khmer and the like.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{f00}'..='\u{fff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether it is one of theirs, or punctuation as wide as they are.
fn is_wide(c: char) -> bool {
    is_unspaced(c) || is_wide_mark(c)
}

fn is_wide_mark(c: char) -> bool {
    matches!(c, '\u{3001}' | '\u{3002}' | '\u{ff01}'..='\u{ff1f}')
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '‘' | '’' | '‚')
}

fn ends_sentence(inner: &str) -> bool {
    inner.ends_with(['.', ',', ';', ':', '!', '?', '…', ')', '}'])
}

/// What stands in marks of code at the end of `before`, or in a block of code; `unfound` where its beginning is not there.
fn code(before: &str, unfound: &Quote) -> Option<Quote> {
    let mark = before.chars().next_back().filter(|it| CODE.contains(it))?;
    let body = before.trim_end_matches(mark);
    let count = before.len() - body.len();
    let line = body.rfind('\n').map_or(0, |at| at + 1);
    let unlike = |c: char| !(c.is_whitespace() || c == '>');
    if count >= FENCE && !body[line..].contains(unlike) {
        let is_in_block = body[line..].contains('>');
        let is_fence = |text: &str| {
            let text = text.trim_start_matches([' ', '\t', '>']);
            let run = text.len() - text.trim_start_matches(mark).len();
            (FENCE..=count).contains(&run)
        };
        let mut lines = Vec::new();
        for text in body[..line].lines().rev() {
            if is_fence(text) {
                lines.reverse();
                return Some(lines_of_code(&lines));
            }
            let text = if is_in_block {
                text.trim_start().strip_prefix('>').unwrap_or(text)
            } else {
                text
            };
            lines.push(text);
        }
        return Some(unfound.clone());
    }
    if mark != '`' {
        return None;
    }
    let mut end = body.len();
    while let Some(at) = body[..end].rfind(mark) {
        let head = body[..=at].trim_end_matches(mark);
        if at + 1 - head.len() == count {
            return Some(of_code(&body[at + 1..]));
        }
        end = head.len();
    }
    // A mark alone is no code.
    Some(unfound.clone()).filter(|it| *it == Quote::TooMuch)
}

/// The quotation that a block of code is, of which the parts around a remark of its own that something is left out are the pieces.
fn lines_of_code(lines: &[&str]) -> Quote {
    let is_left_out = |line: &str| {
        let line = line.trim();
        let said = line.trim_start_matches(|c: char| c.is_whitespace() || "/#*-;%<!".contains(c));
        let is_remark =
            said.len() < line.len() && (said.starts_with('…') || said.starts_with("..."));
        is_remark || matches!(line, "…" | "...")
    };
    let lines = lines.iter();
    let lines = lines.map(|it| if is_left_out(it) { "…" } else { it });
    let text = lines.collect::<Vec<_>>().join("\n");
    if has_few_words(&text) {
        Quote::Nothing
    } else {
        Quote::Words(text)
    }
}

/// The quotation that `text` in marks of code is: what stands between its quotation marks, where it is all of it.
fn of_code(text: &str) -> Quote {
    let text = text.trim();
    let unmarked = || {
        let (first, last) = (text.chars().next()?, text.chars().next_back()?);
        let inner = text.get(first.len_utf8()..text.len() - last.len_utf8())?;
        let marks = MARKS.iter().find(|it| it.contains(&first))?;
        (marks.contains(&last) && !inner.contains(*marks)).then_some(inner)
    };
    of_words(unmarked().unwrap_or(text))
}

/// `before` without what may stand between a quotation and its source: the end of a sentence, marks of emphasis, and
/// a few of the words that lead there.
fn without_leading(before: &str) -> &str {
    let is_between = |c: char| {
        c.is_whitespace()
            || EMPHASIS.contains(&c) && !CODE.contains(&c)
            || is_wide_mark(c)
            || ".,;:!?-–—()".contains(c)
    };
    let mut before = before.trim_end_matches(is_between);
    for _ in 0..MOST_LEADING {
        let rest = before.trim_end_matches(char::is_alphabetic);
        let word = before[rest.len()..].to_lowercase();
        let head = rest.trim_end_matches(is_between);
        let gap = &rest[head.len()..];
        // After the end of a sentence it begins another one.
        let is_new = gap.contains(['.', '!', '?']) && !gap.contains('(');
        if !LEADING.contains(&word.as_str()) || is_new {
            break;
        }
        before = head;
    }
    before
}

/// What stands after the mark that opens the quotation which ends with `text`. Each of `marks` opens where a word may
/// begin, and closes elsewhere: languages differ in which does what. Quotations within one are part of it.
///
/// # Errors
/// Nothing opens it: whether some of the marks do not go together.
fn quoted<'t>(text: &'t str, marks: &[char]) -> Result<&'t str, bool> {
    let mut nested = 0_usize;
    for (at, mark) in text.rmatch_indices(marks) {
        let before = text[..at].chars().next_back();
        let after = text[at + mark.len()..].chars().next();
        let is_inside = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
        if mark.starts_with(is_apostrophe) && is_inside(before) && is_inside(after) {
            continue;
        }
        let begins = before.is_none_or(|c| {
            c.is_whitespace()
                || EMPHASIS.contains(&c)
                || "([{<>–—".contains(c)
                || is_wide(c) && matches!(mark, "“" | "‘")
        });
        let is_opening = match mark {
            "„" | "‚" | "「" | "『" => true,
            "」" | "』" => false,
            _ => begins,
        };
        if !is_opening {
            nested += 1;
        } else if nested == 0 {
            return Ok(&text[at + mark.len()..]);
        } else {
            nested -= 1;
        }
    }
    Err(nested > 0)
}

fn is_of_block(line: &str) -> bool {
    // However far in it may begin, it is not looked for all along a line.
    let line = &line[..line.floor_char_boundary(DEEPEST)];
    line.trim_start().starts_with('>')
}

/// The block of quotation that `before` ends in: lines that begin with `>`. `unfound` where it may begin before it.
fn block_quote(before: &str, unfound: Quote) -> Quote {
    let mut lines = Vec::new();
    let mut above = before.lines().rev().peekable();
    while let Some(line) = above.next_if(|it| is_of_block(it)) {
        let line = line.trim_start().trim_start_matches('>');
        // Between paragraphs something may be left out.
        lines.push(if line.trim().is_empty() { "…" } else { line });
    }
    let is_all = above.nth(1).is_some() || unfound == Quote::Nothing;
    lines.reverse();
    if lines.is_empty() {
        Quote::Nothing
    } else if is_all {
        of_words(&lines.join("\n"))
    } else {
        unfound
    }
}

/// Whether `text`, as [`words`] has it, has the words of `quote`, whatever space is between them. `…` and `...`
/// stand for what was left out. And how many bytes of `text` were looked through for that, which are no more than it has.
fn says(text: &str, quote: &str) -> (bool, usize) {
    let quote = quote.replace("...", "…");
    let mut from = 0;
    let is_there = quote.split('…').all(|piece| {
        let piece = words(piece, &|| true);
        let is_around = |c: char| EMPHASIS.contains(&c) || "[] ".contains(c);
        let piece = piece.trim_matches(is_around);
        let piece = piece.trim_end_matches([',', '.', '、', '。', '，']);
        match text[from..].find(piece) {
            Some(at) => {
                from += at + piece.len();
                true
            }
            None => false,
        }
    });
    (is_there, if is_there { from } else { text.len() })
}

/// `text` as a context shows it, with one space between its words, none where lines of writing without spaces were broken, and
/// typewriter's quotation marks; as much of it as is wanted.
fn words(text: &str, is_wanted: &dyn Fn() -> bool) -> String {
    let plain = |c: char| match c {
        '“' | '”' | '„' => '"',
        '‘' | '’' | '‚' => '\'',
        c => c,
    };
    let mut words = String::with_capacity(text.len());
    let mut asked_at = 0;
    for word in neutralise(text, Slot::Text).split_whitespace() {
        if words.len() >= asked_at {
            asked_at = words.len() + STEP;
            if !is_wanted() {
                break;
            }
        }
        let is_broken = word.starts_with(is_wide) && words.ends_with(is_wide);
        if !words.is_empty() && !is_broken {
            words.push(' ');
        }
        words.extend(word.chars().map(plain));
    }
    words
}

/// The list of the sources that an answer uses, to be put after it: a rule, `Sources:`, and a line for each in
/// the order of the context, `[fil-9f2a1c]: src/a.rs - its first fifty characters...`; nothing where it uses
/// none.
pub fn format_citations(citations: &[Cited], used: &[String]) -> String {
    let lines: Vec<String> = citations
        .iter()
        .filter(|it| used.contains(&it.id))
        .map(|it| {
            let source = neutralise(&it.citation.source, Slot::Line);
            let excerpt = it.excerpt.as_ref().map(|it| format!(" - {it}..."));
            format!("[{}]: {source}{}", it.id, excerpt.unwrap_or_default())
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("\n\n---\nSources:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use ctx_assemble::{Control, assemble};
    use ctx_model::{BuildOptions, Chunk, Relevance};

    use super::*;
    use crate::shown::Shown;

    /// A source that shows `text`.
    fn source(text: &str) -> Vec<Cited> {
        let chunk = [Chunk::new("a", "text", Relevance::ONE)];
        let (options, control) = (BuildOptions::default(), Control::default());
        let built = assemble(&chunk, &options, &ctx_tokens::Words, &control).unwrap();
        let mut cited = Cited::of(&built, &chunk);
        cited[0].shown = Shown::whole(text, None);
        cited
    }

    /// `marks` citations of a source of `bytes`, each with the quotation of its number; what is said of them, and how many
    /// bytes of the source were looked through.
    fn looked_through(
        marks: usize,
        bytes: usize,
        quote: impl Fn(usize) -> String,
    ) -> (Vec<Verdict>, usize) {
        let cited = source(&"x".repeat(bytes));
        let marks = (0..marks).map(|at| format!("\"{}\"[{}]", quote(at), cited[0].id));
        let answer: String = marks.collect();
        let known = Known::new(&answer, &cited, &|| true);
        let before = known.left.get();
        let resolved = resolved(&answer, &known).unwrap();
        let verdicts = resolved.marks.iter().map(|it| it.verdict).collect();
        (verdicts, before - known.left.get())
    }

    #[test]
    fn a_quotation_is_looked_for_once_however_often_it_stands_there() {
        for n in [1, 2, 4] {
            let (verdicts, bytes) = looked_through(n * 500, n * 10_000, |_| "a b c".to_owned());
            assert_eq!(verdicts, vec![Verdict::Misquoted; n * 500]);
            assert_eq!(bytes, n * 10_000);
        }
    }

    #[test]
    fn many_quotations_of_much_cost_no_more_than_a_multiple_of_both() {
        let costs = [1, 2, 4].map(|n| {
            let (verdicts, bytes) = looked_through(n * 500, n * 10_000, |at| format!("a b {at}"));
            let checked = verdicts.iter().take_while(|it| **it == Verdict::Misquoted);
            let checked = checked.count();
            assert!(checked >= LOOKS && checked < verdicts.len());
            let rest = &verdicts[checked..];
            assert!(rest.iter().all(|it| *it == Verdict::Unchecked));
            bytes
        });
        // As the answer and the source; were all looked for, it would be four times as much at each step.
        assert!(
            costs[1] < costs[0] * 9 / 4 && costs[2] < costs[1] * 9 / 4,
            "{costs:?}"
        );
    }

    /// Each mark ends one block of quotation more than the one before it, and has all of that for its words.
    #[test]
    fn what_is_kept_of_quotations_grows_as_the_answer_does() {
        let cited = source("a b c");
        for n in [100, 1_000, 10_000] {
            let answer = format!("> [{}]\n", cited[0].id).repeat(n);
            let resolved = resolve(&answer, &cited);
            assert_eq!(resolved.marks.len(), n);
            let kept = |it: &Mark| it.quote.as_ref().map_or(0, String::len);
            let kept: usize = resolved.marks.iter().map(kept).sum();
            assert!(kept <= answer.len() * KEPT + KEPT_BESIDES, "{n}: {kept}");
            let quoted = resolved.marks.iter().filter(|it| it.quote.is_some());
            assert!(quoted.count() + 3 >= n.min(100), "{n}");
            let rest = resolved.marks.iter().skip(3);
            let rest = rest.filter(|it| it.quote.is_none());
            assert!(rest.clone().all(|it| it.verdict == Verdict::Unchecked));
            assert_eq!(rest.count() > 0, n > 100, "{n}");
        }
    }

    #[test]
    fn a_long_quotation_is_kept_of_each_label_of_a_list() {
        let text = "many words ".repeat(360);
        let cited = source(&text);
        let most = LONGEST_LIST / (cited[0].id.len() + 1);
        let list = vec![&*cited[0].id; most].join(",");
        let resolved = resolve(&format!("\"{text}\" [{list}]"), &cited);
        assert_eq!(resolved.marks.len(), most);
        let is_sound = |it: &Mark| it.verdict == Verdict::Sound && it.quote.is_some();
        assert!(resolved.marks.iter().all(is_sound));
    }

    #[test]
    fn an_answer_that_nobody_waits_for_is_looked_through_no_further() {
        let cited = source("a b c");
        let answer = format!("\"a b c\"[{}]", cited[0].id).repeat(100);
        let asked = Cell::new(0);
        let wanted = || {
            asked.set(asked.get() + 1);
            asked.get() <= 10
        };
        assert_eq!(resolve_while(&answer, &cited, wanted), None);
        assert_eq!(asked.get(), 11);
        let all = resolve_while(&answer, &cited, || true).unwrap();
        assert_eq!(all.marks.len(), 100);
    }

    #[test]
    fn a_long_source_that_nobody_waits_for_is_read_no_further() {
        let cited = source(&"x y ".repeat(1 << 20));
        let answer = format!("\"a b c\"[{}]", cited[0].id);
        let asked_until = |most: usize| {
            let asked = Cell::new(0);
            let wanted = || {
                asked.set(asked.get() + 1);
                asked.get() <= most
            };
            let is_there = resolve_while(&answer, &cited, wanted).is_some();
            (is_there, asked.get())
        };
        let (is_there, all) = asked_until(usize::MAX);
        assert!(is_there && all >= 16, "{all}");
        // Once more at the end, whether what was read is all.
        assert_eq!(asked_until(4), (false, 6));
    }
}
