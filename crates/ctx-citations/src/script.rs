//! Scripts without spaces between words.

/// Whether `c` belongs to a script without spaces between words: Chinese, Japanese, Thai, Lao,
/// Khmer and the like.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{f00}'..='\u{fff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether it belongs to one of these, or is punctuation as wide as theirs.
pub(crate) fn is_wide(c: char) -> bool {
    is_unspaced(c) || is_wide_mark(c)
}

pub(crate) fn is_wide_mark(c: char) -> bool {
    matches!(c, '\u{3001}' | '\u{3002}' | '\u{ff01}'..='\u{ff1f}')
}
