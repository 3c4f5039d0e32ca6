//! What cannot be formatted, and what cannot be read back.

use std::error::Error;

use ctx_model::Format;

/// Options or text that no formatter can take. `Display` stands behind what was tried: "failed to format: …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// JSON separates its chunks by commas and nothing else.
    #[error("chunkSeparator {separator:?} cannot stand between the elements of a JSON array")]
    JsonSeparator {
        /// The separator given.
        separator: String,
    },
    /// Text that would swallow what comes after it.
    #[error("line {line_number} of {part} leaves {construct} open")]
    LeavesOpen {
        /// The name of the option: `chunkSeparator`, `header` or `footer`.
        part: &'static str,
        /// The line, from 1, on which it is opened.
        line_number: usize,
        /// What is left open.
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
        /// What the parser of that format says.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// Something stands where a document of this format has something else.
    #[error("found {found} where {expected} was expected at byte {offset}")]
    Unexpected {
        /// What was found, in short.
        found: String,
        /// What should be there.
        expected: &'static str,
        /// Where, in bytes from the start.
        offset: usize,
    },
    /// A block that is never closed.
    #[error("the block that opens on line {line_number} is never closed")]
    Unclosed {
        /// The line, from 1, of the fence or rule that opens it.
        line_number: usize,
    },
}
