//! A problem prepared for arithmetic: flat arrays of the ways that can be part of an answer.

use crate::number::{real, sum};
use crate::ticker::{Stop, Ticker};
use crate::{BudgetError, Item, Problem};

/// Stands for no way and for no group.
pub(crate) const NONE: u32 = u32::MAX;

/// A group whose heading has a weight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    /// The weight of its heading.
    pub(crate) heading: u64,
    /// Whether a pinned item opens it in every answer.
    pub(crate) forced: bool,
}

/// A problem, one of its capacities and one set of values.
///
/// A *way* is a choice that some answer within the capacity may take and that no other choice of
/// its item beats. The ways of an item stand together, in order of weight and so of value.
pub(crate) struct Prepared<'p> {
    pub(crate) problem: &'p Problem,
    pub(crate) capacity: u64,
    /// `None` if it cannot be exceeded.
    pub(crate) max_items: Option<usize>,
    pub(crate) groups: Vec<Group>,
    /// The group of each item; [`NONE`] if it has no heading to pay for.
    pub(crate) group: Vec<u32>,
    pub(crate) pinned: Vec<bool>,
    /// The ways of item `i` are `starts[i]..starts[i + 1]`.
    pub(crate) starts: Vec<u32>,
    pub(crate) weights: Vec<u64>,
    pub(crate) real_weights: Vec<f64>,
    pub(crate) values: Vec<f64>,
    /// The index of each way among its item's choices.
    pub(crate) choices: Vec<u32>,
    /// The weight of the pinned items at their cheapest, with the headings they open.
    pub(crate) pinned_weight: u64,
    /// The most the items can be worth together, at any weight.
    pub(crate) total_value: f64,
}

/// The weight and number of the pinned items, at their cheapest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pins {
    pub(crate) weight: u64,
    pub(crate) count: usize,
}

/// The cheapest choice; of several, the one with the most information.
pub(crate) fn cheapest(item: &Item) -> Option<usize> {
    (0..item.choices.len()).min_by_key(|&choice| item.choices[choice].weight)
}

/// Weighs the pinned items at their cheapest, with the headings they open.
///
/// # Errors
/// [`BudgetError::PinsTooLarge`] and [`BudgetError::TooManyPins`].
pub(crate) fn pins(problem: &Problem, capacity: u64) -> Result<Pins, BudgetError> {
    let mut opened = vec![false; problem.groups.len()];
    let (mut weight, mut count) = (0_u128, 0);
    for item in problem.items.iter().filter(|item| item.pinned) {
        let choice = cheapest(item).expect("a pinned item without choices is refused before");
        weight += u128::from(item.choices[choice].weight);
        count += 1;
        if let Some(group) = item.group
            && !std::mem::replace(&mut opened[group as usize], true)
        {
            weight += u128::from(problem.groups[group as usize]);
        }
    }
    if weight > u128::from(capacity) {
        return Err(BudgetError::PinsTooLarge {
            needed: u64::try_from(weight).unwrap_or(u64::MAX),
            available: capacity,
        });
    }
    match problem.max_items {
        Some(max_items) if count > max_items => Err(BudgetError::TooManyPins {
            pinned: count,
            max_items,
        }),
        _ => Ok(Pins {
            weight: u64::try_from(weight).expect("it is at most the capacity"),
            count,
        }),
    }
}

