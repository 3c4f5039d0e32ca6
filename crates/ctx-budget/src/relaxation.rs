//! The upper bound: Lagrangian relaxation of the capacity (price λ per unit of weight) and of the
//! number of items (price μ per item).
//!
//! For any λ, μ ≥ 0 no answer has a value above
//!
//! ```text
//! L(λ, μ) = λ·capacity + μ·max_items + Σ_groups max(0, Σ_members φ − λ·heading) + Σ_others φ
//! φ(item) = max over its ways of (value − λ·weight − μ), and over "nothing" (0) unless it is pinned
//! ```
//!
//! because an answer within the limits pays no more for weight and places than the first two terms.
//! A group with a pinned member has no outer maximum. `L` is convex and piecewise linear, so its
//! minimum is found by intersecting the tangents on either side of it; without groups and
//! `max_items` that minimum is the value of the linear relaxation (Dyer 1984, Zemel 1984). One
//! evaluation is one pass over the ways, without sorting.

use crate::number::{Sum, count, real};
use crate::prepared::{NONE, Prepared};
use crate::ticker::{Stop, Ticker};

/// The most evaluations of a search along one price, which then stops where it is. Every point is a
/// valid bound; ordinary problems need 10 to 20.
const MAX_EVALUATIONS: usize = 64;
/// A search ends if a point comes this near to the value that the tangents promise, as a share. The
/// bound is too high by at most that share; nothing else is affected.
const CLOSE: f64 = 1e-11;
/// The same along μ, where each step costs a search along λ.
const CLOSE_ENOUGH: f64 = 1e-7;
/// A generous bound on the units in the last place that the arithmetic of one item may lose.
const ROUNDING: f64 = 32.0 * f64::EPSILON;

/// `L` at one pair of prices, and its slopes there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) lambda: f64,
    pub(crate) mu: f64,
    /// `L(lambda, mu)`, as computed.
    pub(crate) value: f64,
    /// The most that `value` may be too low because of rounding.
    margin: f64,
    /// Capacity less the weight of the maximising answer.
    slack: f64,
    /// `max_items` less the number of items of the maximising answer.
    places: f64,
}

impl Point {
    /// The bound: no answer has a value above it.
    pub(crate) fn bound(&self) -> f64 {
        self.value + self.margin
    }
}

/// The best prices found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dual {
    /// Where `L` is lowest.
    pub(crate) best: Point,
    /// The point, beside `best`, whose maximising answer keeps within the capacity.
    pub(crate) feasible: Point,
}

/// Evaluates and minimises `L` for one prepared problem.
pub(crate) struct Relaxation<'a, 'p> {
    prepared: &'a Prepared<'p>,
    members: Vec<Members>,
    largest_value: f64,
    /// The lowest point so far, for a caller that runs out of time.
    pub(crate) lowest: Option<Point>,
}

/// The sums over the members of a group that are shown when it is open.
#[derive(Clone, Copy, Debug, Default)]
struct Members {
    surplus: Sum,
    weight: f64,
    count: f64,
}

impl<'a, 'p> Relaxation<'a, 'p> {
    pub(crate) fn new(prepared: &'a Prepared<'p>) -> Self {
        Relaxation {
            prepared,
            members: vec![Members::default(); prepared.groups.len()],
            largest_value: prepared.values.iter().copied().fold(0.0, f64::max),
            lowest: None,
        }
    }

    /// Finds the lowest bound, up to rounding and a fixed number of evaluations. If time runs out,
    /// `lowest` has the best so far.
    pub(crate) fn minimise(&mut self, ticker: &mut Ticker<'_>) -> Result<Dual, Stop> {
        let free = self.along_lambda(0.0, None, ticker)?;
        let Some(max_items) = self.prepared.max_items else {
            return Ok(free.dual());
        };
        if free.places() >= -CLOSE * count(max_items + 1) {
            return Ok(free.dual());
        }
        self.along_mu(free, ticker)
    }

