//! The quotation directly before a citation: between quotation marks, in code marks, or in a block
//! of code or quotation.

use crate::script::{is_unspaced, is_wide, is_wide_mark};

/// How far before a citation its quotation may begin, in bytes.
const LONGEST_QUOTE: usize = 4_000;
/// The fewest words of a quotation: fewer between quotation marks are a name or irony.
const FEWEST_WORDS: usize = 3;
/// Words that connect a quotation to its citation, in lower case: `"…" (see also [fil-9f2a1c])`.
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
/// The most of such words: more are a sentence of the answer's own.
const MOST_LEADING: usize = 4;
/// How many characters count as a word in scripts without spaces.
const CHARACTERS_OF_WORD: usize = 3;
/// Marks of emphasis and code around a quotation.
pub(crate) const EMPHASIS: [char; 4] = ['*', '_', '`', '~'];
/// Marks of code, and of struck-out text.
const CODE: [char; 2] = ['`', '~'];
/// So many of them on a line begin or end a code block.
const FENCE: usize = 3;
/// The most bytes of indentation before a block of quotation.
const DEEPEST: usize = 64;
/// Quotation marks: those of one row belong together.
pub(crate) const MARKS: [&[char]; 6] = [
    &['"', '„', '“', '”', '＂'],
    &['«', '»'],
    &['‹', '›'],
    &['「', '」'],
    &['『', '』'],
    &['\'', '‘', '’', '‚'],
];

/// The quotation directly before a citation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Quote {
    Nothing,
    Words(String),
    /// There is one, but nothing of it is stored.
    TooMuch,
}

/// The words between quotation marks, in code marks, or in a block of code or quotation, at the end
/// of `before`, which a citation follows. One that begins further before than [`LONGEST_QUOTE`] is
/// too long.
///
/// `line_at` returns where the line of a place in `before` begins.
pub(crate) fn quote_before(before: &str, line_at: &dyn Fn(usize) -> usize) -> Quote {
    let start = before.ceil_char_boundary(before.len().saturating_sub(LONGEST_QUOTE));
    let unfound = if start > 0 {
        Quote::TooMuch
    } else {
        Quote::Nothing
    };
    let mut near = without_leading(&before[start..]);
    if let Some(quote) = code(near, &unfound) {
        return quote;
    }
    while near.ends_with(CODE) {
        near = without_leading(near.trim_end_matches(CODE));
    }
    let Some(last) = near.chars().next_back() else {
        return Quote::Nothing;
    };
    if let Some(marks) = MARKS.iter().find(|it| it.contains(&last)) {
        return between_marks(near, last, marks, unfound);
    }
    let line = &before[line_at(start + near.len())..];
    if start > 0 && !near.contains('\n') && is_of_block(line) {
        return Quote::TooMuch;
    }
    block_quote(near, unfound)
}

