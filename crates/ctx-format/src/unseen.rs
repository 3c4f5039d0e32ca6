//! Invisible characters that have a use: where they have it, they are kept.
//!
//! Each rule looks at the characters on both sides, and only at characters that are kept
//! themselves, so neutralised text stays as it is. Between letters, digits and punctuation there is
//! no place to hide a message in invisible characters; where such characters are allowed, they
//! change what a reader sees.

use crate::neutral::is_always_hazard;

/// Whether the joiner at `at` is between two characters of scripts in which it shapes words.
pub(crate) fn joins_letters(text: &str, at: usize, joiner: char) -> bool {
    let mut before = text[..at].chars().rev();
    let base = match before.next() {
        // The selector belongs to the letter before it.
        Some(it) if is_mongolian_selector(it) => before.next().filter(|&it| is_mongolian(it)),
        other => other,
    };
    let after = text[at + joiner.len_utf8()..].chars().next();
    base.is_some_and(is_of_joining_script) && after.is_some_and(is_of_joining_script)
}

/// Whether `c` is in one of these blocks: Arabic, Syriac, N'Ko, Mandaic, the Indic scripts,
/// Myanmar, Khmer, Mongolian, Balinese to Lepcha, and the extensions of these.
fn is_of_joining_script(c: char) -> bool {
    matches!(c,
        '\u{620}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}' | '\u{1800}'..='\u{18af}' | '\u{1b00}'..='\u{1c4f}'
        | '\u{a8e0}'..='\u{a8ff}' | '\u{a980}'..='\u{a9df}' | '\u{aa60}'..='\u{aa7f}'
        | '\u{fb50}'..='\u{fdcf}' | '\u{fe70}'..='\u{fefc}' | '\u{11000}'..='\u{1193f}')
        && !is_always_hazard(c)
        && !is_mongolian_selector(c)
        && !c.is_whitespace()
}

