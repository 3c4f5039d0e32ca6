//! Makes text harmless before it is written. Everything passes through here.
//!
//! Some characters are invisible themselves but change how the text around them is read or shown:
//! control characters drive terminals, bidirectional controls reorder a line, tag characters spell
//! words that only a model reads. Each is replaced by a visible escape such as `\u{1b}`. Uses in
//! ordinary writing are kept (see `unseen.rs`): joiners inside words of the scripts that need them,
//! emoji sequences, flags, existing variants.

use std::borrow::Cow;

use crate::unseen::{fills, is_in_flag, joins_emoji, joins_letters, selects};

/// The place of a text, which decides which characters it may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// A body of many lines: tabs and line ends are kept (`\n` and `\r\n`).
    Text,
    /// One line: a path, a name, an attribute. Tabs and line ends are replaced too.
    Line,
}

/// `text` with every character that does not belong in `slot` replaced by an escape such as
/// `\u{1b}`. Borrowed when there is none; applying it twice changes nothing more.
///
/// The following are replaced, by Unicode's terms: control characters (category Cc; but see
/// [`Slot`]), invisible characters (`Default_Ignorable_Code_Point`, such as zero-width characters,
/// fillers, tags, variation selectors, and code points reserved for more of them), bidirectional
/// controls, line and paragraph separators, interlinear annotations and noncharacters. Of these,
/// the following are kept:
///
/// - a zero-width joiner or non-joiner between two characters of a script that uses it, and a
///   joiner in an emoji sequence;
/// - one variation selector after a character: a selector of text or emoji after a character that
///   has both forms, and after a digit, `#` or `*` before the keycap; VS1 to VS7 after a character
///   with standardized variants, except the zero and quotation marks, which occur in every text; a
///   Mongolian selector after a Mongolian letter;
/// - a filler for the vowel or the first consonant of an old Hangul syllable that continues;
/// - tags in a subdivision flag.
///
/// O(n) in the length of `text`; ASCII text is scanned 32 bytes at a time.
///
/// ```
/// use ctx_format::{Slot, neutralise};
///
/// assert_eq!(neutralise("\u{1b}[31mred", Slot::Text), r"\u{1b}[31mred");
/// assert_eq!(neutralise("a\nb", Slot::Text), "a\nb");
/// assert_eq!(neutralise("a\nb", Slot::Line), r"a\u{a}b");
/// ```
pub fn neutralise(text: &str, slot: Slot) -> Cow<'_, str> {
    if next_hazard(text, 0, slot).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 8 + 16);
    each_piece(text, slot, |piece| out.push_str(piece));
    Cow::Owned(out)
}

/// How many characters [`neutralise`] would replace. O(n).
pub fn count_neutralised(text: &str, slot: Slot) -> usize {
    let mut count = 0;
    let mut from = 0;
    while let Some((at, c)) = next_hazard(text, from, slot) {
        count += 1;
        from = at + c.len_utf8();
    }
    count
}

/// Calls `write` with the neutralised text, piece by piece, without storing it.
pub(crate) fn each_piece(text: &str, slot: Slot, mut write: impl FnMut(&str)) {
    let mut from = 0;
    while let Some((at, c)) = next_hazard(text, from, slot) {
        write(&text[from..at]);
        write(&c.escape_unicode().collect::<String>());
        from = at + c.len_utf8();
    }
    write(&text[from..]);
}

/// Appends the neutralised text to `out`.
pub(crate) fn push(out: &mut String, text: &str, slot: Slot) {
    each_piece(text, slot, |piece| out.push_str(piece));
}

/// The first character at or after byte `from` that must be replaced, and its position.
fn next_hazard(text: &str, from: usize, slot: Slot) -> Option<(usize, char)> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        at = skip_plain(bytes, at, slot)?;
        // A suspect byte is ASCII or begins a character, so this is a character boundary.
        let c = text[at..].chars().next()?;
        if is_hazard(text, at, c, slot) {
            return Some((at, c));
        }
        at += c.len_utf8();
    }
}

