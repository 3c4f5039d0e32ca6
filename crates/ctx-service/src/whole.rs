//! Documents that a question asks for as a whole.

use ctx_model::{Chunk, Relevance};
use ctx_tokens::TokenCounter;

/// The approximate overhead of a chunk in the context, in tokens.
const AROUND: u32 = 16;
/// The worth of a part per token, as a share of that of the part before it.
const NEXT: f64 = 0.8;
/// The worth per token stops falling after this many parts, which is more than a budget has room
/// for.
const MOST: i32 = 100;
/// The most that any other chunk is worth per token, as a share of the last part's.
const OTHER: f64 = 0.1;

/// Scores the chunks that `is_of_one` selects, the parts of whole documents, so that they are
/// chosen from the start: proportional to length, and per token 0.8 of the part before. All other
/// chunks are limited to less than the last part, for the room that is left. The longest part
/// scores at most `best`. O(bytes of the chunks).
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
