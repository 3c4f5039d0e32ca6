//! The core: the few items and groups for which another decision than the present one may be
//! better.
//!
//! At prices (λ, μ) an answer has the value `L(λ, μ)` less its *loss*. The loss is, for each item,
//! the surplus of its best way less that of the way chosen, the same for opening or closing each
//! group, and λ and μ for each unit of weight and each place that stays unused. All of these terms
//! are at least 0. So if an answer with loss Γ is known, any alternative that alone loses Γ can be
//! ruled out; this usually settles all but a few dozen items, however many there are (Pisinger's
//! minimal core, 1995, with losses instead of gradients).

use crate::number::real;
use crate::prepared::{NONE, Prepared};
use crate::relaxation::{Point, best_way};
use crate::rounding::{Answer, group_surplus};
use crate::ticker::{Stop, Ticker};

/// An alternative to what an item or a group is in the present answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alternative {
    /// How much it adds to the answer's weight.
    pub(crate) weight: i64,
    /// How much it adds to the answer's value.
    pub(crate) value: f64,
    /// How much it adds to the number of items.
    pub(crate) count: i32,
    /// Its loss, at least 0.
    pub(crate) loss: f64,
    /// The decision it stands for.
    pub(crate) decision: Decision,
}

/// The decision of an alternative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Leave the item or group as it is in the present answer.
    Stay,
    /// Show an item in this way, or not at all: [`NONE`].
    Show {
        /// The item.
        item: u32,
        /// The way.
        way: u32,
    },
    /// Show no member of this group.
    Close(u32),
    /// Show the members of this group that pay.
    Open(u32),
}

/// An item with more than one alternative.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) alternatives: Vec<Alternative>,
    /// The least loss of a change.
    pub(crate) least: f64,
}

/// A unit of decision.
#[derive(Clone, Debug)]
pub(crate) enum CoreItem {
    /// An item.
    Item(Member),
    /// A group whose heading has a weight, and that may be open or closed.
    Group {
        close: Alternative,
        open: Alternative,
        /// The decisions that remain once it is open.
        members: Vec<Member>,
        least: f64,
    },
}

impl CoreItem {
    /// The least loss of a change.
    pub(crate) fn least(&self) -> f64 {
        match self {
            CoreItem::Item(member) => member.least,
            CoreItem::Group { least, .. } => *least,
        }
    }

    /// Whether the change with the least loss adds weight.
    fn adds(&self) -> bool {
        match self {
            CoreItem::Item(member) => {
                let changes = member.alternatives.iter();
                changes
                    .filter(|change| change.decision != Decision::Stay)
                    .min_by(|a, b| a.loss.total_cmp(&b.loss))
                    .is_some_and(|change| change.weight > 0)
            }
            CoreItem::Group { close, .. } => close.decision == Decision::Stay,
        }
    }
}

/// Computes losses at one pair of prices, relative to one answer.
pub(crate) struct Core<'a, 'p> {
    prepared: &'a Prepared<'p>,
    answer: &'a Answer,
    lambda: f64,
    mu: f64,
    /// Alternatives that lose this much or more are ruled out.
    limit: f64,
}

impl<'a, 'p> Core<'a, 'p> {
    pub(crate) fn new(
        prepared: &'a Prepared<'p>,
        answer: &'a Answer,
        point: &Point,
        limit: f64,
    ) -> Self {
        Core {
            prepared,
            answer,
            lambda: point.lambda,
            mu: point.mu,
            limit,
        }
    }

