//! Cuts sentences that are too long to be shown whole.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

/// The most bytes of a piece.
pub(crate) const LONGEST: usize = 1024;

/// The pieces of `range` in `text`, in order and without the white space around them: the range
/// itself if it has at most [`LONGEST`] bytes, else as few as have at most that many. It is cut at
/// line ends; where none is in the second half of a piece, at the last white space or mark between
/// values; where there is none either, between two grapheme clusters. Two adjacent pieces
/// have more than half of [`LONGEST`] bytes, so there are O(bytes) of them. O(bytes).
pub(crate) fn pieces(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let rest = &text[at..range.end];
        let start = at + rest.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        let length = first(rest);
        at = start + length;
        let piece = rest[..length].trim_end();
        if !piece.is_empty() {
            pieces.push(start..start + piece.len());
        }
    }
    pieces
}

/// The length of the first piece of `text`.
fn first(text: &str) -> usize {
    if text.len() <= LONGEST {
        return text.len();
    }
    let end = text.floor_char_boundary(LONGEST);
    let half = text.floor_char_boundary(LONGEST / 2);
    let near = &text[half..end];
    let ends_value = |c: char| c.is_whitespace() || is_between_values(c);
    let last_value = || {
        let last = near.char_indices().rev().find(|&(_, c)| ends_value(c))?;
        Some(last.0 + last.1.len_utf8())
    };
    if let Some(at) = near.rfind('\n').or_else(last_value) {
        return half + at;
    }
    // The last cluster may go on behind `end`.
    let last = text[..end].grapheme_indices(true).next_back();
    last.map(|(at, _)| at).filter(|&at| at > 0).unwrap_or(end)
}

/// Whether `c` separates values, or parts of a sentence in a script without spaces.
fn is_between_values(c: char) -> bool {
    matches!(c, ',' | ';' | '|' | '}' | ']' | '、' | '，' | '；')
}

#[cfg(test)]
#[path = "pieces_tests.rs"]
mod tests;
