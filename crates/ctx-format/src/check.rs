//! Checks that the caller's own text does not swallow the text after it.

use ctx_model::{BuildOptions, Format};

use crate::FormatError;
use crate::commonmark::{UNTIL_BLANK, left_open};

/// A text of the caller's own in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnText {
    /// Before the first block.
    Header,
    /// Between two blocks.
    Separator,
    /// After the last block.
    Footer,
}

ctx_model::words! {
    OwnText, "text": Header = "header", Separator = "chunkSeparator", Footer = "footer";
}

/// Whether a piece of a document keeps the rule under which token counts add up: it is empty, or it
/// ends in a newline and begins with neither `/` nor white space that contains a newline or `\r`.
///
/// Byte-pair encodings cut text after a run of newlines, but `o200k_base` includes a `/` that
/// follows such a run.
pub fn joins_safely(piece: &str) -> bool {
    let blank = &piece[..piece.len() - piece.trim_start().len()];
    piece.is_empty()
        || (piece.ends_with('\n') && !piece.starts_with('/') && !blank.contains(['\r', '\n']))
}

/// Checks the caller's own text before it is used as `part` of a document.
///
/// In Markdown, text that opens a fence or an HTML block must also close it, since otherwise the
/// blocks after it would not be blocks. A separator is followed at once by a block, so an HTML
/// block in it must be closed by a blank line. Constructs inside lists and quotes end with these.
/// The check errs on the safe side: it may refuse a fence nested in a list in an unusual way. O(n).
///
/// # Errors
/// [`FormatError::LongSeparator`] for a separator of more than
/// [`BuildOptions::LONGEST_SEPARATOR`] characters; [`FormatError::LeavesOpen`] with the line;
/// [`FormatError::JsonSeparator`] for a separator in JSON that is not just white space.
pub fn check_text(format: Format, part: OwnText, text: &str) -> Result<(), FormatError> {
    const MOST: usize = BuildOptions::LONGEST_SEPARATOR;
    if part == OwnText::Separator && text.chars().nth(MOST).is_some() {
        return Err(FormatError::LongSeparator { most: MOST });
    }
    match format {
        Format::Json if part == OwnText::Separator && !text.trim().is_empty() => {
            Err(FormatError::JsonSeparator {
                separator: text.to_owned(),
            })
        }
        Format::Markdown => match left_open(text) {
            Some(left) if left.construct != UNTIL_BLANK || part == OwnText::Separator => {
                Err(FormatError::LeavesOpen {
                    part,
                    line_number: left.line_number,
                    construct: left.construct,
                })
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}
