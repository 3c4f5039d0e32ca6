//! Lines of a source with their numbers, and marks for lines that are left out.

use std::borrow::Cow;

use ctx_model::{ELISION, LineSpan, ModelError, Rendition, RenditionKind};

use crate::Language;

/// Short renditions (mention, signature, skeleton) cut lines longer than this, in bytes.
const LONGEST: usize = 240;
/// The bytes kept of a line that short renditions cut.
const KEPT: usize = 200;
/// How many bytes earlier the cut may fall, so that it does not split a grapheme.
const APART: usize = 64;

/// One line of a rendition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line<'t> {
    /// The number, from 1, of the source line that this is in full; `None` for an elision mark, and
    /// for the beginning of a line.
    pub number: Option<u32>,
    /// The text, without its terminator.
    pub text: Cow<'t, str>,
}

/// The lines of a rendition, top to bottom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines<'t>(pub(crate) Vec<Line<'t>>);

impl<'t> Lines<'t> {
    /// The lines.
    pub fn as_slice(&self) -> &[Line<'t>] {
        &self.0
    }

    /// The lines, each with a line feed after it.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.size());
        for line in &self.0 {
            text.push_str(&line.text);
            text.push('\n');
        }
        text
    }

    /// The bytes of [`Lines::text`].
    pub fn size(&self) -> usize {
        self.0.iter().map(|line| line.text.len() + 1).sum()
    }

    /// The numbers of the source lines that are shown in full, ascending.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.0.iter().filter_map(|line| line.number)
    }

    /// Converts the lines to a rendition that keeps `information` of its chunk: without blank lines
    /// at the end, and without the final line feed, like the text of chunks.
    ///
    /// # Errors
    /// [`ModelError::ShareOutOfRange`].
    pub fn into_rendition(
        mut self,
        kind: RenditionKind,
        information: f64,
    ) -> Result<Rendition, ModelError> {
        let is_blank = |it: &Line<'_>| it.number.is_some() && it.text.trim().is_empty();
        while self.0.len() > 1 && self.0.last().is_some_and(is_blank) {
            self.0.pop();
        }
        let numbers = self.0.iter().map(|line| line.number).collect();
        let mut text = self.text();
        // A line feed alone is the only trace of an empty line, and is kept.
        if text.len() > 1 {
            text.pop();
        }
        Rendition::new(kind, text, information)?.with_lines(numbers)
    }
}

/// Which lines of a span are shown.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    first: u32,
    is_shown: Vec<bool>,
}

impl Shown {
    /// Shows none of `span`.
    pub(crate) fn none(span: LineSpan) -> Self {
        Shown {
            first: span.start(),
            is_shown: vec![false; span.line_count() as usize],
        }
    }

    /// Shows all of `span`.
    pub(crate) fn all(span: LineSpan) -> Self {
        let mut shown = Shown::none(span);
        shown.is_shown.fill(true);
        shown
    }

    /// Shows the lines of the span from `first` to `last`.
    pub(crate) fn show(&mut self, first: u32, last: u32) {
        self.set(first, last, true);
    }

    /// Hides the lines of the span from `first` to `last`.
    pub(crate) fn hide(&mut self, first: u32, last: u32) {
        self.set(first, last, false);
    }

    fn set(&mut self, first: u32, last: u32, is_shown: bool) {
        let start = first.saturating_sub(self.first) as usize;
        let end = last.saturating_add(1).saturating_sub(self.first) as usize;
        let end = end.min(self.is_shown.len());
        if let Some(lines) = self.is_shown.get_mut(start..end) {
            lines.fill(is_shown);
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.is_shown.iter().filter(|it| **it).count()
    }

    /// The numbers of the lines that are shown, or of those that are not.
    pub(crate) fn numbers(&self, shown: bool) -> impl Iterator<Item = u32> {
        let all = (self.first..).zip(&self.is_shown);
        all.filter(move |(_, is_shown)| **is_shown == shown)
            .map(|(number, _)| number)
    }
}

/// The mark for `count` omitted lines: a comment of the language, with this indentation.
pub(crate) fn mark(language: Option<Language>, indentation: &str, count: usize) -> Line<'static> {
    let lines = if count == 1 { "line" } else { "lines" };
    let (before, after) = language.map_or(("", ""), Language::comment);
    let count = count.to_string();
    // A context has hundreds of marks: each is built in one allocation.
    let text = [
        indentation,
        before,
        "… ",
        &count,
        " ",
        lines,
        " left out",
        after.trim_end(),
    ]
    .concat();
    Line {
        number: None,
        text: text.into(),
    }
}

/// The part of a `line` that is shown where it is too long for a mention, a signature or a
/// skeleton: some 200 bytes, cut before a character that starts a new grapheme. `None` for lines of
/// at most 240 bytes, which are shown whole. O(1).
///
/// ```
/// use ctx_syntax::beginning;
///
/// assert_eq!(beginning("let all = 1;"), None);
/// let long = "1,".repeat(20_000);
/// assert_eq!(beginning(&long), Some(&long[..200]));
/// ```
pub fn beginning(line: &str) -> Option<&str> {
    if line.len() <= LONGEST {
        return None;
    }
    let most = line.floor_char_boundary(KEPT);
    let stands_alone = |&at: &usize| {
        let next = line.get(at..).and_then(|it| it.chars().next());
        next.is_some_and(|it| it.is_ascii() || it.is_alphanumeric())
    };
    let end = (KEPT - APART..=most).rev().find(stands_alone);
    line.get(..end.unwrap_or(most))
}

/// Whether `line` looks like a mark for omitted lines: a comment `… 3 lines left out`, or `…`
/// alone, as in excerpts of prose. A line of a source may look the same.
pub fn is_mark(line: &str) -> bool {
    let Some((_, said)) = line.split_once(ELISION) else {
        return false;
    };
    let count = said.trim_start();
    let count = count.trim_start_matches(|c: char| c.is_ascii_digit());
    line.trim() == ELISION
        || count.starts_with(" line left out")
        || count.starts_with(" lines left out")
}

/// The white space at the beginning of `line`.
pub(crate) fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elision_marks_are_recognized_in_every_language() {
        let languages = Language::all().map(Some).chain([None]);
        for language in languages {
            for count in [1, 2, 1_000] {
                let mark = mark(language, "\t ", count);
                assert!(is_mark(&mark.text), "{}", mark.text);
            }
        }
        assert!(is_mark(" …"));
        for line in ["", "… and so on", "3 lines left out", "is left out … here"] {
            assert!(!is_mark(line), "{line}");
        }
    }
}
