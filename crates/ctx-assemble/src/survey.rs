//! The facts about a text that sorting needs, found in one pass.

use memchr::memchr_iter;
use rapidhash::v3::rapidhash_v3;
use smallvec::SmallVec;

use crate::{AssembleError, Control};

/// How many of the smallest line hashes of a text are kept to find duplicates.
pub(crate) const SKETCH: usize = 4;

/// Texts with fewer bytes than this have no sketch: two files may well begin alike, and a duplicate
/// this short costs no more than the line that would mention it.
const TOO_SHORT: usize = 200;

/// Cancellation is checked after this many lines.
pub(crate) const LINES: usize = 4096;

/// The number of lines of a text, and the smallest hashes of its lines that are not blank.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Counted as in [`ctx_model::LineSpan`]: a final newline ends the last line and begins no
    /// other.
    pub(crate) lines: usize,
    /// Ascending, without repetition. The hash is the same on every machine and in every version,
    /// since it determines which texts are compared.
    pub(crate) sketch: SmallVec<[u64; SKETCH]>,
}

impl Survey {
    /// Surveys `text`. Stops early if `control` is cancelled. O(bytes).
    pub(crate) fn of(text: &str, control: &Control) -> Result<Self, AssembleError> {
        let mut survey = Survey::default();
        for line in lines(text) {
            if survey.lines.is_multiple_of(LINES) {
                control.check()?;
            }
            survey.lines += 1;
            let line = line.trim_ascii();
            if !line.is_empty() && text.len() >= TOO_SHORT {
                survey.note(rapidhash_v3(line));
            }
        }
        Ok(survey)
    }

    fn note(&mut self, hash: u64) {
        let is_full = self.sketch.len() == SKETCH;
        if is_full && self.sketch.last().is_some_and(|&last| last <= hash) {
            return;
        }
        if let Err(place) = self.sketch.binary_search(&hash) {
            if is_full {
                self.sketch.pop();
            }
            self.sketch.insert(place, hash);
        }
    }
}

/// The lines of `text` without their line feeds; an empty text has one.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix('\n').unwrap_or(text).as_bytes();
    let ends = memchr_iter(b'\n', text).chain([text.len()]);
    ends.scan(0, |start, end| {
        let line = &text[*start..end];
        *start = end + 1;
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey(text: &str) -> Survey {
        Survey::of(text, &Control::default()).expect("nobody cancels it")
    }

    #[track_caller]
    fn has_lines(text: &str, expected: &[&str]) {
        let found: Vec<&[u8]> = lines(text).collect();
        let expected: Vec<&[u8]> = expected.iter().map(|line| line.as_bytes()).collect();
        assert_eq!(found, expected);
        assert_eq!(survey(text).lines, expected.len());
    }

    #[test]
    fn a_final_newline_begins_no_line() {
        has_lines("", &[""]);
        has_lines("\n", &[""]);
        has_lines("a", &["a"]);
        has_lines("a\n", &["a"]);
        has_lines("a\n\n", &["a", ""]);
        has_lines("a\r\nb", &["a\r", "b"]);
    }

    #[test]
    fn a_sketch_is_of_the_smallest_hashes() {
        let lines: Vec<String> = (0..100).map(|n| format!("line {n}")).collect();
        let text = format!("  {}\r\n", lines.join("\r\n\n  "));
        let hashes = lines.iter().map(|line| rapidhash_v3(line.as_bytes()));
        let mut all: Vec<u64> = hashes.collect();
        all.sort_unstable();
        assert_eq!(survey(&text).sketch[..], all[..SKETCH]);
        assert_eq!(survey(&text.repeat(2)).sketch[..], all[..SKETCH]);
    }

    #[test]
    fn a_cancel_is_seen() {
        let cancel = crate::Cancel::new();
        cancel.cancel();
        let control = Control::default().with_cancel(cancel);
        let cancelled = Survey::of("a few words", &control);
        assert!(matches!(cancelled, Err(AssembleError::Cancelled)));
        let cancelled = crate::parallel::hash("a few words", &control);
        assert!(matches!(cancelled, Err(AssembleError::Cancelled)));
    }

    #[test]
    fn a_short_text_has_no_sketch() {
        assert!(survey("a few words").sketch.is_empty());
    }
}
