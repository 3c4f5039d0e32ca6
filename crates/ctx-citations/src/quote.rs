//! What is quoted right before a citation: between quotation marks, in marks of code, or in a block
//! of code or of quotation.

use crate::script::{is_unspaced, is_wide, is_wide_mark};

/// So far before a citation its quotation begins at most, in bytes.
const LONGEST_QUOTE: usize = 4_000;
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
pub(crate) const EMPHASIS: [char; 4] = ['*', '_', '`', '~'];
/// Those of code, and of what is struck out.
const CODE: [char; 2] = ['`', '~'];
/// So many of them on a line begin a block of code, and end it.
const FENCE: usize = 3;
/// A block of quotation begins at most so far in, in bytes.
const DEEPEST: usize = 64;
/// Quotation marks: those of a row go together.
pub(crate) const MARKS: [&[char]; 6] = [
    &['"', '„', '“', '”', '＂'],
    &['«', '»'],
    &['‹', '›'],
    &['「', '」'],
    &['『', '』'],
    &['\'', '‘', '’', '‚'],
];

/// What is quoted right before a citation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Quote {
    Nothing,
    Words(String),
    /// Something, of which nothing is kept.
    TooMuch,
}

/// The words between quotation marks, in marks of code, or in a block of code or of quotation, that
/// a citation after `before` follows. What begins further before than [`LONGEST_QUOTE`] is too
/// much.
///
/// `line_at` tells where the line of a place in `before` begins.
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

/// The quotation that `before` ends with, up to `last`, one of the `marks` that go together;
/// `unfound` where its beginning is not there.
fn between_marks(before: &str, last: char, marks: &[char], unfound: Quote) -> Quote {
    let inner = &before[..before.len() - last.len_utf8()];
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

/// Whether it has fewer than [`FEWEST_WORDS`]; in writing without spaces, some characters are a
/// word.
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

/// What stands in marks of code at the end of `before`, or in a block of code; `unfound` where its
/// beginning is not there.
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
    // A mark alone is no code.
    let is_cut = *unfound == Quote::TooMuch;
    span_of_code(body, count).or_else(|| is_cut.then_some(Quote::TooMuch))
}

/// The block of code whose lines `body` ends with, up to a line of so many of `mark` at most that
/// begins it; within a block of quotation if it `is_quoted`. `None` where nothing begins it.
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

/// The span of code that ends with `body`, which as many marks begin as `count` end it. `None`
/// where none do.
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

/// The quotation that a block of code is, of which the parts around a remark of its own that
/// something is left out are the pieces.
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

/// The quotation that `text` in marks of code is: what stands between its quotation marks, where it
/// is all of it.
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

/// `before` without what may stand between a quotation and its source: the end of a sentence, marks
/// of emphasis, and a few of the words that lead there.
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

/// What stands after the mark that opens the quotation which ends with `text`. Each of `marks`
/// opens where a word may begin, and closes elsewhere: languages differ in which does what.
/// Quotations within one are part of it.
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

/// The block of quotation that `before` ends in: lines that begin with `>`. `unfound` where it may
/// begin before it.
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
