//! Renditions: ways to show one chunk, from all of it to one line.

use serde::{Deserialize, Serialize};

use crate::ModelError;

/// What an excerpt shows in place of text that is left out, on a line of its own.
pub const ELISION: &str = "…";

/// How much of a chunk a rendition shows, from the most to the least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RenditionKind {
    /// All of it.
    #[default]
    Full,
    /// The lines around the matches, with their enclosing headers.
    Excerpt,
    /// Declarations, their bodies left out.
    Skeleton,
    /// Signature and doc comment.
    Signature,
    /// One line: kind, name, path, lines. If texts are not to be shown, the summary, if there is
    /// one.
    Mention,
}

impl RenditionKind {
    /// Every kind, from the most to the least.
    pub const ALL: [RenditionKind; 5] = [
        RenditionKind::Full,
        RenditionKind::Excerpt,
        RenditionKind::Skeleton,
        RenditionKind::Signature,
        RenditionKind::Mention,
    ];
}

/// One way to show a chunk: its text, the source line of each line, and how much it keeps.
// Invariant: `lines` is empty or has one entry per line of `text`; `information` is in 0..=1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RenditionWire", into = "RenditionWire")]
pub struct Rendition {
    kind: RenditionKind,
    text: String,
    lines: Vec<Option<u32>>,
    information: f64,
}

impl Rendition {
    /// Makes a rendition without a line map that keeps the share `information` (0 to 1) of the
    /// chunk.
    ///
    /// # Errors
    /// [`ModelError::ShareOutOfRange`] when `information` is not in `0..=1`.
    pub fn new(
        kind: RenditionKind,
        text: impl Into<String>,
        information: f64,
    ) -> Result<Self, ModelError> {
        if !(information.is_finite() && (0.0..=1.0).contains(&information)) {
            return Err(ModelError::ShareOutOfRange {
                field: "information",
                value: information,
            });
        }
        Ok(Rendition {
            kind,
            text: text.into(),
            lines: Vec::new(),
            information: information + 0.0,
        })
    }

    /// Sets the line map: for each line of the text its source line, or `None` if the source has no
    /// such line, as for an elision mark.
    ///
    /// # Errors
    /// [`ModelError::LineMapLength`] and [`ModelError::SpanStartsAtZero`].
    pub fn with_lines(mut self, lines: Vec<Option<u32>>) -> Result<Self, ModelError> {
        let wanted = line_count(&self.text);
        if lines.len() != wanted {
            return Err(ModelError::LineMapLength {
                mapped: lines.len(),
                lines: wanted,
            });
        }
        if lines.contains(&Some(0)) {
            return Err(ModelError::SpanStartsAtZero);
        }
        self.lines = lines;
        Ok(self)
    }

    /// How much it shows.
    pub const fn kind(&self) -> RenditionKind {
        self.kind
    }

    /// What it shows.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The source line (from 1) of each line of the text; empty if there is no line map.
    pub fn lines(&self) -> &[Option<u32>] {
        &self.lines
    }

    /// The share of the chunk's information that it keeps, 0 to 1.
    pub const fn information(&self) -> f64 {
        self.information
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RenditionWire {
    rendition: RenditionKind,
    text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lines: Vec<Option<u32>>,
    information: f64,
}

impl TryFrom<RenditionWire> for Rendition {
    type Error = ModelError;

    fn try_from(wire: RenditionWire) -> Result<Self, ModelError> {
        let rendition = Rendition::new(wire.rendition, wire.text, wire.information)?;
        if wire.lines.is_empty() {
            Ok(rendition)
        } else {
            rendition.with_lines(wire.lines)
        }
    }
}

impl From<Rendition> for RenditionWire {
    fn from(rendition: Rendition) -> Self {
        RenditionWire {
            rendition: rendition.kind,
            text: rendition.text,
            lines: rendition.lines,
            information: rendition.information,
        }
    }
}

/// The number of lines, as [`str::lines`] counts them, in a tenth of the time.
fn line_count(text: &str) -> usize {
    // The count of so short a run fits in a byte, so the loop compiles to vector instructions.
    let runs = text.as_bytes().chunks(usize::from(u8::MAX));
    let breaks = |run: &[u8]| run.iter().map(|&it| u8::from(it == b'\n')).sum::<u8>();
    let breaks: usize = runs.map(|run| usize::from(breaks(run))).sum();
    breaks + usize::from(!text.is_empty() && !text.ends_with('\n'))
}
