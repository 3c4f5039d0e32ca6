//! Which characters are replaced, and which are kept.

use std::borrow::Cow;

use ctx_format::{Slot, count_neutralised, neutralise};
use ctx_testkit::generate;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

#[track_caller]
fn kept(text: &str) {
    assert!(
        matches!(neutralise(text, Slot::Text), Cow::Borrowed(same) if same == text),
        "{text:?} became {:?}",
        neutralise(text, Slot::Text)
    );
    assert_eq!(count_neutralised(text, Slot::Text), 0);
}

#[track_caller]
fn replaced(text: &str, by: &str, count: usize) {
    assert_eq!(neutralise(text, Slot::Text), by);
    assert_eq!(count_neutralised(text, Slot::Text), count);
}

#[test]
fn ordinary_text_is_kept() {
    kept("");
    kept("fn main() {\n\tprintln!(\"~\");\r\n}\n");
    kept("Straße, naïve, “quotes”, — dash, 日本語, \u{3000}, €, עברית, العربية");
    // Persian with a non-joiner, Hindi and Malayalam with joiners, Mongolian with its selectors.
    kept("می\u{200c}خواهم");
    kept("क्\u{200d}ष");
    kept("ന്\u{200d}റ");
    kept("ᠠ\u{180b}ᠠ");
    // A family, a technologist with a skin tone, a heart on fire, a flag of pirates.
    kept("👨\u{200d}👩\u{200d}👧 👩🏽\u{200d}💻 ❤\u{fe0f}\u{200d}🔥 🏴\u{200d}☠\u{fe0f}");
    // The flags of Scotland and Wales.
    kept("🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}");
    kept("🏴\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}");
    kept(r"\u{1b} as somebody wrote it");
}

#[test]
fn invisible_characters_are_replaced() {
    replaced("\0", r"\u{0}", 1);
    replaced("\u{1b}[2J", r"\u{1b}[2J", 1);
    replaced("a\rb\r\nc\r", "a\\u{d}b\r\nc\\u{d}", 2);
    replaced("\u{7f}\u{85}\u{9b}\u{ad}", r"\u{7f}\u{85}\u{9b}\u{ad}", 4);
    replaced(
        "access\u{202e}\u{2066}level",
        r"access\u{202e}\u{2066}level",
        2,
    );
    replaced("\u{61c}\u{200e}\u{200f}", r"\u{61c}\u{200e}\u{200f}", 3);
    replaced("a\u{2028}b\u{2029}c", r"a\u{2028}b\u{2029}c", 2);
    replaced("pass\u{200b}word\u{feff}", r"pass\u{200b}word\u{feff}", 2);
    replaced("a\u{200d}b\u{200c}c", r"a\u{200d}b\u{200c}c", 2);
    replaced("م\u{200c}", r"م\u{200c}", 1);
    replaced("م\u{200c}\u{200c}م", r"م\u{200c}\u{200c}م", 2);
    replaced("👩\u{200c}👩", r"👩\u{200c}👩", 1);
    replaced(
        "\u{fffe}\u{ffff}\u{fdd0}\u{1fffe}",
        r"\u{fffe}\u{ffff}\u{fdd0}\u{1fffe}",
        4,
    );
    replaced("\u{fff9}\u{e0100}", r"\u{fff9}\u{e0100}", 2);
    replaced("a\u{34f}\u{17b4}b", r"a\u{34f}\u{17b4}b", 2);
    replaced("a\u{3164}\u{ffa0}b", r"a\u{3164}\u{ffa0}b", 2);
    replaced("\u{fff0}\u{e01f0}", r"\u{fff0}\u{e01f0}", 2);
}

#[test]
fn variants_are_kept_where_there_are_any() {
    // Emoji and text, a keycap, a heart that burns.
    kept("☎\u{fe0f} ☎\u{fe0e} ©\u{fe0f} ↔\u{fe0e} 🌍\u{fe0e} 🅰\u{fe0f}");
    kept("1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3} *\u{fe0e}\u{20e3}");
    // Operators, a script capital, a comma, two ideographs, a letter of Myanmar, a hieroglyph.
    kept(
        "∩\u{fe00} ≨\u{fe00} ℬ\u{fe01} 𝒜\u{fe00} 、\u{fe01} 芽\u{fe02} 㒞\u{fe00} က\u{fe00} 𓀀\u{fe06}",
    );
    kept("ᠠ\u{180b}\u{200d}ᠠ ᠨ\u{180f}");
    // Four bits a letter would fit into these.
    replaced("a\u{fe03}b\u{fe07}", r"a\u{fe03}b\u{fe07}", 2);
    replaced("1\u{fe0f}0\u{fe00}", r"1\u{fe0f}0\u{fe00}", 2);
    replaced("“\u{fe00}a\u{fe0f}", r"“\u{fe00}a\u{fe0f}", 2);
    // Of what has other variants than this one.
    replaced("∩\u{fe01}", r"∩\u{fe01}", 1);
    replaced("芽\u{fe03}", r"芽\u{fe03}", 1);
    replaced("☎\u{fe00}", r"☎\u{fe00}", 1);
    replaced("𓀀\u{fe07}", r"𓀀\u{fe07}", 1);
    replaced("a\u{180b}", r"a\u{180b}", 1);
    // After one that is kept, and at the beginning.
    replaced("☎\u{fe0f}\u{fe0e}", "☎\u{fe0f}\\u{fe0e}", 1);
    replaced("ᠠ\u{180b}\u{180c}", "ᠠ\u{180b}\\u{180c}", 1);
    replaced("\u{fe0f}", r"\u{fe0f}", 1);
    // A joiner behind one that is none.
    replaced("→\u{fe0f}\u{200d}🔥", r"→\u{fe0f}\u{200d}🔥", 2);
    replaced("م\u{180b}\u{200d}م", r"م\u{180b}\u{200d}م", 2);
}

