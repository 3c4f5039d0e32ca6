//! Compounds: words joined by hyphens.

use std::ops::Range;

use crate::words::MAX_TERM_BYTES;

/// The most words of a compound; more are a sentence, or an identifier of hexadecimal groups.
const MOST_WORDS: usize = 4;
/// The most bytes of a word that begins with a digit: `utf-8`, `sha-256`; longer ones are data.
const MOST_OF_NUMBER: usize = 3;

/// The end of the compound that begins with `run`, a run of letters, digits and underscores in
/// `text`: `max-retries`, `X-Request-Id`, `utf-8`. Its words are ASCII letters and digits, the
/// first begins with a letter, and it has no more than [`MAX_TERM_BYTES`]. A version after a name
/// is no part of it: `pytest-8.2`. O(1).
pub(crate) fn compound_at(text: &str, run: &Range<usize>) -> Option<usize> {
    let bytes = text.as_bytes();
    if bytes.get(run.end) != Some(&b'-') {
        return None;
    }
    let is_of_word = |at: usize| {
        let byte = bytes.get(at);
        byte.is_some_and(|it| it.is_ascii_alphanumeric() || *it == b'_' || !it.is_ascii())
    };
    let continues = |at: usize| {
        let before = at.checked_sub(2).filter(|&it| bytes[it + 1] == b'-');
        before.is_some_and(is_of_word)
    };
    let word_from = |at: usize| {
        let rest = bytes[at..].iter().take(MAX_TERM_BYTES + 1);
        at + rest.take_while(|it| it.is_ascii_alphanumeric()).count()
    };
    let is_named = bytes[run.start].is_ascii_alphabetic();
    if !is_named || continues(run.start) || word_from(run.start) != run.end {
        return None;
    }
    let (mut end, mut words) = (run.end, 1);
    while bytes.get(end) == Some(&b'-') && is_of_word(end + 1) {
        let start = end + 1;
        end = word_from(start);
        words += 1;
        let is_number = !bytes[start].is_ascii_alphabetic();
        let is_version = is_number && bytes.get(end) == Some(&b'.') && is_of_word(end + 1);
        if words > MOST_WORDS
            || is_version
            || is_number && end - start > MOST_OF_NUMBER
            || is_of_word(end)
        {
            return None;
        }
    }
    (words > 1 && end - run.start <= MAX_TERM_BYTES).then_some(end)
}

/// The term of a compound: its letters and digits in lower case.
pub(crate) fn push_term(compound: &str, term: &mut String) {
    let bytes = compound.bytes().filter(|&it| it != b'-');
    term.extend(bytes.map(|it| char::from(it.to_ascii_lowercase())));
}
