//! Greedy selection by marginal value per weight, for values that depend on the other chosen items.
//!
//! The objective is monotone and submodular, so the gain of a step only shrinks as more is chosen.
//! A queue of outdated gains is therefore a queue of upper bounds, and only its head needs to be
//! recomputed (Minoux 1978). For the same reason, for any selection S the best selection has at
//! most the value f(S) plus the relaxation of what each choice would add to S. The least of these,
//! over some selections S that the greedy passes through, is the bound.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::Problem;
use crate::bound::{self, Bound};
use crate::number::real;
use crate::objective::Objective;
use crate::prepared::Pins;
use crate::tally::Tally;
use crate::ticker::{Stop, Ticker};

/// Percentages of the capacity at which the bound is computed, besides the start and the end.
const STATIONS: [u64; 3] = [50, 80, 95];

/// The best step of an item, as of its last evaluation.
#[derive(Clone, Copy, Debug)]
struct Step {
    density: f64,
    item: usize,
    choice: usize,
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Step {}

impl PartialOrd for Step {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Step {
    /// The densest step is the greatest; of equals, the first item and its richest choice.
    fn cmp(&self, other: &Self) -> Ordering {
        (self.density.total_cmp(&other.density))
            .then(other.item.cmp(&self.item))
            .then(other.choice.cmp(&self.choice))
    }
}

/// A greedy run for one objective.
pub(crate) struct Greedy<'a, 'p> {
    problem: &'p Problem,
    objective: &'a Objective<'p>,
    pins: Pins,
    /// The capacity up to which bounds hold.
    loose: u64,
    /// The members of each group whose heading has a weight.
    members: Vec<Vec<usize>>,
    /// The lowest bound so far.
    pub(crate) bound: Option<Bound>,
}

impl<'a, 'p> Greedy<'a, 'p> {
    pub(crate) fn new(
        problem: &'p Problem,
        objective: &'a Objective<'p>,
        pins: Pins,
        loose: u64,
    ) -> Self {
        let mut members = vec![Vec::new(); problem.groups.len()];
        for (index, item) in problem.items.iter().enumerate() {
            if let Some(group) = item
                .group
                .filter(|&group| problem.groups[group as usize] > 0)
            {
                members[group as usize].push(index);
            }
        }
        Greedy {
            problem,
            objective,
            pins,
            loose,
            members,
            bound: None,
        }
    }

    /// Finds the greedy answer, or the most valuable single item with what the greedy adds to it,
    /// and computes bounds on the way. If it is stopped early, `tally` holds what was taken so far.
    pub(crate) fn run(
        &mut self,
        tally: &mut Tally<'p>,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stop> {
        let empty = tally.clone();
        let mut stations: Vec<u64> = STATIONS
            .iter()
            .rev()
            .map(|&percent| self.loose / 100 * percent)
            .collect();
        self.lower_bound(tally, ticker)?;
        self.climb(tally, &mut stations, ticker)?;
        self.lower_bound(tally, ticker)?;
        if let Some((item, choice)) = self.best_single(&empty) {
            let mut other = empty;
            other.take(item, choice);
            if self.value(&other) > self.value(tally) {
                *tally = other;
                self.climb(tally, &mut Vec::new(), ticker)?;
            }
        }
        Ok(())
    }

    /// Continues the greedy run from another answer, and keeps the result if it is better.
    pub(crate) fn improve_on(
        &mut self,
        mut other: Tally<'p>,
        tally: &mut Tally<'p>,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stop> {
        self.climb(&mut other, &mut Vec::new(), ticker)?;
        if self.value(&other) > self.value(tally) {
            *tally = other;
        }
        Ok(())
    }

    fn value(&self, tally: &Tally<'_>) -> f64 {
        self.objective.value(&tally.chosen)
    }

    fn covered(&self, tally: &Tally<'_>) -> Vec<f64> {
        let mut covered = self.objective.nothing_covered();
        for (item, choice) in tally.chosen.iter().enumerate() {
            if let Some(choice) = *choice {
                self.objective.cover(&mut covered, item, choice);
            }
        }
        covered
    }

