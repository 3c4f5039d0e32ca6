//! Texts that say the same: the best of them is shown, the others are named.
//!
//! Two texts are near duplicates when the sets of their lines (trimmed, blank ones aside) have a
//! Jaccard similarity of at least [`ALIKE`]. Candidates are found by bottom-k sketches: two sets so
//! alike share one of their [`SKETCH`] smallest hashes unless a quarter of the smallest differ
//! (Broder, "On the resemblance and containment of documents", 1997); each candidate is then
//! compared line by line, so that a collision of hashes never drops a text.

use std::collections::{BTreeSet, HashMap};

use ctx_model::Chunk;

use crate::{AssembleError, Control, parallel};

/// The least similarity of near duplicates.
const ALIKE: f64 = 0.9;

/// How many of a text's smallest line hashes it is looked up by.
const SKETCH: usize = 4;

/// Texts with fewer bytes than this are not compared: two files may well begin alike, and a
/// duplicate this short costs no more than the line that would tell of it.
const TOO_SHORT: usize = 200;

/// How many texts one text is compared with at the most, so that many texts with one common line
/// take no more than linear time.
const COMPARISONS: usize = 16;

/// For each of `chunks`, the index of the one that stands for it, where it is a duplicate of
/// another. `chunks` come best first. Chunks of one path are compared only where they have no
/// lines: what stands twice in one file has two places. O(bytes).
pub(crate) fn duplicates(
    chunks: &[&Chunk],
    control: &Control,
) -> Result<Vec<Option<usize>>, AssembleError> {
    let bytes = chunks.iter().map(|chunk| chunk.full_text().len()).sum();
    let sketches = parallel::map(chunks, bytes, control, |chunk, _| {
        let text = chunk.full_text();
        Ok(if text.len() < TOO_SHORT {
            Vec::new()
        } else {
            sketch(text)
        })
    })?;
    let mut found = vec![None; chunks.len()];
    let mut by_hash: HashMap<u64, Vec<usize>> = HashMap::new();
    for (index, (chunk, sketch)) in chunks.iter().zip(&sketches).enumerate() {
        let lists = sketch.iter().filter_map(|hash| by_hash.get(hash));
        let near: BTreeSet<usize> = lists
            .flat_map(|indices| indices.iter().copied().take(COMPARISONS))
            .collect();
        let twin = near
            .into_iter()
            .find(|&other| are_duplicates(chunks[other], chunk));
        // A pinned chunk is shown whatever else says the same.
        if let (Some(twin), false) = (twin, chunk.pinned) {
            found[index] = Some(twin);
            control.check()?;
            continue;
        }
        for &hash in sketch {
            by_hash.entry(hash).or_default().push(index);
        }
    }
    Ok(found)
}

fn are_duplicates(a: &Chunk, b: &Chunk) -> bool {
    let two_places = a.path.is_some() && a.path == b.path && a.span != b.span;
    if two_places {
        return false;
    }
    let (left, right) = (a.full_text(), b.full_text());
    left == right || similarity(left, right) >= ALIKE
}

/// The Jaccard similarity of the sets of lines.
fn similarity(left: &str, right: &str) -> f64 {
    let (left, right): (BTreeSet<&str>, BTreeSet<&str>) =
        (lines(left).collect(), lines(right).collect());
    // Prose in one long line, or a handful, is the same or it is not.
    if left.len() < 2 * SKETCH || right.len() < 2 * SKETCH {
        return 0.0;
    }
    let shared = left.intersection(&right).count();
    let all = left.len() + right.len() - shared;
    #[expect(
        clippy::cast_precision_loss,
        reason = "a text has fewer than 2^52 lines"
    )]
    let similarity = shared as f64 / all as f64;
    similarity
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// The smallest hashes of the text's lines.
fn sketch(text: &str) -> Vec<u64> {
    let mut smallest: Vec<u64> = Vec::with_capacity(SKETCH + 1);
    for hash in lines(text).map(hash) {
        if let Err(place) = smallest.binary_search(&hash)
            && place < SKETCH
        {
            smallest.insert(place, hash);
            smallest.truncate(SKETCH);
        }
    }
    smallest
}

/// Eight bytes at a time, each folded in by a multiplication that keeps both halves: fixed for ever,
/// because which texts are compared must not change from one release to the next.
fn hash(line: &str) -> u64 {
    const KEY: u64 = 0x9e37_79b9_7f4a_7c15;
    let fold = |hash: u64, word: u64| {
        let product = u128::from(hash ^ word).wrapping_mul(u128::from(KEY));
        #[expect(clippy::cast_possible_truncation, reason = "both halves are kept")]
        let folded = (product as u64) ^ ((product >> 64) as u64);
        folded.wrapping_add(KEY)
    };
    let (words, rest) = line.as_bytes().as_chunks::<8>();
    let hash = words.iter().fold(line.len() as u64, |hash, word| {
        fold(hash, u64::from_le_bytes(*word))
    });
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    fold(fold(hash, u64::from_le_bytes(last)), KEY)
}