    /// Minimises over μ; each step minimises over λ.
    fn along_mu(&mut self, free: Bracket, ticker: &mut Ticker<'_>) -> Result<Dual, Stop> {
        let mut low = free;
        let mut high = self.along_lambda(2.0 * self.largest_value, None, ticker)?;
        for _ in 0..MAX_EVALUATIONS {
            let (at, promise) = intersection(low.tangent_mu(), high.tangent_mu());
            if !(low.best().mu < at && at < high.best().mu) {
                break;
            }
            let point = self.along_lambda(at, Some(low.best().lambda), ticker)?;
            let met = point.best().value - promise <= CLOSE_ENOUGH * promise.abs();
            if point.places() < 0.0 {
                low = point;
            } else {
                high = point;
            }
            if met {
                break;
            }
        }
        let best = if low.best().value < high.best().value {
            low.best()
        } else {
            high.best()
        };
        Ok(Dual {
            best,
            feasible: high.high,
        })
    }

    /// Minimises over λ at one μ. With a `hint` the search starts near it.
    fn along_lambda(
        &mut self,
        mu: f64,
        hint: Option<f64>,
        ticker: &mut Ticker<'_>,
    ) -> Result<Bracket, Stop> {
        let (mut low, mut high) = match self.bracket(mu, hint, ticker)? {
            Ok(found) => found,
            Err(done) => {
                return Ok(Bracket {
                    low: done,
                    high: done,
                });
            }
        };
        for _ in 0..MAX_EVALUATIONS {
            let (at, promise) = intersection(
                (low.lambda, low.value, low.slack),
                (high.lambda, high.value, high.slack),
            );
            if !(low.lambda < at && at < high.lambda) {
                break;
            }
            let point = self.evaluate(at, mu, ticker)?;
            ticker.in_time()?;
            let met = point.value - promise <= CLOSE * promise.abs();
            if point.slack < 0.0 {
                low = point;
            } else {
                high = point;
            }
            if met {
                break;
            }
        }
        Ok(Bracket { low, high })
    }

    /// Finds a λ at which too much is chosen and one at which not too much is. Returns the minimum
    /// itself in `Err` if it is at price zero, where everything worth having fits.
    fn bracket(
        &mut self,
        mu: f64,
        hint: Option<f64>,
        ticker: &mut Ticker<'_>,
    ) -> Result<Result<(Point, Point), Point>, Stop> {
        let most = 2.0 * self.largest_value;
        let Some(hint) = hint.filter(|&hint| hint > 0.0 && hint < most) else {
            let low = self.evaluate(0.0, mu, ticker)?;
            ticker.in_time()?;
            if low.slack >= 0.0 {
                return Ok(Err(low));
            }
            return Ok(Ok((low, self.evaluate(most, mu, ticker)?)));
        };
        let first = self.evaluate(hint, mu, ticker)?;
        if first.slack < 0.0 {
            return Ok(Ok((first, self.evaluate(most, mu, ticker)?)));
        }
        // A price per item leaves more room, so the price of weight is below the hint, usually near
        // it.
        let mut high = first;
        for share in [0.9, 0.5, 0.0] {
            let low = self.evaluate(hint * share, mu, ticker)?;
            if low.slack < 0.0 {
                return Ok(Ok((low, high)));
            }
            high = low;
        }
        Ok(Err(high))
    }

