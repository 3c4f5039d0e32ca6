//! Merges the bytes of one piece into tokens: the pair of the lowest rank first, of equals the
//! leftmost.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::layout::NO_RANK;
use super::vocabulary::Vocabulary;

/// Pieces of up to this many bytes are merged by scanning all pairs at each step.
const SMALL: usize = 48;
/// The number of bytes in a window; longer pieces are merged window by window.
const WINDOW: usize = 1024;
/// How many places are tried as the end of a window before it is enlarged.
const TRIES: usize = 16;

/// The number of tokens of `piece`, or `None` if there are more than `limit`.
pub(super) fn count(
    vocabulary: &Vocabulary,
    scratch: &mut Scratch,
    piece: &[u8],
    limit: u64,
) -> Option<u64> {
    let n = if piece.len() <= SMALL {
        count_small(vocabulary, piece)
    } else {
        count_in_windows(vocabulary, scratch, piece, limit, WINDOW)?
    };
    (n <= limit).then_some(n)
}

/// Merges without a heap, in O(length²): the fastest way for short pieces.
fn count_small(vocabulary: &Vocabulary, piece: &[u8]) -> u64 {
    // `starts[i]` is the start of part `i`, `ranks[i]` the rank of parts `i` and `i + 1` together.
    let mut starts = [0_u8; SMALL + 1];
    let mut ranks = [NO_RANK; SMALL + 1];
    let mut parts = piece.len();
    for (i, start) in starts.iter_mut().enumerate() {
        *start = u8::try_from(i).unwrap_or(u8::MAX);
    }
    for (rank, pair) in ranks.iter_mut().zip(piece.windows(2)) {
        *rank = vocabulary.pair_rank(pair[0], pair[1]);
    }
    while parts > 1 {
        let mut lowest = 0;
        for i in 1..parts - 1 {
            if ranks[i] < ranks[lowest] {
                lowest = i;
            }
        }
        if ranks[lowest] == NO_RANK {
            break;
        }
        starts.copy_within(lowest + 2..=parts, lowest + 1);
        ranks.copy_within(lowest + 1..parts, lowest);
        parts -= 1;
        let joined = |i: usize| {
            if i + 1 < parts {
                vocabulary.rank(piece, starts[i].into(), starts[i + 2].into())
            } else {
                NO_RANK
            }
        };
        ranks[lowest] = joined(lowest);
        if lowest > 0 {
            ranks[lowest - 1] = joined(lowest - 1);
        }
    }
    parts as u64
}

/// Merges in O(length × log window), with memory for one window.
///
/// A sequence of tokens is the result of merging exactly if, for every two neighbours, merging the
/// two gives the same two tokens (the property that linear-time encoders rest on; see the notes to
/// the `bpe` crate of github/rust-gems). So two windows that were merged alone may be joined
/// wherever the last token of one and the first of the other, merged together, stay the same.
fn count_in_windows(
    vocabulary: &Vocabulary,
    scratch: &mut Scratch,
    piece: &[u8],
    limit: u64,
    window: usize,
) -> Option<u64> {
    let mut window = window;
    let (mut start, mut counted) = (0, 0_u64);
    let mut ends = merge(vocabulary, scratch, &piece[..window.min(piece.len())]);
    while start + ends.last().copied().unwrap_or(0) < piece.len() {
        if counted > limit {
            return None;
        }
        let rest = &piece[start..];
        if let Some((kept, next_ends)) = next_window(vocabulary, scratch, rest, &ends, window) {
            counted += kept as u64;
            start += ends[kept - 1];
            ends = next_ends;
        } else {
            window *= 2;
            ends = merge(vocabulary, scratch, &rest[..window.min(rest.len())]);
        }
    }
    Some(counted + ends.len() as u64)
}

