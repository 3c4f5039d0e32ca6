//! Errors of formatting and of reading back.

use std::error::Error;

use ctx_model::Format;

use crate::OwnText;

/// Options or text that no formatter accepts. `Display` follows a statement of what failed: "failed
/// to format: …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// A separator for JSON, whose chunks can be separated by commas only.
    #[error("chunkSeparator {separator:?} cannot stand between the elements of a JSON array")]
    JsonSeparator {
        /// The separator given.
        separator: String,
    },
    /// A separator with too many characters: it is written between any two chunks.
    #[error("chunkSeparator has more than {most} characters")]
    LongSeparator {
        /// How many it may have.
        most: usize,
    },
    /// Text that would swallow the text after it.
    #[error("line {line_number} of {part} leaves {construct} open")]
    LeavesOpen {
        /// Which text it is.
        part: OwnText,
        /// The line, from 1, on which the construct is opened.
        line_number: usize,
        /// The construct that is left open.
        construct: &'static str,
    },
    /// A piece of a document was written after its place had passed.
    #[error("{piece} comes too late in the document")]
    TooLate {
        /// The piece.
        piece: &'static str,
    },
}

/// Text that is not a document of its format.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The text is not well-formed.
    #[error("not well-formed {format}")]
    Malformed {
        /// The format it should have.
        format: Format,
        /// The error of the parser.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// An element at a place where this format has another.
    #[error("found {found} where {expected} was expected at byte {offset}")]
    Unexpected {
        /// A short form of what was found.
        found: String,
        /// What was expected there.
        expected: &'static str,
        /// The offset in bytes from the start.
        offset: usize,
    },
    /// A block that is never closed.
    #[error("the block that opens on line {line_number} is never closed")]
    Unclosed {
        /// The line, from 1, of the fence or rule that opens it.
        line_number: usize,
    },
}
