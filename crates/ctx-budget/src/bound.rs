//! The upper bound of a problem, for every policy.

use crate::Problem;
use crate::prepared::{Pins, Prepared};
use crate::relaxation::Relaxation;
use crate::ticker::{Stop, Ticker};

/// No answer has a value above `upper`; `lambda` is the price of weight that proves it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) upper: f64,
    /// Value per unit of weight at the margin.
    pub(crate) lambda: f64,
}

/// Computes a bound on everything within `capacity`, for values of (item, choice) that do not
/// depend on each other. If time runs out, it is the bound that the price `guess` gives.
pub(crate) fn of_values(
    problem: &Problem,
    capacity: u64,
    pins: Pins,
    value: impl Fn(usize, usize) -> f64,
    guess: f64,
    ticker: &mut Ticker<'_>,
) -> Result<Bound, Stop> {
    let prepared = Prepared::new(problem, capacity, pins, &value, ticker)?;
    let mut relaxation = Relaxation::new(&prepared);
    match relaxation.minimise(ticker) {
        Ok(_) => {}
        Err(Stop::Finish) => {
            relaxation.evaluate(guess, 0.0, ticker)?;
        }
        Err(cancel) => return Err(cancel),
    }
    let point = relaxation.lowest.expect("at least one point was evaluated");
    Ok(Bound {
        upper: point.bound(),
        lambda: point.lambda,
    })
}
