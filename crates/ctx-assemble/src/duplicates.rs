//! Texts that say the same: the best of them is shown, the others are named.
//!
//! Two texts are near duplicates when the sets of their lines (trimmed, blank ones aside) have a
//! Jaccard similarity of at least [`ALIKE`]. Candidates are found by bottom-k sketches: two sets so
//! alike share one of their [`SKETCH`] smallest hashes unless a quarter of the smallest differ
//! (Broder, "On the resemblance and containment of documents", 1997); each candidate is then
//! compared line by line, so that a collision of hashes never drops a text.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use ctx_model::Chunk;
use rapidhash::RapidHashMap;

use crate::survey::{SKETCH, Survey, lines};
use crate::{AssembleError, Control};

/// The least similarity of near duplicates.
const ALIKE: f64 = 0.9;

/// How many texts one text is compared with at the most, so that many texts with one common line
/// take no more than linear time.
const COMPARISONS: usize = 16;

/// For each of `chunks`, the index of the one that stands for it, where it is a duplicate of
/// another. `chunks` come best first, each with the survey of its full text. Chunks of one path are
/// compared only where they have no lines: what stands twice in one file has two places. O(bytes)
/// of the texts that share a line; O(n) besides.
pub(crate) fn duplicates(
    chunks: &[&Chunk],
    surveys: &[Survey],
    control: &Control,
) -> Result<Vec<Option<usize>>, AssembleError> {
    let seen = Seen::new(surveys);
    let sets = LineSets::new(chunks);
    let mut found = vec![None; chunks.len()];
    let mut by_hash: RapidHashMap<u64, Vec<usize>> = RapidHashMap::default();
    for (index, (chunk, survey)) in chunks.iter().zip(surveys).enumerate() {
        control.check()?;
        let repeated = || survey.sketch.iter().filter(|&&hash| seen.twice(hash));
        let lists = repeated().filter_map(|hash| by_hash.get(hash));
        let near: BTreeSet<usize> = lists
            .flat_map(|indices| indices.iter().copied().take(COMPARISONS))
            .collect();
        let twin = near
            .into_iter()
            .find(|&other| sets.are_duplicates(other, index));
        // A pinned chunk is shown whatever else says the same.
        if let (Some(twin), false) = (twin, chunk.pinned) {
            found[index] = Some(twin);
            continue;
        }
        for &hash in repeated() {
            by_hash.entry(hash).or_default().push(index);
        }
    }
    Ok(found)
}

/// How often each hash was seen, or more often: most are seen once, and need not be looked up.
struct Seen {
    /// Counts up to two, each for all hashes that end alike.
    counts: Vec<u8>,
}

impl Seen {
    fn new(surveys: &[Survey]) -> Self {
        let slots = (4 * SKETCH * surveys.len()).next_power_of_two();
        let mut seen = Seen {
            counts: vec![0; slots],
        };
        for &hash in surveys.iter().flat_map(|survey| &survey.sketch) {
            let slot = seen.slot(hash);
            seen.counts[slot] = (seen.counts[slot] + 1).min(2);
        }
        seen
    }

    /// Whether several texts may share `hash`.
    fn twice(&self, hash: u64) -> bool {
        self.counts[self.slot(hash)] > 1
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "only the last bits are wanted"
    )]
    fn slot(&self, hash: u64) -> usize {
        hash as usize & (self.counts.len() - 1)
    }
}

/// The lines of each text that say something, trimmed: found when they are first asked for.
struct LineSets<'c> {
    chunks: &'c [&'c Chunk],
    /// Ascending, each once.
    lines: Vec<OnceCell<Vec<&'c [u8]>>>,
}

impl<'c> LineSets<'c> {
    fn new(chunks: &'c [&'c Chunk]) -> Self {
        LineSets {
            chunks,
            lines: vec![OnceCell::new(); chunks.len()],
        }
    }

    fn are_duplicates(&self, a: usize, b: usize) -> bool {
        let (left, right) = (self.chunks[a], self.chunks[b]);
        let two_places = left.path.is_some() && left.path == right.path && left.span != right.span;
        if two_places {
            return false;
        }
        left.full_text() == right.full_text() || similarity(self.of(a), self.of(b)) >= ALIKE
    }

    fn of(&self, index: usize) -> &[&'c [u8]] {
        self.lines[index].get_or_init(|| {
            let lines = lines(self.chunks[index].full_text()).map(<[u8]>::trim_ascii);
            let mut lines: Vec<&[u8]> = lines.filter(|line| !line.is_empty()).collect();
            lines.sort_unstable();
            lines.dedup();
            lines
        })
    }
}

/// The Jaccard similarity of two sets in ascending order.
fn similarity(left: &[&[u8]], right: &[&[u8]]) -> f64 {
    let (less, more) = (left.len().min(right.len()), left.len().max(right.len()));
    // Prose in one long line, or a handful, is the same or it is not. And no two sets are more alike than in size.
    if less < 2 * SKETCH || ratio(less, more) < ALIKE {
        return 0.0;
    }
    let (mut left, mut right, mut shared) = (left, right, 0);
    while let ([a, after_a @ ..], [b, after_b @ ..]) = (left, right) {
        let order = a.cmp(b);
        shared += usize::from(order.is_eq());
        if order.is_le() {
            left = after_a;
        }
        if order.is_ge() {
            right = after_b;
        }
    }
    ratio(shared, less + more - shared)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a text has fewer than 2^52 lines"
)]
fn ratio(part: usize, all: usize) -> f64 {
    part as f64 / all as f64
}
