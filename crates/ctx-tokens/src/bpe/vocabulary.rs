//! The ranks of byte sequences.

use super::layout::{self, NO_RANK, SHORT};

/// A table of tokens, read in place.
#[derive(Debug)]
pub(super) struct Vocabulary {
    short: &'static [[u8; 16]],
    long: &'static [[u8; 8]],
    bytes: &'static [u8],
    pairs: &'static [[u8; 4]],
}

impl Vocabulary {
    /// The vocabulary whose tables the build script wrote.
    pub(super) const fn new(
        short: &'static [u8],
        long: &'static [u8],
        bytes: &'static [u8],
        pairs: &'static [u8],
    ) -> Self {
        Vocabulary {
            short: short.as_chunks().0,
            long: long.as_chunks().0,
            bytes,
            pairs: pairs.as_chunks().0,
        }
    }

    /// The length in bytes of the longest token of either vocabulary.
    pub(super) const LONGEST: usize = 128;

    /// The rank of the token that `text[start..end]` is, or [`NO_RANK`].
    #[inline]
    pub(super) fn rank(&self, text: &[u8], start: usize, end: usize) -> u32 {
        match end - start {
            length @ ..=SHORT => self.short_rank(layout::key(window(text, start), length)),
            ..=Self::LONGEST => self.long_rank(&text[start..end]),
            _ => NO_RANK,
        }
    }

    /// The rank of the token of two bytes, or [`NO_RANK`].
    #[inline]
    pub(super) fn pair_rank(&self, first: u8, second: u8) -> u32 {
        u32::from_le_bytes(self.pairs[usize::from(first) << 8 | usize::from(second)])
    }

    /// The rank of the short token that `key` represents, or [`NO_RANK`].
    #[inline]
    pub(super) fn short_rank(&self, key: u128) -> u32 {
        let mut at = layout::home(layout::hash_key(key), self.short.len());
        // Half of the slots are empty, so the loop ends.
        loop {
            let slot = u128::from_le_bytes(self.short[at]);
            if let Some(rank) = layout::short_rank(slot, key) {
                return rank;
            }
            if slot == 0 {
                return NO_RANK;
            }
            at += 1;
            if at == self.short.len() {
                at = 0;
            }
        }
    }

    fn long_rank(&self, token: &[u8]) -> u32 {
        let mut at = layout::home(layout::hash_bytes(token), self.long.len());
        loop {
            let slot = u64::from_le_bytes(self.long[at]);
            if slot == 0 {
                return NO_RANK;
            }
            let (offset, length, rank) = layout::long_parts(slot);
            if length == token.len() && &self.bytes[offset..offset + length] == token {
                return rank;
            }
            at += 1;
            if at == self.long.len() {
                at = 0;
            }
        }
    }
}

/// The 16 bytes from `start`, padded with zeros at the end of the text.
#[inline]
pub(super) fn window(text: &[u8], start: usize) -> u128 {
    let rest = &text[start..];
    if let Some(bytes) = rest.first_chunk() {
        return u128::from_le_bytes(*bytes);
    }
    let mut padded = [0; 16];
    padded[..rest.len()].copy_from_slice(rest);
    u128::from_le_bytes(padded)
}
