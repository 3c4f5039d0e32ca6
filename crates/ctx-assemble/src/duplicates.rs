//! Finds duplicate texts: the best is shown, and the others refer to it.
//!
//! Two texts are duplicates if they have the same lines in the same order, besides blank lines and
//! white space at the ends of lines. They are near duplicates if the sets of their lines (trimmed,
//! without blank lines) have a Jaccard similarity of at least [`ALIKE`]. Candidates are found by
//! bottom-k sketches: two such sets share one of their [`SKETCH`] smallest hashes, unless a quarter
//! of the smallest differ (Broder, "On the resemblance and containment of documents", 1997). Each
//! candidate is then compared line by line, so that a hash collision never drops a text.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use ctx_model::{Chunk, OmittedReason};
use rapidhash::{RapidHashMap, RapidHashSet};

use crate::survey::{LINES, SKETCH, Survey, lines};
use crate::{AssembleError, Control};

/// The least similarity of near duplicates.
const ALIKE: f64 = 0.9;

/// The most texts that one text is compared with, so that many texts with a common line take linear
/// time.
const COMPARISONS: usize = 16;

/// For each of `chunks`, the index of the chunk that replaces it, if it is a duplicate, and whether
/// that is [`OmittedReason::DuplicateOf`] or [`OmittedReason::NearDuplicateOf`]. `chunks` are in
/// order of quality, best first, each with the survey of its full text. Chunks of one path are
/// compared only if they have the same lines or none, since equal text at two places of a file is
/// no duplicate. Chunks for which `stays` is true are never replaced. O(bytes) of the texts that
/// share a line, and O(n).
pub(crate) fn duplicates(
    chunks: &[&Chunk],
    surveys: &[Survey],
    stays: impl Fn(&Chunk) -> bool,
    control: &Control,
) -> Result<Vec<Option<(usize, OmittedReason)>>, AssembleError> {
    let seen = Seen::new(surveys, control)?;
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
        let mut twin = None;
        for other in near {
            if let Some(reason) = sets.duplicates(other, index, control)? {
                twin = Some((other, reason));
                break;
            }
        }
        if let (Some(twin), false) = (twin, stays(chunk)) {
            found[index] = Some(twin);
            continue;
        }
        for &hash in repeated() {
            by_hash.entry(hash).or_default().push(index);
        }
    }
    Ok(found)
}

/// Counts how often each hash occurs, up to two: most occur once and need no lookup.
struct Seen {
    /// Counts up to two, each shared by all hashes with the same low bits.
    counts: Vec<u8>,
}

impl Seen {
    fn new(surveys: &[Survey], control: &Control) -> Result<Self, AssembleError> {
        let slots = (4 * SKETCH * surveys.len()).next_power_of_two();
        let mut seen = Seen {
            counts: vec![0; slots],
        };
        for survey in surveys {
            control.check()?;
            for &hash in &survey.sketch {
                let slot = seen.slot(hash);
                seen.counts[slot] = (seen.counts[slot] + 1).min(2);
            }
        }
        Ok(seen)
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

/// The lines of a text that are not blank, trimmed.
type Lines<'c> = RapidHashSet<&'c [u8]>;

/// The line sets of the texts, each computed when it is first needed.
struct LineSets<'c> {
    chunks: &'c [&'c Chunk],
    lines: Vec<OnceCell<Lines<'c>>>,
}

