//! Undoes the escapes of characters that a context does not show as they are.

use std::ops::Range;

use ctx::format::{Slot, neutralise};

/// At most so many escapes, or kinds of them, are undone in all combinations.
const MOST: usize = 8;

/// At most so many bytes are hashed for one text, but for the first two tries.
const WORK: usize = 1 << 28;

/// What is known of a text with escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It shows the text of the hash.
    Same,
    /// It shows another text.
    Other,
    /// It has too many escapes that the text itself may have held.
    Unknown,
}

/// Whether `shown` is how a text with the BLAKE3 hash `hash` is shown. The text itself may hold
/// what looks like an escape: all combinations are tried for up to eight escapes, or as many
/// different ones. O(2^escapes × bytes), at most 256 MiB but for two tries.
pub(super) fn compare(shown: &str, hash: &str) -> Told {
    let escapes = escapes(shown);
    if escapes.is_empty() {
        return Told::Other;
    }
    let mut kinds: Vec<char> = escapes.iter().map(|it| it.1).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let is_each = escapes.len() <= MOST;
    let count = if is_each { escapes.len() } else { kinds.len() };
    let group = |index: usize| {
        if is_each {
            index
        } else {
            kinds.binary_search(&escapes[index].1).unwrap_or(0)
        }
    };
    let is_undone = |undone: &dyn Fn(usize) -> bool| {
        let mut text = String::with_capacity(shown.len());
        let mut from = 0;
        for (index, (range, escaped)) in escapes.iter().enumerate() {
            if undone(index) {
                text.push_str(&shown[from..range.start]);
                text.push(*escaped);
                from = range.end;
            }
        }
        text.push_str(&shown[from..]);
        *blake3::hash(text.as_bytes()).to_hex() == *hash && neutralise(&text, Slot::Text) == shown
    };
    if is_undone(&|_| true) {
        return Told::Same;
    }
    if count > MOST {
        return Told::Unknown;
    }
    let sets = 1_usize << count;
    let tries = sets.min((WORK / shown.len()).max(2));
    // The set of all was the first, and that of none is the text as it is shown.
    for set in (1..sets - 1).rev().take(tries) {
        if is_undone(&|index| (set >> group(index)) & 1 == 1) {
            return Told::Same;
        }
    }
    if is_each && tries == sets {
        Told::Other
    } else {
        Told::Unknown
    }
}

/// What looks like an escape of a character that is not shown as it is, and that character.
fn escapes(shown: &str) -> Vec<(Range<usize>, char)> {
    let found = shown.match_indices("\\u{").filter_map(|(start, mark)| {
        let digits = &shown[start + mark.len()..];
        let length = digits.bytes().take(7).position(|it| it == b'}')?;
        let code = u32::from_str_radix(&digits[..length], 16).ok()?;
        let range = start..start + mark.len() + length + 1;
        let escaped = char::from_u32(code)?;
        let is_escape =
            *neutralise(escaped.encode_utf8(&mut [0; 4]), Slot::Text) == shown[range.clone()];
        is_escape.then_some((range, escaped))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hash(text: &str) -> String {
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }

    fn told(text: &str, shown: &str) -> Told {
        compare(shown, &hash(text))
    }

    #[test]
    fn a_text_is_told_by_what_its_escapes_stand_for() {
        let shown = r"a\u{200b}b \u{1b}";
        assert_eq!(told("a\u{200b}b \u{1b}", shown), Told::Same);
        assert_eq!(told("a\\u{200b}b \u{1b}", shown), Told::Same);
        assert_eq!(told("a\u{200b}b \u{7}", shown), Told::Other);
        assert_eq!(told("a", r"fn evil() {} // \u{0}"), Told::Other);
        // What is shown as it is was no escape.
        assert_eq!(told("A\u{0}", r"\u{41}\u{0}"), Told::Other);
        assert_eq!(told("\u{0}", r"\u{00}"), Told::Other);
    }

    #[test]
    fn of_many_escapes_those_of_one_character_are_told_together() {
        let literal = r"\u{200b}".repeat(100);
        let text = format!("\u{feff}{literal}");
        let shown = neutralise(&text, Slot::Text);
        assert_eq!(told(&text, &shown), Told::Same);
        let mixed = format!("\u{200b}{literal}");
        assert_eq!(told(&mixed, &neutralise(&mixed, Slot::Text)), Told::Unknown);
    }

    proptest! {
        #[test]
        fn the_text_that_is_shown_is_told_from_any_other(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "a", "\n", "\u{200b}", "\u{1b}", "\\u{200b}", "\\u{1b}", "\\u{", "\\", "\u{fe0f}", "\r",
                ]),
                0..9,
            ),
            other in prop::sample::select(vec!["a", "\u{200b}", "\\u{1b}", "\u{0}"]),
        ) {
            let text = parts.concat();
            let shown = neutralise(&text, Slot::Text);
            if shown != text {
                prop_assert_eq!(told(&text, &shown), Told::Same);
            }
            let longer = format!("{text}{other}");
            prop_assert_eq!(told(&longer, &shown), Told::Other);
        }
    }
}
