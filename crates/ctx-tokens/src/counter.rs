//! The contract of a token counter, and when its counts may be added up.

use std::sync::Arc;

pub use ctx_model::Exactness;
use ctx_model::Tokens;

/// Measures text. Implementors write [`count`](TokenCounter::count); the rest has defaults.
///
/// A counter is deterministic: it returns the same count for the same text as long as it lives, on
/// every thread, because counts are cached and compared. It may report [`Exactness::Exact`] if for
/// any whole text it returns the number of tokens that the consumer's own tokenizer finds, and
/// [`Additivity::AtSafeJoints`] if its weights add up at safe joints. A context keeps its budget in
/// either case, because its final bytes are counted. `ctx_testkit::laws::token_counter` checks
/// whatever can be checked from outside.
///
/// A counter also *weighs* text: weights add up where counts do not. For example, at three quarters
/// of a word per token the count is rounded, while the number of words is not. At a safe joint the
/// weight of the whole is the sum of the weights of its parts, for every counter whose
/// [`additivity`](TokenCounter::additivity) is [`Additivity::AtSafeJoints`].
pub trait TokenCounter: Send + Sync {
    /// Counts the tokens of `text`, in time linear in its length.
    fn count(&self, text: &str) -> Tokens;

    /// Counts `text` if it needs at most `limit`. Override to stop early.
    fn count_up_to(&self, text: &str, limit: Tokens) -> Option<Tokens> {
        let n = self.count(text);
        (n <= limit).then_some(n)
    }

    /// Weighs `text`, in the counter's own unit.
    fn weigh(&self, text: &str) -> u64 {
        self.count(text).into()
    }

    /// Weighs `text` as [`weigh`](TokenCounter::weigh) does, for a text that is not expected to
    /// come again: a counter with a cache neither looks it up nor stores it.
    fn weigh_once(&self, text: &str) -> u64 {
        self.weigh(text)
    }

    /// The count of every text that weighs `weight`, in constant time. Override together with
    /// [`weigh`](TokenCounter::weigh): the weight alone must determine the count.
    fn count_of(&self, weight: u64) -> Tokens {
        Tokens::saturating_from_u64(weight)
    }

    /// The weights that fit in `limit` tokens.
    fn weight_bounds(&self, limit: Tokens) -> WeightBounds {
        WeightBounds {
            safe: limit.into(),
            loose: limit.into(),
        }
    }

    /// Where weights may be added up. By default nowhere.
    fn additivity(&self) -> Additivity {
        Additivity::Never
    }

    /// How a count relates to what the consumer's tokenizer will find.
    fn exactness(&self) -> Exactness {
        Exactness::Estimate
    }

    /// Its name in receipts, such as `o200k_base`, which [`Counters`](crate::Counters) also look it
    /// up by. It stays the same for as long as the counter lives.
    #[expect(
        clippy::unnecessary_literal_bound,
        reason = "the default is a literal, an implementor's name need not be"
    )]
    fn name(&self) -> &str {
        "custom"
    }
}

/// The weights that fit in a number of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightBounds {
    /// Every text of at most this weight fits.
    pub safe: u64,
    /// Every text that fits has at most this weight.
    pub loose: u64,
}

/// Where the weight of the whole is the sum of the weights of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Additivity {
    /// At every safe joint.
    AtSafeJoints,
    /// Nowhere: sums are guesses, and the whole must be counted.
    Never,
}

macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<C: TokenCounter + ?Sized> TokenCounter for $pointer {
            fn count(&self, text: &str) -> Tokens {
                (**self).count(text)
            }

            fn count_up_to(&self, text: &str, limit: Tokens) -> Option<Tokens> {
                (**self).count_up_to(text, limit)
            }

            fn weigh(&self, text: &str) -> u64 {
                (**self).weigh(text)
            }

            fn weigh_once(&self, text: &str) -> u64 {
                (**self).weigh_once(text)
            }

            fn count_of(&self, weight: u64) -> Tokens {
                (**self).count_of(weight)
            }

            fn weight_bounds(&self, limit: Tokens) -> WeightBounds {
                (**self).weight_bounds(limit)
            }

            fn additivity(&self) -> Additivity {
                (**self).additivity()
            }

            fn exactness(&self) -> Exactness {
                (**self).exactness()
            }

            fn name(&self) -> &str {
                (**self).name()
            }
        }
    )*};
}

forward!(&C, Box<C>, Arc<C>);
