//! Which characters words consist of.

/// Whether `c` is a letter, a digit or `_`.
pub(super) fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The ASCII bytes that are characters of words.
pub(super) const OF_WORDS: [bool; 256] = {
    let mut of_words = [false; 256];
    let mut byte = 0_u8;
    while byte.is_ascii() {
        of_words[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_';
        byte += 1;
    }
    of_words
};

/// The end of the word at the beginning of `text`, 0 if there is none. Works on bytes while these
/// are ASCII.
pub(super) fn word_end(text: &str) -> usize {
    let mut bytes = text.bytes();
    let end = bytes.position(|it| !OF_WORDS[usize::from(it)]);
    let end = end.unwrap_or(text.len());
    if text.as_bytes().get(end).is_none_or(u8::is_ascii) {
        return end;
    }
    let rest = &text[end..];
    end + rest.find(|it| !is_of_word(it)).unwrap_or(rest.len())
}