    /// The core items that are not settled, in the order of their least losses. O(choices), and O(b
    /// log b) for b core items.
    pub(crate) fn core_items(&self, ticker: &mut Ticker<'_>) -> Result<Vec<CoreItem>, Stop> {
        let net = group_surplus(self.prepared, self.lambda, self.mu, ticker)?;
        let contested: Vec<bool> = (0..net.len())
            .map(|group| self.contested(group, net[group]))
            .collect();
        let mut members = vec![Vec::new(); net.len()];
        let mut core_items = Vec::new();
        for item in 0..self.prepared.len() {
            ticker.tick_on(1)?;
            let group = self.prepared.group[item];
            if group != NONE && contested[group as usize] {
                members[group as usize].push(item);
            } else if group == NONE || self.stays_open(group) {
                let way = self.answer.ways[item];
                core_items.extend(self.member(item, way, 0.0).map(CoreItem::Item));
            }
        }
        for (group, members) in members.iter().enumerate() {
            if contested[group] {
                ticker.tick_on(members.len())?;
                let core_item = self.group(group, net[group], members);
                core_items
                    .extend(Some(core_item).filter(|core_item| core_item.least() < self.limit));
            }
        }
        ticker.tick_on(core_items.len())?;
        let core_items = in_order(core_items);
        ticker.tick_on(core_items.len())?;
        Ok(core_items)
    }

    /// Whether a group that is settled is open.
    fn stays_open(&self, group: u32) -> bool {
        self.prepared.groups[group as usize].forced || self.answer.is_open(group)
    }

    /// Whether a group may still be either open or closed.
    fn contested(&self, group: usize, net: f64) -> bool {
        let Ok(number) = u32::try_from(group) else {
            return false;
        };
        let now = self.prepared.groups[group];
        if now.forced || now.heading == 0 {
            return false;
        }
        let other = if self.answer.is_open(number) {
            net.max(0.0)
        } else {
            (-net).max(0.0)
        };
        other < self.limit
    }

    /// The alternatives of an item whose default is the way `now`; `None` if the item is settled.
    /// `before` is the loss that is incurred before the item can be decided at all.
    fn member(&self, item: usize, now: u32, before: f64) -> Option<Member> {
        let best =
            best_way(self.prepared, item, self.lambda, self.mu).map_or(0.0, |(surplus, _)| surplus);
        let nothing = (!self.prepared.pinned[item]).then_some(NONE);
        let ways = || {
            nothing
                .into_iter()
                .chain(self.prepared.ways(item).map(index))
                .map(|way| (way, (best - self.surplus(way)).max(0.0)))
                .filter(|&(way, loss)| way == now || before + loss < self.limit)
        };
        let others = ways().filter(|&(way, _)| way != now);
        let least = others.map(|(_, loss)| loss).fold(f64::INFINITY, f64::min);
        // Most items are settled, and nothing is stored for them.
        (least < f64::INFINITY).then(|| Member {
            alternatives: ways()
                .map(|(way, loss)| self.alternative(item, now, way, loss))
                .collect(),
            least,
        })
    }

    fn alternative(&self, item: usize, now: u32, way: u32, loss: f64) -> Alternative {
        let decision = if way == now {
            Decision::Stay
        } else {
            Decision::Show {
                item: index(item),
                way,
            }
        };
        Alternative {
            weight: self.weight(way) - self.weight(now),
            value: self.value(way) - self.value(now),
            count: i32::from(way != NONE) - i32::from(now != NONE),
            loss,
            decision,
        }
    }

