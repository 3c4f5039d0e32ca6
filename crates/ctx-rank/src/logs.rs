//! Lines of logs: removes parts that say when and by whom something was logged, not what.

use std::borrow::Cow;

/// Levels of logs, as written in them.
const LEVELS: [&str; 10] = [
    "CRITICAL", "DEBUG", "ERROR", "FATAL", "INFO", "NOTICE", "SUCCESS", "TRACE", "WARN", "WARNING",
];
/// The lengths of the groups of a UUID, in hexadecimal digits.
const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// Replaces labels in the `line` of a log by blanks: the process after the level in brackets
/// (`ERROR/MainProcess]`), and UUIDs. Other lines are returned unchanged. O(bytes).
pub(crate) fn without_label(line: &str) -> Cow<'_, str> {
    if !line.split_whitespace().any(has_clock) {
        return Cow::Borrowed(line);
    }
    let mut kept = String::with_capacity(line.len());
    let is_edge = |c: char| c.is_whitespace() || "[]()<>{}\"'`,;=".contains(c);
    for piece in line.split_inclusive(is_edge) {
        let word = piece.strip_suffix(is_edge).unwrap_or(piece);
        if is_process(word) || is_uuid(word) {
            kept.extend(word.chars().map(|_| ' '));
            kept.push_str(&piece[word.len()..]);
        } else {
            kept.push_str(piece);
        }
    }
    Cow::Owned(kept)
}

/// `ERROR/MainProcess`.
fn is_process(word: &str) -> bool {
    let level = word.split_once('/').map(|(level, _)| level);
    level.is_some_and(|it| LEVELS.contains(&it))
}

fn is_uuid(word: &str) -> bool {
    let groups = word.split('-');
    let is_group = |it: &str| it.bytes().all(|byte| byte.is_ascii_hexdigit());
    groups.clone().map(str::len).eq(GROUPS) && groups.clone().all(is_group)
}

/// Whether `word` contains a time of day with seconds.
pub(crate) fn has_clock(word: &str) -> bool {
    let is_clock = |it: &[u8]| {
        let mut bytes = it.iter().enumerate();
        bytes.all(|(at, byte)| match at % 3 {
            2 => *byte == b':',
            _ => byte.is_ascii_digit(),
        })
    };
    word.as_bytes().windows(8).any(is_clock)
}

/// Whether `word` is a date, a time or both.
pub(crate) fn is_time(word: &str) -> bool {
    let word = word.trim_matches(|it: char| !it.is_ascii_alphanumeric());
    let is_part = |byte: u8| byte.is_ascii_digit() || b"-/:.,+TZ".contains(&byte);
    let joints = word.bytes().filter(|it| b"-/:".contains(it)).count();
    joints >= 2 && word.starts_with(|it: char| it.is_ascii_digit()) && word.bytes().all(is_part)
}
