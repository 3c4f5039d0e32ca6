//! The unit every budget is measured in.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// A number of tokens, as one particular counter sees them.
///
/// Addition saturates, so that a budget never wraps round to a small number.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Tokens(u32);

impl Tokens {
    /// No tokens.
    pub const ZERO: Tokens = Tokens(0);
    /// The largest number that can be represented.
    pub const MAX: Tokens = Tokens(u32::MAX);

    /// `n` tokens.
    pub const fn new(n: u32) -> Self {
        Tokens(n)
    }

    /// `n` tokens, or [`Tokens::MAX`] when `n` is larger than that.
    pub fn saturating_from_u64(n: u64) -> Self {
        u32::try_from(n).map_or(Tokens::MAX, Tokens)
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// What remains after spending `cost`, or `None` when it does not fit.
    #[must_use]
    pub const fn checked_sub(self, cost: Tokens) -> Option<Tokens> {
        match self.0.checked_sub(cost.0) {
            Some(n) => Some(Tokens(n)),
            None => None,
        }
    }

    /// What remains after spending `cost`, or zero when it does not fit.
    #[must_use]
    pub const fn saturating_sub(self, cost: Tokens) -> Tokens {
        Tokens(self.0.saturating_sub(cost.0))
    }
}

impl Add for Tokens {
    type Output = Tokens;

    fn add(self, other: Tokens) -> Tokens {
        Tokens(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Tokens) {
        *self = *self + other;
    }
}

impl<'t> Sum<&'t Tokens> for Tokens {
    fn sum<I: Iterator<Item = &'t Tokens>>(numbers: I) -> Tokens {
        numbers.copied().sum()
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Tokens>>(numbers: I) -> Tokens {
        numbers.fold(Tokens::ZERO, Add::add)
    }
}

impl From<u32> for Tokens {
    fn from(n: u32) -> Self {
        Tokens(n)
    }
}

impl From<Tokens> for u64 {
    fn from(tokens: Tokens) -> u64 {
        u64::from(tokens.0)
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
