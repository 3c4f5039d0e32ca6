//! The one call: a problem and a policy in, a selection with its certificate out.

use ctx_model::{Certificate, OmittedReason, Selection};

use crate::bound::{self, Bound};
use crate::in_order::first_fit;
use crate::objective::Objective;
use crate::prepared::{Pins, pins};
use crate::tally::{Tally, weigh};
use crate::ticker::{Stop, Ticker};
use crate::{BudgetError, Item, Poll, Problem, Settings};

/// A gap below this share is rounding, and told as none.
const NO_GAP: f64 = 1e-12;

/// What was chosen, and how good it is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// For each item the index of the choice that is shown, `None` where it is left out.
    pub chosen: Vec<Option<usize>>,
    /// What the choices and the headings of their groups weigh: at most `capacity.safe`.
    pub weight: u64,
    /// What is chosen is worth at least `value`, and nothing that weighs at most `capacity.loose`
    /// is worth more than `upper_bound`.
    pub certificate: Certificate,
    /// Why each item that was left out was: [`OmittedReason::OverBudget`] or
    /// [`OmittedReason::MaxChunks`].
    pub reasons: Vec<Option<OmittedReason>>,
    /// Whether the policy ran to its end, rather than to a deadline.
    pub finished: bool,
}

/// Chooses at most one choice of each item, within the capacity and the number of items.
///
/// # Errors
/// [`BudgetError::PinsTooLarge`] and [`BudgetError::TooManyPins`] when what must be shown cannot
/// be, [`BudgetError::Invalid`] and [`BudgetError::InvalidDiversity`] for numbers that make no
/// sense, [`BudgetError::Cancelled`] when `poll` said so.
pub fn select(
    problem: &Problem,
    policy: Selection,
    settings: &Settings,
    poll: &mut dyn FnMut() -> Poll,
) -> Result<Outcome, BudgetError> {
    let diversity = settings.diversity()?;
    problem.check()?;
    let pins = pins(problem, problem.capacity.safe)?;
    let objective = Objective::new(problem, diversity);
    let mut ticker = Ticker::new(poll);
    let _ = policy;
    let mut tally = Tally::new(problem, problem.capacity.safe, pins);
    let finished = went_on(first_fit(&mut tally, &mut ticker))?;
    let loose = problem.capacity.loose.max(problem.capacity.safe);
    let bound = if objective.is_coverage() {
        bound::marginal(problem, &objective, loose, pins, &mut ticker)
    } else {
        bound::modular(problem, loose, pins, &mut ticker)
    };
    let bound = bound.map_err(|_| BudgetError::Cancelled)?;
    debug_assert_eq!(weigh(problem, &tally.chosen), u128::from(tally.weight));
    Ok(Outcome {
        weight: tally.weight,
        certificate: certificate(objective.value(&tally.chosen), &bound),
        reasons: in_order_reasons(problem, pins, &tally.chosen),
        finished,
        chosen: tally.chosen,
    })
}

/// Whether the work went on to its end; a cancel is an error.
fn went_on(result: Result<(), Stop>) -> Result<bool, BudgetError> {
    match result {
        Ok(()) => Ok(true),
        Err(Stop::Finish) => Ok(false),
        Err(Stop::Cancel) => Err(BudgetError::Cancelled),
    }
}

fn certificate(value: f64, bound: &Bound) -> Certificate {
    let upper_bound = bound.upper.max(value);
    let gap = if upper_bound > 0.0 {
        (upper_bound - value) / upper_bound
    } else {
        0.0
    };
    Certificate {
        value,
        upper_bound,
        gap: if gap < NO_GAP { 0.0 } else { gap },
        lambda: bound.lambda,
    }
}

/// In order, an item is out for want of a place when none was left at its turn.
fn in_order_reasons(
    problem: &Problem,
    pins: Pins,
    chosen: &[Option<usize>],
) -> Vec<Option<OmittedReason>> {
    let places = problem.max_items.unwrap_or(usize::MAX);
    let mut taken = pins.count;
    let reason = |(item, choice): (&Item, &Option<usize>)| match choice {
        Some(_) => {
            taken += usize::from(!item.pinned);
            None
        }
        None if taken >= places => Some(OmittedReason::MaxChunks),
        None => Some(OmittedReason::OverBudget),
    };
    problem.items.iter().zip(chosen).map(reason).collect()
}
