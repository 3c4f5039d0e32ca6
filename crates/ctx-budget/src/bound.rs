//! The upper bound of a problem, whatever the policy.

use crate::Problem;
use crate::objective::Objective;
use crate::prepared::{Pins, Prepared};
use crate::relaxation::Relaxation;
use crate::ticker::{Stop, Ticker};

/// No answer is worth more than `upper`; `lambda` is the price of weight that shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) upper: f64,
    /// Value per unit of weight at the margin.
    pub(crate) lambda: f64,
}

impl Bound {
    /// What no answer can pass, without looking at weights.
    pub(crate) fn trivial(total_value: f64) -> Self {
        Bound {
            upper: total_value * (1.0 + 1e-12),
            lambda: 0.0,
        }
    }
}

/// A bound on everything within `capacity`, for values that do not depend on each other.
/// `Err(Stop::Finish)` never comes out: out of time, the lowest bound so far is the answer.
pub(crate) fn modular(
    problem: &Problem,
    capacity: u64,
    pins: Pins,
    ticker: &mut Ticker<'_>,
) -> Result<Bound, Stop> {
    let value = |item: usize, choice: usize| problem.items[item].choices[choice].value;
    of_values(problem, capacity, pins, value, ticker)
}

/// The same for any values of (item, choice).
pub(crate) fn of_values(
    problem: &Problem,
    capacity: u64,
    pins: Pins,
    value: impl Fn(usize, usize) -> f64,
    ticker: &mut Ticker<'_>,
) -> Result<Bound, Stop> {
    let prepared = match Prepared::new(problem, capacity, pins, &value, ticker) {
        Ok(prepared) => prepared,
        Err(Stop::Finish) => return Ok(without_weights(problem, value)),
        Err(cancel) => return Err(cancel),
    };
    let mut relaxation = Relaxation::new(&prepared);
    match relaxation.minimise(ticker) {
        Ok(_) | Err(Stop::Finish) => {}
        Err(cancel) => return Err(cancel),
    }
    Ok(relaxation.lowest.map_or_else(
        || Bound::trivial(prepared.total_value),
        |point| Bound {
            upper: point.bound(),
            lambda: point.lambda,
        },
    ))
}

/// The sum of each item's largest value.
fn without_weights(problem: &Problem, value: impl Fn(usize, usize) -> f64) -> Bound {
    let best = problem.items.iter().enumerate().map(|(index, item)| {
        (0..item.choices.len())
            .map(|choice| value(index, choice))
            .fold(0.0, f64::max)
    });
    Bound::trivial(crate::number::sum(best))
}

/// A bound for values that do depend on each other: the marginal values given an empty selection.
pub(crate) fn marginal(
    problem: &Problem,
    objective: &Objective<'_>,
    capacity: u64,
    pins: Pins,
    ticker: &mut Ticker<'_>,
) -> Result<Bound, Stop> {
    let told = objective.untold();
    let value = |item, choice| objective.gain(&told, item, None, choice);
    of_values(problem, capacity, pins, value, ticker)
}
