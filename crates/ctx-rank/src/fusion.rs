//! Fuses several ranked lists into one.

/// The constant added to each rank, from Cormack, Clarke and Büttcher, "Reciprocal rank fusion
/// outperforms Condorcet and individual rank learning methods" (SIGIR 2009).
pub const RRF_K: f64 = 60.0;

/// A ranked list with its weight.
#[derive(Clone, Debug)]
pub struct List<I> {
    /// Its weight, finite and not below 0.
    pub weight: f64,
    /// Items and their scores, in any order. If an item occurs twice, the better score counts.
    pub items: Vec<(I, f64)>,
}

/// The result for one item. `C` is `[f64; N]` if the number of lists is known at compile time, else
/// `Vec<f64>`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fused<I, C = Vec<f64>> {
    /// The item.
    pub item: I,
    /// The sum of its contributions.
    pub score: f64,
    /// The contribution of each list, in the order of the lists.
    pub contributions: C,
}

/// Why lists cannot be fused. `Display` is a fragment that follows "failed to …".
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FusionError {
    /// A score or weight is NaN or infinite, or a weight is below 0.
    #[error("fuse list {list}: {value} is not a {what}")]
    NotANumber {
        /// The index of the list.
        list: usize,
        /// The invalid value.
        value: f64,
        /// `score` or `weight`.
        what: &'static str,
    },
    /// An item is a number, and not below the given number of items.
    #[error("fuse list {list}: item {item} is not one of {items}")]
    Unknown {
        /// The index of the list.
        list: usize,
        /// The invalid item.
        item: usize,
        /// The number of items.
        items: usize,
    },
    /// The constant to add to ranks is NaN, infinite or below 0.
    #[error("fuse by reciprocal ranks: {k} is not a number to add to ranks")]
    Constant {
        /// The invalid constant.
        k: f64,
    },
}

/// Reciprocal rank fusion: each list gives an item `weight / (k + rank)`, with ranks from 1 by
/// descending score, and ties by item. The result is ordered by descending score, then by item.
/// O(n log n).
///
/// # Errors
/// [`FusionError::NotANumber`] and [`FusionError::Constant`].
pub fn reciprocal_rank<I: Ord + Clone, const N: usize>(
    lists: &[List<I>; N],
    k: f64,
) -> Result<Vec<Fused<I, [f64; N]>>, FusionError> {
    by_rank(lists, k, || [0.0; N])
}

/// [`reciprocal_rank`] for any number of lists; without lists, the result is empty.
///
/// # Errors
/// Those of [`reciprocal_rank`].
pub fn reciprocal_rank_of<I: Ord + Clone>(
    lists: &[List<I>],
    k: f64,
) -> Result<Vec<Fused<I>>, FusionError> {
    by_rank(lists, k, || vec![0.0; lists.len()])
}

fn by_rank<I: Ord + Clone, C: AsMut<[f64]>>(
    lists: &[List<I>],
    k: f64,
    silence: impl Fn() -> C,
) -> Result<Vec<Fused<I, C>>, FusionError> {
    if !k.is_finite() || k < 0.0 {
        return Err(FusionError::Constant { k });
    }
    fuse(
        lists,
        |list| {
            let ranked = (1..).map(as_f64).zip(ranked(list));
            let voices = ranked.map(|(rank, (item, _))| (item, 1.0 / (k + rank)));
            voices.collect()
        },
        silence,
    )
}

/// The sum of `weight × normalised score`. Scores are normalised per list to 0..=1: divided by the
/// list's highest, taking 0 as the least possible score (the theoretical minimum of Bruch, Gai and
/// Ingber, "An analysis of fusion functions for hybrid retrieval", 2023). A list whose highest
/// score is 0 or less contributes nothing, and neither does a list to an item that it lacks. The
/// result is ordered by descending score, then by item. O(n log n).
///
/// # Errors
/// [`FusionError::NotANumber`].
pub fn convex<I: Ord + Clone, const N: usize>(
    lists: &[List<I>; N],
) -> Result<Vec<Fused<I, [f64; N]>>, FusionError> {
    fuse(lists, |list| shares(list).collect(), || [0.0; N])
}

