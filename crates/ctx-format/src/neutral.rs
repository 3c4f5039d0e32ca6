//! The one place where text is made harmless before it is written.
//!
//! Some characters change how the text round them is read or shown, and are not seen themselves:
//! control characters drive terminals, bidirectional controls reorder a line, tag characters spell
//! words that only a model reads. Each is replaced by a visible escape such as `\u{1b}`. What people
//! write is kept: joiners inside words of the scripts that need them, emoji sequences, flags.

use std::borrow::Cow;

/// Where text goes, which decides what it may hold.
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
/// Replaced are, by Unicode's names: control characters (category Cc; but see [`Slot`]),
/// bidirectional controls, zero-width and other invisible format characters, line and paragraph
/// separators, tag characters, the variation selectors supplement, interlinear annotations and
/// non-characters. A zero-width joiner or non-joiner is kept between two characters of a script
/// that uses it, and a joiner in an emoji sequence; a variation selector is kept after a character
/// that is not one itself; tags are kept in a subdivision flag.
///
/// O(n) in the length of `text`; text in ASCII is passed over 32 bytes at a time.
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

/// Hands the neutralised text on, piece by piece, without storing it.
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

/// The first character at or after byte `from` that is to be replaced, and where it is.
fn next_hazard(text: &str, from: usize, slot: Slot) -> Option<(usize, char)> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        at = skip_plain(bytes, at, slot)?;
        // A suspect byte is ASCII or begins a character, so this is a boundary.
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
    // U+0080..U+00BF; U+0600..U+063F; U+1000..U+1FFF; U+2000..U+2FFF; U+F000..U+FFFF; the planes.
    table[0xc2] = true;
    table[0xd8] = true;
    table[0xe1] = true;
    table[0xe2] = true;
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
        let is_suspect =
            |&byte: &u8| SUSPECT[usize::from(byte)] || (line && matches!(byte, b'\t' | b'\n'));
        match window.iter().position(is_suspect) {
            Some(offset) => return Some(at + offset),
            None => at += window.len(),
        }
    }
    None
}

/// Without a branch per byte, so that it is compiled to vector instructions.
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
        '\u{fe00}'..='\u{fe0f}' => text[..at]
            .chars()
            .next_back()
            .is_none_or(|base| matches!(base, '\u{fe00}'..='\u{fe0f}') || base.is_whitespace()),
        '\u{e0020}'..='\u{e007f}' => !is_in_flag(text, at),
        _ => is_always_hazard(c),
    }
}

fn is_always_hazard(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}'
            // Zero width, direction marks; separators and bidirectional embeddings; invisible
            // operators, isolates and deprecated shaping.
            | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            // Shorthand and musical controls.
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            // Tags outside flags, and the variation selectors supplement.
            | '\u{e0000}'..='\u{e01ef}')
        || is_noncharacter(c)
}

/// U+FDD0..U+FDEF and the last two of each plane (Unicode 16, section 23.7).
fn is_noncharacter(c: char) -> bool {
    matches!(c, '\u{fdd0}'..='\u{fdef}') || u32::from(c) & 0xfffe == 0xfffe
}

/// Whether the joiner at `at` stands between two characters of scripts in which it shapes words.
fn joins_letters(text: &str, at: usize, joiner: char) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at + joiner.len_utf8()..].chars().next();
    before.is_some_and(is_of_joining_script) && after.is_some_and(is_of_joining_script)
}

/// By block: Arabic, Syriac, N'Ko, Mandaic, the Indic scripts, Myanmar, Khmer, Mongolian, Balinese
/// to Lepcha, and the extensions of these.
fn is_of_joining_script(c: char) -> bool {
    matches!(c,
        '\u{620}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}' | '\u{1800}'..='\u{18af}' | '\u{1b00}'..='\u{1c4f}'
        | '\u{a8e0}'..='\u{a8ff}' | '\u{a980}'..='\u{a9df}' | '\u{aa60}'..='\u{aa7f}'
        | '\u{fb50}'..='\u{fdcf}' | '\u{fe70}'..='\u{fefc}' | '\u{11000}'..='\u{1193f}')
        && !is_always_hazard(c)
        && !c.is_whitespace()
}

/// Whether the joiner at `at` joins two emoji (UTS #51, `emoji_zwj_element`).
fn joins_emoji(text: &str, at: usize, joiner: char) -> bool {
    if joiner != '\u{200d}' {
        return false;
    }
    let mut before = text[..at].chars().rev();
    let base = match before.next() {
        // The presentation selector belongs to the emoji before it.
        Some('\u{fe0f}') => before.next(),
        other => other,
    };
    let after = text[at + joiner.len_utf8()..].chars().next();
    base.is_some_and(is_emoji) && after.is_some_and(is_emoji)
}

/// A superset of the emoji that take part in joined sequences, skin tones included.
fn is_emoji(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}'
        | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// The longest code of a subdivision: two or three letters and a region of two (ISO 3166-2).
const LONGEST_FLAG: usize = 6;

/// Whether the tag character at `at` is one of a subdivision flag: U+1F3F4, three to six tag
/// letters or digits, U+E007F (UTS #51, `emoji_tag_sequence`).
fn is_in_flag(text: &str, at: usize) -> bool {
    let is_letter = |c: char| matches!(c, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}');
    let mut before = text[..at].chars().rev();
    let earlier = before
        .by_ref()
        .take(LONGEST_FLAG + 1)
        .position(|c| !is_letter(c));
    let Some(earlier) = earlier else {
        return false;
    };
    if text[..at].chars().rev().nth(earlier) != Some('\u{1f3f4}') {
        return false;
    }
    let mut rest = text[at..].chars();
    let later = rest
        .by_ref()
        .take(LONGEST_FLAG + 1)
        .position(|c| !is_letter(c));
    let Some(later) = later else {
        return false;
    };
    text[at..].chars().nth(later) == Some('\u{e007f}')
        && (3..=LONGEST_FLAG).contains(&(earlier + later))
}
