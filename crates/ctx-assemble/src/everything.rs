//! Contexts that leave nothing out, and so need no notice.

use ctx_budget::{Capacity, Item, Outcome, Problem};
use smallvec::SmallVec;

use crate::candidates::Candidate;
use crate::plan::Plan;

/// The problem of showing every item with all of its parts.
pub(crate) struct Everything<'p> {
    problem: &'p Problem,
    /// For each item, the indices of the choices that show all of its parts; at least one each.
    choices: Vec<SmallVec<[usize; 4]>>,
}

impl<'p> Everything<'p> {
    /// `None` if something is left out whatever is chosen, and if there are no items. O(choices).
    pub(crate) fn of(plan: &'p Plan<'_, '_>) -> Option<Self> {
        let problem = &plan.problem;
        let count = problem.items.len();
        if plan.screened.leaves_out()
            || count == 0
            || problem.max_items.is_some_and(|most| most < count)
        {
            return None;
        }
        let items = problem.items.iter().zip(&plan.candidates.all);
        let choices = items.map(|(item, candidate)| {
            // A pinned item may always be shown at its cheapest.
            let cap = item.cap.filter(|_| !item.pinned).unwrap_or(u64::MAX);
            let mut choices = whole(candidate);
            // An item whose claim is granted has fewer choices.
            choices.retain(|choice| item.choices.get(*choice).is_some_and(|it| it.weight <= cap));
            (!choices.is_empty()).then_some(choices)
        });
        let choices = choices.collect::<Option<_>>()?;
        Some(Everything { problem, choices })
    }

    fn items(&self) -> impl Iterator<Item = (&'p Item, &SmallVec<[usize; 4]>)> {
        self.problem.items.iter().zip(&self.choices)
    }

    /// The weight of all items at their cheapest, with all headings.
    pub(crate) fn weight(&self) -> u64 {
        let cheapest = |(item, choices): (&Item, &SmallVec<[usize; 4]>)| {
            let weights = choices.iter().map(|&it| item.choices[it].weight);
            weights.min().unwrap_or_default()
        };
        let weights = self.items().map(cheapest);
        let headings = self.problem.groups.iter().copied();
        weights.chain(headings).fold(0, u64::saturating_add)
    }

    /// An upper bound on the value of such contexts within `capacity`, if the values of items add
    /// up: the Lagrangian bound at the price `lambda` per unit of weight. O(choices).
    #[expect(clippy::cast_precision_loss, reason = "a weight fits a budget")]
    pub(crate) fn bound(&self, capacity: &Capacity, lambda: f64) -> f64 {
        let surplus = |(item, choices): (&Item, &SmallVec<[usize; 4]>)| {
            let choices = choices.iter().map(|&it| item.choices[it]);
            let surplus = choices.map(|it| it.value - lambda * it.weight as f64);
            surplus.fold(f64::NEG_INFINITY, f64::max)
        };
        let headings: f64 = self.problem.groups.iter().map(|it| *it as f64).sum();
        let left = capacity.loose as f64 - headings;
        lambda * left + self.items().map(surplus).sum::<f64>()
    }

    /// The problem with every item pinned, with these choices only, and with `capacity`.
    pub(crate) fn problem(&self, capacity: Capacity) -> Problem {
        let mut problem = self.problem.clone();
        problem.capacity = capacity;
        for (item, choices) in problem.items.iter_mut().zip(&self.choices) {
            item.pinned = true;
            item.choices = choices.iter().map(|&it| item.choices[it]).collect();
            item.features.retain_mut(|feature| {
                let shows = |choice: &&usize| **choice <= feature.until as usize;
                let still = choices.iter().take_while(shows).count();
                feature.until = u32::try_from(still.saturating_sub(1)).unwrap_or(u32::MAX);
                still > 0
            });
        }
        problem
    }

    /// The problem with every item pinned in full, at its largest value, and with no bound on the
    /// weight.
    pub(crate) fn fullest(&self) -> Problem {
        let mut problem = self.problem(Capacity {
            safe: u64::MAX,
            loose: u64::MAX,
        });
        for item in &mut problem.items {
            let values = item.choices.iter().map(|it| it.value);
            let most = values.fold(f64::NEG_INFINITY, f64::max);
            item.choices.truncate(1);
            item.choices[0].value = most;
        }
        problem
    }

    /// Translates an outcome of that problem to the indices of all choices.
    pub(crate) fn of_all(&self, mut outcome: Outcome) -> Outcome {
        for (chosen, choices) in outcome.chosen.iter_mut().zip(&self.choices) {
            *chosen = chosen.map(|it| choices[it]);
        }
        outcome
    }
}

/// The choices that show all parts of `candidate`. The full one always does.
fn whole(candidate: &Candidate<'_>) -> SmallVec<[usize; 4]> {
    let parts = candidate.unit.parts().len();
    let variants = candidate.variants.iter().enumerate();
    let whole = variants.filter(|(_, variant)| variant.part_count() == parts);
    whole.map(|(choice, _)| choice).collect()
}
