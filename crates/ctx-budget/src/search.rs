//! Exact search of the core: dynamic programming by lists of undominated states.
//!
//! A state is the present answer with some core items decided otherwise, so every state that fits
//! is an answer. Blocks are decided one after the other, those with the least loss first. A state
//! is dropped if another is no heavier, has no more items and no smaller value, or if its loss so
//! far, together with the least loss of any further change, leaves no room above the best answer
//! known. When no state is left, the best answer is proved. Memory is bounded by [`Effort`]: if a
//! list outgrows it, the states with the largest losses are dropped, and the value that the best of
//! them could still have reached stays in the bound.

use crate::core_items::{Alternative, CoreItem, Decision, Member, unspent};
use crate::prepared::Prepared;
use crate::relaxation::Point;
use crate::rounding::Answer;
use crate::ticker::{Stop, Ticker};

/// Losses this close to the limit, as a share of the bound, count as reaching it. "Best" means best
/// up to this share.
const TOLERANCE: f64 = 1e-12;
/// The number of steps into which losses are divided when states must be dropped.
const LOSS_STEPS: f64 = 64.0;
/// The end of a state's history.
const ROOT: u32 = u32::MAX;

/// How much work a search may do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The most states kept from one core item to the next.
    pub(crate) width: usize,
    /// The most states made in all. The states made from one list may exceed it.
    pub(crate) work: usize,
}

impl Effort {
    /// Enough for a proof on ordinary problems; about 50 ms and 30 MB if the proof fails.
    pub(crate) const ORDINARY: Effort = Effort {
        width: 1 << 14,
        work: 1 << 20,
    };
    /// Sixteen times as much.
    pub(crate) const EXACT: Effort = Effort {
        width: 1 << 18,
        work: 1 << 24,
    };
}

/// The result of a search.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The changes to the present answer.
    pub(crate) decisions: Vec<Decision>,
    /// An upper bound on every answer, as far as the search could determine.
    pub(crate) upper: f64,
    /// Whether the answer is proved to be the best.
    pub(crate) proved: bool,
    /// Whether there was time for the whole effort.
    pub(crate) finished: bool,
    /// How many states were made.
    pub(crate) made: usize,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// Weight, value and number of items, relative to the present answer.
    weight: i64,
    value: f64,
    count: i32,
    /// The loss in the core items decided so far.
    loss: f64,
    /// The last change before this core item, and the change made by this core item.
    parent: u32,
    change: Decision,
}

/// What the core items that are still undecided may add.
#[derive(Clone, Copy, Debug, Default)]
struct Ahead {
    least_weight: i64,
    most_weight: i64,
    least_count: i32,
    /// The least loss of any change in them.
    least_loss: f64,
}

impl Ahead {
    const NOTHING: Ahead = Ahead {
        least_weight: 0,
        most_weight: 0,
        least_count: 0,
        least_loss: f64::INFINITY,
    };

    /// Adds, in front, a core item with these `alternatives`, of which a change loses at least
    /// `least`.
    fn before(self, alternatives: &[Alternative], least: f64) -> Ahead {
        let weights = || alternatives.iter().map(|a| a.weight);
        let counts = alternatives.iter().map(|a| a.count);
        Ahead {
            least_weight: self
                .least_weight
                .saturating_add(weights().min().unwrap_or(0)),
            most_weight: self
                .most_weight
                .saturating_add(weights().max().unwrap_or(0)),
            least_count: self.least_count + counts.min().unwrap_or(0),
            least_loss: self.least_loss.min(least),
        }
    }

    fn before_core_item(self, core_item: &CoreItem) -> Ahead {
        match core_item {
            CoreItem::Item(member) => self.before(&member.alternatives, member.least),
            CoreItem::Group {
                close,
                open,
                members,
                least,
            } => {
                let inside = members.iter().fold(Ahead::NOTHING, |ahead, member| {
                    ahead.before(&member.alternatives, member.least)
                });
                let mut opened = *open;
                let mut crowded = *open;
                opened.weight = open.weight.saturating_add(inside.least_weight);
                opened.count = open.count + inside.least_count;
                crowded.weight = open.weight.saturating_add(inside.most_weight);
                self.before(&[*close, opened, crowded], *least)
            }
        }
    }
}

/// A search in progress.
struct Search<'a, 't> {
    lambda: f64,
    limits_count: bool,
    /// The weight that the present answer leaves unspent.
    left: i64,
    places: i32,
    /// An improvement must have a smaller loss than this: the bound less the best value known.
    limit: f64,
    tolerance: f64,
    effort: Effort,
    made: usize,
    history: Vec<(u32, Decision)>,
    /// The best change so far: the value it adds, and its last decision.
    gain: f64,
    best: u32,
    /// The least loss of a state that was dropped for lack of room.
    dropped: f64,
    ticker: &'a mut Ticker<'t>,
}

