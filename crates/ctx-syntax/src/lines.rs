//! Lines of a source, with their numbers, and marks where others were left out.

use std::borrow::Cow;

use ctx_model::{LineSpan, ModelError, Rendition, RenditionKind};

use crate::Language;

/// A longer line, in bytes, is not shown whole by what is to be short,
const LONGEST: usize = 240;
/// but so much of it,
const KEPT: usize = 200;
/// or somewhat less, so that no characters are parted that may go together.
const APART: usize = 64;

/// One line of what is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line<'t> {
    /// The source's line, from 1, of which this is every character; `None` for an elision mark, and for the beginning of a line.
    pub number: Option<u32>,
    /// The text, without its terminator.
    pub text: Cow<'t, str>,
}

/// What is shown of a source, top to bottom.
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

    /// The numbers of the source's lines that are shown, ascending.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.0.iter().filter_map(|line| line.number)
    }

    /// As a rendition that keeps `information` of its chunk: without blank lines at its end, and without the line feed after its
    /// last line, as chunks have their text.
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
        // By itself, it is all that tells of a line without any text.
        if text.len() > 1 {
            text.pop();
        }
        Rendition::new(kind, text, information)?.with_lines(numbers)
    }
}

/// The lines of a span, some of them shown.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    first: u32,
    is_shown: Vec<bool>,
}

impl Shown {
    /// None of `span`.
    pub(crate) fn none(span: LineSpan) -> Self {
        Shown {
            first: span.start(),
            is_shown: vec![false; span.line_count() as usize],
        }
    }

    /// All of `span`.
    pub(crate) fn all(span: LineSpan) -> Self {
        let mut shown = Shown::none(span);
        shown.is_shown.fill(true);
        shown
    }

    /// Shows those from `first` to `last` that are lines of the span.
    pub(crate) fn show(&mut self, first: u32, last: u32) {
        self.set(first, last, true);
    }

    /// Hides those from `first` to `last`.
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

/// The mark that stands for `count` lines, a comment of the language, as far in as the line after it.
pub(crate) fn mark(language: Option<Language>, indentation: &str, count: usize) -> Line<'static> {
    let lines = if count == 1 { "line" } else { "lines" };
    let (before, after) = language.map_or(("", ""), Language::comment);
    let count = count.to_string();
    // There are hundreds in a context: each is made at once, and not piece by piece.
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

/// What is shown of a `line` that is too long for a mention, a signature or a skeleton, before a mark: some 200 bytes, up to a character that
/// goes with none before it. `None` for lines of up to 240 bytes, which are shown whole. O(1).
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

/// Whether `line` stands for lines that are left out, as renditions have it: in the marks of a comment `… 3 lines left out`, or `…` alone, as
/// excerpts of prose do. A line of a text may look like one.
pub fn is_mark(line: &str) -> bool {
    let Some((_, said)) = line.split_once('…') else {
        return false;
    };
    let count = said.trim_start();
    let count = count.trim_start_matches(|c: char| c.is_ascii_digit());
    line.trim() == "…"
        || count.starts_with(" line left out")
        || count.starts_with(" lines left out")
}

/// The white space that `line` begins with.
pub(crate) fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_lines_is_known_in_every_language() {
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
