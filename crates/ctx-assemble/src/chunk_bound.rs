//! A bound on the number of chunks that fit, whatever is chosen.

use std::cmp::Ordering;

use ctx_budget::{Item, Problem};

use crate::candidates::{Candidate, Candidates};

/// An upper bound on how many chunks any selection within a given weight can show: that of a
/// knapsack whose last item may be cut.
#[derive(Debug)]
pub(crate) struct ChunkBound {
    /// The running sums of weight and number of chunks over the candidates at their cheapest, in
    /// the order of chunks per weight, most first.
    sums: Vec<(u64, usize)>,
}

impl ChunkBound {
    /// Computes the sums. O(n log n) for n candidates.
    pub(crate) fn of(candidates: &Candidates<'_>, problem: &Problem) -> Self {
        let least = |(candidate, item): (&Candidate<'_>, &Item)| {
            let weights = item.choices.iter().map(|it| it.weight);
            let parts = candidate.unit.parts().len();
            (weights.min().unwrap_or_default(), parts)
        };
        let both = candidates.all.iter().zip(&problem.items);
        ChunkBound::summed(both.map(least).collect())
    }

    fn summed(mut sums: Vec<(u64, usize)>) -> Self {
        sums.sort_unstable_by(more_for_its_weight);
        let mut all = (0_u64, 0);
        for it in &mut sums {
            all = (all.0.saturating_add(it.0), all.1 + it.1);
            *it = all;
        }
        ChunkBound { sums }
    }

    /// How many chunks there are in all.
    pub(crate) fn all(&self) -> usize {
        self.sums.last().map_or(0, |it| it.1)
    }

    /// The most chunks that can be shown within `weight`. O(log n).
    pub(crate) fn most(&self, weight: u64) -> usize {
        let whole = self.sums.partition_point(|it| it.0 <= weight);
        let before = whole.checked_sub(1).map_or((0, 0), |it| self.sums[it]);
        let Some(next) = self.sums.get(whole) else {
            return before.1;
        };
        let parts = (next.1 - before.1) as u128;
        let share = parts * u128::from(weight - before.0) / u128::from(next.0 - before.0);
        before.1 + usize::try_from(share).unwrap_or(usize::MAX)
    }
}

fn more_for_its_weight(a: &(u64, usize), b: &(u64, usize)) -> Ordering {
    let (a_weight, b_weight) = (u128::from(a.0), u128::from(b.0));
    (a_weight * b.1 as u128).cmp(&(b_weight * a.1 as u128))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_choice_shows_more(
            items in prop::collection::vec((0_u64..9, 1_usize..4), 0..9),
            weight in 0_u64..40,
        ) {
            let chunk_bound = ChunkBound::summed(items.clone());
            let mut most = 0;
            for chosen in 0_u32..1 << items.len() {
                let chosen = items.iter().enumerate().filter(|(it, _)| chosen >> it & 1 == 1);
                let (taken, parts) = chosen.fold((0, 0), |sum, (_, it)| (sum.0 + it.0, sum.1 + it.1));
                if taken <= weight {
                    most = most.max(parts);
                }
            }
            prop_assert!(chunk_bound.most(weight) >= most);
            prop_assert_eq!(chunk_bound.most(u64::MAX), chunk_bound.all());
        }
    }
}