/// Searches `core_items` for the best change of `answer` at the prices of `point`. Weights must be
/// [exact](is_exact). If time runs out, it returns the best change so far.
pub(crate) fn search(
    prepared: &Prepared<'_>,
    answer: &Answer,
    point: &Point,
    core_items: &[CoreItem],
    effort: Effort,
    ticker: &mut Ticker<'_>,
) -> Result<Found, Stop> {
    let limit = point.bound() - answer.value;
    let places = prepared.max_items.map_or(0, |max| max - answer.count);
    let mut search = Search {
        lambda: point.lambda,
        limits_count: prepared.max_items.is_some(),
        left: i64::try_from(prepared.capacity - answer.weight).unwrap_or(i64::MAX),
        places: i32::try_from(places).unwrap_or(i32::MAX),
        limit,
        tolerance: TOLERANCE * point.bound(),
        effort,
        made: 0,
        history: Vec::new(),
        gain: 0.0,
        best: ROOT,
        dropped: f64::INFINITY,
        ticker,
    };
    let finished = match search.run(core_items) {
        Ok(()) => true,
        Err(Stop::Finish) => false,
        Err(cancel) => return Err(cancel),
    };
    let proved = finished && search.dropped == f64::INFINITY;
    // Every answer that the search did not account for loses at least this much.
    let lost = match (proved, finished) {
        (true, _) => limit,
        (false, true) => search.dropped.min(limit),
        (false, false) => 0.0,
    };
    Ok(Found {
        decisions: search.decisions(),
        upper: (point.bound() - lost).max(answer.value + search.gain) + search.tolerance,
        proved,
        finished,
        made: search.made,
    })
}

impl Search<'_, '_> {
    fn run(&mut self, core_items: &[CoreItem]) -> Result<(), Stop> {
        let mut aheads = vec![Ahead::NOTHING; core_items.len() + 1];
        for (index, core_item) in core_items.iter().enumerate().rev() {
            aheads[index] = aheads[index + 1].before_core_item(core_item);
        }
        let mut list = vec![State::ROOT];
        for (index, core_item) in core_items.iter().enumerate() {
            if list.is_empty() || core_item.least() >= self.limit - self.tolerance {
                return Ok(());
            }
            if self.made >= self.effort.work {
                self.drop_all(&list, core_item.least());
                return Ok(());
            }
            list = self.decide(&list, core_item, aheads[index + 1])?;
        }
        Ok(())
    }

    fn decide(
        &mut self,
        list: &[State],
        core_item: &CoreItem,
        ahead: Ahead,
    ) -> Result<Vec<State>, Stop> {
        match core_item {
            CoreItem::Item(member) => {
                let next = self.expand(list, &member.alternatives, ahead)?;
                Ok(self.settle(next, ahead))
            }
            CoreItem::Group {
                close,
                open,
                members,
                ..
            } => {
                let mut inside = vec![ahead; members.len() + 1];
                for (index, member) in members.iter().enumerate().rev() {
                    inside[index] = inside[index + 1].before(&member.alternatives, member.least);
                }
                let mut closed = self.expand(list, &[*close], ahead)?;
                let opened = self.expand(list, &[*open], inside[0])?;
                let mut opened = self.settle(opened, inside[0]);
                for (index, member) in members.iter().enumerate() {
                    if self.made >= self.effort.work {
                        let left = std::mem::take(&mut opened);
                        self.drop_all(&left, inside[index].least_loss);
                        break;
                    }
                    let next = self.expand(&opened, &member.alternatives, inside[index + 1])?;
                    opened = self.settle(next, inside[index + 1]);
                }
                closed.append(&mut opened);
                Ok(self.settle(closed, ahead))
            }
        }
    }

    /// Combines every state with every alternative, as far as the result may still lead to a better
    /// answer.
    fn expand(
        &mut self,
        list: &[State],
        alternatives: &[Alternative],
        ahead: Ahead,
    ) -> Result<Vec<State>, Stop> {
        let mut next = Vec::with_capacity(list.len());
        for alternative in alternatives {
            self.ticker.tick(list.len())?;
            self.made += list.len();
            for state in list {
                let state = state.with(alternative);
                self.consider(&state);
                if self.is_hopeful(&state, ahead) {
                    next.push(state);
                }
            }
        }
        Ok(next)
    }

    /// Every state that fits is an answer: it may be the best so far.
    fn consider(&mut self, state: &State) {
        let fits = state.weight <= self.left && (!self.limits_count || state.count <= self.places);
        if fits && state.value > self.gain {
            self.limit -= state.value - self.gain;
            self.gain = state.value;
            self.best = self.record(state);
        }
    }

    /// Whether further changes may make this state better than the best answer so far.
    fn is_hopeful(&self, state: &State, ahead: Ahead) -> bool {
        let unfilled = self
            .left
            .saturating_sub(state.weight)
            .saturating_sub(ahead.most_weight);
        let lost = state.loss + ahead.least_loss + unspent(self.lambda, unfilled);
        lost < self.limit - self.tolerance
            && state.weight.saturating_add(ahead.least_weight) <= self.left
            && (!self.limits_count || state.count + ahead.least_count <= self.places)
    }

