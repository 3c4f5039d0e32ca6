//! From prices to an answer: takes the ways that pay at these prices, repairs the selection until
//! it keeps within the budget, then fills it with what still fits.

use crate::number::{Sum, real};
use crate::order::sort_by;
use crate::prepared::{Group, NONE, Prepared};
use crate::relaxation::{Point, best_way};
use crate::ticker::{Stop, Ticker};

/// One way, or [`NONE`], for each item, and the totals.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) ways: Vec<u32>,
    pub(crate) weight: u64,
    pub(crate) count: usize,
    pub(crate) value: f64,
    /// The number of members shown, for each group.
    members: Vec<u32>,
}

impl Answer {
    /// The answer with these ways, or `None` if it is too heavy or has too many items.
    pub(crate) fn new(prepared: &Prepared<'_>, ways: Vec<u32>) -> Option<Answer> {
        let totals = Totals::of(prepared, &ways);
        let fits = totals.weight <= u128::from(prepared.capacity)
            && prepared.max_items.is_none_or(|max| totals.count <= max);
        fits.then(|| Answer {
            weight: u64::try_from(totals.weight).expect("it is at most the capacity"),
            count: totals.count,
            value: totals.value,
            members: totals.members,
            ways,
        })
    }

    pub(crate) fn is_open(&self, group: u32) -> bool {
        self.members[group as usize] > 0
    }

    /// The change of weight, value and number of items if `item` is shown by `way` instead of its
    /// present way. `way` is a way, not [`NONE`].
    pub(crate) fn change(
        &self,
        prepared: &Prepared<'_>,
        item: usize,
        way: usize,
    ) -> (i128, f64, usize) {
        let (mut weight, mut value) = (i128::from(prepared.weights[way]), prepared.values[way]);
        let now = self.ways[item];
        if now != NONE {
            weight -= i128::from(prepared.weights[now as usize]);
            value -= prepared.values[now as usize];
        }
        let group = prepared.group[item];
        if group != NONE && !self.is_open(group) {
            weight += i128::from(prepared.groups[group as usize].heading);
        }
        (weight, value, usize::from(now == NONE))
    }

    /// Shows `item` by `way` if that fits and increases the value.
    fn improve(&mut self, prepared: &Prepared<'_>, item: usize, way: usize) {
        let (weight, value, count) = self.change(prepared, item, way);
        let after = i128::from(self.weight) + weight;
        let places = prepared.max_items.unwrap_or(usize::MAX) - self.count;
        if value <= 0.0 || after > i128::from(prepared.capacity) || count > places {
            return;
        }
        self.weight = u64::try_from(after).expect("a heavier answer than one that exists");
        self.value += value;
        self.count += count;
        let group = prepared.group[item];
        if group != NONE && count > 0 {
            self.members[group as usize] += 1;
        }
        self.ways[item] = u32::try_from(way).expect("ways are numbered in 32 bits");
    }
}

/// The totals of a selection of ways, headings included.
struct Totals {
    weight: u128,
    count: usize,
    value: f64,
    members: Vec<u32>,
}

impl Totals {
    fn of(prepared: &Prepared<'_>, ways: &[u32]) -> Totals {
        let mut members = vec![0; prepared.groups.len()];
        let (mut weight, mut count, mut value) = (0, 0, Sum::default());
        for (&way, &group) in ways.iter().zip(&prepared.group) {
            if way == NONE {
                continue;
            }
            weight += u128::from(prepared.weights[way as usize]);
            value.add(prepared.values[way as usize]);
            count += 1;
            if group != NONE {
                if members[group as usize] == 0 {
                    weight += u128::from(prepared.groups[group as usize].heading);
                }
                members[group as usize] += 1;
            }
        }
        Totals {
            weight,
            count,
            value: value.get(),
            members,
        }
    }
}

/// The surplus of each group when it is open, with its heading paid. A group with a positive
/// surplus is better open.
pub(crate) fn group_surplus(
    prepared: &Prepared<'_>,
    lambda: f64,
    mu: f64,
    ticker: &mut Ticker<'_>,
) -> Result<Vec<f64>, Stop> {
    let mut surplus = vec![Sum::default(); prepared.groups.len()];
    for (item, &group) in prepared.group.iter().enumerate() {
        ticker.tick_on(1)?;
        if group != NONE
            && let Some((gain, _)) = best_way(prepared, item, lambda, mu)
        {
            surplus[group as usize].add(gain);
        }
    }
    let net = |(sum, group): (&Sum, &Group)| sum.get() - lambda * real(group.heading);
    Ok(surplus.iter().zip(&prepared.groups).map(net).collect())
}

