//! Writes one vocabulary as the tables of `src/bpe/layout.rs`.

use std::path::Path;

use bpe_openai::Tokenizer;

use crate::write;

#[path = "../src/bpe/layout.rs"]
#[allow(dead_code, reason = "the library uses all of it")]
mod layout;

/// Writes both vocabularies into `folder`.
pub(crate) fn write_all(folder: &Path) {
    write_one(folder, "cl100k_base", bpe_openai::cl100k_base());
    write_one(folder, "o200k_base", bpe_openai::o200k_base());
}

fn write_one(folder: &Path, name: &str, tokenizer: &Tokenizer) {
    let count = u32::try_from(tokenizer.bpe.num_tokens()).expect("ranks fit in 18 bits");
    let tokens: Vec<(u32, &[u8])> = (0..count)
        .map(|rank| (rank, tokenizer.bpe.token_bytes(rank)))
        .collect();
    let (short, long): (Vec<_>, Vec<_>) = tokens
        .iter()
        .partition(|(_, bytes)| bytes.len() <= layout::SHORT);
    write(folder, &format!("{name}.short.bin"), &short_table(&short));
    let (table, bytes) = long_table(&long);
    write(folder, &format!("{name}.long.bin"), &table);
    write(folder, &format!("{name}.bytes.bin"), &bytes);
    write(folder, &format!("{name}.pairs.bin"), &pair_table(&tokens));
}

fn short_table(tokens: &[(u32, &[u8])]) -> Vec<u8> {
    let mut slots = vec![0_u128; tokens.len() * 2];
    for &(rank, bytes) in tokens {
        let mut padded = [0; 16];
        padded[..bytes.len()].copy_from_slice(bytes);
        let key = layout::key(u128::from_le_bytes(padded), bytes.len());
        let at = free_slot(&slots, layout::hash_key(key));
        slots[at] = key | (u128::from(rank) << layout::RANK_SHIFT);
    }
    slots.into_iter().flat_map(u128::to_le_bytes).collect()
}

fn long_table(tokens: &[(u32, &[u8])]) -> (Vec<u8>, Vec<u8>) {
    let mut slots = vec![0_u64; tokens.len() * 2];
    let mut all = Vec::new();
    for &(rank, bytes) in tokens {
        let at = free_slot(&slots, layout::hash_bytes(bytes));
        slots[at] = ((all.len() as u64) << 32) | (u64::from(rank) << 8) | bytes.len() as u64;
        all.extend_from_slice(bytes);
    }
    (slots.into_iter().flat_map(u64::to_le_bytes).collect(), all)
}

fn free_slot<T: Default + PartialEq>(slots: &[T], hash: u64) -> usize {
    let home = layout::home(hash, slots.len());
    (home..slots.len())
        .chain(0..home)
        .find(|&at| slots[at] == T::default())
        .expect("the table is half full")
}

fn pair_table(tokens: &[(u32, &[u8])]) -> Vec<u8> {
    let mut ranks = vec![layout::NO_RANK; 0x1_0000];
    for &(rank, bytes) in tokens {
        if let &[first, second] = bytes {
            ranks[usize::from(first) << 8 | usize::from(second)] = rank;
        }
    }
    ranks.into_iter().flat_map(u32::to_le_bytes).collect()
}
