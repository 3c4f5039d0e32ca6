//! The counts of the pieces met last.
//!
//! Text repeats itself: most pieces have been met before, and a small table of them lies nearer
//! than the vocabulary, and spares the merging. A piece of at most [`LONGEST`] bytes is held
//! whole, so that a hit is never a guess.

use super::layout;

/// The longest piece that is held.
pub(super) const LONGEST: usize = 15;
const SLOTS: usize = 1 << 13;
const COUNT_SHIFT: u32 = 124;

/// A table of pieces and their counts, in which a new piece takes the place of an old one.
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

/// The number that a piece is compared as: its bytes and its length, 124 bits.
#[inline]
pub(super) fn key(window: u128, length: usize) -> u128 {
    window & ((1 << (8 * length)) - 1) | (length as u128) << 120
}

impl Memo {
    /// The count of the piece that is compared as `key`, or what `count` makes it.
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
