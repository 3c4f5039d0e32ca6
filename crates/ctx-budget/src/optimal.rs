//! Near-optimal selection: relaxation, rounding, and an exact search of the core.

use crate::core_items::{Core, apply};
use crate::number::real;
use crate::prepared::{Prepared, pins};
use crate::relaxation::{Dual, Point, Relaxation};
use crate::rounding::{Answer, round};
use crate::search::{Effort, is_exact, search};
use crate::ticker::{Stop, Ticker};
use crate::{Problem, Settings};

/// The most work spent on smaller capacities if there is no proof, in states made and ways looked
/// at; about 200 ms. It makes it rare that a larger capacity gives a worse answer.
const SMALLER: usize = 1 << 22;

/// An answer, with what is known about it.
#[derive(Clone, Debug)]
pub(crate) struct Solved {
    pub(crate) chosen: Vec<Option<usize>>,
    pub(crate) value: f64,
    /// No answer within the capacity has a larger value.
    pub(crate) upper: f64,
    pub(crate) lambda: f64,
    /// Whether the answer is proved to be the best.
    proved: bool,
    /// Whether there was time for the whole search.
    pub(crate) finished: bool,
    /// The work done, in states made and ways looked at.
    work: usize,
}

/// Chooses within `capacity`. The pins must fit.
///
/// A larger capacity never gives a smaller value if the answer for it is proved best, which is the
/// usual case. If it is not, the answers for the next smaller capacities are computed too, as long
/// as the bound allows a better one there and [`SMALLER`] is not used up.
///
/// `Err(Stop::Finish)` means that there was no time for any answer.
pub(crate) fn solve(
    problem: &Problem,
    capacity: u64,
    settings: &Settings,
    ticker: &mut Ticker<'_>,
) -> Result<Solved, Stop> {
    let effort = if settings.exact {
        Effort::EXACT
    } else {
        Effort::ORDINARY
    };
    let mut best = solve_once(problem, capacity, effort, ticker)?;
    if best.proved || !best.finished {
        return Ok(best);
    }
    let upper = best.upper;
    let affordable = u64::try_from(SMALLER / best.work.max(1)).unwrap_or(0);
    for less in 1..=affordable.min(capacity) {
        // The bound falls by at least λ for each unit that is taken away.
        if upper - best.lambda * real(less) <= best.value {
            break;
        }
        let other = match solve_once(problem, capacity - less, effort, ticker) {
            Ok(other) => other,
            Err(Stop::Finish) => {
                best.finished = false;
                break;
            }
            Err(cancel) => return Err(cancel),
        };
        if other.value > best.value {
            best.value = other.value;
            best.chosen = other.chosen;
        }
        if other.proved {
            break;
        }
    }
    Ok(best)
}

/// Chooses within one capacity.
fn solve_once(
    problem: &Problem,
    capacity: u64,
    effort: Effort,
    ticker: &mut Ticker<'_>,
) -> Result<Solved, Stop> {
    // Smaller capacities may not hold the pins: then no answer exists there.
    let pins = pins(problem, capacity).map_err(|_| Stop::Finish)?;
    let value = |item: usize, choice: usize| problem.items[item].choices[choice].value;
    let prepared = Prepared::new(problem, capacity, pins, value, ticker)?;
    let mut relaxation = Relaxation::new(&prepared);
    let dual = match (relaxation.minimise(ticker), relaxation.lowest) {
        (Ok(dual), _) => dual,
        (Err(Stop::Finish), Some(point)) if point.lambda > 0.0 => {
            return early(&prepared, &point, ticker);
        }
        (Err(stop), _) => return Err(stop),
    };
    let answer = round(&prepared, &dual.feasible, ticker)?;
    complete(&prepared, &dual, answer, effort, ticker)
}

/// The answer at the prices reached so far.
fn early(prepared: &Prepared<'_>, point: &Point, ticker: &mut Ticker<'_>) -> Result<Solved, Stop> {
    let answer = round(prepared, point, ticker)?;
    Ok(Solved {
        finished: false,
        ..Solved::new(prepared, &answer, point)
    })
}

/// Improves a rounded answer by searching its core.
fn complete(
    prepared: &Prepared<'_>,
    dual: &Dual,
    answer: Answer,
    effort: Effort,
    ticker: &mut Ticker<'_>,
) -> Result<Solved, Stop> {
    let point = &dual.best;
    if ticker.in_time().is_err() {
        return Ok(Solved {
            finished: false,
            ..Solved::new(prepared, &answer, point)
        });
    }
    let core_items =
        Core::new(prepared, &answer, point, point.bound() - answer.value).core_items(ticker)?;
    if !is_exact(prepared, &core_items) {
        return Ok(Solved::new(prepared, &answer, point));
    }
    let found = search(prepared, &answer, point, &core_items, effort, ticker)?;
    let mut ways = answer.ways.clone();
    ticker.tick_on(ways.len())?;
    apply(prepared, point, &mut ways, found.decisions.into_iter());
    let better = Answer::new(prepared, ways).filter(|better| better.value > answer.value);
    let answer = better.unwrap_or(answer);
    Ok(Solved {
        upper: found.upper.max(answer.value),
        proved: found.proved,
        finished: found.finished,
        work: found.made + 20 * prepared.weights.len(),
        ..Solved::new(prepared, &answer, point)
    })
}

impl Solved {
    /// An answer with the bound that these prices give, and nothing else known about it.
    fn new(prepared: &Prepared<'_>, answer: &Answer, point: &Point) -> Self {
        Solved {
            chosen: prepared.chosen(&answer.ways),
            value: answer.value,
            upper: point.bound().max(answer.value),
            lambda: point.lambda,
            proved: false,
            finished: true,
            work: 20 * prepared.weights.len(),
        }
    }
}

#[cfg(test)]
#[path = "optimal_tests.rs"]
mod tests;
