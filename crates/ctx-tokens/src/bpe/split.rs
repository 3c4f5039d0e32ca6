//! Cuts text into the pieces within which bytes are merged.
//!
//! The reference implementation does this with one regular expression per encoding. Here each
//! expression is written as code that finds one piece at a time and looks at every character a
//! bounded number of times, so there is no worst case as in a backtracking engine.

use crate::class::{self, LETTER, LOWER, NEWLINE, NUMBER, SPACE, UPPER};

/// Finds the end of the piece that begins at a given place.
pub(super) trait Split {
    /// The end of the piece of `text` that begins at `start`, which is before the end of `text`.
    ///
    /// `text` is UTF-8, and `start` the beginning of a character.
    fn piece_end(text: &[u8], start: usize) -> usize;
}

/// `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|`
/// `\s++$|\s*[\r\n]|\s+(?!\S)|\s`
pub(super) struct Cl100k;

impl Split for Cl100k {
    #[inline]
    fn piece_end(text: &[u8], start: usize) -> usize {
        let (class, width) = peek(text, start);
        let next = start + width;
        if class & LETTER != 0 {
            return run(text, next, LETTER);
        }
        if class & NUMBER != 0 {
            return numbers(text, next);
        }
        let contracted = contraction(text, start);
        if contracted > start {
            return contracted;
        }
        let (ahead, ahead_width) = peek(text, next);
        if class & NEWLINE == 0 && ahead & LETTER != 0 {
            return run(text, next + ahead_width, LETTER);
        }
        if class & SPACE == 0 {
            return line_breaks(text, symbols(text, next));
        }
        if text[start] == b' ' && is_symbol(ahead, ahead_width) {
            return line_breaks(text, symbols(text, next + ahead_width));
        }
        white_space(text, start, AtEnd::Whole)
    }
}

/// With `U` for `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`, `W` for `[\p{Ll}\p{Lm}\p{Lo}\p{M}]` and `C` for
/// `(?i:'s|'t|'re|'ve|'m|'ll|'d)`:
///
/// `[^\r\n\p{L}\p{N}]?U*W+C?|[^\r\n\p{L}\p{N}]?U+W*C?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|`
/// `\s*[\r\n]+|\s+(?!\S)|\s+`
pub(super) struct O200k;

impl Split for O200k {
    #[inline]
    fn piece_end(text: &[u8], start: usize) -> usize {
        let (class, width) = peek(text, start);
        let next = start + width;
        if class & LETTER != 0 {
            return contraction(text, word(text, start).end());
        }
        if class & NUMBER != 0 {
            return numbers(text, next);
        }
        let (ahead, ahead_width) = peek(text, next);
        if class & UPPER != 0 {
            return contraction(text, word_after_mark(text, next));
        }
        if class & NEWLINE == 0 && ahead & (UPPER | LOWER) != 0 {
            return contraction(text, word(text, next).end());
        }
        if class & SPACE == 0 {
            return line_breaks_and_slashes(text, symbols(text, next));
        }
        if text[start] == b' ' && is_symbol(ahead, ahead_width) {
            return line_breaks_and_slashes(text, symbols(text, next + ahead_width));
        }
        white_space(text, start, AtEnd::LineBreaksFirst)
    }
}

/// The end of a word, and which of the two kinds of word it is.
enum Word {
    /// `U*W+`.
    WithSmall(usize),
    /// `U+`, without any character that could be a small letter.
    Capitals(usize),
}

impl Word {
    fn end(&self) -> usize {
        match *self {
            Word::WithSmall(end) | Word::Capitals(end) => end,
        }
    }
}

/// The word that begins at `start`: `U*W+` if it matches, else `U*`.
fn word(text: &[u8], start: usize) -> Word {
    let mut at = start;
    // Modifier letters, letters without case and marks are in both sets: if no small letter follows
    // the capitals, `U*` gives characters back, up to the last one in both sets.
    let mut last_of_both = None;
    loop {
        let (class, width) = peek(text, at);
        if class & UPPER == 0 {
            break if class & LOWER != 0 {
                Word::WithSmall(run(text, at + width, LOWER))
            } else {
                last_of_both.map_or(Word::Capitals(at), Word::WithSmall)
            };
        }
        at += width;
        if class & LOWER != 0 {
            last_of_both = Some(at);
        }
    }
}