/// The bytes that may begin a character to be replaced.
const SUSPECT: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'\t' as usize] = false;
    table[b'\n' as usize] = false;
    table[0x7f] = true;
    // U+0080..U+00BF; U+0340..U+037F; U+0600..U+063F; U+1000..U+3FFF; U+F000..U+FFFF; the planes.
    table[0xc2] = true;
    table[0xcd] = true;
    table[0xd8] = true;
    table[0xe1] = true;
    table[0xe2] = true;
    table[0xe3] = true;
    table[0xef] = true;
    byte = 0xf0;
    while byte <= 0xf4 {
        table[byte] = true;
        byte += 1;
    }
    table
};

/// The next byte at or after `at` that may begin a character to be replaced.
fn skip_plain(bytes: &[u8], mut at: usize, slot: Slot) -> Option<usize> {
    const WINDOW: usize = 32;
    let line = slot == Slot::Line;
    while at < bytes.len() {
        let window = &bytes[at..bytes.len().min(at + WINDOW)];
        if window.len() == WINDOW && is_plain_ascii(window, line) {
            at += WINDOW;
            continue;
        }
        let is_suspect = |(offset, &byte): (usize, &u8)| {
            (SUSPECT[usize::from(byte)] && (byte != 0xe3 || is_of_fillers(bytes, at + offset)))
                || (line && matches!(byte, b'\t' | b'\n'))
        };
        match window.iter().enumerate().position(is_suspect) {
            Some(offset) => return Some(at + offset),
            None => at += window.len(),
        }
    }
    None
}

/// Whether U+3140..U+317F begin at `at`. Japanese text has many characters that begin with the same
/// byte, and only one character of this range is replaced.
fn is_of_fillers(bytes: &[u8], at: usize) -> bool {
    bytes.get(at + 1) == Some(&0x85)
}

/// Whether all bytes are plain ASCII. Without a branch per byte, so that it compiles to vector
/// instructions.
fn is_plain_ascii(window: &[u8], line: bool) -> bool {
    let bad = window.iter().fold(0_u8, |bad, &byte| {
        let is_break = u8::from(matches!(byte, b'\t' | b'\n')) * u8::from(!line);
        let is_unseen = u8::from(!matches!(byte, 0x20..=0x7e));
        bad | (is_unseen & !is_break)
    });
    bad == 0
}

fn is_hazard(text: &str, at: usize, c: char, slot: Slot) -> bool {
    match c {
        '\t' | '\n' => slot == Slot::Line,
        '\r' => slot == Slot::Line || !text[at + 1..].starts_with('\n'),
        '\u{200c}' | '\u{200d}' => !joins_letters(text, at, c) && !joins_emoji(text, at, c),
        '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' => !selects(text, at, c),
        '\u{115f}' | '\u{1160}' => !fills(text, at, c),
        '\u{e0020}'..='\u{e007f}' => !is_in_flag(text, at),
        _ => is_always_hazard(c),
    }
}

/// Whether `c` is replaced everywhere.
pub(crate) fn is_always_hazard(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // The soft hyphen, the grapheme joiner, the Arabic letter mark, two vowels of Khmer
            // that are not written, the Mongolian vowel separator.
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
            // Zero width, direction marks; separators and bidirectional embeddings; invisible
            // operators, isolates and deprecated shaping.
            | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            // Fillers of Hangul, the byte order mark, reserved code points of the kind,
            // annotations.
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            // Shorthand and musical controls.
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            // Tags outside flags, the variation selectors supplement, reserved code points.
            | '\u{e0000}'..='\u{e0fff}')
        || is_noncharacter(c)
}

/// U+FDD0..U+FDEF and the last two of each plane (Unicode 16, section 23.7).
fn is_noncharacter(c: char) -> bool {
    matches!(c, '\u{fdd0}'..='\u{fdef}') || u32::from(c) & 0xfffe == 0xfffe
}
