//! A separator in two parts: the end of a block, and the text between two blocks.

use crate::neutral::{Slot, neutralise};

/// A caller's separator, cut so that the tokens of the parts add up to those of the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Separator {
    /// The newlines it begins with: every block ends with them, including the last.
    pub(crate) tail: String,
    /// The rest, which ends in a newline, or nothing.
    pub(crate) piece: String,
}

impl Separator {
    /// Cuts `text` after the last newline of its leading white space. A rest of mere spaces is
    /// dropped; any other rest gets a newline at its end if it has none.
    pub(crate) fn new(text: &str) -> Self {
        let text = neutralise(text, Slot::Text);
        let cut = leading_lines(&text);
        let (tail, rest) = text.split_at(cut);
        let mut piece = String::new();
        if !rest.trim().is_empty() {
            piece.push_str(rest);
            if !piece.ends_with('\n') {
                piece.push('\n');
            }
        }
        Separator {
            tail: tail.to_owned(),
            piece,
        }
    }
}

/// The length of the leading blank lines of `text`, their newlines included.
pub(crate) fn leading_lines(text: &str) -> usize {
    let blank = text.len() - text.trim_start().len();
    text[..blank].rfind('\n').map_or(0, |at| at + 1)
}
