//! The class of a character (letter, number, white space and so on) by Unicode 16.

pub(crate) use crate::class_bits::*;

#[cfg(test)]
mod tests;

static BLOCKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/class_blocks.bin"));
static BLOCK_OF: &[u8; 0x1100] = include_bytes!(concat!(env!("OUT_DIR"), "/class_block_of.bin"));

/// The class bits of the character of code point `code`.
#[inline]
pub(crate) fn of(code: u32) -> u8 {
    let block = BLOCK_OF.get((code >> 8) as usize).copied().unwrap_or(0);
    BLOCKS[usize::from(block) << 8 | (code & 0xff) as usize]
}