impl<'c> LineSets<'c> {
    fn new(chunks: &'c [&'c Chunk]) -> Self {
        LineSets {
            chunks,
            lines: vec![OnceCell::new(); chunks.len()],
        }
    }

    /// How the texts of `a` and `b` are duplicates, if they are.
    fn duplicates(
        &self,
        a: usize,
        b: usize,
        control: &Control,
    ) -> Result<Option<OmittedReason>, AssembleError> {
        let (left, right) = (self.chunks[a], self.chunks[b]);
        let two_places = left.path.is_some() && left.path == right.path && left.span != right.span;
        if two_places {
            return Ok(None);
        }
        if have_same_lines(left.full_text(), right.full_text(), control)? {
            return Ok(Some(OmittedReason::DuplicateOf));
        }
        let similarity = similarity(self.of(a, control)?, self.of(b, control)?, control)?;
        Ok((similarity >= ALIKE).then_some(OmittedReason::NearDuplicateOf))
    }

    fn of(&self, index: usize, control: &Control) -> Result<&Lines<'c>, AssembleError> {
        if let Some(known) = self.lines[index].get() {
            return Ok(known);
        }
        let mut found = Lines::default();
        for (number, line) in lines(self.chunks[index].full_text()).enumerate() {
            if number.is_multiple_of(LINES) {
                control.check()?;
            }
            let line = line.trim_ascii();
            if !line.is_empty() {
                found.insert(line);
            }
        }
        Ok(self.lines[index].get_or_init(|| found))
    }
}

/// Whether two texts have the same lines in the same order, besides blank lines and white space at
/// the ends of lines.
fn have_same_lines(left: &str, right: &str, control: &Control) -> Result<bool, AssembleError> {
    let of = |text| {
        lines(text)
            .map(<[u8]>::trim_ascii_end)
            .filter(|it| !it.is_empty())
    };
    let (mut left, mut right) = (of(left), of(right));
    for number in 0_usize.. {
        if number.is_multiple_of(LINES) {
            control.check()?;
        }
        match (left.next(), right.next()) {
            (None, None) => break,
            (one, other) if one != other => return Ok(false),
            _ => {}
        }
    }
    Ok(true)
}

/// The Jaccard similarity of two sets.
fn similarity(
    left: &Lines<'_>,
    right: &Lines<'_>,
    control: &Control,
) -> Result<f64, AssembleError> {
    let (less, more) = if left.len() <= right.len() {
        (left, right)
    } else {
        (right, left)
    };
    // Texts of few lines, such as prose on one long line, are only duplicates if they are equal.
    // And the similarity of two sets is at most the ratio of their sizes.
    if less.len() < 2 * SKETCH || ratio(less.len(), more.len()) < ALIKE {
        return Ok(0.0);
    }
    let mut shared = 0;
    for (number, line) in less.iter().enumerate() {
        if number.is_multiple_of(LINES) {
            control.check()?;
        }
        shared += usize::from(more.contains(line));
    }
    Ok(ratio(shared, less.len() + more.len() - shared))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a text has fewer than 2^52 lines"
)]
fn ratio(part: usize, all: usize) -> f64 {
    part as f64 / all as f64
}

#[cfg(test)]
mod tests {
    use ctx_model::Relevance;

    use super::*;
    use crate::Cancel;

    #[test]
    fn a_cancel_is_seen_while_two_texts_are_compared() {
        let lines = |range: std::ops::Range<u32>| -> String {
            let lines: Vec<String> = range.map(|n| n.to_string()).collect();
            lines.join("\n")
        };
        let texts = [lines(0..10_000), lines(1..10_001)];
        let chunks = texts.map(|it| Chunk::new(it.len().to_string(), it, Relevance::ONE));
        let chunks: Vec<&Chunk> = chunks.iter().collect();
        let control = Control::default();
        let sets = LineSets::new(&chunks);
        let found = sets.duplicates(0, 1, &control);
        let near = Some(OmittedReason::NearDuplicateOf);
        assert_eq!(found.expect("nobody cancels it"), near);

        let cancel = Cancel::new();
        cancel.cancel();
        let control = control.with_cancel(cancel);
        let known = |index: usize| sets.lines[index].get().expect("it was compared");
        let compared = similarity(known(0), known(1), &control);
        assert!(matches!(compared, Err(AssembleError::Cancelled)));
        let found = LineSets::new(&chunks).duplicates(0, 1, &control);
        assert!(matches!(found, Err(AssembleError::Cancelled)));
    }
}
