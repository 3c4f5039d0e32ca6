//! What a search with little effort still proves.

use proptest::prelude::*;

use super::*;
use crate::{Capacity, Choice, Item, Poll};

fn item(weight: u64, value: f64, group: u32) -> Item {
    Item {
        group: Some(group),
        ..Item::new(vec![Choice { weight, value }])
    }
}

fn problem(items: Vec<Item>, groups: Vec<u64>, capacity: u64) -> Problem {
    Problem {
        items,
        groups,
        capacity: Capacity::exact(capacity),
        max_items: None,
    }
}

fn solved(problem: &Problem, effort: Effort) -> Solved {
    let mut go_on = || Poll::Continue;
    let mut ticker = Ticker::new(&mut go_on);
    solve_once(problem, problem.capacity.safe, effort, &mut ticker).unwrap()
}

/// The states that a search made.
fn made(problem: &Problem, solved: &Solved) -> usize {
    solved.work - 20 * problem.items.len()
}

#[test]
fn the_effort_holds_within_a_group() {
    // All items have one density: at that price nothing is settled, pruned or dominated.
    let weights: Vec<u64> = (0..400).map(|n| 500 + n * 37 % 211).collect();
    let total: u64 = weights.iter().sum();
    let items = weights.iter().map(|&it| item(it, real(it), 0)).collect();
    let problem = problem(items, vec![90], total / 2);
    let effort = Effort {
        width: 1 << 8,
        work: 1 << 12,
    };
    let solved = solved(&problem, effort);
    let made = made(&problem, &solved);
    assert!(made >= effort.work, "{made}: it is too easy");
    assert!(made <= effort.work + 4 * effort.width, "{made}");
    // Items can use exactly the capacity less the heading, since such a selection exists.
    let best = real(problem.capacity.safe - 90);
    assert!(!solved.proved && solved.finished);
    assert!(solved.value <= best && best <= solved.upper);
}

/// The value of the best selection, by enumeration.
fn best_value(problem: &Problem) -> f64 {
    let items = &problem.items;
    let value_of = |chosen: u32| {
        let is_in = |at: &usize| chosen >> at & 1 == 1;
        let choices = || {
            (0..items.len())
                .filter(is_in)
                .map(|at| items[at].choices[0])
        };
        let opens = |group: usize| {
            let mut members = (0..items.len()).filter(is_in);
            members.any(|at| items[at].group.is_some_and(|it| it as usize == group))
        };
        let headings = problem.groups.iter().enumerate();
        let headings = headings
            .filter(|(group, _)| opens(*group))
            .map(|(_, it)| it);
        let weight = choices().map(|it| it.weight).sum::<u64>() + headings.sum::<u64>();
        let fits = weight <= problem.capacity.safe;
        fits.then(|| choices().map(|it| it.value).sum::<f64>())
    };
    (0..1 << items.len())
        .filter_map(value_of)
        .fold(0.0, f64::max)
}

proptest! {
    #[test]
    fn however_little_is_searched_the_bound_holds(
        items in prop::collection::vec((1..40_u64, 0..4_u32, 0..2_u32), 1..9),
        groups in (0..12_u64, 0..12_u64),
        capacity in 1..160_u64,
        width in 1..6_usize,
        work in 0..60_usize,
    ) {
        let of = |&(weight, more, group): &(u64, u32, u32)| item(weight, real(weight) + f64::from(more), group);
        let problem = problem(items.iter().map(of).collect(), vec![groups.0, groups.1], capacity);
        let solved = solved(&problem, Effort { width, work });
        let best = best_value(&problem);
        prop_assert!(solved.upper >= best * (1.0 - 1e-11), "{} of {best}", solved.upper);
        prop_assert!(solved.value <= best * (1.0 + 1e-11));
        if solved.proved {
            prop_assert!(solved.value >= best * (1.0 - 1e-11), "{} of {best}", solved.value);
        }
    }
}