#[test]
fn fillers_are_kept_in_old_hangul_alone() {
    // A vowel without a first consonant, one without a vowel, and one with a last consonant alone.
    kept("\u{115f}\u{1161} \u{1100}\u{1160}\u{11a8} \u{115f}\u{1160}\u{11a8}");
    kept("\u{a960}\u{1160}\u{d7cb} \u{115f}\u{d7b0}");
    replaced("a\u{115f}\u{1160}b", r"a\u{115f}\u{1160}b", 2);
    replaced("\u{1100}\u{1160}", "\u{1100}\\u{1160}", 1);
    replaced("\u{115f}\u{115f}\u{1161}", "\\u{115f}\\u{115f}\u{1161}", 2);
    replaced(
        "\u{1100}\u{115f}\u{1160}\u{11a8}",
        "\u{1100}\\u{115f}\\u{1160}\u{11a8}",
        2,
    );
    replaced("가\u{1160}나", r"가\u{1160}나", 1);
}

#[test]
fn words_in_tags_are_replaced() {
    // "Hi" in tag characters, alone and after a flag that is none.
    replaced("\u{e0048}\u{e0069}", r"\u{e0048}\u{e0069}", 2);
    replaced(
        "🏴\u{e0068}\u{e0069}\u{e0021}\u{e007f}",
        r"🏴\u{e0068}\u{e0069}\u{e0021}\u{e007f}",
        4,
    );
    replaced("🏴\u{e0067}\u{e0062}", r"🏴\u{e0067}\u{e0062}", 2);
    // A flag's code has at most six letters.
    let long = format!("🏴{}\u{e007f}", "\u{e0061}".repeat(7));
    replaced(
        &long,
        &format!("🏴{}{}", r"\u{e0061}".repeat(7), r"\u{e007f}"),
        8,
    );
    replaced("\u{e0001}", r"\u{e0001}", 1);
}

#[test]
fn a_line_is_one_line() {
    assert_eq!(
        neutralise("a\tb\nc\r\nd", Slot::Line),
        r"a\u{9}b\u{a}c\u{d}\u{a}d"
    );
    assert_eq!(count_neutralised("a\tb\nc\r\nd", Slot::Line), 4);
    // Past the width of a vector, too.
    let long = "x".repeat(100) + "\n";
    assert_eq!(neutralise(&long, Slot::Line), "x".repeat(100) + r"\u{a}");
    assert_eq!(neutralise(&long, Slot::Text), long);
}

/// Nothing that a terminal obeys or that reorders a line is ever let out, at any offset.
#[test]
fn every_character_is_judged_the_same_at_every_offset() {
    for c in '\0'..=char::MAX {
        let alone = neutralise(c.encode_utf8(&mut [0; 4]), Slot::Text).into_owned();
        let is_kept = alone == c.to_string();
        assert!(is_kept || alone == c.escape_unicode().to_string(), "{c:?}");
        assert!(
            !(is_kept && c.is_control() && !matches!(c, '\t' | '\n')),
            "{c:?}"
        );
    }
    for c in [
        '\0',
        '\u{1b}',
        '\u{85}',
        '\u{202e}',
        '\u{feff}',
        '\u{e0041}',
        '\u{1fffe}',
    ] {
        for before in 0..70 {
            for after in [0, 1, 31, 32, 33, 64] {
                let text = format!("{}{c}{}", "x".repeat(before), "y".repeat(after));
                assert_eq!(count_neutralised(&text, Slot::Text), 1, "{text:?}");
            }
        }
    }
}

const NEIGHBOURS: &[char] = &[
    'a', '0', '→', '☎', '🔥', '©', '∩', '、', '芽', 'م', 'ᠠ', '\u{20e3}', '\u{34f}', '\u{1100}',
    '\u{115f}', '\u{1160}', '\u{1161}', '\u{11a8}', '\u{180b}', '\u{200c}', '\u{200d}', '\u{fe00}',
    '\u{fe0e}', '\u{fe0f}',
];

proptest! {
    #[test]
    fn twice_is_once(text in generate::any_text()) {
        for slot in [Slot::Text, Slot::Line] {
            let once = neutralise(&text, slot).into_owned();
            prop_assert_eq!(&neutralise(&once, slot), &once);
            prop_assert_eq!(count_neutralised(&once, slot), 0);
            prop_assert_eq!(count_neutralised(&text, slot) == 0, once == text);
        }
    }

    /// Of characters whose neighbours decide, and such neighbours.
    #[test]
    fn neighbours_twice_are_once(characters in vec(select(NEIGHBOURS), 0..12)) {
        let text: String = characters.into_iter().collect();
        let once = neutralise(&text, Slot::Text).into_owned();
        prop_assert_eq!(&neutralise(&once, Slot::Text), &once);
    }

    #[test]
    fn any_string_twice_is_once(text in any::<String>()) {
        let once = neutralise(&text, Slot::Line).into_owned();
        prop_assert_eq!(&neutralise(&once, Slot::Line), &once);
        prop_assert!(!once.chars().any(char::is_control));
    }
}
