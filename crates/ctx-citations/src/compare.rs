//! Whether a source says what is quoted of it.

use ctx_format::{Slot, neutralise};

use crate::quote::EMPHASIS;
use crate::script::is_wide;

/// So many bytes of a source are read before it is asked again whether they are wanted.
const STEP: usize = 256 << 10;

/// Whether `text`, shaped by [`words`] and then `shape`, has the words of `quote`, whatever space
/// is between them. `…` and `...` stand for text that was left out. Also returns how many bytes of
/// `text` were looked through, at most all of them.
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

/// `text` as a context shows it, with one space between its words, none where lines of writing
/// without spaces were broken, and typewriter's quotation marks; as much of it as is wanted.
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
