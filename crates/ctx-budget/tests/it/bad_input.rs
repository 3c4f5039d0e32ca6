//! Numbers at and beyond the limits.

use ctx_budget::{BudgetError, Capacity, Feature, Item, Poll, Problem, Settings, select};
use ctx_model::Selection;
use ctx_testkit::laws::budget::{self, POLICIES};

use crate::{shown, singles, solve, way};

#[track_caller]
fn refused(item: Item, expected: &str) {
    let mut problem = singles(100, &[(1, 1.0)]);
    problem.items.push(item);
    for policy in POLICIES {
        let error = select(&problem, policy, &Settings::default(), &mut || {
            Poll::Continue
        });
        assert_eq!(
            error.unwrap_err().to_string(),
            format!("item 1: {expected}")
        );
    }
}

#[test]
fn an_item_whose_numbers_make_no_sense_is_named() {
    refused(Item::new(vec![way(1, f64::NAN)]), "a value is not a number");
    refused(Item::new(vec![way(1, -0.5)]), "a value is negative");
    refused(
        Item::new(vec![way(1, f64::INFINITY)]),
        "a value is above 1e100",
    );
    let mut grouped = Item::new(vec![way(1, 1.0)]);
    grouped.group = Some(0);
    refused(grouped, "its group does not exist");
    let pinned = Item {
        pinned: true,
        ..Item::default()
    };
    refused(pinned, "it is pinned and has no choices");
    let mut told = Item::new(vec![way(1, 1.0)]);
    told.features = vec![Feature {
        id: u32::MAX,
        weight: f64::NAN,
        until: u32::MAX,
    }];
    refused(told, "a value is not a number");
}

#[test]
fn a_diversity_that_is_no_share_is_refused() {
    for share in [-0.1, 1.1, f64::NAN] {
        let settings = Settings::default().with_diversity(share);
        let error = select(&singles(1, &[]), Selection::Optimal, &settings, &mut || {
            Poll::Continue
        });
        let refusal = format!("diversity {share} is not a finite number from 0 to 1");
        assert_eq!(error.unwrap_err().to_string(), refusal);
    }
}

#[test]
fn nothing_to_choose_from_is_an_empty_answer() {
    for policy in POLICIES {
        let outcome = solve(&singles(100, &[]), policy);
        assert_eq!((outcome.weight, outcome.certificate.gap), (0, 0.0));
        let empty = Problem {
            items: vec![Item::default(); 3],
            ..singles(100, &[])
        };
        assert_eq!(shown(&solve(&empty, policy)), [0; 0]);
    }
}

#[test]
fn weights_at_the_end_of_their_range_do_not_wrap() {
    let edge = [
        u64::MAX,
        u64::MAX - 1,
        1 << 63,
        (1 << 63) - 1,
        1 << 62,
        1,
        0,
    ];
    let choices: Vec<(u64, f64)> = edge.iter().map(|&weight| (weight, 0.5)).collect();
    for capacity in [0, 1, 1 << 62, 1 << 63, (1 << 63) + 1, u64::MAX] {
        for policy in POLICIES {
            let mut problem = singles(capacity, &choices);
            budget::policy(&problem, policy, &Settings::default());
            problem.groups = vec![u64::MAX, 1 << 62];
            for (item, group) in problem.items.iter_mut().zip([0, 1, 1, 0, 1, 1, 0]) {
                item.group = Some(group);
            }
            budget::policy(&problem, policy, &Settings::default());
        }
    }
}

#[test]
fn values_at_the_end_of_their_range_stay_finite() {
    for value in [1e100, 5e-324, 0.0] {
        let problem = singles(10, &[(1, value), (u64::MAX, value), (9, value), (3, value)]);
        for policy in POLICIES {
            let outcome = budget::policy(&problem, policy, &Settings::default()).unwrap();
            assert!(outcome.certificate.upper_bound.is_finite());
        }
    }
}

