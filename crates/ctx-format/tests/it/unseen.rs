//! Invisible characters, by the tables of Unicode: none is written, except in texts that need it.
//!
//! The tables are copied from the Unicode Character Database (version 16) and are independent of
//! the implementation of the neutraliser.

use std::ops::RangeInclusive;

use ctx_format::{Slot, count_neutralised, neutralise};

type Table = &'static [RangeInclusive<u32>];

/// `General_Category=Cc` (UnicodeData.txt).
const CONTROLS: Table = &[0x00..=0x1f, 0x7f..=0x9f];

/// `General_Category=Zl` and `Zp` (UnicodeData.txt).
const SEPARATORS: Table = &[0x2028..=0x2028, 0x2029..=0x2029];

/// `Bidi_Control` (PropList.txt).
const BIDIRECTIONAL: Table = &[
    0x061c..=0x061c,
    0x200e..=0x200f,
    0x202a..=0x202e,
    0x2066..=0x2069,
];

/// `Default_Ignorable_Code_Point` (DerivedCoreProperties.txt), with what is not assigned yet.
const IGNORABLE: Table = &[
    0x00ad..=0x00ad,
    0x034f..=0x034f,
    0x061c..=0x061c,
    0x115f..=0x1160,
    0x17b4..=0x17b5,
    0x180b..=0x180f,
    0x200b..=0x200f,
    0x202a..=0x202e,
    0x2060..=0x206f,
    0x3164..=0x3164,
    0xfe00..=0xfe0f,
    0xfeff..=0xfeff,
    0xffa0..=0xffa0,
    0xfff0..=0xfff8,
    0x1_bca0..=0x1_bca3,
    0x1_d173..=0x1_d17a,
    0xe_0000..=0xe_0fff,
];

/// Interlinear annotations (Unicode 16, section 23.8): text between them is not shown in its place.
const ANNOTATIONS: Table = &[0xfff9..=0xfffb];

/// `Noncharacter_Code_Point` (PropList.txt).
const NONCHARACTERS: Table = &[
    0xfdd0..=0xfdef,
    0xfffe..=0xffff,
    0x1_fffe..=0x1_ffff,
    0x2_fffe..=0x2_ffff,
    0x3_fffe..=0x3_ffff,
    0x4_fffe..=0x4_ffff,
    0x5_fffe..=0x5_ffff,
    0x6_fffe..=0x6_ffff,
    0x7_fffe..=0x7_ffff,
    0x8_fffe..=0x8_ffff,
    0x9_fffe..=0x9_ffff,
    0xa_fffe..=0xa_ffff,
    0xb_fffe..=0xb_ffff,
    0xc_fffe..=0xc_ffff,
    0xd_fffe..=0xd_ffff,
    0xe_fffe..=0xe_ffff,
    0xf_fffe..=0xf_ffff,
    0x10_fffe..=0x10_ffff,
];

const UNSEEN: &[(&str, Table)] = &[
    ("a control character", CONTROLS),
    ("a separator", SEPARATORS),
    ("a bidirectional control", BIDIRECTIONAL),
    ("ignorable", IGNORABLE),
    ("an annotation", ANNOTATIONS),
    ("no character", NONCHARACTERS),
];

/// What holds unseen characters and is kept as it is: all that there is of exceptions.
const KEPT: &[&str] = &[
    // Joiners within words: Persian, Hindi, Malayalam, Sinhala.
    "می\u{200c}خواهم",
    "क्\u{200d}ष",
    "ന്\u{200d}റ",
    "ශ්\u{200d}රී",
    // Joined emoji: a family, a technologist, a heart on fire, a flag of pirates, a bear on the
    // ice.
    "👨\u{200d}👩\u{200d}👧",
    "👩🏽\u{200d}💻",
    "❤\u{fe0f}\u{200d}🔥",
    "🏴\u{200d}☠\u{fe0f}",
    "🐻\u{200d}❄\u{fe0f}",
    // As emoji, as text, and on keys.
    "☎\u{fe0f}",
    "☎\u{fe0e}",
    "©\u{fe0f}",
    "7\u{fe0f}\u{20e3}",
    "#\u{fe0f}\u{20e3}",
    // Standardized variants: an operator, a script capital, a comma, ideographs, Myanmar, Phags-pa,
    // Manichaean, hieroglyphs.
    "∩\u{fe00}",
    "ℬ\u{fe01}",
    "、\u{fe00}",
    "芽\u{fe01}",
    "㒞\u{fe00}",
    "က\u{fe00}",
    "ꡖ\u{fe00}",
    "𐫅\u{fe00}",
    "𓀀\u{fe02}",
    "𓀀\u{fe06}",
    // Letters of Mongolian, each in another form.
    "ᠠ\u{180b}",
    "ᠠ\u{180c}",
    "ᠠ\u{180d}",
    "ᠨ\u{180f}",
    // Old Hangul without a first consonant, and without a vowel.
    "\u{115f}\u{1161}",
    "\u{1100}\u{1160}\u{11a8}",
    // The flag of Scotland.
    "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    // What a text of many lines is made of.
    "a\tb\nc\r\nd",
];

