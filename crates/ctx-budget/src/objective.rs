//! The value of a selection.

use crate::Problem;
use crate::number::Sum;

/// Computes the value of selections: relevance alone, or relevance blended with the weight of the
/// features that are shown. Monotone and submodular in the set of choices shown.
pub(crate) struct Objective<'p> {
    problem: &'p Problem,
    /// The weight of new information; 0 if no item has features.
    pub(crate) diversity: f64,
    /// The features of all items, item after item: those of an item by slot, and in one slot by
    /// descending weight.
    entries: Vec<FeatureEntry>,
    /// The features of item `i` are `starts[i]..starts[i + 1]` of `entries`.
    starts: Vec<usize>,
    distinct: usize,
}

/// A feature of an item, with its number among the distinct features.
#[derive(Clone, Copy)]
struct FeatureEntry {
    slot: u32,
    until: u32,
    weight: f64,
}

impl<'p> Objective<'p> {
    pub(crate) fn new(problem: &'p Problem, diversity: f64) -> Self {
        let mut objective = Objective {
            problem,
            diversity: 0.0,
            entries: Vec::new(),
            starts: vec![0],
            distinct: 0,
        };
        if diversity == 0.0 || problem.items.iter().all(|item| item.features.is_empty()) {
            return objective;
        }
        let features = || problem.items.iter().flat_map(|item| &item.features);
        let mut ids: Vec<u32> = features().map(|feature| feature.id).collect();
        ids.sort_unstable();
        ids.dedup();
        objective.diversity = diversity;
        objective.distinct = ids.len();
        for item in &problem.items {
            let start = objective.entries.len();
            objective
                .entries
                .extend(item.features.iter().map(|feature| {
                    let slot = ids.partition_point(|&id| id < feature.id);
                    FeatureEntry {
                        slot: u32::try_from(slot).expect("ids are 32 bits wide"),
                        until: feature.until,
                        weight: feature.weight,
                    }
                }));
            objective.entries[start..]
                .sort_by(|a, b| a.slot.cmp(&b.slot).then(b.weight.total_cmp(&a.weight)));
            objective.starts.push(objective.entries.len());
        }
        objective
    }

    /// Whether an item's value depends on what else is chosen.
    pub(crate) fn is_coverage(&self) -> bool {
        self.diversity > 0.0
    }

    /// The coverage of an empty selection: no weight in any slot.
    pub(crate) fn nothing_covered(&self) -> Vec<f64> {
        vec![0.0; self.distinct]
    }

    /// Marks the features that `choice` of `item` shows as covered.
    pub(crate) fn cover(&self, covered: &mut [f64], item: usize, choice: usize) {
        for (slot, weight) in self.shown(item, choice) {
            covered[slot] = covered[slot].max(weight);
        }
    }

    /// The value that `choice` of `item` adds to a selection that shows the item by `now` and
    /// covers `covered`.
    pub(crate) fn gain(
        &self,
        covered: &[f64],
        item: usize,
        now: Option<usize>,
        choice: usize,
    ) -> f64 {
        let value = |choice: usize| self.problem.items[item].choices[choice].value;
        let more = (value(choice) - now.map_or(0.0, value)).max(0.0);
        if !self.is_coverage() {
            return more;
        }
        let new: f64 = self
            .shown(item, choice)
            .map(|(slot, weight)| (weight - covered[slot]).max(0.0))
            .sum();
        (1.0 - self.diversity) * more + self.diversity * new
    }

    /// The value of a selection.
    pub(crate) fn value(&self, chosen: &[Option<usize>]) -> f64 {
        let mut relevance = Sum::default();
        let mut covered = self.nothing_covered();
        for (item, choice) in chosen.iter().enumerate() {
            let Some(choice) = *choice else { continue };
            relevance.add(self.problem.items[item].choices[choice].value);
            if self.is_coverage() {
                self.cover(&mut covered, item, choice);
            }
        }
        if !self.is_coverage() {
            return relevance.get();
        }
        let mut coverage = Sum::default();
        coverage.extend(covered);
        (1.0 - self.diversity) * relevance.get() + self.diversity * coverage.get()
    }

    /// The value that each item of a selection adds to those before it; 0 if it is left out.
    pub(crate) fn added(&self, chosen: &[Option<usize>]) -> Vec<f64> {
        let mut covered = self.nothing_covered();
        let add = |(item, choice): (usize, &Option<usize>)| {
            let Some(choice) = *choice else { return 0.0 };
            let value = self.problem.items[item].choices[choice].value;
            if !self.is_coverage() {
                return value;
            }
            let mut new = 0.0;
            for (slot, weight) in self.shown(item, choice) {
                new += (weight - covered[slot]).max(0.0);
                covered[slot] = covered[slot].max(weight);
            }
            (1.0 - self.diversity) * value + self.diversity * new
        };
        chosen.iter().enumerate().map(add).collect()
    }

    /// The slots and weights of the features that `choice` of `item` shows, each slot once.
    fn shown(&self, item: usize, choice: usize) -> impl Iterator<Item = (usize, f64)> {
        let mut last = None;
        self.entries[self.starts[item]..self.starts[item + 1]]
            .iter()
            .filter(move |entry| entry.until as usize >= choice)
            .filter(move |entry| last.replace(entry.slot) != Some(entry.slot))
            .map(|entry| (entry.slot as usize, entry.weight))
    }
}
