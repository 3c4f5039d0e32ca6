//! Greedy selection by value per weight.

use crate::order::sort_by;
use crate::prepared::Prepared;
use crate::tally::Tally;
use crate::ticker::{Stop, Ticker};

/// The number of chosen items above which no class may have too large a share of them.
const DIVERSE_ABOVE: usize = 5;
/// The largest share of one class, in tenths, while items of other classes are available.
const LARGEST_TENTHS: usize = 7;

/// A step from one way of showing an item to a better one.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Value per weight that the step adds.
    density: f64,
    item: u32,
    choice: u32,
}

/// Takes steps in order of density, as long as they fit. If there are several classes, and more
/// than five items are chosen, a class with more than 70 % of them waits: its items are tried again
/// after all others, so that the rule never leaves room unspent. If the single most valuable item
/// has a higher value than all of that, it is taken first. O(choices · log choices). If it is
/// stopped early, `tally` holds what was taken so far.
pub(crate) fn greedy(
    prepared: &Prepared<'_>,
    tally: &mut Tally<'_>,
    ticker: &mut Ticker<'_>,
) -> Result<(), Stop> {
    let steps = steps(prepared, ticker)?;
    let single = best_single(prepared, tally);
    ticker.tick_on(prepared.len())?;
    let empty = tally.clone();
    climb(prepared, &steps, tally, ticker)?;
    if let Some((item, choice)) = single {
        let value = |chosen: &[Option<usize>]| value(prepared, chosen);
        let mut other = empty;
        other.take(item, choice);
        if value(&other.chosen) > value(&tally.chosen) {
            *tally = other;
            climb(prepared, &steps, tally, ticker)?;
        }
    }
    tally.fill(ticker)
}

/// Runs one pass by density with the rule for classes, and one over the items that had to wait.
/// Once a new item waits, so do better ways for items already chosen, since they would take its
/// room.
fn climb(
    prepared: &Prepared<'_>,
    steps: &[Step],
    tally: &mut Tally<'_>,
    ticker: &mut Ticker<'_>,
) -> Result<(), Stop> {
    let mut shares = Shares::new(prepared, tally);
    let mut waiting = Vec::new();
    for step in steps {
        ticker.tick(1)?;
        let item = step.item as usize;
        let waits = match tally.chosen[item] {
            None => shares.is_crowded(item, tally.count),
            Some(_) => !waiting.is_empty(),
        };
        if waits {
            waiting.push(*step);
        } else {
            shares.take(prepared, tally, step);
        }
    }
    for step in &waiting {
        ticker.tick(1)?;
        shares.take(prepared, tally, step);
    }
    Ok(())
}

/// The number of chosen items of each class.
struct Shares {
    /// The number of each item's class.
    class: Vec<usize>,
    chosen: Vec<usize>,
}

impl Shares {
    fn new(prepared: &Prepared<'_>, tally: &Tally<'_>) -> Self {
        let items = &prepared.problem.items;
        let mut classes: Vec<u32> = items.iter().map(|item| item.class).collect();
        classes.sort_unstable();
        classes.dedup();
        let number = |class: u32| classes.partition_point(|&other| other < class);
        let mut shares = Shares {
            class: items.iter().map(|item| number(item.class)).collect(),
            chosen: vec![0; classes.len()],
        };
        for (&class, _) in (shares.class.iter().zip(&tally.chosen)).filter(|(_, c)| c.is_some()) {
            shares.chosen[class] += 1;
        }
        shares
    }

    fn is_crowded(&self, item: usize, count: usize) -> bool {
        let has_others = self.chosen.len() > 1;
        has_others
            && count > DIVERSE_ABOVE
            && self.chosen[self.class[item]] * 10 > count * LARGEST_TENTHS
    }

    fn take(&mut self, prepared: &Prepared<'_>, tally: &mut Tally<'_>, step: &Step) {
        let (item, choice) = (step.item as usize, step.choice as usize);
        let choices = &prepared.problem.items[item].choices;
        let now = tally.chosen[item];
        if now.is_some_and(|now| choices[now].value >= choices[choice].value) {
            return;
        }
        if tally.take(item, choice) && now.is_none() {
            self.chosen[self.class[item]] += 1;
        }
    }
}

/// The steps along the concave hull of each item's ways, densest first. Density falls along a hull,
/// so the order of the steps of one item is kept.
fn steps(prepared: &Prepared<'_>, ticker: &mut Ticker<'_>) -> Result<Vec<Step>, Stop> {
    let mut steps = Vec::new();
    let mut hull: Vec<(f64, f64, u32)> = Vec::new();
    for item in 0..prepared.len() {
        ticker.tick(1)?;
        hull.clear();
        let ways = prepared.ways(item);
        let start = if prepared.pinned[item] {
            (
                prepared.real_weights[ways.start],
                prepared.values[ways.start],
                0,
            )
        } else {
            (0.0, 0.0, 0)
        };
        hull.push(start);
        for way in ways {
            let next = (
                prepared.real_weights[way],
                prepared.values[way],
                prepared.choices[way],
            );
            if next.1 <= start.1 {
                continue;
            }
            while let [.., a, b] = hull[..]
                && density(a, b) <= density(b, next)
            {
                hull.pop();
            }
            hull.push(next);
        }
        steps.extend(hull.windows(2).map(|pair| Step {
            density: density(pair[0], pair[1]),
            item: u32::try_from(item).expect("items are numbered in 32 bits"),
            choice: pair[1].2,
        }));
    }
    // The sort is stable: equals stay in the order of items.
    sort_by(&mut steps, ticker, |a, b| b.density.total_cmp(&a.density))?;
    Ok(steps)
}

fn density(from: (f64, f64, u32), to: (f64, f64, u32)) -> f64 {
    // A step without weight is infinitely dense.
    (to.1 - from.1) / (to.0 - from.0).max(0.0)
}

/// The single choice of the largest value that fits beside the pins.
fn best_single(prepared: &Prepared<'_>, tally: &Tally<'_>) -> Option<(usize, usize)> {
    let mut best: Option<(f64, usize, usize)> = None;
    for item in (0..prepared.len()).filter(|&item| !prepared.pinned[item]) {
        for way in prepared.ways(item) {
            let (value, choice) = (prepared.values[way], prepared.choices[way] as usize);
            let better = best.is_none_or(|(most, ..)| value > most);
            if better && tally.weight_with(item, choice).is_some() {
                best = Some((value, item, choice));
            }
        }
    }
    best.map(|(_, item, choice)| (item, choice))
}

fn value(prepared: &Prepared<'_>, chosen: &[Option<usize>]) -> f64 {
    let items = prepared.problem.items.iter().zip(chosen);
    crate::number::sum(
        items.filter_map(|(item, choice)| choice.map(|choice| item.choices[choice].value)),
    )
}
