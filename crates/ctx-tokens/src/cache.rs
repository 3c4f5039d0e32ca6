//! A counter that caches counts by content.

use std::fmt;

use ctx_model::Tokens;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, UnitWeighter};

use crate::keys::TextKeys;
use crate::{Additivity, Exactness, TokenCounter, WeightBounds};

/// Wraps a counter and caches its counts. In all other respects it behaves as the wrapped counter.
///
/// The key of a text is its [`TextKeys`] hash, so that nobody can construct two texts that are
/// taken for each other. The cache holds at most the given number of counts (about 50 bytes each),
/// evicts the least used first, and is shared between threads. A hit costs one hash of the text,
/// less than a tenth of an exact count.
///
/// # Examples
/// ```
/// use ctx_tokens::{CachedCounter, Characters, TokenCounter};
///
/// let counter = CachedCounter::new(Characters, 10_000);
/// assert_eq!(counter.count("counted"), counter.count("counted"));
/// ```
pub struct CachedCounter<C> {
    inner: C,
    keys: TextKeys,
    known: Cache<u128, Known>,
}

/// The number of shards, each with its own lock. A thread that is descheduled while it holds a lock
/// then blocks only the users of one shard; with few locks, all others would wait.
const SHARES: usize = 64;

/// The cached facts of a text.
#[derive(Clone, Copy, Debug)]
enum Known {
    Count(Tokens),
    /// The weight, from which the count follows.
    Weight(u64),
}

impl<C: TokenCounter> CachedCounter<C> {
    /// Wraps `inner` and caches at most about `entries` of its counts.
    pub fn new(inner: C, entries: usize) -> Self {
        let entries = entries.max(1);
        let options = OptionsBuilder::new()
            .estimated_items_capacity(entries)
            .weight_capacity(entries as u64)
            // Fewer where there would be less than 32 counts in each.
            .shards(SHARES)
            .build()
            .expect("both capacities are given");
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        CachedCounter {
            inner,
            keys: TextKeys::default(),
            known: Cache::with_options(options, UnitWeighter, hasher, lifecycle),
        }
    }

    /// The wrapped counter.
    pub fn inner(&self) -> &C {
        &self.inner
    }

    /// How many counts are cached now.
    pub fn remembered(&self) -> usize {
        self.known.len()
    }

    fn known_count(&self, key: u128) -> Option<Tokens> {
        Some(match self.known.get(&key)? {
            Known::Count(tokens) => tokens,
            Known::Weight(weight) => self.inner.count_of(weight),
        })
    }
}

impl<C: TokenCounter> TokenCounter for CachedCounter<C> {
    fn count(&self, text: &str) -> Tokens {
        let key = self.keys.of(text);
        self.known_count(key).unwrap_or_else(|| {
            let tokens = self.inner.count(text);
            self.known.insert(key, Known::Count(tokens));
            tokens
        })
    }

    fn count_up_to(&self, text: &str, limit: Tokens) -> Option<Tokens> {
        let key = self.keys.of(text);
        if let Some(tokens) = self.known_count(key) {
            return (tokens <= limit).then_some(tokens);
        }
        let tokens = self.inner.count_up_to(text, limit)?;
        self.known.insert(key, Known::Count(tokens));
        Some(tokens)
    }

    fn weigh(&self, text: &str) -> u64 {
        let key = self.keys.of(text);
        if let Some(Known::Weight(weight)) = self.known.get(&key) {
            return weight;
        }
        let weight = self.inner.weigh(text);
        self.known.insert(key, Known::Weight(weight));
        weight
    }

    fn weigh_once(&self, text: &str) -> u64 {
        self.inner.weigh_once(text)
    }

    fn count_of(&self, weight: u64) -> Tokens {
        self.inner.count_of(weight)
    }

    fn weight_bounds(&self, limit: Tokens) -> WeightBounds {
        self.inner.weight_bounds(limit)
    }

    fn additivity(&self) -> Additivity {
        self.inner.additivity()
    }

    fn exactness(&self) -> Exactness {
        self.inner.exactness()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }
}

impl<C: TokenCounter> fmt::Debug for CachedCounter<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedCounter")
            .field("inner", &self.inner.name())
            .field("remembered", &self.remembered())
            .finish_non_exhaustive()
    }
}