    /// Computes `L` and its slopes in one pass that a deadline does not stop early.
    pub(crate) fn evaluate(
        &mut self,
        lambda: f64,
        mu: f64,
        ticker: &mut Ticker<'_>,
    ) -> Result<Point, Stop> {
        let prepared = self.prepared;
        self.members.fill(Members::default());
        let (mut surplus, mut weight, mut chosen) = (Sum::default(), 0.0, 0.0);
        for item in 0..prepared.len() {
            ticker.tick_on(1)?;
            let Some((gain, way)) = best_way(prepared, item, lambda, mu) else {
                continue;
            };
            let cost = prepared.real_weights[way];
            match prepared.group[item] {
                NONE => {
                    surplus.add(gain);
                    weight += cost;
                    chosen += 1.0;
                }
                group => {
                    let members = &mut self.members[group as usize];
                    members.surplus.add(gain);
                    members.weight += cost;
                    members.count += 1.0;
                }
            }
        }
        for (group, members) in prepared.groups.iter().zip(&self.members) {
            let heading = real(group.heading);
            let net = members.surplus.get() - lambda * heading;
            if group.forced || net > 0.0 {
                surplus.add(net);
                weight += members.weight + heading;
                chosen += members.count;
            }
        }
        let point = self.point(lambda, mu, surplus.get(), weight, chosen);
        if self
            .lowest
            .is_none_or(|lowest| point.bound() < lowest.bound())
        {
            self.lowest = Some(point);
        }
        Ok(point)
    }

    fn point(&self, lambda: f64, mu: f64, surplus: f64, weight: f64, chosen: f64) -> Point {
        let prepared = self.prepared;
        let capacity = real(prepared.capacity);
        let places = prepared.max_items.map_or(0.0, count);
        let paid = lambda * capacity + mu * places;
        // The surplus of a way matters only if it is positive or its item is pinned, so what
        // rounding loses is a share of its value or of what a pinned item may weigh.
        let magnitude = prepared.total_value + 2.0 * paid;
        let terms = count(prepared.len()) * f64::EPSILON * f64::EPSILON;
        Point {
            lambda,
            mu,
            value: surplus + paid,
            margin: (ROUNDING + terms) * magnitude,
            slack: capacity - weight,
            places: places - chosen,
        }
    }
}

/// The most profitable way of an item at these prices, and its surplus; `None` if showing nothing
/// is better. Ties go to the lighter way.
pub(crate) fn best_way(
    prepared: &Prepared<'_>,
    item: usize,
    lambda: f64,
    mu: f64,
) -> Option<(f64, usize)> {
    let ways = prepared.ways(item);
    let mut best = (f64::NEG_INFINITY, ways.start);
    for way in ways {
        let surplus = prepared.values[way] - lambda * prepared.real_weights[way];
        if surplus > best.0 {
            best = (surplus, way);
        }
    }
    let (surplus, way) = (best.0 - mu, best.1);
    (surplus > 0.0 || prepared.pinned[item]).then_some((surplus, way))
}

/// The two ends of a search along λ.
#[derive(Clone, Copy, Debug)]
struct Bracket {
    /// Too much is chosen here, or the search is finished.
    low: Point,
    /// Not too much is chosen here.
    high: Point,
}

impl Bracket {
    fn best(&self) -> Point {
        if self.low.value < self.high.value {
            self.low
        } else {
            self.high
        }
    }

    /// The slope along μ at the minimum over λ: that of the mixture of the two answers there that
    /// spends the capacity exactly.
    fn places(&self) -> f64 {
        let span = self.high.slack - self.low.slack;
        if span <= 0.0 || self.low.slack >= 0.0 {
            return self.high.places;
        }
        let share = self.high.slack / span;
        share * self.low.places + (1.0 - share) * self.high.places
    }

    fn tangent_mu(&self) -> (f64, f64, f64) {
        let best = self.best();
        (best.mu, best.value, self.places())
    }

    fn dual(&self) -> Dual {
        Dual {
            best: self.best(),
            feasible: self.high,
        }
    }
}

/// The point where two tangents `(at, value, slope)` meet, and its value.
fn intersection(low: (f64, f64, f64), high: (f64, f64, f64)) -> (f64, f64) {
    let steps = (high.1 - low.1 - high.2 * (high.0 - low.0)) / (low.2 - high.2);
    (low.0 + steps, low.1 + low.2 * steps)
}