/// How many of the tokens that end at `ends` can be kept, and the token ends of the next window,
/// counted from its own beginning.
fn next_window(
    vocabulary: &Vocabulary,
    scratch: &mut Scratch,
    rest: &[u8],
    ends: &[usize],
    window: usize,
) -> Option<(usize, Vec<usize>)> {
    // The first places tried are at least the longest token away from the end of the window, so
    // that merging there has seen the bytes that follow.
    let settled = ends.last()?.saturating_sub(Vocabulary::LONGEST);
    let most = ends.partition_point(|&end| end <= settled);
    for kept in (1..=most).rev().take(TRIES) {
        let at = ends[kept - 1];
        let before = kept.checked_sub(2).map_or(0, |i| ends[i]);
        let stop = rest.len().min(at + window);
        let next = merge(vocabulary, scratch, &rest[at..stop]);
        let first = *next.first()?;
        if merge(vocabulary, scratch, &rest[before..at + first])
            == [at - before, at - before + first]
        {
            return Some((kept, next));
        }
    }
    None
}

/// Memory for merging, reused for every window.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Pairs by rank and place; outdated entries remain.
    heap: BinaryHeap<Reverse<u64>>,
    /// For each byte that begins a part: the rank of this part and the next together.
    ranks: Vec<u32>,
    /// For each byte that begins a part: where the next part begins.
    next: Vec<usize>,
    /// For each byte that begins a part: where the previous part begins; `usize::MAX` for the
    /// first.
    previous: Vec<usize>,
}

/// The ends of the tokens of `piece`. O(length × log length).
fn merge(vocabulary: &Vocabulary, scratch: &mut Scratch, piece: &[u8]) -> Vec<usize> {
    scratch.begin(vocabulary, piece);
    while let Some(Reverse(lowest)) = scratch.heap.pop() {
        let (rank, at) = (lowest >> 32, (lowest & 0xffff_ffff) as usize);
        // Skips an entry that was queued before a merge changed one of its parts.
        if u64::from(scratch.ranks[at]) == rank {
            scratch.join(vocabulary, piece, at);
        }
    }
    scratch.ends()
}

impl Scratch {
    /// Makes every byte a part, and queues every pair that is a token.
    fn begin(&mut self, vocabulary: &Vocabulary, piece: &[u8]) {
        let pairs = piece.windows(2);
        self.ranks.clear();
        self.ranks
            .extend(pairs.map(|pair| vocabulary.pair_rank(pair[0], pair[1])));
        self.ranks.push(NO_RANK);
        self.next.clear();
        self.next.extend(1..=piece.len());
        self.previous.clear();
        self.previous
            .extend((0..piece.len()).map(|at| at.wrapping_sub(1)));
        let mut queue = std::mem::take(&mut self.heap).into_vec();
        queue.clear();
        let ranked = self.ranks.iter().enumerate();
        queue.extend(
            ranked
                .filter(|&(_, &rank)| rank != NO_RANK)
                .map(|(at, &rank)| entry(rank, at)),
        );
        self.heap = BinaryHeap::from(queue);
    }

    /// Joins the part at `at` and the next one.
    fn join(&mut self, vocabulary: &Vocabulary, piece: &[u8], at: usize) {
        let gone = self.next[at];
        let after = self.next[gone];
        self.next[at] = after;
        self.ranks[gone] = NO_RANK;
        if let Some(previous) = self.previous.get_mut(after) {
            *previous = at;
        }
        self.rank_again(vocabulary, piece, at);
        if self.previous[at] < at {
            self.rank_again(vocabulary, piece, self.previous[at]);
        }
    }

    /// Looks up the rank of the part at `at` together with the next, and queues the pair.
    fn rank_again(&mut self, vocabulary: &Vocabulary, piece: &[u8], at: usize) {
        let rank = match self.next.get(self.next[at]) {
            Some(&end) => vocabulary.rank(piece, at, end),
            None => NO_RANK,
        };
        self.ranks[at] = rank;
        if rank != NO_RANK {
            self.heap.push(entry(rank, at));
        }
    }

    /// The ends of the parts.
    fn ends(&self) -> Vec<usize> {
        let first = self.next.first().copied();
        std::iter::successors(first, |&at| self.next.get(at).copied()).collect()
    }
}

fn entry(rank: u32, at: usize) -> Reverse<u64> {
    Reverse((u64::from(rank) << 32) | at as u64)
}

#[cfg(test)]
mod tests;
