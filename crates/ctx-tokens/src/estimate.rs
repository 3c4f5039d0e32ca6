//! Two estimators: by characters and by words.
//!
//! Both look at UTF-16 code units, as .NET does, so that they agree with other implementations of
//! the same formulas to the token. A character outside the basic plane is two surrogates, and a
//! surrogate is neither letter, digit nor white space.

use ctx_model::Tokens;

use crate::class::{self, DECIMAL, LETTER, LOWER, SPACE, TITLE, UPPER};
use crate::{Additivity, TokenCounter, WeightBounds};

/// About four characters per token: `ceil(units / 4) + floor(special / 3)`, where units are UTF-16
/// code units, and special units are neither letter, decimal digit nor white space.
///
/// A weight is a twelfth of a token, `3 × units + 4 × special`, and it determines the count: texts
/// of equal weight differ by 4 units against 3 special ones (or a multiple of that), which cost one
/// token each. O(length). Weights add up anywhere, not only at safe joints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Characters;

impl TokenCounter for Characters {
    fn count(&self, text: &str) -> Tokens {
        self.count_of(self.weigh(text))
    }

    fn weigh(&self, text: &str) -> u64 {
        text.chars().map(character_weight).sum()
    }

    fn count_of(&self, weight: u64) -> Tokens {
        // Every weight can be written with 0, 1 or 2 special units in exactly one way.
        let special = weight % 3;
        let units = weight.saturating_sub(4 * special) / 3;
        Tokens::saturating_from_u64(units.div_ceil(4))
    }

    /// Every weight can be written with 0, 1 or 2 special units, and then
    /// `count = ceil(units / 4)`: the lightest text of `limit + 1` tokens has `4 × limit + 1` units
    /// and no special one, the heaviest of `limit` tokens `4 × limit` units and 2 special ones.
    fn weight_bounds(&self, limit: Tokens) -> WeightBounds {
        let twelfths = 12 * u64::from(limit);
        if twelfths == 0 {
            return WeightBounds { safe: 0, loose: 0 };
        }
        WeightBounds {
            safe: twelfths + 2,
            loose: twelfths + 8,
        }
    }

    fn additivity(&self) -> Additivity {
        Additivity::AtSafeJoints
    }

    fn name(&self) -> &'static str {
        "characterBased"
    }
}

fn character_weight(character: char) -> u64 {
    let units = character.len_utf16() as u64;
    let plain = units == 1 && class::of(character.into()) & (LETTER | DECIMAL | SPACE) != 0;
    if plain { 3 * units } else { 7 * units }
}

/// About three quarters of a word per token: `ceil(words / 0.75)`. A stretch without white space is
/// a word; it counts as one more if it is longer than 10 UTF-16 code units, and as one more if it
/// has both upper and lower case.
///
/// A weight is the number of words, with these additions. O(length). Weights add up wherever one
/// side of the joint is white space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Words;

impl TokenCounter for Words {
    fn count(&self, text: &str) -> Tokens {
        self.count_of(self.weigh(text))
    }

    fn weigh(&self, text: &str) -> u64 {
        text.split_whitespace().map(word_weight).sum()
    }

    fn count_of(&self, weight: u64) -> Tokens {
        Tokens::saturating_from_u64(weight.saturating_mul(4).div_ceil(3))
    }

    fn weight_bounds(&self, limit: Tokens) -> WeightBounds {
        let words = u64::from(limit) * 3 / 4;
        WeightBounds {
            safe: words,
            loose: words,
        }
    }

    fn additivity(&self) -> Additivity {
        Additivity::AtSafeJoints
    }

    fn name(&self) -> &'static str {
        "wordBased"
    }
}

fn word_weight(word: &str) -> u64 {
    const LONG: usize = 10;

    let (mut units, mut upper, mut lower) = (0, false, false);
    for character in word.chars() {
        units += character.len_utf16();
        if character.len_utf16() == 1 {
            match class::of(character.into()) & (LETTER | UPPER | LOWER | TITLE) {
                c if c == LETTER | UPPER => upper = true,
                c if c == LETTER | LOWER => lower = true,
                _ => {}
            }
        }
    }
    1 + u64::from(units > LONG) + u64::from(upper && lower)
}
