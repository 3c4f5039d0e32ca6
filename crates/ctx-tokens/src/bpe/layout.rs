//! The layout of a vocabulary in memory. Shared with the build script, which writes it.
//!
//! There are three parts. *Short* tokens, of at most [`SHORT`] bytes, are slots of 16 bytes in an
//! open addressing table: bytes, length and rank in one number, so that one comparison decides.
//! *Long* tokens are slots of 8 bytes that point into a third part, which holds their bytes one
//! after another. Both tables are half full. The ranks of all pairs of bytes have a table of their
//! own, since every merge begins with pairs.

#![allow(
    clippy::cast_possible_truncation,
    reason = "numbers are taken apart by casts"
)]

/// The longest token, in bytes, that is stored in its slot.
pub(crate) const SHORT: usize = 13;
/// The rank of bytes that are not a token: higher than any other.
pub(crate) const NO_RANK: u32 = u32::MAX;

const LENGTH_SHIFT: u32 = 104;
/// The position of the rank of a short token, above its key.
pub(crate) const RANK_SHIFT: u32 = 108;
/// All bits but those of the rank.
const KEY_MASK: u128 = (1 << RANK_SHIFT) - 1;

/// The number that represents the first `length` bytes of `bytes`, at most 15, in comparisons.
#[inline]
pub(crate) fn key(bytes: u128, length: usize) -> u128 {
    (bytes & ((1 << (8 * length)) - 1)) | ((length as u128) << LENGTH_SHIFT)
}

/// The rank in `slot`, if its key is `key`.
#[inline]
pub(crate) fn short_rank(slot: u128, key: u128) -> Option<u32> {
    // A rank has 18 bits, and the slot has 20 bits above the key.
    (slot & KEY_MASK == key).then_some((slot >> RANK_SHIFT) as u32)
}

/// The offset of the bytes of a long token, their number, and its rank. The slot holds them in 32,
/// 8 and 24 bits, with the rank in the middle.
#[inline]
pub(crate) fn long_parts(slot: u64) -> (usize, usize, u32) {
    let offset = (slot >> 32) as usize;
    let length = (slot & 0xff) as usize;
    (offset, length, (slot >> 8) as u32 & 0xff_ffff)
}

/// The slot, out of `slots`, at which the search for a hash begins.
#[inline]
pub(crate) fn home(hash: u64, slots: usize) -> usize {
    (((hash >> 32) * slots as u64) >> 32) as usize
}

/// The hash of a short key.
#[inline]
pub(crate) fn hash_key(key: u128) -> u64 {
    fold(
        key as u64 ^ 0x9e37_79b9_7f4a_7c15,
        (key >> 64) as u64 ^ 0xd1b5_4a32_d192_ed03,
    )
}

/// The hash of a long token.
pub(crate) fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = fold(hash ^ u64::from_le_bytes(word), 0x9e37_79b9_7f4a_7c15);
    }
    hash
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}