/// A good answer near the prices of `point`. O(choices · log choices) in the worst case; a deadline
/// does not stop it early.
pub(crate) fn round(
    prepared: &Prepared<'_>,
    point: &Point,
    ticker: &mut Ticker<'_>,
) -> Result<Answer, Stop> {
    let mut ways = paying(prepared, point, ticker)?;
    mend(prepared, point, &mut ways);
    ticker.tick_on(prepared.len())?;
    let mut answer = Answer::new(prepared, ways).expect("mended until it fits");
    fill(prepared, point, &mut answer, ticker)?;
    // Step by step, rounding errors accumulate; the value reported is the sum over what is chosen.
    answer.value = Totals::of(prepared, &answer.ways).value;
    ticker.tick_on(prepared.len())?;
    Ok(answer)
}

/// The ways that pay at these prices.
fn paying(
    prepared: &Prepared<'_>,
    point: &Point,
    ticker: &mut Ticker<'_>,
) -> Result<Vec<u32>, Stop> {
    let net = group_surplus(prepared, point.lambda, point.mu, ticker)?;
    let open = |group: u32| {
        group == NONE || prepared.groups[group as usize].forced || net[group as usize] > 0.0
    };
    let mut ways = vec![NONE; prepared.len()];
    for (item, shown) in ways.iter_mut().enumerate() {
        ticker.tick_on(1)?;
        let best = best_way(prepared, item, point.lambda, point.mu);
        *shown = best
            .filter(|_| open(prepared.group[item]))
            .map_or(NONE, |(_, way)| index(way));
    }
    Ok(ways)
}

/// Makes `ways` fit: if they are too heavy, pinned items are first set to their cheapest way, then
/// the items that pay least are removed. Usually there is little or nothing to do.
fn mend(prepared: &Prepared<'_>, point: &Point, ways: &mut [u32]) {
    let totals = Totals::of(prepared, ways);
    let capacity = u128::from(prepared.capacity);
    let places = prepared.max_items.unwrap_or(usize::MAX);
    let (mut weight, mut count) = (totals.weight, totals.count);
    if weight <= capacity && count <= places {
        return;
    }
    let mut shown: Vec<(f64, usize)> = (0..prepared.len())
        .filter(|&item| ways[item] != NONE)
        .map(|item| {
            let way = ways[item] as usize;
            let pays = prepared.values[way] - point.lambda * prepared.real_weights[way];
            (pays, item)
        })
        .collect();
    shown.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut members = totals.members;
    for (_, item) in shown {
        if weight <= capacity && count <= places {
            return;
        }
        weight -= u128::from(prepared.weights[ways[item] as usize]);
        if prepared.pinned[item] {
            let cheapest = prepared.ways(item).start;
            weight += u128::from(prepared.weights[cheapest]);
            ways[item] = index(cheapest);
            continue;
        }
        ways[item] = NONE;
        count -= 1;
        let group = prepared.group[item];
        if group != NONE {
            members[group as usize] -= 1;
            if members[group as usize] == 0 {
                weight -= u128::from(prepared.groups[group as usize].heading);
            }
        }
    }
}

/// Spends the rest on the changes that lose least at these prices.
fn fill(
    prepared: &Prepared<'_>,
    point: &Point,
    answer: &mut Answer,
    ticker: &mut Ticker<'_>,
) -> Result<(), Stop> {
    let left = prepared.capacity - answer.weight;
    let mut changes = Vec::new();
    for item in 0..prepared.len() {
        ticker.tick_on(1)?;
        let now = answer.ways[item];
        let given_up = if now == NONE {
            0
        } else {
            prepared.weights[now as usize]
        };
        for way in prepared.ways(item) {
            if prepared.weights[way] > left.saturating_add(given_up) {
                break;
            }
            let (weight, value, count) = answer.change(prepared, item, way);
            if value > 0.0 && weight <= i128::from(left) {
                let paid = u64::try_from(weight).map_or(0.0, |weight| point.lambda * real(weight));
                let place = if count > 0 { point.mu } else { 0.0 };
                changes.push((paid + place - value, index(item), index(way)));
            }
        }
    }
    sort_by(&mut changes, ticker, |a, b| a.0.total_cmp(&b.0))?;
    for (_, item, way) in changes {
        answer.improve(prepared, item as usize, way as usize);
    }
    Ok(())
}

/// Items and ways have been numbered in 32 bits from the start.
fn index(n: usize) -> u32 {
    u32::try_from(n).expect("items and ways are numbered in 32 bits")
}
