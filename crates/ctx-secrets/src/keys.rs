//! Private keys: where one ends if another follows, and what is left of one that was truncated.

use std::ops::Range;

/// The beginning of a BEGIN mark. Found within a key, it belongs to another key.
const BEGIN: &[u8] = b"-----BEGIN ";
/// The end of a mark.
const DASHES: &[u8] = b"-----";
/// The least length of a run of key characters in every line of a key but the last; in code, blanks
/// or signs interrupt such runs.
const LEAST_OF_LINE: usize = 40;
/// The least length of a line that has nothing but key characters, and is hardly one of code.
const LEAST_OF_BARE: usize = 16;
/// The text that is in both marks of each private key.
const PRIVATE: &str = "PRIVATE KEY";
/// The most bytes of a mark before that text.
const LONGEST_LABEL: usize = 100;
/// The most lines at the end of a key that are shorter than the others: its last one, and a
/// checksum in some formats.
const SHORT_AT_END: usize = 2;

/// The BEGIN or END mark of a key.
struct Mark {
    span: Range<usize>,
    begins: bool,
}

/// The ranges of private keys in `text` that have only one of their two marks, with that mark: the
/// lines after a BEGIN that has no END, and those before an END that has no BEGIN, as far as they
/// look like lines of a key. O(bytes).
pub(crate) fn cut(text: &str) -> Vec<Range<usize>> {
    if !text.contains(PRIVATE) {
        return Vec::new();
    }
    let marks: Vec<Mark> = marks(text).collect();
    let bytes = text.as_bytes();
    let mut cut = Vec::new();
    for (number, mark) in marks.iter().enumerate() {
        let before = number.checked_sub(1).map(|it| &marks[it]);
        let after = marks.get(number + 1);
        if mark.begins && after.is_none_or(|it| it.begins) {
            let end = after.map_or(bytes.len(), |it| it.span.start);
            let own = of_own(&bytes[mark.span.start..end]);
            cut.extend(own.map(|own| mark.span.start..mark.span.start + own));
        } else if !mark.begins && before.is_none_or(|it| !it.begins) {
            // Two marks may share the dashes between them.
            let start = before.map_or(0, |it| it.span.end.min(mark.span.start));
            let above = above(&bytes[start..mark.span.start]);
            cut.extend(above.map(|above| start + above..mark.span.end));
        }
    }
    cut
}

/// The marks of private keys, in order.
fn marks(text: &str) -> impl Iterator<Item = Mark> {
    let is_of_label = |it: &&u8| matches!(it, b'A'..=b'Z' | b'0'..=b'9' | b' ' | b'_');
    let bytes = text.as_bytes();
    text.match_indices(PRIVATE).filter_map(move |(at, found)| {
        let before = &bytes[at.saturating_sub(LONGEST_LABEL)..at];
        let label = before.iter().rev().take_while(is_of_label).count();
        let label = &text[at - label..at];
        let begins = label.starts_with("BEGIN ");
        if !begins && !label.starts_with("END ") {
            return None;
        }
        let dashes = bytes[..at - label.len()].strip_suffix(DASHES)?;
        let behind = &bytes[at + found.len()..];
        let behind = behind.strip_prefix(b" BLOCK").unwrap_or(behind);
        let behind = behind.strip_prefix(DASHES)?;
        Some(Mark {
            span: dashes.len()..text.len() - behind.len(),
            begins,
        })
    })
}

/// Where the key begins that ends right after `before`.
fn above(before: &[u8]) -> Option<usize> {
    let (mut at, mut start) = (before.len(), None);
    let (mut is_within, mut short) = (false, 0);
    for line in before.split_inclusive(|it| *it == b'\n').rev() {
        at -= line.len();
        let inner = line.trim_ascii();
        if is_long(line) {
            is_within = true;
            start = Some(at);
        } else if inner.iter().copied().any(is_of_key) {
            short += 1;
            if is_within || short > SHORT_AT_END || !inner.iter().copied().all(is_of_key) {
                break;
            }
            start = Some(at);
        }
    }
    start
}

/// Where the last key begins within `found`, which begins with another key.
pub(crate) fn next_key(found: &[u8]) -> Option<usize> {
    let behind = found.strip_prefix(BEGIN)?;
    let at = |it: &[u8]| it.starts_with(BEGIN);
    let next = behind.windows(BEGIN.len()).rposition(at)?;
    Some(BEGIN.len() + next)
}

/// Whether `found`, which is from one mark to another, is no key but what stands between the two in
/// code: less than half of it are lines of a key.
pub(crate) fn is_between_marks(found: &[u8]) -> bool {
    let Some(behind) = found.strip_prefix(BEGIN) else {
        return false;
    };
    let lines = behind.split(|it| *it == b'\n').map(<[u8]>::trim_ascii);
    let (mut all, mut long) = (0, 0);
    for line in lines {
        let is_bare = line.len() >= LEAST_OF_BARE && line.iter().copied().all(is_of_key);
        all += line.len();
        long += if is_bare || is_long(line) {
            line.len()
        } else {
            0
        };
    }
    long * 2 < all
}

/// How far the key extends that begins with the BEGIN mark at the start of `found`, by the form of
/// its lines: a mark may stand without a key, and a key may lack its END. `None` if no line of a
/// key follows.
pub(crate) fn of_own(found: &[u8]) -> Option<usize> {
    let behind = &found[BEGIN.len()..];
    let mark = behind.windows(DASHES.len()).position(|it| it == DASHES)?;
    let (mut at, mut end) = (BEGIN.len() + mark + DASHES.len(), None);
    for (number, line) in (0..).zip(found[at..].split_inclusive(|it| *it == b'\n')) {
        at += line.len();
        let inner = line.trim_ascii();
        // A header is none of the lines of the key, and much in code and settings looks like one:
        // right after the mark, nothing is taken for a header.
        let is_header = number > 0 && inner.windows(2).any(|it| it == b": ");
        let is_of_keys = is_long(line) || end.is_some() && inner.iter().copied().all(is_of_key);
        if is_of_keys && !is_header {
            end = Some(at);
        } else if is_header && end.is_some() || !is_header && inner.iter().copied().any(is_of_key) {
            break;
        }
    }
    end
}

/// Whether `line` has a run that only lines of keys have.
fn is_long(line: &[u8]) -> bool {
    let longest = line.split(|it| !is_of_key(*it)).map(<[u8]>::len).max();
    longest >= Some(LEAST_OF_LINE)
}

fn is_of_key(it: u8) -> bool {
    it.is_ascii_alphanumeric() || b"+/=".contains(&it)
}
