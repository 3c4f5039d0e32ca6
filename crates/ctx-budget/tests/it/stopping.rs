//! Facts about deadlines and cancellation.

use ctx_budget::{BudgetError, Outcome, Poll, Problem, Settings, select, select_with};
use ctx_model::Selection;
use ctx_testkit::laws::budget::{Headings, POLICIES, synthetic};

/// Runs a policy that is told `then` at the `nth` question, and ever after.
fn stopped(
    problem: &Problem,
    policy: Selection,
    nth: usize,
    then: Poll,
) -> (Result<Outcome, BudgetError>, usize) {
    let mut asked = 0;
    let outcome = select(problem, policy, &Settings::default(), &mut || {
        asked += 1;
        if asked > nth { then } else { Poll::Continue }
    });
    (outcome, asked)
}

#[test]
fn it_asks_at_least_every_thousand_steps() {
    let problem = synthetic(10_000, 8_000, Headings::PerFile, 1);
    for policy in POLICIES {
        let (_, asked) = stopped(&problem, policy, usize::MAX, Poll::Continue);
        assert!(asked >= 50, "{policy:?} asked {asked} times");
    }
}

#[test]
fn a_cancel_stops_at_the_next_question() {
    let problem = synthetic(5_000, 8_000, Headings::PerFile, 1);
    for policy in POLICIES {
        for nth in [0, 1, 7, 20, 40] {
            let (outcome, asked) = stopped(&problem, policy, nth, Poll::Cancel);
            assert_eq!(outcome, Err(BudgetError::Cancelled), "{policy:?}");
            assert_eq!(asked, nth + 1);
        }
    }
}

#[test]
fn a_deadline_at_any_moment_gives_an_answer_with_a_bound_that_holds() {
    let problem = Problem {
        max_items: Some(60),
        ..synthetic(2_000, 8_000, Headings::PerFile, 4)
    };
    for policy in POLICIES {
        let (best, questions) = stopped(&problem, Selection::Optimal, usize::MAX, Poll::Continue);
        let best = best.unwrap().certificate;
        for nth in (0..questions).step_by(5) {
            let (outcome, _) = stopped(&problem, policy, nth, Poll::Finish);
            let outcome = outcome.unwrap();
            assert!(outcome.weight <= 8_000);
            assert!(outcome.chosen.iter().flatten().count() <= 60);
            assert!(
                outcome.certificate.upper_bound >= best.value,
                "{policy:?} at {nth}"
            );
            assert!(outcome.certificate.value > 0.0);
        }
    }
}

#[test]
fn an_answer_that_was_cut_short_says_so() {
    let problem = synthetic(5_000, 8_000, Headings::None, 1);
    let (outcome, _) = stopped(&problem, Selection::Optimal, 10, Poll::Finish);
    assert!(!outcome.unwrap().finished);
    let (outcome, _) = stopped(&problem, Selection::Optimal, usize::MAX, Poll::Finish);
    assert!(outcome.unwrap().finished);
}

/// A poll may say it once only: a message was taken, a flag was reset.
#[test]
fn what_a_policy_of_the_callers_own_was_told_holds_though_it_is_told_once() {
    let problem = synthetic(100, 8_000, Headings::None, 1);
    let told_once = |then: Poll| {
        let mut said = Some(then);
        let mut heard = Vec::new();
        let choose = |poll: &mut dyn FnMut() -> Poll| {
            heard = vec![poll(), poll()];
            vec![None; problem.items.len()]
        };
        let mut poll = || said.take().unwrap_or(Poll::Continue);
        let outcome = select_with(&problem, choose, &Settings::default(), &mut poll);
        assert_eq!(heard, [then; 2]);
        outcome
    };
    assert_eq!(told_once(Poll::Cancel), Err(BudgetError::Cancelled));
    assert!(!told_once(Poll::Finish).unwrap().finished);
    assert!(told_once(Poll::Continue).unwrap().finished);
}