fn characters(table: Table) -> impl Iterator<Item = char> {
    table.iter().cloned().flatten().filter_map(char::from_u32)
}

fn is_unseen(c: char) -> bool {
    let is_in =
        |(_, table): &(&str, Table)| table.iter().any(|range| range.contains(&u32::from(c)));
    UNSEEN.iter().any(is_in)
}

#[track_caller]
fn is_shown(what: &str, c: char, text: &str, slot: Slot) {
    let shown = neutralise(text, slot);
    let escaped = text.replace(c, &c.escape_unicode().to_string());
    assert!(!shown.contains(c), "{c:?}, {what}, in {text:?}: {shown:?}");
    assert_eq!(shown, escaped, "{c:?}, {what}");
    assert_eq!(count_neutralised(text, slot), text.matches(c).count());
}

#[test]
fn invisible_characters_are_shown_alone_and_between_letters() {
    for (what, table) in UNSEEN {
        for c in characters(table) {
            for text in [c.to_string(), format!("a{c}b"), format!("a{c}{c}b")] {
                is_shown(what, c, &text, Slot::Line);
                if !matches!(c, '\t' | '\n') {
                    is_shown(what, c, &text, Slot::Text);
                }
            }
        }
    }
}

#[test]
fn invisible_characters_are_shown_after_digits_punctuation_and_space() {
    for base in "0 9 # * - _ . , ( \" ' “ ” ‘ ’ é ß д α \u{a0} \u{301}".split(' ') {
        for (what, table) in UNSEEN {
            for c in characters(table).filter(|c| !matches!(c, '\t' | '\n')) {
                is_shown(what, c, &format!("{base}{c}z"), Slot::Text);
                is_shown(what, c, &format!("{base}{c} "), Slot::Text);
            }
        }
    }
}

#[test]
fn all_else_is_kept_alone() {
    for c in ('\0'..=char::MAX).filter(|&c| !is_unseen(c)) {
        for text in [c.to_string(), format!("a{c}b")] {
            assert_eq!(neutralise(&text, Slot::Line), text, "{c:?}");
        }
    }
}

#[test]
fn scripts_that_need_invisible_characters_keep_them() {
    for text in KEPT {
        assert!(text.contains(is_unseen), "{text:?} is no exception");
        for text in [(*text).to_owned(), format!("a {text} b"), text.repeat(2)] {
            assert_eq!(neutralise(&text, Slot::Text), text);
        }
    }
}

/// The same characters where the text does not need them.
#[test]
fn out_of_their_texts_they_are_shown() {
    for text in KEPT {
        for c in text
            .chars()
            .filter(|&c| is_unseen(c) && !matches!(c, '\t' | '\n'))
        {
            is_shown("out of its text", c, &format!("x{c}y"), Slot::Text);
        }
    }
}

/// Any one selector behind any character would hide four bits.
#[test]
fn selectors_are_kept_where_there_are_variants_alone() {
    let selectors = || characters(&[0xfe00..=0xfe0f, 0x180b..=0x180d, 0x180f..=0x180f]);
    let kept = |base: char| -> Vec<char> {
        let is_kept = |it: &char| count_neutralised(&format!("{base}{it}"), Slot::Text) == 0;
        selectors().filter(is_kept).collect()
    };
    for base in ('\0'..='\u{24f}').filter(|it| !matches!(it, '©' | '®')) {
        assert_eq!(kept(base), [], "{base:?}");
    }
    for base in "αЖאَ₿€→“”…가アあ한０ﾊ\u{e000}\u{300}".chars() {
        assert_eq!(kept(base), [], "{base:?}");
    }
    assert_eq!(kept('☎'), ['\u{fe0e}', '\u{fe0f}']);
    assert_eq!(kept('∩'), ['\u{fe00}']);
    assert_eq!(kept('．'), ['\u{fe00}', '\u{fe01}']);
    assert_eq!(kept('芽'), ['\u{fe00}', '\u{fe01}', '\u{fe02}']);
    assert_eq!(kept('ᠠ'), ['\u{180b}', '\u{180c}', '\u{180d}', '\u{180f}']);
}
