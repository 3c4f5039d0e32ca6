//! Laws of `ctx_assemble::Policy`.

use ctx_assemble::{BudgetError, Policy, Poll};
use ctx_budget::{Problem, Settings, select_with};
use ctx_model::{Chunk, Relevance};
use proptest::prelude::*;

use super::budget::problems;
use super::run::run;

/// The least number of problems; `PROPTEST_CASES` may ask for more.
const CASES: u32 = 256;

/// The most items of a problem.
const MAX_ITEMS: usize = 12;

/// Checks that `policy` keeps the promises of [`Policy`], on the same problems each time:
///
/// * a selection has one entry for each item: one of its choices, or none;
/// * it has every pinned item, and keeps the capacity, the number of items and their caps;
/// * it does so, too, if it is told to finish at once;
/// * equal arguments give equal selections;
/// * it returns when it is cancelled.
///
/// # Panics
/// If a law does not hold, with the smallest problem found for which it does not.
pub fn policy<P: Policy + ?Sized>(policy: &P) {
    run(CASES, &problems(MAX_ITEMS), |problem| {
        let chunks = chunks(problem.items.len());
        let chunks: Vec<&Chunk> = chunks.iter().collect();
        let choose = |answer: Poll| policy.choose(&problem, &chunks, &mut || answer);
        for answer in [Poll::Continue, Poll::Finish] {
            let chosen = choose(answer);
            match refusal(&problem, &chosen) {
                // An assembly asks no policy if the pinned items do not fit.
                Some(BudgetError::PinsTooLarge { .. } | BudgetError::TooManyPins { .. }) => {
                    return Ok(());
                }
                Some(error) => {
                    prop_assert!(false, "{:?} when it is to {:?}: {}", chosen, answer, error);
                }
                None => {}
            }
            prop_assert_eq!(choose(answer), chosen, "another selection");
        }
        choose(Poll::Cancel);
        Ok(())
    });
}

/// What is wrong with `problem`, or with the selection `chosen` of it.
fn refusal(problem: &Problem, chosen: &[Option<usize>]) -> Option<BudgetError> {
    let choose = |_: &mut dyn FnMut() -> Poll| chosen.to_vec();
    select_with(problem, choose, &Settings::default(), &mut || {
        Poll::Continue
    })
    .err()
}

/// So many chunks, the most relevant first.
fn chunks(count: usize) -> Vec<Chunk> {
    let last = u32::try_from(count).expect("there are few");
    let chunk = |number: u32| {
        let relevance = Relevance::clamped(1.0 - f64::from(number) / f64::from(last));
        Chunk::new(format!("c{number}"), format!("text {number}"), relevance)
    };
    (0..last).map(chunk).collect()
}
