//! Facts about `InOrder`: first fit in the given order.

use ctx_budget::{BudgetError, Capacity, Item, Poll, Problem, Settings, select};
use ctx_model::{OmittedReason, Selection};

use crate::{shown, singles, solve, way};

#[test]
fn an_item_that_does_not_fit_is_skipped_and_the_rest_tried() {
    let problem = singles(100, &[(60, 0.9), (50, 0.8), (40, 0.7), (1, 0.1)]);
    let outcome = solve(&problem, Selection::InOrder);
    assert_eq!(shown(&outcome), [0, 2]);
    assert_eq!(outcome.weight, 100);
    assert_eq!(outcome.reasons[1], Some(OmittedReason::OverBudget));
    assert_eq!(outcome.reasons[3], Some(OmittedReason::OverBudget));
}

#[test]
fn the_first_choice_that_fits_is_taken() {
    let problem = Problem {
        items: vec![
            Item::new(vec![way(70, 1.0), way(10, 0.2)]),
            Item::new(vec![way(70, 1.0), way(30, 0.5), way(10, 0.2)]),
        ],
        capacity: Capacity::exact(100),
        ..Problem::default()
    };
    assert_eq!(
        solve(&problem, Selection::InOrder).chosen,
        [Some(0), Some(1)]
    );
}

#[test]
fn the_number_of_items_is_looked_at_before_adding() {
    let mut problem = singles(100, &[(10, 0.9), (200, 0.8), (10, 0.7), (10, 0.6)]);
    problem.max_items = Some(2);
    let outcome = solve(&problem, Selection::InOrder);
    assert_eq!(shown(&outcome), [0, 2]);
    assert_eq!(outcome.reasons[1], Some(OmittedReason::OverBudget));
    assert_eq!(outcome.reasons[3], Some(OmittedReason::MaxChunks));
}

#[test]
fn no_items_at_all_may_be_asked_for() {
    let mut problem = singles(100, &[(0, 0.9), (10, 0.8)]);
    problem.max_items = Some(0);
    for policy in [Selection::InOrder, Selection::Density, Selection::Optimal] {
        let outcome = solve(&problem, policy);
        assert_eq!(shown(&outcome), [0; 0]);
        assert_eq!(outcome.reasons, [Some(OmittedReason::MaxChunks); 2]);
        assert!(outcome.certificate.upper_bound < 1e-9);
    }
}

#[test]
fn pinned_items_have_their_room_from_the_start() {
    let mut problem = singles(100, &[(90, 0.9), (20, 0.1)]);
    problem.items[1].pinned = true;
    for policy in [Selection::InOrder, Selection::Density, Selection::Optimal] {
        assert_eq!(shown(&solve(&problem, policy)), [1]);
    }
}

#[test]
fn pins_that_do_not_fit_are_an_error_that_tells_what_they_need() {
    let mut problem = singles(100, &[(90, 0.9), (20, 0.1)]);
    problem.groups = vec![7];
    for item in &mut problem.items {
        item.pinned = true;
        item.group = Some(0);
    }
    let run = |problem: &Problem| {
        select(
            problem,
            Selection::Optimal,
            &Settings::default(),
            &mut || Poll::Continue,
        )
    };
    let expected = BudgetError::PinsTooLarge {
        needed: 117,
        available: 100,
    };
    assert_eq!(run(&problem), Err(expected));
    problem.capacity = Capacity::exact(117);
    assert_eq!(run(&problem).unwrap().weight, 117);
    problem.max_items = Some(1);
    let expected = BudgetError::TooManyPins {
        pinned: 2,
        max_items: 1,
    };
    assert_eq!(run(&problem), Err(expected));
}

#[test]
fn a_heading_is_paid_once_and_by_the_first() {
    let mut problem = singles(41, &[(10, 0.9), (10, 0.8), (10, 0.7)]);
    problem.groups = vec![11];
    for item in &mut problem.items {
        item.group = Some(0);
    }
    let outcome = solve(&problem, Selection::InOrder);
    assert_eq!((shown(&outcome).len(), outcome.weight), (3, 41));
    problem.capacity = Capacity::exact(40);
    assert_eq!(solve(&problem, Selection::InOrder).weight, 31);
}
