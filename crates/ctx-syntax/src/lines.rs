//! Lines of a source, with their numbers, and marks where others were left out.

use ctx_model::{ModelError, Rendition, RenditionKind};

use crate::Language;

/// One line of what is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// The source's line, from 1, of which this is every character; `None` for an elision mark.
    pub number: Option<u32>,
    /// The text, without its terminator.
    pub text: String,
}

/// What is shown of a source, top to bottom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines(pub(crate) Vec<Line>);

impl Lines {
    /// The lines.
    pub fn as_slice(&self) -> &[Line] {
        &self.0
    }

    /// The lines, each with a line feed after it.
    pub fn text(&self) -> String {
        let bytes = self.0.iter().map(|line| line.text.len() + 1).sum();
        let mut text = String::with_capacity(bytes);
        for line in &self.0 {
            text.push_str(&line.text);
            text.push('\n');
        }
        text
    }

    /// The numbers of the source's lines that are shown, ascending.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.0.iter().filter_map(|line| line.number)
    }

    /// As a rendition that keeps `information` of its chunk.
    ///
    /// # Errors
    /// [`ModelError::ShareOutOfRange`].
    pub fn into_rendition(
        self,
        kind: RenditionKind,
        information: f64,
    ) -> Result<Rendition, ModelError> {
        let numbers = self.0.iter().map(|line| line.number).collect();
        Rendition::new(kind, self.text(), information)?.with_lines(numbers)
    }
}

/// The mark that stands for `count` lines, a comment of the language, as far in as the line after it.
pub(crate) fn mark(language: Option<Language>, indentation: &str, count: usize) -> Line {
    let lines = if count == 1 { "line" } else { "lines" };
    let what = format!("… {count} {lines} left out");
    let comment = match language {
        Some(language) => language.comment(&what),
        None => what,
    };
    Line {
        number: None,
        text: format!("{indentation}{}", comment.trim_end()),
    }
}

/// The white space that `line` begins with.
pub(crate) fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}