    /// The core item of a group that may be open or closed.
    fn group(&self, group: usize, net: f64, members: &[usize]) -> CoreItem {
        let number = index(group);
        let heading = weight(self.prepared.groups[group].heading);
        let is_open = self.answer.is_open(number);
        let stay = |decision, when| if when { Decision::Stay } else { decision };
        let mut close = Alternative {
            weight: 0,
            value: 0.0,
            count: 0,
            loss: net.max(0.0),
            decision: stay(Decision::Close(number), !is_open),
        };
        let mut open = Alternative {
            loss: (-net).max(0.0),
            decision: stay(Decision::Open(number), is_open),
            ..close
        };
        if is_open {
            close.weight -= heading;
        } else {
            open.weight += heading;
        }
        let mut core: Vec<Member> = Vec::new();
        let mut pays = false;
        for &item in members {
            let now = self.answer.ways[item];
            let best = best_way(self.prepared, item, self.lambda, self.mu);
            let paying = best.map_or(NONE, |(_, way)| index(way));
            // For a group that is closed now, "open" means: with the members that pay.
            let shown = if is_open { now } else { paying };
            let side = if is_open { &mut close } else { &mut open };
            let target = if is_open { NONE } else { paying };
            side.weight = side
                .weight
                .saturating_add(self.weight(target) - self.weight(now));
            side.value += self.value(target) - self.value(now);
            side.count += i32::from(target != NONE) - i32::from(now != NONE);
            pays |= paying != NONE;
            if let Some(member) = self.member(item, shown, open.loss) {
                core.push(member);
            } else {
                let best = best.map_or(0.0, |(surplus, _)| surplus);
                open.loss += (best - self.surplus(shown)).max(0.0);
            }
        }
        core.sort_by(|a, b| a.least.total_cmp(&b.least));
        let inside = open.loss + core.first().map_or(f64::INFINITY, |member| member.least);
        let least = match (is_open, pays) {
            (true, _) => close.loss.min(inside),
            (false, true) => open.loss,
            // A heading alone has no value: at least one member must come with it.
            (false, false) => inside,
        };
        CoreItem::Group {
            close,
            open,
            members: core,
            least,
        }
    }

    fn surplus(&self, way: u32) -> f64 {
        if way == NONE {
            return 0.0;
        }
        let way = way as usize;
        self.prepared.values[way] - self.lambda * self.prepared.real_weights[way] - self.mu
    }

    fn weight(&self, way: u32) -> i64 {
        if way == NONE {
            0
        } else {
            weight(self.prepared.weights[way as usize])
        }
    }

    fn value(&self, way: u32) -> f64 {
        if way == NONE {
            0.0
        } else {
            self.prepared.values[way as usize]
        }
    }
}

/// Sorts core items by their least losses. Among equals, core items that add weight and core items
/// that remove weight alternate, each kind in the order of items, so that states soon lie on both
/// sides of the capacity.
fn in_order(mut core_items: Vec<CoreItem>) -> Vec<CoreItem> {
    core_items.sort_by(|a, b| a.least().total_cmp(&b.least()));
    let mut turns = [0_usize; 2];
    let mut ranked: Vec<(usize, CoreItem)> = core_items
        .into_iter()
        .map(|core_item| {
            let turn = &mut turns[usize::from(core_item.adds())];
            *turn += 1;
            (*turn, core_item)
        })
        .collect();
    ranked.sort_by(|a, b| (a.1.least().total_cmp(&b.1.least())).then(a.0.cmp(&b.0)));
    ranked.into_iter().map(|(_, core_item)| core_item).collect()
}

/// Applies decisions, in the order they were taken, to the ways of an answer.
pub(crate) fn apply(
    prepared: &Prepared<'_>,
    point: &Point,
    ways: &mut [u32],
    decisions: impl Iterator<Item = Decision>,
) {
    let set_group = |ways: &mut [u32], group: u32, open: bool| {
        for item in (0..prepared.len()).filter(|&item| prepared.group[item] == group) {
            let paying = best_way(prepared, item, point.lambda, point.mu);
            ways[item] = paying.filter(|_| open).map_or(NONE, |(_, way)| index(way));
        }
    };
    for decision in decisions {
        match decision {
            Decision::Stay => {}
            Decision::Show { item, way } => ways[item as usize] = way,
            Decision::Close(group) => set_group(ways, group, false),
            Decision::Open(group) => set_group(ways, group, true),
        }
    }
}

/// The search runs only if every weight is below 2^62.
fn weight(weight: u64) -> i64 {
    i64::try_from(weight).unwrap_or(i64::MAX)
}

fn index(n: usize) -> u32 {
    u32::try_from(n).expect("items, ways and groups are numbered in 32 bits")
}

/// The price of leaving this weight unspent.
pub(crate) fn unspent(lambda: f64, weight: i64) -> f64 {
    u64::try_from(weight).map_or(0.0, |weight| lambda * real(weight))
}
