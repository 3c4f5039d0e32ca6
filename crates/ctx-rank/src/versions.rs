//! Versions: numbers with dots between them.

use std::ops::Range;

use crate::words::{MAX_TERM_BYTES, is_unspaced};

/// The most numbers of a version: more are a table, or an object identifier.
const MOST_NUMBERS: usize = 6;
/// The most digits of a number in a version; longer numbers are data.
const MOST_DIGITS: usize = 8;
/// The most digits of each of two numbers; with more it is a fraction: `0.3333`.
const FEW_DIGITS: usize = 3;
/// Suffixes that may follow the numbers, sorted. A suffix of one letter needs a number.
const TAILS: [&str; 14] = [
    "a", "alpha", "b", "beta", "c", "canary", "dev", "m", "next", "post", "pre", "preview", "rc",
    "snapshot",
];

/// The fewest versions that make a line a list of versions; at least one word in as many must have
/// one.
const LISTED: usize = 3;

/// What a line lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// At least three versions, and few other words: `Python 3.8.4, py-1.9.0, pluggy-0.13.1`.
    Many,
    /// A name and its version, as a row of a list of packages: `attrs 19.3.0`, `attrs==19.3.0`.
    One,
    /// No versions, or something else besides.
    None,
}

/// A version in a text.
#[derive(Debug, PartialEq)]
pub(crate) struct Version {
    /// The bytes of all of it, including a leading `v`.
    pub(crate) bytes: Range<usize>,
    /// Its numbers with dots between them, and its suffix in lower case without separators:
    /// `8.2.0rc1`.
    pub(crate) term: String,
    /// The prefixes of it that are versions, the longest first: the bytes of `term` in each, and
    /// where it ends in the text.
    pub(crate) beginnings: Vec<(usize, usize)>,
}

/// The version that begins with `run`, a run of letters, digits and underscores in `text`: `8.2.1`,
/// `v1.0.0-rc.1`, `3.12b2`. A run after a dot does not begin a version. O(1).
pub(crate) fn version_at(text: &str, run: &Range<usize>) -> Option<Version> {
    let bytes = text.as_bytes();
    if bytes.get(run.end) != Some(&b'.') || run.start > 0 && bytes[run.start - 1] == b'.' {
        return None;
    }
    let start = run.start + usize::from(matches!(bytes[run.start], b'v' | b'V'));
    let mut ends = numbers_at(bytes, start)?;
    let mut end = *ends.last()?;
    let mut term = text[start..end].to_owned();
    if let Some((tail, after)) = tail_at(bytes, end) {
        term.push_str(&tail);
        end = after;
    } else {
        ends.pop();
    }
    let beginnings = ends.iter().skip(1).rev().map(|&end| (end - start, end));
    let is_version = !is_of_word(text, end) && term.len() <= MAX_TERM_BYTES;
    is_version.then(|| Version {
        bytes: run.start..end,
        beginnings: beginnings.collect(),
        term,
    })
}

/// What `line` lists. O(bytes).
pub(crate) fn listing(line: &str) -> Listing {
    let mut count = 0;
    let mut at = 0;
    while let Some(run) = run_from(line, at) {
        let version = version_at(line, &run);
        count += usize::from(version.is_some());
        at = version.map_or(run.end, |it| it.bytes.end);
    }
    let words = line.split(|c: char| c.is_whitespace() || c == ',' || c == ';');
    let words = words.filter(|it| !it.is_empty()).count();
    if count >= LISTED && count * LISTED >= words {
        return Listing::Many;
    }
    let item = line.trim_start_matches([' ', '\t', '-', '*']);
    let mut words = item.split_whitespace();
    let name = words.next().unwrap_or_default();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '@');
    if count == 0 || !is_name {
        return Listing::None;
    }
    let is_row = match name.split_once("==") {
        Some((_, version)) => begins_with_version(version) && words.next().is_none(),
        // A third column tells where it is from.
        None => words.next().is_some_and(begins_with_version) && words.nth(1).is_none(),
    };
    if is_row { Listing::One } else { Listing::None }
}

fn begins_with_version(text: &str) -> bool {
    let text = text.trim_start_matches(['(', '=', '^', '~', '<', '>']);
    run_from(text, 0).is_some_and(|it| it.start == 0 && version_at(text, &it).is_some())
}

/// The first run of letters, digits and underscores from `at` on.
fn run_from(text: &str, at: usize) -> Option<Range<usize>> {
    let is_of_run = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let start = at + text[at..].find(is_of_run)?;
    let length = text[start..].find(|c| !is_of_run(c));
    Some(start..length.map_or(text.len(), |it| start + it))
}