impl<'p> Prepared<'p> {
    /// Flattens `problem` for `capacity`; `value(item, choice)` is the value of a choice. The pins
    /// must fit. O(choices); a deadline does not stop it early.
    pub(crate) fn new(
        problem: &'p Problem,
        capacity: u64,
        pins: Pins,
        value: impl Fn(usize, usize) -> f64,
        ticker: &mut Ticker<'_>,
    ) -> Result<Self, Stop> {
        let items = problem.items.len();
        let ways = problem.items.iter().map(|item| item.choices.len()).sum();
        let mut prepared = Prepared {
            problem,
            capacity,
            max_items: problem.max_items.filter(|&max| max < items),
            groups: groups(problem),
            group: Vec::with_capacity(items),
            pinned: problem.items.iter().map(|item| item.pinned).collect(),
            starts: Vec::with_capacity(items + 1),
            weights: Vec::with_capacity(ways),
            real_weights: Vec::with_capacity(ways),
            values: Vec::with_capacity(ways),
            choices: Vec::with_capacity(ways),
            pinned_weight: pins.weight,
            total_value: 0.0,
        };
        prepared.starts.push(0);
        let mut sorted = Vec::new();
        let has_place = problem.max_items.is_none_or(|max| pins.count < max);
        for (index, item) in problem.items.iter().enumerate() {
            ticker.tick_on(1)?;
            let may_be_chosen = item.pinned || has_place;
            prepared.push(item, &mut sorted, may_be_chosen, |choice| {
                value(index, choice)
            });
        }
        prepared.total_value = sum((0..items).map(|item| prepared.best_value(item)));
        Ok(prepared)
    }

    /// Adds the ways of the next item: none if it cannot be chosen.
    fn push(
        &mut self,
        item: &Item,
        sorted: &mut Vec<u32>,
        may_be_chosen: bool,
        value: impl Fn(usize) -> f64,
    ) {
        let group = item
            .group
            .filter(|&group| self.problem.groups[group as usize] > 0)
            .unwrap_or(NONE);
        self.group.push(group);
        sorted.clear();
        if may_be_chosen {
            sorted.extend(0..u32::try_from(item.choices.len()).unwrap_or(NONE));
        }
        sorted.sort_by(|&a, &b| {
            let weight = |choice: u32| item.choices[choice as usize].weight;
            weight(a)
                .cmp(&weight(b))
                .then(value(b as usize).total_cmp(&value(a as usize)))
        });
        let mut best = -1.0;
        for &choice in sorted.iter() {
            let worth = value(choice as usize);
            if worth > best && self.may_take(item, choice as usize, group) {
                best = worth;
                let weight = item.choices[choice as usize].weight;
                self.weights.push(weight);
                self.real_weights.push(real(weight));
                self.values.push(worth);
                self.choices.push(choice);
            }
        }
        let end = u32::try_from(self.weights.len()).expect("an address space holds fewer ways");
        self.starts.push(end);
    }

    /// Whether some answer may hold this choice, as far as caps and capacity are concerned.
    fn may_take(&self, item: &Item, choice: usize, group: u32) -> bool {
        let weight = item.choices[choice].weight;
        let room = self.capacity - self.pinned_weight;
        if item.pinned {
            let least = cheapest(item).map_or(0, |choice| item.choices[choice].weight);
            return weight == least || (within_cap(item, choice) && weight - least <= room);
        }
        let heading = match group {
            NONE => 0,
            group if self.groups[group as usize].forced => 0,
            group => self.groups[group as usize].heading,
        };
        within_cap(item, choice) && weight.saturating_add(heading) <= room
    }

    pub(crate) fn len(&self) -> usize {
        self.group.len()
    }

    /// The ways of an item, in order of weight.
    pub(crate) fn ways(&self, item: usize) -> std::ops::Range<usize> {
        self.starts[item] as usize..self.starts[item + 1] as usize
    }

    fn best_value(&self, item: usize) -> f64 {
        let ways = self.ways(item);
        ways.last().map_or(0.0, |way| self.values[way])
    }

    /// Converts a selection of ways to a selection of choices.
    pub(crate) fn chosen(&self, ways: &[u32]) -> Vec<Option<usize>> {
        ways.iter()
            .map(|&way| (way != NONE).then(|| self.choices[way as usize] as usize))
            .collect()
    }
}

/// Whether a choice is within its item's cap.
pub(crate) fn within_cap(item: &Item, choice: usize) -> bool {
    item.cap
        .is_none_or(|cap| item.choices[choice].weight <= cap)
}

fn groups(problem: &Problem) -> Vec<Group> {
    let mut groups: Vec<Group> = problem
        .groups
        .iter()
        .map(|&heading| Group {
            heading,
            forced: false,
        })
        .collect();
    for item in problem.items.iter().filter(|item| item.pinned) {
        if let Some(group) = item.group {
            groups[group as usize].forced = true;
        }
    }
    groups
}
