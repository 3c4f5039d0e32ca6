//! A partial answer that keeps within the budget at every step.

use crate::Problem;
use crate::prepared::{Pins, cheapest, within_cap};
use crate::ticker::{Stop, Ticker};

/// A selection of choices and its weight. It starts with every pinned item at its cheapest, and
/// never exceeds the capacity or the number of items.
#[derive(Clone)]
pub(crate) struct Tally<'p> {
    problem: &'p Problem,
    capacity: u64,
    max_items: usize,
    pub(crate) chosen: Vec<Option<usize>>,
    pub(crate) weight: u64,
    pub(crate) count: usize,
    open: Vec<bool>,
}

impl<'p> Tally<'p> {
    /// Selects the pinned items at their cheapest, and nothing else. The pins must fit.
    pub(crate) fn new(problem: &'p Problem, capacity: u64, pins: Pins) -> Self {
        let mut tally = Tally {
            problem,
            capacity,
            max_items: problem.max_items.unwrap_or(usize::MAX),
            chosen: vec![None; problem.items.len()],
            weight: pins.weight,
            count: pins.count,
            open: vec![false; problem.groups.len()],
        };
        for (index, item) in problem.items.iter().enumerate() {
            if item.pinned {
                tally.chosen[index] = cheapest(item);
                if let Some(group) = item.group {
                    tally.open[group as usize] = true;
                }
            }
        }
        tally
    }

    /// Takes over a selection that keeps within the capacity and the number of items.
    pub(crate) fn of(problem: &'p Problem, capacity: u64, chosen: Vec<Option<usize>>) -> Self {
        let mut open = vec![false; problem.groups.len()];
        for (item, _) in problem
            .items
            .iter()
            .zip(&chosen)
            .filter(|(_, c)| c.is_some())
        {
            if let Some(group) = item.group {
                open[group as usize] = true;
            }
        }
        Tally {
            problem,
            capacity,
            max_items: problem.max_items.unwrap_or(usize::MAX),
            weight: u64::try_from(weigh(problem, &chosen)).unwrap_or(u64::MAX),
            count: chosen.iter().flatten().count(),
            chosen,
            open,
        }
    }

    /// Whether there is a place for one more item.
    pub(crate) fn has_place(&self) -> bool {
        self.count < self.max_items
    }

    /// Whether the heading of this item's group is paid for, or it has none.
    pub(crate) fn is_open(&self, item: usize) -> bool {
        self.problem.items[item]
            .group
            .is_none_or(|group| self.open[group as usize])
    }

    /// The weight of the answer if `item` were shown by `choice` instead of its present way; `None`
    /// if that is not allowed.
    pub(crate) fn weight_with(&self, item: usize, choice: usize) -> Option<u64> {
        let now = &self.problem.items[item];
        if !self.is_allowed(item, choice) || (self.chosen[item].is_none() && !self.has_place()) {
            return None;
        }
        let given_up = self.chosen[item].map_or(0, |choice| now.choices[choice].weight);
        let heading = match now.group {
            Some(group) if !self.open[group as usize] => self.problem.groups[group as usize],
            _ => 0,
        };
        (self.weight - given_up)
            .checked_add(heading)?
            .checked_add(now.choices[choice].weight)
            .filter(|&weight| weight <= self.capacity)
    }

    /// Whether the item's cap allows this choice.
    fn is_allowed(&self, item: usize, choice: usize) -> bool {
        let item = &self.problem.items[item];
        within_cap(item, choice) || (item.pinned && cheapest(item) == Some(choice))
    }

    /// Shows `item` by `choice` if that is allowed; returns whether it was.
    pub(crate) fn take(&mut self, item: usize, choice: usize) -> bool {
        let Some(weight) = self.weight_with(item, choice) else {
            return false;
        };
        self.weight = weight;
        self.count += usize::from(self.chosen[item].is_none());
        self.chosen[item] = Some(choice);
        if let Some(group) = self.problem.items[item].group {
            self.open[group as usize] = true;
        }
        true
    }

    /// Shows `item` by the first of its choices that is allowed; returns whether one was.
    pub(crate) fn take_first(&mut self, item: usize) -> bool {
        (0..self.problem.items[item].choices.len()).any(|choice| self.take(item, choice))
    }

    /// Shows each selected item by the first of its choices that has a higher value and fits.
    pub(crate) fn raise(&mut self, ticker: &mut Ticker<'_>) -> Result<(), Stop> {
        for (index, item) in self.problem.items.iter().enumerate() {
            ticker.tick_on(1)?;
            if let Some(now) = self.chosen[index] {
                let is_richer =
                    |&choice: &usize| item.choices[choice].value > item.choices[now].value;
                let mut richer = (0..now).filter(is_richer);
                richer.any(|choice| self.take(index, choice));
            }
        }
        Ok(())
    }

    /// Adds, in the given order, every item that is not selected yet and still fits.
    pub(crate) fn fill(&mut self, ticker: &mut Ticker<'_>) -> Result<(), Stop> {
        for item in 0..self.chosen.len() {
            if !self.has_place() {
                break;
            }
            ticker.tick_on(1)?;
            if self.chosen[item].is_none() {
                self.take_first(item);
            }
        }
        Ok(())
    }
}

/// The weight of a selection, with the headings of its groups. Wide, so that a wrong answer is
/// detected instead of wrapped.
pub(crate) fn weigh(problem: &Problem, chosen: &[Option<usize>]) -> u128 {
    let mut open = vec![false; problem.groups.len()];
    let mut weight = 0;
    for (item, choice) in problem.items.iter().zip(chosen) {
        let Some(choice) = *choice else { continue };
        weight += u128::from(item.choices[choice].weight);
        if let Some(group) = item.group
            && !std::mem::replace(&mut open[group as usize], true)
        {
            weight += u128::from(problem.groups[group as usize]);
        }
    }
    weight
}