/// The end of the word whose first character is a mark that ends at `next`.
///
/// The mark may be the character before a word (`[^\r\n\p{L}\p{N}]`) or part of the word. The
/// former is preferred if a word with small letters follows; otherwise the mark is itself such a
/// word.
fn word_after_mark(text: &[u8], next: usize) -> usize {
    match word(text, next) {
        Word::WithSmall(end) => end,
        Word::Capitals(_) => next,
    }
}

/// The class of the character at `at` and its length in bytes; zeros at the end of `text`.
#[inline]
fn peek(text: &[u8], at: usize) -> (u8, usize) {
    match text.get(at) {
        None => (0, 0),
        Some(&byte) if byte < 0x80 => (class::of(byte.into()), 1),
        Some(_) => peek_wide(text, at),
    }
}

fn peek_wide(text: &[u8], at: usize) -> (u8, usize) {
    let continued = |i: usize| u32::from(text.get(at + i).copied().unwrap_or(0) & 0x3f);
    let lead = u32::from(text[at]);
    let (code, width) = match lead {
        0xf0.. => (
            (lead & 7) << 18 | continued(1) << 12 | continued(2) << 6 | continued(3),
            4,
        ),
        0xe0.. => ((lead & 0xf) << 12 | continued(1) << 6 | continued(2), 3),
        _ => ((lead & 0x1f) << 6 | continued(1), 2),
    };
    (class::of(code), width)
}

/// The end of the characters from `at` that have a bit of `bits`.
#[inline]
fn run(text: &[u8], mut at: usize, bits: u8) -> usize {
    loop {
        let (class, width) = peek(text, at);
        if class & bits == 0 {
            return at;
        }
        at += width;
    }
}

/// The end of `\p{N}{1,3}` whose first character ends at `at`.
#[inline]
fn numbers(text: &[u8], mut at: usize) -> usize {
    for _ in 0..2 {
        let (class, width) = peek(text, at);
        if class & NUMBER == 0 {
            break;
        }
        at += width;
    }
    at
}

#[inline]
fn is_symbol(class: u8, width: usize) -> bool {
    width > 0 && class & (SPACE | LETTER | NUMBER) == 0
}

/// The end of `[^\s\p{L}\p{N}]*` from `at`.
#[inline]
fn symbols(text: &[u8], mut at: usize) -> usize {
    loop {
        let (class, width) = peek(text, at);
        if !is_symbol(class, width) {
            return at;
        }
        at += width;
    }
}

#[inline]
fn line_breaks(text: &[u8], at: usize) -> usize {
    let rest = text[at..].iter();
    at + rest.take_while(|b| matches!(b, b'\r' | b'\n')).count()
}

#[inline]
fn line_breaks_and_slashes(text: &[u8], at: usize) -> usize {
    let rest = text[at..].iter();
    at + rest
        .take_while(|b| matches!(b, b'\r' | b'\n' | b'/'))
        .count()
}

/// The end of `(?i:'s|'t|'re|'ve|'m|'ll|'d)` from `at`, or `at`.
///
/// The long s (U+017F) is an s to a regular expression that ignores case.
#[inline]
fn contraction(text: &[u8], at: usize) -> usize {
    match text.get(at..) {
        Some([b'\'', rest @ ..]) => at + contraction_length(rest),
        _ => at,
    }
}

fn contraction_length(after_apostrophe: &[u8]) -> usize {
    match *after_apostrophe {
        [b's' | b'S' | b't' | b'T' | b'm' | b'M' | b'd' | b'D', ..] => 2,
        [b'r' | b'R' | b'v' | b'V', b'e' | b'E', ..]
        | [b'l' | b'L', b'l' | b'L', ..]
        | [0xc5, 0xbf, ..] => 3,
        _ => 0,
    }
}

/// How white space at the end of the text is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtEnd {
    /// As one piece, whatever it contains.
    Whole,
    /// Cut after the last line break: the white space after it is a piece of its own.
    LineBreaksFirst,
}

/// The end of a piece of white space that no other rule takes: after the last line break if there
/// is one, else before the last character, which belongs to the text that follows.
fn white_space(text: &[u8], start: usize, at_end: AtEnd) -> usize {
    let (mut at, mut last) = (start, start);
    let mut after_break = None;
    loop {
        let (class, width) = peek(text, at);
        if class & SPACE == 0 {
            break;
        }
        last = at;
        at += width;
        if class & NEWLINE != 0 {
            after_break = Some(at);
        }
    }
    if at == text.len() && at_end == AtEnd::Whole {
        return at;
    }
    match after_break {
        Some(end) => end,
        None if at == text.len() || last == start => at,
        None => last,
    }
}