    /// Sorts a list by weight, removes dominated and hopeless states, and keeps it within the
    /// width.
    fn settle(&mut self, mut list: Vec<State>, ahead: Ahead) -> Vec<State> {
        list.retain(|state| self.is_hopeful(state, ahead));
        // The list consists of sorted runs, which a stable sort merges quickly.
        list.sort_by(|a, b| {
            (a.weight.cmp(&b.weight))
                .then(b.value.total_cmp(&a.value))
                .then(a.count.cmp(&b.count))
        });
        if self.limits_count {
            retain_undominated_by_count(&mut list);
        } else {
            let mut best = f64::NEG_INFINITY;
            list.retain(|state| {
                let better = state.value > best;
                best = best.max(state.value);
                better
            });
        }
        if list.len() > self.effort.width {
            self.narrow(&mut list, ahead);
        }
        for state in &mut list {
            state.parent = self.record(state);
            state.change = Decision::Stay;
        }
        list
    }

    /// Keeps the states with the least loss and, among those with about the same loss, the ones
    /// that leave the least room.
    fn narrow(&mut self, list: &mut Vec<State>, ahead: Ahead) {
        let width = self.effort.width;
        let step = self.limit / LOSS_STEPS;
        let key = |state: &State| {
            let about = (state.loss / step).floor();
            (about, state.weight.abs_diff(self.left), state.weight)
        };
        list.select_nth_unstable_by(width, |a, b| {
            let (a, b) = (key(a), key(b));
            (a.0.total_cmp(&b.0)).then((a.1, a.2).cmp(&(b.1, b.2)))
        });
        let dropped = list.split_off(width);
        self.drop_all(&dropped, ahead.least_loss);
        list.sort_by_key(|state| state.weight);
    }

    fn drop_all(&mut self, list: &[State], least_loss: f64) {
        let losses = list.iter().map(|state| state.loss + least_loss);
        self.dropped = losses.fold(self.dropped, f64::min);
    }

    /// Stores a state's last change and returns its number.
    fn record(&mut self, state: &State) -> u32 {
        if state.change == Decision::Stay {
            return state.parent;
        }
        self.history.push((state.parent, state.change));
        u32::try_from(self.history.len() - 1).expect("the effort bounds the history")
    }

    /// The decisions that lead to the best answer, first to last.
    fn decisions(&self) -> Vec<Decision> {
        let mut decisions = Vec::new();
        let mut at = self.best;
        while at != ROOT {
            let (parent, decision) = self.history[at as usize];
            decisions.push(decision);
            at = parent;
        }
        decisions.reverse();
        decisions
    }
}

impl State {
    const ROOT: State = State {
        weight: 0,
        value: 0.0,
        count: 0,
        loss: 0.0,
        parent: ROOT,
        change: Decision::Stay,
    };

    fn with(&self, alternative: &Alternative) -> State {
        State {
            weight: self.weight + alternative.weight,
            value: self.value + alternative.value,
            count: self.count + alternative.count,
            loss: self.loss + alternative.loss,
            parent: self.parent,
            change: alternative.decision,
        }
    }
}

/// Removes each state for which another is no heavier, has no more items and no smaller value. The
/// list is sorted by weight.
fn retain_undominated_by_count(list: &mut Vec<State>) {
    let Some(least) = list.iter().map(|state| state.count).min() else {
        return;
    };
    let place = |count: i32| usize::try_from(count - least).unwrap_or(0);
    let most = list.iter().map(|state| state.count).max().unwrap_or(least);
    // The best value so far of states with at most that many items.
    let mut best = vec![f64::NEG_INFINITY; place(most) + 1];
    list.retain(|state| {
        let from = place(state.count);
        if best[from] >= state.value {
            return false;
        }
        for value in &mut best[from..] {
            if *value >= state.value {
                break;
            }
            *value = state.value;
        }
        true
    });
}

/// Whether the arithmetic of the search is exact for these weights.
pub(crate) fn is_exact(prepared: &Prepared<'_>, core_items: &[CoreItem]) -> bool {
    const ROOM: u128 = 1 << 62;
    let total: u128 = core_items
        .iter()
        .map(|core_item| match core_item {
            CoreItem::Item(member) => heaviest(member),
            CoreItem::Group {
                close,
                open,
                members,
                ..
            } => {
                u128::from(close.weight.unsigned_abs())
                    + u128::from(open.weight.unsigned_abs())
                    + members.iter().map(heaviest).sum::<u128>()
            }
        })
        .sum();
    u128::from(prepared.capacity) < ROOM && total < ROOM
}

fn heaviest(member: &Member) -> u128 {
    let weights = member.alternatives.iter().map(|a| a.weight.unsigned_abs());
    weights.max().unwrap_or(0).into()
}