/// Whether the joiner at `at` joins two emoji (UTS #51, `emoji_zwj_element`).
pub(crate) fn joins_emoji(text: &str, at: usize, joiner: char) -> bool {
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

/// Whether the variation selector at `at` selects a form of the character before it.
pub(crate) fn selects(text: &str, at: usize, selector: char) -> bool {
    let Some(base) = text[..at].chars().next_back() else {
        return false;
    };
    match selector {
        '\u{fe0e}' | '\u{fe0f}' => {
            let is_key = || matches!(base, '0'..='9' | '#' | '*');
            is_emoji(base)
                || is_emoji_sign(base)
                || is_key() && text[at + selector.len_utf8()..].starts_with('\u{20e3}')
        }
        '\u{fe00}' => is_of_two_forms(base) || is_of_three_forms(base) || is_of_more_forms(base),
        '\u{fe01}' => is_of_three_forms(base) || is_of_more_forms(base),
        '\u{fe02}' => is_of_more_forms(base),
        '\u{fe03}'..='\u{fe06}' => is_hieroglyph(base),
        _ => is_mongolian_selector(selector) && is_mongolian(base),
    }
}

/// A superset of the emoji that take part in joined sequences, skin tones included: blocks in which
/// most characters are emoji, and single characters with the property `Emoji` (UTS #51).
fn is_emoji(c: char) -> bool {
    matches!(c, '\u{2194}'..='\u{2199}' | '\u{21a9}' | '\u{21aa}' | '\u{231a}' | '\u{231b}'
        | '\u{2328}' | '\u{23cf}' | '\u{23e9}'..='\u{23f3}' | '\u{23f8}'..='\u{23fa}'
        | '\u{25aa}' | '\u{25ab}' | '\u{25b6}' | '\u{25c0}' | '\u{25fb}'..='\u{25fe}'
        | '\u{2600}'..='\u{27bf}' | '\u{2934}' | '\u{2935}' | '\u{2b05}'..='\u{2b07}'
        | '\u{2b1b}' | '\u{2b1c}' | '\u{2b50}' | '\u{2b55}'
        | '\u{1f004}' | '\u{1f0cf}' | '\u{1f18e}' | '\u{1f191}'..='\u{1f19a}'
        | '\u{1f300}'..='\u{1f64f}' | '\u{1f680}'..='\u{1f6ff}' | '\u{1f7e0}'..='\u{1f7eb}'
        | '\u{1f7f0}' | '\u{1f90c}'..='\u{1f9ff}' | '\u{1fa70}'..='\u{1faff}')
}

/// Signs and enclosed letters that may be shown as emoji, and are never part of a joined sequence.
fn is_emoji_sign(c: char) -> bool {
    matches!(
        c,
        '\u{a9}'
            | '\u{ae}'
            | '\u{203c}'
            | '\u{2049}'
            | '\u{2122}'
            | '\u{2139}'
            | '\u{24c2}'
            | '\u{3030}'
            | '\u{303d}'
            | '\u{3297}'
            | '\u{3299}'
            | '\u{1f170}'
            | '\u{1f171}'
            | '\u{1f17e}'
            | '\u{1f17f}'
            | '\u{1f201}'
            | '\u{1f202}'
            | '\u{1f21a}'
            | '\u{1f22f}'
            | '\u{1f232}'..='\u{1f23a}' | '\u{1f250}' | '\u{1f251}'
    )
}

/// Characters with one variant in Unicode's `StandardizedVariants.txt`: operators, letters of
/// Myanmar, Phags-pa and Manichaean. The zeros are excluded, since they could hide a message in any
/// number.
fn is_of_two_forms(c: char) -> bool {
    matches!(c, '\u{2205}' | '\u{2229}' | '\u{222a}' | '\u{2268}' | '\u{2269}' | '\u{2272}'
        | '\u{2273}' | '\u{228a}' | '\u{228b}' | '\u{2293}'..='\u{2295}' | '\u{2297}'
        | '\u{229c}' | '\u{22da}' | '\u{22db}' | '\u{2a3c}' | '\u{2a3d}' | '\u{2a9d}'
        | '\u{2a9e}' | '\u{2aac}' | '\u{2aad}' | '\u{2acb}' | '\u{2acc}'
        | '\u{1000}' | '\u{1002}' | '\u{1004}' | '\u{1010}' | '\u{1011}' | '\u{1015}'
        | '\u{1019}' | '\u{101a}' | '\u{101c}' | '\u{101d}' | '\u{1022}' | '\u{1031}'
        | '\u{1075}' | '\u{1078}' | '\u{107a}' | '\u{1080}' | '\u{aa60}'..='\u{aa66}'
        | '\u{aa6b}' | '\u{aa6c}' | '\u{aa6f}' | '\u{aa7a}'
        | '\u{a856}' | '\u{a85c}' | '\u{a85e}'..='\u{a860}' | '\u{a868}'
        | '\u{10ac5}' | '\u{10ac6}' | '\u{10ad6}' | '\u{10ad7}' | '\u{10ae1}')
}

/// Characters with two variants there: script capitals, and punctuation of East Asia. The quotation
/// marks are excluded, since Latin text uses them too.
fn is_of_three_forms(c: char) -> bool {
    matches!(
        c,
        '\u{210b}'
            | '\u{2110}'
            | '\u{2112}'
            | '\u{211b}'
            | '\u{212c}'
            | '\u{2130}'
            | '\u{2131}'
            | '\u{2133}'
            | '\u{1d49c}'
            ..='\u{1d4b5}'
                | '\u{3001}'
                | '\u{3002}'
                | '\u{ff01}'
                | '\u{ff0c}'
                | '\u{ff0e}'
                | '\u{ff1a}'
                | '\u{ff1b}'
                | '\u{ff1f}'
    )
}

/// Characters with up to three variants there, and hieroglyphs, which have up to seven. Ideographs
/// are matched by block, since there are about a thousand of them.
fn is_of_more_forms(c: char) -> bool {
    let is_ideograph = matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{20000}'..='\u{2a6df}');
    is_ideograph || is_hieroglyph(c)
}

fn is_hieroglyph(c: char) -> bool {
    matches!(c, '\u{13000}'..='\u{1342f}' | '\u{13460}'..='\u{143fa}')
}

fn is_mongolian(c: char) -> bool {
    matches!(c, '\u{1820}'..='\u{1878}' | '\u{1880}'..='\u{18aa}')
}

fn is_mongolian_selector(c: char) -> bool {
    matches!(c, '\u{180b}'..='\u{180d}' | '\u{180f}')
}

/// Whether the filler at `at` stands for the first consonant or the vowel of an old Hangul syllable
/// (Unicode 16, section 3.12), and is followed by a visible part of that syllable.
pub(crate) fn fills(text: &str, at: usize, filler: char) -> bool {
    let before = text[..at].chars().next_back();
    let mut after = text[at + filler.len_utf8()..].chars();
    let next = after.next();
    let begins = |before: Option<char>| !before.is_some_and(is_first);
    if filler == '\u{115f}' {
        let holds_last = next == Some('\u{1160}') && after.next().is_some_and(is_last);
        return begins(before) && (next.is_some_and(is_vowel) || holds_last);
    }
    let is_after_filler = || {
        let earlier = text[..at].chars().rev().nth(1);
        before == Some('\u{115f}') && begins(earlier)
    };
    next.is_some_and(is_last) && (before.is_some_and(is_seen_first) || is_after_filler())
}

fn is_first(c: char) -> bool {
    c == '\u{115f}' || is_seen_first(c)
}

fn is_seen_first(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{115e}' | '\u{a960}'..='\u{a97c}')
}

fn is_vowel(c: char) -> bool {
    matches!(c, '\u{1161}'..='\u{11a7}' | '\u{d7b0}'..='\u{d7c6}')
}

fn is_last(c: char) -> bool {
    matches!(c, '\u{11a8}'..='\u{11ff}' | '\u{d7cb}'..='\u{d7fb}')
}

/// The most letters and digits in the code of a subdivision (ISO 3166-2).
const LONGEST_FLAG: usize = 6;

/// Whether the tag character at `at` is part of a subdivision flag: U+1F3F4, three to six tag
/// letters or digits, U+E007F (UTS #51, `emoji_tag_sequence`).
pub(crate) fn is_in_flag(text: &str, at: usize) -> bool {
    let is_letter = |c: char| matches!(c, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}');
    // The number of letters at the front, and the character that ends them.
    let letters = |chars: &mut dyn Iterator<Item = char>| {
        let mut chars = chars.take(LONGEST_FLAG + 1).enumerate();
        chars.find(|&(_, c)| !is_letter(c))
    };
    let before = letters(&mut text[..at].chars().rev());
    let after = letters(&mut text[at..].chars());
    match (before, after) {
        (Some((earlier, '\u{1f3f4}')), Some((later, '\u{e007f}'))) => {
            (3..=LONGEST_FLAG).contains(&(earlier + later))
        }
        _ => false,
    }
}
