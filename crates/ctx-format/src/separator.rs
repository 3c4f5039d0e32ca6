//! A separator in two parts: what ends a block, and what stands between two blocks.

use crate::neutral::{Slot, neutralise};

/// A user's separator, cut so that the tokens of the parts add up to those of the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Separator {
    /// The newlines it begins with: every block ends with them, the last one too.
    pub(crate) tail: String,
    /// The rest, ending in a newline, or nothing.
    pub(crate) piece: String,
}

impl Separator {
    /// Cuts `text` after the last newline of the white space it begins with. A rest of mere spaces
    /// is dropped, and one that does not end in a newline is given one.
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

/// The length of the blank lines that `text` begins with, their newlines included.
pub(crate) fn leading_lines(text: &str) -> usize {
    let blank = text.len() - text.trim_start().len();
    text[..blank].rfind('\n').map_or(0, |at| at + 1)
}