/// [`convex`] for any number of lists; without lists, the result is empty.
///
/// # Errors
/// Those of [`convex`].
pub fn convex_of<I: Ord + Clone>(lists: &[List<I>]) -> Result<Vec<Fused<I>>, FusionError> {
    fuse(
        lists,
        |list| shares(list).collect(),
        || vec![0.0; lists.len()],
    )
}

/// The contributions of each list to each of `items` items as in [`convex`], where items are
/// numbers from 0: indexed by item, and not sorted by score. O(`items` + lengths of the lists).
///
/// # Errors
/// [`FusionError::NotANumber`] and [`FusionError::Unknown`].
pub fn convex_by_number<const N: usize>(
    lists: &[List<usize>; N],
    items: usize,
) -> Result<Vec<[f64; N]>, FusionError> {
    let mut contributions = vec![[0.0; N]; items];
    for (index, list) in lists.iter().enumerate() {
        check(index, list)?;
        for (&item, voice) in shares(list) {
            let unknown = FusionError::Unknown {
                list: index,
                item,
                items,
            };
            let of_item = contributions.get_mut(item).ok_or(unknown)?;
            hear(&mut of_item[index], list.weight * voice);
        }
    }
    Ok(contributions)
}

/// Each item with its score, normalised for [`convex`].
fn shares<I>(list: &List<I>) -> impl Iterator<Item = (&I, f64)> {
    let scores = list.items.iter().map(|it| it.1);
    let highest = scores.fold(0.0, f64::max);
    let share = move |score: f64| {
        if highest > 0.0 {
            (score / highest).max(0.0)
        } else {
            0.0
        }
    };
    let items = list.items.iter();
    items.map(move |(item, score)| (item, share(*score)))
}

/// Keeps the highest contribution of a list to an item.
fn hear(heard: &mut f64, voice: f64) {
    *heard = f64::max(*heard, voice);
}

/// Fuses lists: `voices` returns the contributions of a list before weighting, and `silence` an
/// item's contributions before any are known.
fn fuse<I: Ord + Clone, C: AsMut<[f64]>>(
    lists: &[List<I>],
    voices: impl Fn(&List<I>) -> Vec<(&I, f64)>,
    silence: impl Fn() -> C,
) -> Result<Vec<Fused<I, C>>, FusionError> {
    let mut said_of: Vec<(&I, usize, f64)> = Vec::new();
    for (index, list) in lists.iter().enumerate() {
        check(index, list)?;
        let voices = voices(list).into_iter();
        said_of.extend(voices.map(|(item, voice)| (item, index, list.weight * voice)));
    }
    said_of.sort_unstable_by(|a, b| a.0.cmp(b.0));
    let by_item = said_of.chunk_by(|a, b| a.0 == b.0);
    let fused = by_item.map(|of_item| {
        let mut contributions = silence();
        let heard = contributions.as_mut();
        for &(_, list, voice) in of_item {
            hear(&mut heard[list], voice);
        }
        let score = heard.iter().sum();
        Fused {
            item: of_item[0].0.clone(),
            score,
            contributions,
        }
    });
    let mut fused: Vec<Fused<I, C>> = fused.collect();
    fused.sort_unstable_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| a.item.cmp(&b.item))
    });
    Ok(fused)
}

fn check<I>(index: usize, list: &List<I>) -> Result<(), FusionError> {
    let wrong = |value, what| FusionError::NotANumber {
        list: index,
        value,
        what,
    };
    if !list.weight.is_finite() || list.weight < 0.0 {
        return Err(wrong(list.weight, "weight"));
    }
    match list.items.iter().find(|(_, score)| !score.is_finite()) {
        Some(&(_, score)) => Err(wrong(score, "score")),
        None => Ok(()),
    }
}

/// Each item once, the best first.
fn ranked<I: Ord>(list: &List<I>) -> Vec<(&I, f64)> {
    let mut items: Vec<(&I, f64)> = list
        .items
        .iter()
        // Turns -0 into 0.
        .map(|(item, score)| (item, *score + 0.0))
        .collect();
    items.sort_unstable_by(|a, b| a.0.cmp(b.0).then(b.1.total_cmp(&a.1)));
    items.dedup_by(|later, first| later.0 == first.0);
    items.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    items
}

#[expect(
    clippy::cast_precision_loss,
    reason = "there are fewer than 2^52 items"
)]
fn as_f64(rank: usize) -> f64 {
    rank as f64
}
