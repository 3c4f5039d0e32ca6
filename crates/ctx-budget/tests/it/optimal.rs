//! Facts about `Optimal`.

use ctx_budget::{Capacity, Feature, Item, Outcome, Poll, Problem, Settings, select};
use ctx_model::{OmittedReason, Selection};
use ctx_testkit::laws::budget::{self, Headings, problems, synthetic};
use proptest::prelude::*;

use crate::{shown, singles, solve, way};

proptest! {
    #[test]
    fn small_problems_are_solved_exactly(problem in problems(7)) {
        let settings = Settings::default();
        let safe = problem.capacity.safe;
        if let Some(outcome) = budget::policy(&problem, Selection::Optimal, &settings) {
            let best = budget::best_value(&problem, &settings, safe).unwrap();
            let value = outcome.certificate.value;
            prop_assert!(value >= best * (1.0 - 1e-11), "{value} of {best}");
        }
    }

    #[test]
    fn a_larger_budget_never_chooses_worse(problem in problems(12), step in 1..30_u64) {
        let capacities = (0..40).map(|n| n * step);
        budget::never_worse(&problem, &Settings::default(), capacities);
    }
}

#[test]
fn a_larger_budget_never_chooses_worse_among_hundreds() {
    for (headings, max_items) in [(Headings::None, None), (Headings::PerFile, Some(15))] {
        let problem = Problem {
            max_items,
            ..synthetic(200, 0, headings, 3)
        };
        budget::never_worse(&problem, &Settings::default(), 3_000..3_040);
    }
}

#[test]
fn where_there_is_no_proof_a_larger_budget_still_never_chooses_worse() {
    // Values that follow weights closely, all even: the core is everything and the bound is loose.
    let choices: Vec<(u64, f64)> = (0..120_u32)
        .map(|n| {
            let weight = 2 * (500 + n * 37 % 211);
            (weight.into(), f64::from(weight) + 10.0)
        })
        .collect();
    budget::never_worse(&singles(0, &choices), &Settings::default(), 20_000..20_012);
}

#[test]
fn items_that_fit_together_are_all_chosen_with_a_gap_of_zero() {
    let problem = synthetic(50, 1_000_000, Headings::PerFile, 1);
    let outcome = solve(&problem, Selection::Optimal);
    assert_eq!(outcome.chosen, vec![Some(0); 50]);
    assert_eq!(
        (outcome.certificate.gap, outcome.certificate.lambda),
        (0.0, 0.0)
    );
}

#[test]
fn items_without_value_are_chosen_if_there_is_room() {
    let outcome = solve(
        &singles(100, &[(60, 0.5), (30, 0.0), (30, 0.0)]),
        Selection::Optimal,
    );
    assert_eq!(shown(&outcome), [0, 1]);
    assert_eq!(outcome.reasons[2], Some(OmittedReason::OverBudget));
}

#[test]
fn an_item_that_lacks_only_a_place_is_told_so() {
    let mut problem = singles(100, &[(10, 0.9), (10, 0.8), (95, 0.85)]);
    problem.max_items = Some(1);
    let outcome = solve(&problem, Selection::Optimal);
    assert_eq!(shown(&outcome), [0]);
    assert_eq!(outcome.reasons[1], Some(OmittedReason::MaxChunks));
}

#[test]
fn rounding_of_counts_widens_the_bound_and_nothing_else() {
    let exact = synthetic(60, 3_000, Headings::None, 2);
    let rounded = Problem {
        capacity: Capacity {
            safe: 3_000,
            loose: 3_002,
        },
        ..exact.clone()
    };
    let (exact, rounded) = (
        solve(&exact, Selection::Optimal),
        solve(&rounded, Selection::Optimal),
    );
    assert_eq!(exact.chosen, rounded.chosen);
    assert!(rounded.certificate.upper_bound >= exact.certificate.upper_bound);
    assert!(rounded.certificate.gap < 0.01);
}

#[test]
fn an_answer_is_the_same_every_time() {
    let problem = synthetic(500, 6_000, Headings::PerFile, 9);
    let first = solve(&problem, Selection::Optimal);
    assert_eq!(solve(&problem, Selection::Optimal), first);
}

/// An item that tells something better by its first choice than by its second.
fn told_better(capacity: u64, weights: [f64; 2]) -> [Outcome; 2] {
    let mut item = Item::new(vec![way(10, 1.0), way(1, 0.1)]);
    let feature = |(until, weight)| Feature {
        id: 7,
        weight,
        until,
    };
    item.features = [0, 1].into_iter().zip(weights).map(feature).collect();
    let problem = Problem {
        items: vec![item],
        capacity: Capacity::exact(capacity),
        ..Problem::default()
    };
    let settings = Settings::default().with_diversity(1.0);
    [Selection::Density, Selection::Optimal]
        .map(|policy| select(&problem, policy, &settings, &mut || Poll::Continue).unwrap())
}

#[test]
fn a_feature_shown_better_by_a_fuller_choice_counts_once() {
    for outcome in told_better(10, [1.0, 0.4]) {
        assert_eq!(outcome.chosen, [Some(0)]);
        assert!((outcome.certificate.value - 1.0).abs() < 1e-9);
        assert!(outcome.certificate.gap < 1e-9);
    }
    for outcome in told_better(9, [1.0, 0.4]) {
        assert_eq!(outcome.chosen, [Some(1)]);
        assert!((outcome.certificate.value - 0.4).abs() < 1e-9);
    }
}

#[test]
fn more_of_what_is_shown_is_shown_where_there_is_room() {
    for outcome in told_better(10, [0.4, 0.4]) {
        assert_eq!(outcome.chosen, [Some(0)], "it tells nothing more");
    }
}