/// The ends of the numbers that begin at `at` with dots between them, if they may form a version.
fn numbers_at(bytes: &[u8], mut at: usize) -> Option<Vec<usize>> {
    let (mut ends, mut longest) = (Vec::new(), 0);
    loop {
        let digits = digits_at(bytes, at);
        if !(1..=MOST_DIGITS).contains(&digits) || ends.len() == MOST_NUMBERS {
            return None;
        }
        longest = digits.max(longest);
        at += digits;
        ends.push(at);
        if bytes.get(at) != Some(&b'.') || digits_at(bytes, at + 1) == 0 {
            break;
        }
        at += 1;
    }
    let is_fraction = ends.len() == 2 && longest > FEW_DIGITS;
    (ends.len() > 1 && !is_fraction).then_some(ends)
}

/// The suffix after the numbers of a version, and where it ends: `rc1` of `-rc.1`.
fn tail_at(bytes: &[u8], at: usize) -> Option<(String, usize)> {
    let is_separator = |at: usize| matches!(bytes.get(at), Some(b'-' | b'.' | b'_'));
    let start = at + usize::from(is_separator(at));
    let letters = bytes.get(start..)?.iter().take(MAX_TERM_BYTES);
    let end = start + letters.take_while(|it| it.is_ascii_alphabetic()).count();
    let letters = &bytes[start..end];
    let mut tail: String = letters
        .iter()
        .map(|&it| char::from(it.to_ascii_lowercase()))
        .collect();
    TAILS.binary_search(&tail.as_str()).ok()?;
    let first = end + usize::from(is_separator(end));
    let digits = digits_at(bytes, first);
    if !(1..=MOST_DIGITS).contains(&digits) {
        return (tail.len() > 1).then_some((tail, end));
    }
    let after = first + digits;
    tail.extend(bytes[first..after].iter().map(|&it| char::from(it)));
    Some((tail, after))
}

/// The number of digits at `at`, counted up to one more than a number may have.
fn digits_at(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default().iter();
    let digits = rest.take(MOST_DIGITS + 1);
    digits.take_while(|it| it.is_ascii_digit()).count()
}

/// Whether a word continues at `at`. Non-ASCII characters count as words, except in scripts without
/// spaces.
fn is_of_word(text: &str, at: usize) -> bool {
    let is_word = |it: char| it.is_ascii_alphanumeric() || it == '_' || !it.is_ascii();
    let next = text.get(at..).and_then(|it| it.chars().next());
    next.is_some_and(|it| is_word(it) && !is_unspaced(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_sorted() {
        assert!(TAILS.is_sorted());
    }

    #[test]
    fn a_version_is_known_by_its_numbers_and_its_tail() {
        let told = |text: &str| {
            let version = version_at(text, &(0..text.find('.').unwrap()))?;
            assert_eq!(version.bytes.start, 0, "{text}");
            Some((version.term, version.bytes.end))
        };
        for (text, expected) in [
            ("8.2.1", Some(("8.2.1", 5))),
            ("8.2.1, 3", Some(("8.2.1", 5))),
            ("8.2.1.", Some(("8.2.1", 5))),
            ("v8.2", Some(("8.2", 4))),
            ("V10.0.0-RC.1!", Some(("10.0.0rc1", 12))),
            ("8.2.0rc1", Some(("8.2.0rc1", 8))),
            ("8.2.0_rc1", Some(("8.2.0rc1", 9))),
            ("2.0b3", Some(("2.0b3", 5))),
            ("1.0.0.dev3", Some(("1.0.0dev3", 10))),
            ("1.0.0-SNAPSHOT", Some(("1.0.0snapshot", 14))),
            ("3.5.1.js", Some(("3.5.1", 5))),
            ("3.5.1-linux", Some(("3.5.1", 5))),
            ("8.2.x", Some(("8.2", 3))),
            ("127.0.0.1:80", Some(("127.0.0.1", 9))),
            ("2024.10.1", Some(("2024.10.1", 9))),
            ("0.3333", None),
            ("2024.10", None),
            ("1.5m", None),
            ("1.5px", None),
            ("1.0-rc1x", None),
            ("1.5\u{e9}", None),
            ("8.2.1\u{3067}", Some(("8.2.1", 5))),
            ("8.", None),
            ("v.1", None),
            ("a1.2", None),
            ("1.2.3.4.5.6.7", None),
            ("1.2.123456789", None),
        ] {
            let expected = expected.map(|(term, end): (&str, usize)| (term.to_owned(), end));
            assert_eq!(told(text), expected, "{text}");
        }
        assert_eq!(version_at("8.2.1", &(2..3)), None);
    }
}
