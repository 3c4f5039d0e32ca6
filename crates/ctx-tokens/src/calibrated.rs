//! Closed models: the exact count of another encoding, times a factor.

use ctx_model::Tokens;

use crate::{Additivity, TokenCounter, WeightBounds};

/// Estimates a closed model's tokens as those of an open encoding times a factor, rounded up.
///
/// A weight is a weight of the encoding, at the same cost.
#[derive(Clone, Debug)]
pub struct Calibrated<C> {
    base: C,
    name: String,
    source: &'static str,
    // Invariant: both at least 1.
    numerator: u64,
    denominator: u64,
}

impl<C: TokenCounter> Calibrated<C> {
    /// The tokens of `base` times `numerator / denominator`, under the name `name`. A zero is
    /// replaced by 1. `source` states where the factor comes from.
    pub fn new(
        base: C,
        name: impl Into<String>,
        (numerator, denominator): (u32, u32),
        source: &'static str,
    ) -> Self {
        Calibrated {
            base,
            name: name.into(),
            source,
            numerator: u64::from(numerator.max(1)),
            denominator: u64::from(denominator.max(1)),
        }
    }

    /// Where the factor comes from, in words.
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// The most tokens of the base that fit in `limit` of the model.
    fn base_limit(&self, limit: Tokens) -> Tokens {
        Tokens::saturating_from_u64(u64::from(limit) * self.denominator / self.numerator)
    }

    fn scale(&self, base: Tokens) -> Tokens {
        let scaled = (u64::from(base) * self.numerator).div_ceil(self.denominator);
        Tokens::saturating_from_u64(scaled)
    }
}

impl<C: TokenCounter> TokenCounter for Calibrated<C> {
    fn count(&self, text: &str) -> Tokens {
        self.scale(self.base.count(text))
    }

    fn count_up_to(&self, text: &str, limit: Tokens) -> Option<Tokens> {
        self.base
            .count_up_to(text, self.base_limit(limit))
            .map(|n| self.scale(n))
    }

    fn weigh(&self, text: &str) -> u64 {
        self.base.weigh(text)
    }

    fn weigh_once(&self, text: &str) -> u64 {
        self.base.weigh_once(text)
    }

    fn count_of(&self, weight: u64) -> Tokens {
        self.scale(self.base.count_of(weight))
    }

    fn weight_bounds(&self, limit: Tokens) -> WeightBounds {
        self.base.weight_bounds(self.base_limit(limit))
    }

    fn additivity(&self) -> Additivity {
        self.base.additivity()
    }

    fn name(&self) -> &str {
        &self.name
    }
}
