//! An item is chosen at the entry budget reported for it.

use ctx_budget::{Poll, Settings, entry_capacity};
use ctx_model::Selection;
use ctx_testkit::laws::budget::{self, Headings, POLICIES, problems, synthetic};
use proptest::prelude::*;

use crate::singles;

proptest! {
    #[test]
    fn every_item_enters_where_it_is_said_to(problem in problems(8)) {
        for policy in POLICIES {
            budget::entry(&problem, policy, &Settings::default());
        }
    }
}

#[test]
fn so_it_does_among_many() {
    let problem = synthetic(60, 3_000, Headings::PerFile, 5);
    for policy in POLICIES {
        budget::entry(&problem, policy, &Settings::default());
    }
}

#[test]
fn the_capacity_told_is_near_the_smallest() {
    let problem = singles(10, &[(10, 0.9), (7, 0.5)]);
    for policy in POLICIES {
        let settings = Settings::default();
        let at = entry_capacity(&problem, policy, &settings, 1, &mut || Poll::Continue);
        assert_eq!(at, Ok(Some(17)), "{policy:?}");
    }
}

#[test]
fn an_item_that_no_budget_admits_has_no_entry_capacity() {
    let mut problem = singles(10, &[(10, 0.9), (7, 0.5)]);
    problem.max_items = Some(1);
    let settings = Settings::default();
    let at = |item| {
        entry_capacity(&problem, Selection::InOrder, &settings, item, &mut || {
            Poll::Continue
        })
    };
    assert_eq!(at(1), Ok(None));
}

#[test]
fn an_item_that_is_not_in_the_problem_is_refused() {
    let problem = singles(10, &[(10, 0.9), (7, 0.5)]);
    for policy in POLICIES {
        let settings = Settings::default();
        let at = entry_capacity(&problem, policy, &settings, 2, &mut || Poll::Continue);
        let refusal = at.unwrap_err().to_string();
        assert_eq!(refusal, "item 2: it does not exist", "{policy:?}");
    }
}