    /// Takes the densest step that fits until none is left. O(features · log items) for each step
    /// that is evaluated.
    fn climb(
        &mut self,
        tally: &mut Tally<'p>,
        stations: &mut Vec<u64>,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stop> {
        let mut covered = self.covered(tally);
        let mut queue = BinaryHeap::with_capacity(tally.chosen.len());
        for item in 0..tally.chosen.len() {
            ticker.tick(1)?;
            queue.extend(self.best_step(tally, &covered, item));
        }
        while let Some(stale) = queue.pop() {
            ticker.tick(1)?;
            let Some(step) = self.best_step(tally, &covered, stale.item) else {
                continue;
            };
            if queue.peek().is_some_and(|next| step < *next) {
                queue.push(step);
                continue;
            }
            if stations
                .last()
                .is_some_and(|&station| tally.weight >= station)
            {
                stations.pop();
                self.lower_bound(tally, ticker)?;
            }
            let opens = !tally.is_open(step.item);
            tally.take(step.item, step.choice);
            self.objective.cover(&mut covered, step.item, step.choice);
            queue.extend(self.best_step(tally, &covered, step.item));
            if opens && let Some(group) = self.problem.items[step.item].group {
                // The members of this group have become cheaper: their densities in the queue are
                // too low.
                for &item in &self.members[group as usize] {
                    queue.extend(self.best_step(tally, &covered, item));
                }
            }
        }
        Ok(())
    }

    /// The densest step of an item that fits now and adds value.
    fn best_step(&self, tally: &Tally<'_>, covered: &[f64], item: usize) -> Option<Step> {
        let now = tally.chosen[item];
        let mut best: Option<Step> = None;
        // A choice before the present one shows at least as much; one after it cannot add anything.
        for choice in 0..now.unwrap_or(self.problem.items[item].choices.len()) {
            let gain =
                self.objective.gain(covered, item, now, choice) - self.loss(item, now, choice);
            let Some(weight) = tally.weight_with(item, choice).filter(|_| gain > 0.0) else {
                continue;
            };
            let step = Step {
                density: gain / real(weight.saturating_sub(tally.weight)),
                item,
                choice,
            };
            if best.is_none_or(|best| step > best) {
                best = Some(step);
            }
        }
        best
    }

    /// The relevance that is lost if a richer choice has less of it.
    fn loss(&self, item: usize, now: Option<usize>, choice: usize) -> f64 {
        let choices = &self.problem.items[item].choices;
        let before = now.map_or(0.0, |now| choices[now].value);
        (1.0 - self.objective.diversity) * (before - choices[choice].value).max(0.0)
    }

    fn best_single(&self, empty: &Tally<'_>) -> Option<(usize, usize)> {
        let covered = self.covered(empty);
        let mut best: Option<(f64, usize, usize)> = None;
        for (item, _) in empty.chosen.iter().enumerate().filter(|(_, c)| c.is_none()) {
            for choice in 0..self.problem.items[item].choices.len() {
                let gain = self.objective.gain(&covered, item, None, choice);
                let better = best.is_none_or(|(most, ..)| gain > most);
                if better && empty.weight_with(item, choice).is_some() {
                    best = Some((gain, item, choice));
                }
            }
        }
        best.map(|(_, item, choice)| (item, choice))
    }

    /// Computes the bound that the selection so far gives, and keeps it if it is lower.
    fn lower_bound(&mut self, tally: &Tally<'_>, ticker: &mut Ticker<'_>) -> Result<(), Stop> {
        let covered = self.covered(tally);
        let (objective, chosen) = (self.objective, &tally.chosen);
        let gain = |item: usize, choice| objective.gain(&covered, item, chosen[item], choice);
        let guess = self.value(tally) / real(self.loose.max(1));
        let mut found = bound::of_values(self.problem, self.loose, self.pins, gain, guess, ticker)?;
        // Covers the rounding of the sum, a few units in the last place.
        found.upper += self.value(tally) * (1.0 + 1e-12);
        if self.bound.is_none_or(|bound| found.upper < bound.upper) {
            self.bound = Some(found);
        }
        Ok(())
    }
}