/// The quotation that `before` ends with, up to `last`, one of the `marks` that belong together;
/// `unfound` if its beginning is not there.
fn between_marks(before: &str, last: char, marks: &[char], unfound: Quote) -> Quote {
    let inner = &before[..before.len() - last.len_utf8()];
    let is_open = match quoted(inner, marks) {
        Ok(quote) => return of_words(quote),
        Err(is_open) => is_open,
    };
    if is_apostrophe(last) {
        // Most of them are apostrophes: `the dogs'`.
        return if ends_sentence(inner) {
            unfound
        } else {
            Quote::Nothing
        };
    }
    // The marks do not match: the text after the last of them is tried.
    match inner.rsplit_once(marks) {
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

/// Whether it has fewer than [`FEWEST_WORDS`]; in scripts without spaces, a few characters count as
/// a word.
fn has_few_words(quote: &str) -> bool {
    let words = |word: &str| {
        let unspaced = word.chars().filter(|it| is_unspaced(*it)).count();
        1_usize.max(unspaced / CHARACTERS_OF_WORD)
    };
    let words: usize = quote.split_whitespace().map(words).sum();
    words < FEWEST_WORDS
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '‘' | '’' | '‚')
}

fn ends_sentence(inner: &str) -> bool {
    inner.ends_with(['.', ',', ';', ':', '!', '?', '…', ')', '}'])
}

/// The content of code marks at the end of `before`, or of a code block; `unfound` if its beginning
/// is not there.
fn code(before: &str, unfound: &Quote) -> Option<Quote> {
    let mark = before.chars().next_back().filter(|it| CODE.contains(it))?;
    let body = before.trim_end_matches(mark);
    let count = before.len() - body.len();
    let line = body.rfind('\n').map_or(0, |at| at + 1);
    let is_indent = |c: char| c.is_whitespace() || c == '>';
    if count >= FENCE && body[line..].chars().all(is_indent) {
        let is_quoted = body[line..].contains('>');
        let block = block_of_code(&body[..line], mark, count, is_quoted);
        return Some(block.unwrap_or_else(|| unfound.clone()));
    }
    if mark != '`' {
        return None;
    }
    // A single mark is no code.
    let is_cut = *unfound == Quote::TooMuch;
    span_of_code(body, count).or_else(|| is_cut.then_some(Quote::TooMuch))
}

/// The code block whose lines `body` ends with, back to the line of at most so many of `mark` that
/// begins it; within a block of quotation if it `is_quoted`. `None` if no such line exists.
fn block_of_code(body: &str, mark: char, count: usize, is_quoted: bool) -> Option<Quote> {
    let is_fence = |text: &str| {
        let text = text.trim_start_matches([' ', '\t', '>']);
        let run = text.len() - text.trim_start_matches(mark).len();
        (FENCE..=count).contains(&run)
    };
    let mut lines = Vec::new();
    for line in body.lines().rev() {
        if is_fence(line) {
            lines.reverse();
            return Some(lines_of_code(&lines));
        }
        let unquoted = line.trim_start().strip_prefix('>').filter(|_| is_quoted);
        lines.push(unquoted.unwrap_or(line));
    }
    None
}

/// The code span that ends with `body`, which begins with `count` marks, as many as end it. `None`
/// if there are none.
fn span_of_code(body: &str, count: usize) -> Option<Quote> {
    let mut end = body.len();
    while let Some(at) = body[..end].rfind('`') {
        let head = body[..=at].trim_end_matches('`');
        if at + 1 - head.len() == count {
            return Some(of_code(&body[at + 1..]));
        }
        end = head.len();
    }
    None
}

/// The quotation in a code block. A remark of the block that something is omitted separates its
/// pieces.
fn lines_of_code(lines: &[&str]) -> Quote {
    let is_left_out = |line: &str| {
        let line = line.trim();
        let remark = line.trim_start_matches(|c: char| c.is_whitespace() || "/#*-;%<!".contains(c));
        let is_remark =
            remark.len() < line.len() && (remark.starts_with('…') || remark.starts_with("..."));
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

/// The quotation in `text` within code marks: the content of its quotation marks, if these surround
/// all of it.
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

/// `before` without what may be between a quotation and its citation: the end of a sentence, marks
/// of emphasis, and a few connecting words.
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

/// What follows the mark that opens the quotation at the end of `text`. Each of `marks` opens where
/// a word may begin, and closes elsewhere: languages differ in which mark does what. Quotations
/// within one are part of it.
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
    // However far back it may begin, the line is not searched beyond the limit.
    let line = &line[..line.floor_char_boundary(DEEPEST)];
    line.trim_start().starts_with('>')
}

/// The block of quotation at the end of `before`: lines that begin with `>`. `unfound` if it may
/// begin earlier.
fn block_quote(before: &str, unfound: Quote) -> Quote {
    let mut lines = Vec::new();
    let mut above = before.lines().rev().peekable();
    while let Some(line) = above.next_if(|it| is_of_block(it)) {
        let line = line.trim_start().trim_start_matches('>');
        // Text may be omitted between paragraphs.
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
