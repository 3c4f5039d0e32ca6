//! The budget at which an omitted item would be included.

use ctx_model::Selection;

use crate::select::choose;
use crate::{BudgetError, Capacity, Poll, Problem, Settings};

/// The number of bisection steps once a capacity is found.
const NARROWING: u32 = 12;

/// A capacity, in the unit of `safe`, at which `item` would be chosen, all else being equal. `None`
/// if no capacity lets it in, because there are enough items already, its value does not deserve a
/// place, or its cap leaves it no choice.
///
/// The answer is verified, not estimated: the policy was run at that capacity and chose the item.
/// It is near the smallest such capacity above the present one. A policy may let an item in,
/// replace it by a better one at a larger capacity, and let it in again, so only "near" is
/// guaranteed. Caps and headings are taken as given: if they depend on the budget, run the whole
/// again. Up to about thirty runs of the policy.
///
/// # Errors
/// Those of [`select`](crate::select), and [`BudgetError::Invalid`] if `problem` has no such item.
/// If the caller runs out of time ([`Poll::Finish`]), it gets what was verified so far.
pub fn entry_capacity(
    problem: &Problem,
    policy: Selection,
    settings: &Settings,
    item: usize,
    poll: &mut dyn FnMut() -> Poll,
) -> Result<Option<u64>, BudgetError> {
    let Some(wanted) = problem.items.get(item) else {
        return Err(BudgetError::Invalid {
            item,
            what: "it does not exist",
        });
    };
    let mut probe = Probe {
        problem: problem.clone(),
        policy,
        settings,
        item,
        late: false,
        poll,
    };
    let least = wanted.choices.iter().map(|choice| choice.weight).min();
    let Some(least) = least else { return Ok(None) };
    let heading = wanted
        .group
        .and_then(|group| problem.groups.get(group as usize));
    let present = problem.capacity.safe;
    let all = everything(problem);
    if all <= present {
        return Ok(None);
    }
    let mut low = present;
    // The first step is the least weight of the item with its heading. Steps double, up to a
    // capacity that holds everything.
    let mut step = least.saturating_add(heading.copied().unwrap_or(0)).max(1);
    loop {
        let at = low.saturating_add(step).min(all);
        if probe.lets_in(at)? {
            return probe.narrow(low, at).map(Some);
        }
        if at >= all || probe.late {
            return Ok(None);
        }
        low = at;
        step = step.saturating_mul(2);
    }
}

/// The weight of every item at its heaviest, with every heading: a larger capacity makes no
/// difference.
fn everything(problem: &Problem) -> u64 {
    let items = problem.items.iter().map(|item| {
        item.choices
            .iter()
            .map(|choice| choice.weight)
            .max()
            .unwrap_or(0)
    });
    items
        .chain(problem.groups.iter().copied())
        .fold(0, u64::saturating_add)
}

/// Runs the policy at other capacities.
struct Probe<'a> {
    problem: Problem,
    policy: Selection,
    settings: &'a Settings,
    item: usize,
    /// Whether the caller has run out of time.
    late: bool,
    poll: &'a mut dyn FnMut() -> Poll,
}

impl Probe<'_> {
    fn lets_in(&mut self, capacity: u64) -> Result<bool, BudgetError> {
        self.problem.capacity = Capacity::exact(capacity);
        let (chosen, finished) = choose(&self.problem, self.policy, self.settings, self.poll)?;
        self.late |= !finished;
        Ok(finished && chosen[self.item].is_some())
    }

    /// The smallest capacity found in `low..=high` that lets the item in; `high` is known to do so.
    fn narrow(&mut self, mut low: u64, mut high: u64) -> Result<u64, BudgetError> {
        for _ in 0..NARROWING {
            let middle = low + (high - low) / 2;
            if middle == low || self.late {
                break;
            }
            if self.lets_in(middle)? {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(high)
    }
}
