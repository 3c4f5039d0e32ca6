//! Documents that are all a question asks for.

use ctx_model::{Chunk, Relevance};
use ctx_tokens::TokenCounter;

/// What stands around a chunk needs some tokens, too.
const AROUND: u32 = 16;
/// A part is worth so much for its length, against the one before it.
const NEXT: f64 = 0.8;
/// Beyond so many parts that a budget has room for, none needs to be told from the next.
const MOST: i32 = 100;
/// What something else is worth for its length at most, against the last part.
const OTHER: f64 = 0.1;

/// Makes those of `chunks` that `is_of_one` says are parts of them worth what their length is, each less than the one before it
/// in its file, and all else less than the last of them: so as many are shown from the start as there is room for, and what is
/// left is for others. The longest is worth `best` at most. O(bytes of the chunks).
pub(crate) fn from_the_start(
    is_of_one: impl Fn(&Chunk) -> bool,
    best: Relevance,
    counter: &dyn TokenCounter,
    chunks: &mut [Chunk],
) {
    let mut parts: Vec<usize> = (0..chunks.len())
        .filter(|&at| is_of_one(&chunks[at]))
        .collect();
    if parts.is_empty() {
        return;
    }
    parts.sort_by_key(|&at| (&chunks[at].path, chunks[at].span));
    let length = |it: &Chunk| f64::from(counter.count(it.full_text()).get() + AROUND);
    let lengths: Vec<f64> = parts.iter().map(|&at| length(&chunks[at])).collect();
    let longest = lengths.iter().copied().fold(0.0, f64::max);
    let mut of_token = best.get() / longest;
    for ((rank, at), length) in (0..).zip(&parts).zip(lengths) {
        if (1..MOST).contains(&rank) {
            of_token *= NEXT;
        }
        chunks[*at].relevance = Relevance::new(of_token * length).unwrap_or(best);
    }
    let most = of_token * OTHER;
    parts.sort_unstable();
    for (at, chunk) in chunks.iter_mut().enumerate() {
        if parts.binary_search(&at).is_err() {
            let most = Relevance::new(most * length(chunk)).unwrap_or(best);
            chunk.relevance = chunk.relevance.min(most);
        }
    }
}
