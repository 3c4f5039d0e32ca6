//! The promises of `ctx-budget`, tested from outside.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
mod bounds;
mod caps;
mod density;
mod entry;
mod in_order;
mod optimal;
mod reservation;
mod stopping;

use ctx_budget::{Capacity, Choice, Item, Outcome, Poll, Problem, Settings, select};
use ctx_model::Selection;

/// A way to show something.
fn way(weight: u64, value: f64) -> Choice {
    Choice { weight, value }
}

/// Items with one choice each.
fn singles(capacity: u64, choices: &[(u64, f64)]) -> Problem {
    Problem {
        items: choices
            .iter()
            .map(|&(weight, value)| Item::new(vec![way(weight, value)]))
            .collect(),
        capacity: Capacity::exact(capacity),
        ..Problem::default()
    }
}

/// An answer to a problem that has one.
#[track_caller]
fn solve(problem: &Problem, policy: Selection) -> Outcome {
    select(problem, policy, &Settings::default(), &mut || {
        Poll::Continue
    })
    .unwrap()
}

/// The indexes of the items shown.
fn shown(outcome: &Outcome) -> Vec<usize> {
    let chosen = outcome.chosen.iter().enumerate();
    chosen
        .filter_map(|(item, choice)| choice.map(|_| item))
        .collect()
}
