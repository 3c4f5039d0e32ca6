//! A cache of the counts of recent pieces.
//!
//! Text repeats itself: most pieces have occurred before. A small table of them stays closer in the
//! processor's caches than the vocabulary, and avoids merging. A piece of at most [`LONGEST`] bytes
//! is stored whole, so a hit is always correct.

use super::layout;

/// The longest piece that is cached, in bytes.
pub(super) const LONGEST: usize = 15;
const SLOTS: usize = 1 << 13;
const COUNT_SHIFT: u32 = 124;

/// A table of pieces and their counts, in which a new piece overwrites an old one.
#[derive(Debug)]
pub(super) struct Memo {
    slots: Box<[u128]>,
}

impl Default for Memo {
    fn default() -> Self {
        Memo {
            slots: vec![0; SLOTS].into_boxed_slice(),
        }
    }
}

/// The number that represents a piece in comparisons: its bytes and its length, 124 bits.
#[inline]
pub(super) fn key(window: u128, length: usize) -> u128 {
    window & ((1 << (8 * length)) - 1) | (length as u128) << 120
}

impl Memo {
    /// The cached count of the piece with this `key`; computed by `count` if it is not cached.
    #[inline]
    pub(super) fn get_or_count(&mut self, key: u128, count: impl FnOnce() -> u64) -> u64 {
        let at = (layout::hash_key(key) >> 32) as usize % SLOTS;
        let slot = self.slots[at];
        if slot & ((1 << COUNT_SHIFT) - 1) == key {
            return (slot >> COUNT_SHIFT) as u64;
        }
        let count = count();
        self.slots[at] = key | u128::from(count) << COUNT_SHIFT;
        count
    }
}
