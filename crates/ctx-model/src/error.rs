//! Errors for values that the model does not accept.

use std::borrow::Cow;

/// A value that the model does not accept. `Display` follows a statement of what failed: "failed to
/// read the chunks: …".
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A relevance that is NaN, infinite, or outside `0..=1`.
    #[error("relevance {value} is not a finite number from 0 to 1")]
    RelevanceOutOfRange {
        /// The value given.
        value: f64,
    },
    /// Line 0, where lines are counted from 1.
    #[error("line 0 does not exist: lines are counted from 1")]
    SpanStartsAtZero,
    /// A span whose last line comes before its first.
    #[error("endLine {end} is before startLine {start}")]
    SpanEndsBeforeStart {
        /// The first line given.
        start: u32,
        /// The last line given.
        end: u32,
    },
    /// A text that is not a span of lines.
    #[error("{text:?} is not two line numbers with - between them")]
    NoSpan {
        /// The text given.
        text: String,
    },
    /// A word that names none of the possible choices.
    #[error("unknown {what} {word:?}: it is one of {}", known.join(", "))]
    UnknownWord {
        /// The kind of choice that was expected, such as `format`.
        what: &'static str,
        /// The word given.
        word: String,
        /// The words that are accepted.
        known: &'static [&'static str],
    },
    /// A span of which only one end was given.
    #[error("{given} is given without {missing}")]
    HalfSpan {
        /// The end that was given.
        given: &'static str,
        /// The end that was not.
        missing: &'static str,
    },
    /// A chunk without an id.
    #[error("id is empty")]
    EmptyId,
    /// An empty path.
    #[error("filePath is empty")]
    EmptyPath,
    /// A share that is NaN or outside `0..=1`.
    #[error("{field} {value} is not a finite number from 0 to 1")]
    ShareOutOfRange {
        /// The field's name on the wire.
        field: &'static str,
        /// The value given.
        value: f64,
    },
    /// A line map whose length is not the number of lines of its text.
    #[error("lines has {mapped} entries for a text of {lines} lines")]
    LineMapLength {
        /// How many entries the map has.
        mapped: usize,
        /// How many lines the text has.
        lines: usize,
    },
    /// `groupBy` and its alias `groupByFile` contradict each other.
    #[error("groupBy is {group_by} but groupByFile is {group_by_file}")]
    GroupingConflict {
        /// What `groupBy` says.
        group_by: crate::GroupBy,
        /// What `groupByFile` says.
        group_by_file: bool,
    },
    /// An error in a rendition of a chunk.
    #[error("rendition {number} of {count}: {why}")]
    InRendition {
        /// Which rendition, from 1.
        number: usize,
        /// How many renditions the chunk has.
        count: usize,
        /// The error itself.
        why: Box<ModelError>,
    },
    /// An error in a chunk that has no id to name it by.
    #[error("chunk {number} of {count}: {why}")]
    InList {
        /// Which chunk, from 1.
        number: usize,
        /// How many chunks there are.
        count: usize,
        /// The error itself.
        why: Box<ModelError>,
    },
    /// An error in the chunk with this id.
    #[error("chunk {id:?}: {why}")]
    InChunk {
        /// The chunk's id.
        id: String,
        /// The error itself.
        why: Box<ModelError>,
    },
}

impl ModelError {
    /// The name on the wire of the field at fault, in the chunk or the options that were checked:
    /// `relevance`, `renditions[0].information`. `None` if no field is at fault.
    pub fn field(&self) -> Option<Cow<'static, str>> {
        let field = match self {
            ModelError::RelevanceOutOfRange { .. } => "relevance",
            ModelError::SpanStartsAtZero => "startLine",
            ModelError::SpanEndsBeforeStart { .. } => "endLine",
            ModelError::HalfSpan { given, .. } => *given,
            ModelError::EmptyId => "id",
            ModelError::EmptyPath => "filePath",
            ModelError::ShareOutOfRange { field, .. } => *field,
            ModelError::LineMapLength { .. } => "lines",
            ModelError::GroupingConflict { .. } => "groupBy",
            ModelError::NoSpan { .. } | ModelError::UnknownWord { .. } => return None,
            ModelError::InRendition { number, why, .. } => {
                let field = match &**why {
                    ModelError::SpanStartsAtZero => "lines".into(),
                    why => why.field()?,
                };
                let index = number.saturating_sub(1);
                return Some(format!("renditions[{index}].{field}").into());
            }
            ModelError::InList { why, .. } | ModelError::InChunk { why, .. } => return why.field(),
        };
        Some(field.into())
    }

    /// Whether each field is valid by itself, but not in combination.
    pub fn is_between_fields(&self) -> bool {
        match self {
            ModelError::SpanEndsBeforeStart { .. }
            | ModelError::HalfSpan { .. }
            | ModelError::LineMapLength { .. }
            | ModelError::GroupingConflict { .. } => true,
            ModelError::InRendition { why, .. }
            | ModelError::InList { why, .. }
            | ModelError::InChunk { why, .. } => why.is_between_fields(),
            ModelError::RelevanceOutOfRange { .. }
            | ModelError::SpanStartsAtZero
            | ModelError::NoSpan { .. }
            | ModelError::UnknownWord { .. }
            | ModelError::EmptyId
            | ModelError::EmptyPath
            | ModelError::ShareOutOfRange { .. } => false,
        }
    }

    /// Wraps the error with the id of the chunk it was found in.
    #[must_use]
    pub(crate) fn in_chunk(self, id: &str) -> Self {
        ModelError::InChunk {
            id: id.to_owned(),
            why: Box::new(self),
        }
    }
}