#[test]
fn items_that_cost_nothing_are_all_taken() {
    let mut problem = singles(0, &[(0, 0.5), (0, 0.0), (1, 1.0), (0, 0.5)]);
    problem.items[3].choices.push(way(0, 0.5));
    for policy in POLICIES {
        assert_eq!(shown(&solve(&problem, policy)), [0, 1, 3], "{policy:?}");
    }
}

#[test]
fn many_equal_items_are_no_trouble() {
    let problem = singles(5_003, &vec![(10, 0.25); 20_000]);
    for policy in POLICIES {
        let outcome = budget::policy(&problem, policy, &Settings::default()).unwrap();
        assert_eq!(outcome.weight, 5_000);
    }
}

#[test]
fn a_million_items_are_solved() {
    let items: Vec<(u64, f64)> = (0..1_000_000_u32)
        .map(|n| (u64::from(n % 997) + 1, f64::from(n % 1_009) / 1_009.0))
        .collect();
    let outcome = solve(&singles(100_000, &items), Selection::Optimal);
    assert!(outcome.certificate.gap < 1e-4);
}

#[test]
fn a_cap_takes_the_heavy_choices_away() {
    let mut item = Item::new(vec![way(50, 1.0), way(20, 0.5)]);
    item.cap = Some(30);
    let problem = Problem {
        items: vec![item.clone()],
        capacity: Capacity::exact(100),
        ..Problem::default()
    };
    for policy in POLICIES {
        assert_eq!(solve(&problem, policy).chosen, [Some(1)]);
    }
    // What is pinned must be shown: its cheapest choice may be above the cap.
    item.cap = Some(10);
    item.pinned = true;
    let problem = Problem {
        items: vec![item],
        ..problem
    };
    for policy in POLICIES {
        assert_eq!(solve(&problem, policy).chosen, [Some(1)]);
    }
}

/// It is not an answer to another problem.
#[test]
fn a_selection_of_another_problem_is_not_valued_by_it() {
    let problem = singles(10, &[(1, 1.0), (2, 0.5)]);
    let outcome = solve(&problem, Selection::Optimal);
    let told = |problem: &Problem| {
        let certificate = outcome.certificate;
        outcome
            .clone()
            .valued_by(problem, &Settings::default(), &certificate)
    };
    assert_eq!(told(&problem).as_ref(), Ok(&outcome));
    for other in [
        singles(10, &[(1, 1.0)]),
        singles(10, &[(1, 1.0), (1, 1.0), (1, 1.0)]),
        Problem {
            items: vec![Item::new(vec![way(1, 1.0)]), Item::default()],
            ..Problem::default()
        },
    ] {
        assert!(matches!(told(&other), Err(BudgetError::Invalid { .. })));
    }
}

/// A weight that nobody added up would be that of the selection before.
#[test]
fn a_selection_of_ones_own_is_weighed_anew() {
    let mut problem = singles(10, &[(1, 1.0), (2, 0.5), (4, 0.25)]);
    problem.groups = vec![3];
    problem.items[2].group = Some(0);
    let mut outcome = solve(&problem, Selection::Optimal);
    assert_eq!(outcome.weight, 10);
    outcome.chosen = vec![None, Some(0), Some(0)];
    let certificate = outcome.certificate;
    let told = outcome.valued_by(&problem, &Settings::default(), &certificate);
    let told = told.unwrap();
    assert_eq!(told.weight, 9);
    assert!((told.certificate.value - 0.75).abs() < 1e-12);
}

#[test]
fn items_without_value_are_taken_if_there_is_room() {
    let problem = singles(20, &[(10, 0.0), (10, 1.0), (10, 0.0)]);
    for policy in [Selection::Density, Selection::Optimal] {
        assert_eq!(shown(&solve(&problem, policy)), [0, 1], "{policy:?}");
    }
    assert_eq!(shown(&solve(&problem, Selection::InOrder)), [0, 1]);
}
