//! Undoes the escapes by which a context shows certain characters.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;

use ctx::format::{Slot, neutralise};

/// At most so many escapes, or kinds of them, are undone in all combinations.
const MOST: usize = 8;

/// The most bytes that are hashed for all texts of a receipt, apart from the first tries of each.
const WORK: usize = 1 << 28;

/// The tries that each text has, however much was hashed before.
const FIRST: usize = 3;

/// The result for a text with escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sameness {
    /// It shows the text with the hash.
    Same,
    /// It shows another text.
    Other,
    /// It is unknown: too many of its escapes may be part of the text itself.
    Unknown,
}

/// Compares the texts of one receipt.
///
/// A receipt may come from anyone, so the time of all comparisons is O(bytes of the different
/// texts): each text has three tries, and 256 MiB may be hashed for all further ones together.
#[derive(Debug)]
pub(super) struct Escapes {
    /// The most bytes to hash for further tries, and how many were hashed.
    most: usize,
    spent: Cell<usize>,
    /// Earlier results, by the hash of what is shown and that of the text.
    known: RefCell<BTreeMap<([u8; 32], String), Sameness>>,
}

impl Default for Escapes {
    fn default() -> Self {
        Escapes::within(WORK)
    }
}

impl Escapes {
    fn within(most: usize) -> Self {
        Escapes {
            most,
            spent: Cell::new(0),
            known: RefCell::default(),
        }
    }

    /// Whether `shown` is the shown form of a text with the BLAKE3 hash `hash`. The text itself may
    /// contain what looks like an escape: all combinations are tried for up to eight escapes, or up
    /// to eight different ones.
    pub(super) fn compare(&self, shown: &str, hash: &str) -> Sameness {
        if hash.len() != 2 * blake3::OUT_LEN {
            // No text has it.
            return Sameness::Other;
        }
        let key = (*blake3::hash(shown.as_bytes()).as_bytes(), hash.to_owned());
        if let Some(&known) = self.known.borrow().get(&key) {
            return known;
        }
        let most = FIRST.max((self.most - self.spent.get()) / shown.len().max(1));
        let (told, tried) = compare(shown, hash, most);
        let further = tried.saturating_sub(FIRST) * shown.len();
        self.spent.set(self.spent.get() + further);
        if tried > 0 {
            self.known.borrow_mut().insert(key, told);
        }
        told
    }
}

/// The result after at most `most` tries, each O(bytes), and how many there were.
fn compare(shown: &str, hash: &str, most: usize) -> (Sameness, usize) {
    let escapes = escapes(shown);
    if escapes.is_empty() {
        return (Sameness::Other, 0);
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
        return (Sameness::Same, 1);
    }
    if count > MOST {
        return (Sameness::Unknown, 1);
    }
    // Undoing all was the first try, and undoing none gives the text as it is shown.
    let sets = (1..(1_usize << count) - 1).rev();
    let (all, mut tried) = (sets.len() + 1, 1);
    for set in sets.take(most.saturating_sub(1)) {
        tried += 1;
        if is_undone(&|index| (set >> group(index)) & 1 == 1) {
            return (Sameness::Same, tried);
        }
    }
    if is_each && tried == all {
        (Sameness::Other, tried)
    } else {
        (Sameness::Unknown, tried)
    }
}

/// What looks like an escape of a character, and that character.
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

    fn told(text: &str, shown: &str) -> Sameness {
        Escapes::default().compare(shown, &hash(text))
    }

    #[test]
    fn a_text_is_told_by_what_its_escapes_stand_for() {
        let shown = r"a\u{200b}b \u{1b}";
        assert_eq!(told("a\u{200b}b \u{1b}", shown), Sameness::Same);
        assert_eq!(told("a\\u{200b}b \u{1b}", shown), Sameness::Same);
        assert_eq!(told("a\u{200b}b \u{7}", shown), Sameness::Other);
        assert_eq!(told("a", r"fn evil() {} // \u{0}"), Sameness::Other);
        // A character that is shown as it is was not escaped.
        assert_eq!(told("A\u{0}", r"\u{41}\u{0}"), Sameness::Other);
        assert_eq!(told("\u{0}", r"\u{00}"), Sameness::Other);
    }

    #[test]
    fn of_many_escapes_those_of_one_character_are_told_together() {
        let literal = r"\u{200b}".repeat(100);
        let text = format!("\u{feff}{literal}");
        let shown = neutralise(&text, Slot::Text);
        assert_eq!(told(&text, &shown), Sameness::Same);
        let mixed = format!("\u{200b}{literal}");
        assert_eq!(
            told(&mixed, &neutralise(&mixed, Slot::Text)),
            Sameness::Unknown
        );
    }

    #[test]
    fn of_all_texts_of_a_receipt_a_bounded_number_of_bytes_is_hashed_again() {
        let bytes = 1 << 20;
        let escapes = Escapes::within(bytes);
        let text = |number: usize| r"\u{200b}".repeat(8) + &format!("{number:01000}");
        let size = text(0).len();
        // The combinations of a few texts take that many bytes.
        let whole =
            (0..1_000).filter(|it| escapes.compare(&text(*it), &hash("a")) == Sameness::Other);
        let whole = whole.count();
        assert!((2..8).contains(&whole), "{whole}");
        let spent = escapes.spent.get();
        assert!((bytes - 4 * size..=bytes).contains(&spent), "{spent}");
        // Known results cost nothing, and each text still has its first tries.
        assert_eq!(escapes.compare(&text(0), &hash("a")), Sameness::Other);
        assert_eq!(escapes.compare(&text(999), &hash("a")), Sameness::Unknown);
        let shown = text(1_000);
        let undone = shown.replace(r"\u{200b}", "\u{200b}");
        assert_eq!(escapes.compare(&shown, &hash(&undone)), Sameness::Same);
        assert_eq!(escapes.spent.get(), spent);
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
                prop_assert_eq!(told(&text, &shown), Sameness::Same);
            }
            let longer = format!("{text}{other}");
            prop_assert_eq!(told(&longer, &shown), Sameness::Other);
        }
    }
}
