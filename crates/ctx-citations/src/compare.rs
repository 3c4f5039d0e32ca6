//! Checks whether a source contains a quotation.

use ctx_format::{Slot, neutralise};

use crate::quote::EMPHASIS;
use crate::script::is_wide;

/// After so many bytes of a source, whether they are still wanted is checked again.
const STEP: usize = 256 << 10;

/// Whether `text`, shaped by [`words`] and then `shape`, contains the words of `quote`, with any
/// space between them. `…` and `...` stand for omitted text. Also returns how many bytes of `text`
/// were searched, at most all of them.
pub(crate) fn says(text: &str, quote: &str, shape: fn(String) -> String) -> (bool, usize) {
    let quote = quote.replace("...", "…");
    let mut from = 0;
    let is_there = quote.split('…').all(|piece| {
        let piece = shape(words(piece, &|| true));
        let is_around = |c: char| EMPHASIS.contains(&c) || "[] ".contains(c);
        let piece = piece.trim_matches(is_around);
        let piece = piece.trim_end_matches([',', '.', '、', '。', '，']);
        match text[from..].find(piece) {
            Some(at) => {
                from += at + piece.len();
                true
            }
            None => false,
        }
    });
    (is_there, if is_there { from } else { text.len() })
}

/// `text` as a context shows it, with one space between words, none where lines of a script without
/// spaces were broken, and with typewriter quotation marks; only as much of it as is wanted.
pub(crate) fn words(text: &str, is_awaited: &dyn Fn() -> bool) -> String {
    let plain = |c: char| match c {
        '“' | '”' | '„' => '"',
        '‘' | '’' | '‚' => '\'',
        c => c,
    };
    let mut words = String::with_capacity(text.len());
    let mut asked_at = 0;
    for word in neutralise(text, Slot::Text).split_whitespace() {
        if words.len() >= asked_at {
            asked_at = words.len() + STEP;
            if !is_awaited() {
                break;
            }
        }
        let is_broken = word.starts_with(is_wide) && words.ends_with(is_wide);
        if !words.is_empty() && !is_broken {
            words.push(' ');
        }
        words.extend(word.chars().map(plain));
    }
    words
}
