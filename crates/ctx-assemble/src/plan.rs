//! Selection within a number of tokens.

use ctx_budget::{
    BudgetError, CapRule, CapUnit, Capacity, Claim, Item, Outcome, Pin, Poll, Problem, Settings,
    kind_budget, proportional_caps,
};
use ctx_model::{BuildOptions, Chunk, Selection, Tokens};
use rapidhash::RapidHashSet;
use smallvec::SmallVec;

use crate::candidates::{Candidate, Candidates};
use crate::chunk_bound::ChunkBound;
use crate::claims::{Claimants, Granted};
use crate::everything::Everything;
use crate::fixed::{Fixed, SetAside};
use crate::price::{Pricer, smallest_limit};
use crate::screen::Screened;
use crate::{AssembleError, Policy};

/// The discount on a cached token, as a share of its price. Providers give half to nine tenths; see
/// `docs/design/0004-order-and-prompt-caches.md`.
const CACHE_DISCOUNT: f64 = 0.5;

/// A bound and a value that differ by less than this share may be equal.
const ROUNDING: f64 = 1e-9;

/// Everything that selection needs.
pub(crate) struct Plan<'p, 'u> {
    pub(crate) options: &'p BuildOptions,
    pub(crate) pricer: &'p Pricer<'p>,
    pub(crate) candidates: &'p Candidates<'u>,
    pub(crate) fixed: &'p Fixed,
    /// The candidates as a selection problem, with the capacity of the last round.
    pub(crate) problem: Problem,
    /// The tokens of the context with no chunk in it.
    pub(crate) least: Tokens,
    /// The chunks that may be shown, and those left out whatever is chosen.
    pub(crate) screened: &'p Screened<'u>,
    /// The bound on the number of chunks shown, if the weight of the notice depends on it.
    pub(crate) chunk_bound: Option<&'p ChunkBound>,
    /// The claims of candidates.
    pub(crate) claimants: &'p Claimants,
    /// The caller's policy, in place of that of the options.
    pub(crate) policy: Option<&'p dyn Policy>,
}

/// A selection, and the claims that were granted for it.
pub(crate) struct Selected {
    pub(crate) outcome: Outcome,
    pub(crate) granted: Vec<Granted>,
}

/// The limits of one round of selection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) limit: Tokens,
    /// Weight that must not be spent, even if the limit allows it.
    pub(crate) slack: u64,
    /// The most items, besides the limit of the options.
    pub(crate) max_items: Option<usize>,
}

/// The best of the contexts that show everything.
struct All {
    outcome: Outcome,
    /// Whether it is certain to fit; if not, only its bound is used.
    fits: bool,
}

impl Plan<'_, '_> {
    /// The most tokens that the context may have.
    ///
    /// # Errors
    /// [`BudgetError::TooSmall`] if neither the empty context nor the full one, without a notice,
    /// fits in it.
    pub(crate) fn limit(&self) -> Result<Tokens, AssembleError> {
        match self.options.max_tokens.checked_sub(self.options.reserve) {
            Some(limit) if self.least <= limit => Ok(limit),
            Some(limit) if self.full(0).is_some_and(|full| full <= limit) => Ok(limit),
            _ => Err(self.too_small(0)),
        }
    }

    /// The tokens of a context with everything in it, each unit at its cheapest, and `slack` more
    /// weight. `None` if something is left out whatever is chosen.
    pub(crate) fn full(&self, slack: u64) -> Option<Tokens> {
        let weight = Everything::of(self)?.weight();
        let limit = self.count_with(weight.saturating_add(slack), 0);
        if self.options.caps {
            // Caps depend on the budget.
            let mut capped = Plan {
                problem: self.problem.clone(),
                ..*self
            };
            capped.cap(limit);
            Everything::of(&capped)?;
        }
        Some(limit)
    }

    /// The tokens of a context with a notice and chunks of these weights; `chunks` includes a
    /// separator after each.
    fn count_with(&self, chunks: u64, notice: u64) -> Tokens {
        let weight = self.fixed.weight_with(chunks, notice);
        self.pricer.counter.count_of(weight)
    }

    /// Chooses what to show, with claims granted first. If that leaves no valid selection, none is
    /// granted.
    pub(crate) fn select(&mut self, budget: &Budget) -> Result<Selected, AssembleError> {
        let granted = self.granted(budget);
        if !granted.is_empty() {
            let unclaimed = self.problem.items.clone();
            for it in &granted {
                it.apply(&mut self.problem.items);
            }
            let selected = self.best_of_all(budget);
            self.problem.items = unclaimed;
            match selected {
                Err(AssembleError::Budget(error))
                    if !matches!(error, BudgetError::Selection { .. }) => {}
                selected => return selected.map(|outcome| Selected { outcome, granted }),
            }
        }
        let outcome = self.best_of_all(budget)?;
        Ok(Selected {
            outcome,
            granted: Vec::new(),
        })
    }

    /// The claims that are granted within `budget`.
    fn granted(&mut self, budget: &Budget) -> Vec<Granted> {
        if self.options.caps {
            self.cap(budget.limit);
        }
        let room = self.capacity(budget, self.fixed.any_notice()).safe;
        let most = [self.options.max_chunks, budget.max_items];
        let most = most.into_iter().flatten().min();
        self.claimants.granted(&self.problem, room, most)
    }

    /// Chooses what to show: everything, or the best that leaves room for the notice that something
    /// is left out.
    fn best_of_all(&mut self, budget: &Budget) -> Result<Outcome, AssembleError> {
        if let Some(outcome) = self.all_in_full(budget)? {
            return Ok(outcome);
        }
        let some = self.some(budget);
        let all = self.all(budget, some.as_ref().ok())?;
        match (some, all) {
            (some, None) => some,
            (Ok(some), Some(all)) => self.better(some, all),
            (Err(_), Some(all)) if all.fits => Ok(all.outcome),
            (error, Some(_)) => error,
        }
    }

    /// Everything in full, if there is room for it.
    fn all_in_full(&mut self, budget: &Budget) -> Result<Option<Outcome>, AssembleError> {
        if self.screened.leaves_out() {
            return Ok(None);
        }
        self.allow(budget, SetAside::default());
        let Problem { items, groups, .. } = &self.problem;
        let weights = items.iter().map(|item| item.choices[0].weight);
        let mut weights = weights.chain(groups.iter().copied());
        let has_places = self
            .problem
            .max_items
            .is_none_or(|most| items.len() <= most);
        let weight = weights.try_fold(0, u64::checked_add);
        let room = weight.and_then(|it| self.room(budget, SetAside::default(), it));
        let Some(room) = room.filter(|_| has_places) else {
            return Ok(None);
        };
        self.problem.capacity = room;
        let outcome = self.solve(&self.problem, budget)?;
        // A policy may leave out items of no value, or parts of them; then the notice needs room.
        let is_all = count_left_out(self.candidates, &outcome.chosen) == 0;
        Ok(is_all.then_some(outcome))
    }

    /// The best selection with room for a notice, whether or not it needs one. The weight of the
    /// notice depends on how many chunks are left out, which in turn depends on that weight. The
    /// lightest possible notice is tried first, as it leaves the most room.
    fn some(&mut self, budget: &Budget) -> Result<Outcome, AssembleError> {
        let notices = self.notices(budget);
        let least = notices[0];
        let mut steps = 0;
        for (tried, &notice) in notices.iter().enumerate() {
            let mut some = self.some_beside(budget, SetAside { notice, least })?;
            some.steps += steps;
            let is_last = tried + 1 == notices.len();
            if is_last || self.fixed.notice(self.left_out(&some.chosen)) <= notice {
                return Ok(some);
            }
            steps = some.steps;
        }
        unreachable!("the last is returned")
    }

    /// The best selection that leaves room for a notice of this weight.
    fn some_beside(&mut self, budget: &Budget, aside: SetAside) -> Result<Outcome, AssembleError> {
        self.allow(budget, aside);
        let some = self.best(&self.problem, budget);
        if let Err(AssembleError::Budget(BudgetError::TooSmall { .. })) = some
            && let Some(room) = self.room(budget, aside, self.pinned()?)
        {
            self.problem.capacity = room;
            return self.best(&self.problem, budget);
        }
        some
    }

    /// The weights of the notices that may have to be written, the lightest first; at least one.
    fn notices(&self, budget: &Budget) -> SmallVec<[u64; 6]> {
        let all = self.fixed.notices(0);
        let Some(chunk_bound) = self.chunk_bound else {
            return all;
        };
        let widest = SetAside {
            notice: all[0],
            least: all[0],
        };
        let most = chunk_bound.most(self.capacity(budget, widest).loose);
        self.fixed
            .notices(self.screened.least_out() + chunk_bound.all() - most)
    }

    /// The ids of the parts of shown candidates that are left out although there is room for a
    /// fuller showing with them. That is for the caller's policy to decide; a built-in policy
    /// leaves them out for the sake of others.
    pub(crate) fn declined(&self, outcome: &Outcome) -> RapidHashSet<&str> {
        let mut declined = RapidHashSet::default();
        if self.policy.is_none() {
            return declined;
        }
        let left = self.problem.capacity.safe.saturating_sub(outcome.weight);
        let items = self.problem.items.iter().zip(&self.candidates.all);
        for ((item, candidate), choice) in items.zip(&outcome.chosen) {
            let Some(choice) = *choice else { continue };
            let room = item.choices[choice].weight.saturating_add(left);
            let room = room.min(item.cap.unwrap_or(u64::MAX));
            let fuller = item.choices.iter().zip(&candidate.variants).take(choice);
            let fitting = fuller.filter(|(fuller, _)| fuller.weight <= room);
            let pieces = fitting.flat_map(|(_, variant)| &variant.pieces);
            declined.extend(pieces.flat_map(|it| &it.parts).map(|part| &*part.id));
        }
        declined
    }

    /// How many chunks a reader does not find in the context if these are chosen.
    pub(crate) fn left_out(&self, chosen: &[Option<usize>]) -> usize {
        let shown = self.candidates.all.iter().zip(chosen);
        let shown = shown.filter_map(|(it, choice)| Some(&it.variants[(*choice)?]));
        let parts = shown.flat_map(|it| &it.pieces).flat_map(|it| &it.parts);
        let of_candidates = count_left_out(self.candidates, chosen);
        self.screened.count_out(parts.map(|it| &*it.id)) + of_candidates
    }

    /// The best of the contexts that show everything and so need no notice; `None` if there is
    /// none, or none with at least the value of `some`.
    fn all(&self, budget: &Budget, some: Option<&Outcome>) -> Result<Option<All>, AssembleError> {
        let everything = Everything::of(self).filter(|_| self.options.include_notice);
        let Some(everything) = everything else {
            return Ok(None);
        };
        let mut capacity = self.capacity(budget, SetAside::default());
        let least = everything.weight();
        let room = self.room(budget, SetAside::default(), least);
        if least > capacity.loose.max(room.map_or(0, |it| it.safe)) {
            return Ok(None);
        }
        capacity.safe = room.map_or(capacity.loose, |it| it.safe);
        let is_worse = |some: &Outcome| {
            let bound = everything.bound(&capacity, some.certificate.lambda);
            self.options.diversity == 0.0 && bound < some.certificate.value * (1.0 - ROUNDING)
        };
        if some.is_some_and(is_worse) {
            return Ok(None);
        }
        let outcome = if capacity.loose == u64::MAX && room.is_none() {
            self.unbounded(&everything, budget)?
        } else {
            self.best(&everything.problem(capacity), budget)?
        };
        Ok(Some(All {
            outcome: everything.of_all(outcome),
            fits: room.is_some(),
        }))
    }

    /// Everything at its largest value, if no weight is known to be too much. The value is that of
    /// all items in full, so nothing is solved.
    fn unbounded(
        &self,
        everything: &Everything<'_>,
        budget: &Budget,
    ) -> Result<Outcome, AssembleError> {
        let problem = everything.fullest();
        let mut all = self.solve_by(&problem, Selection::InOrder, budget)?;
        all.certificate.upper_bound = all.certificate.value;
        Ok(all)
    }

    /// The better of `some` and everything, with a bound that covers both.
    fn better(&self, some: Outcome, all: All) -> Result<Outcome, AssembleError> {
        let All { outcome: all, fits } = all;
        let upper = some.certificate.upper_bound;
        let upper = upper.max(all.certificate.upper_bound);
        // A caller's policy may have reasons of its own to leave something out.
        let is_better =
            fits && self.policy.is_none() && all.certificate.value >= some.certificate.value;
        let (steps, finished) = (some.steps + all.steps, some.finished && all.finished);
        let better = if is_better { all } else { some };
        let mut bound = better.certificate;
        bound.upper_bound = upper;
        let mut better = better.valued_by(&self.problem, &self.settings(), &bound)?;
        (better.steps, better.finished) = (steps, finished);
        Ok(better)
    }

    /// The best selection for `problem`, where chunks of the previous context count as cheaper.
    fn best(&self, problem: &Problem, budget: &Budget) -> Result<Outcome, AssembleError> {
        let outcome = self.solve(problem, budget)?;
        if self.policy.is_some() {
            return Ok(outcome);
        }
        let by_value = self.options.selection != Selection::InOrder;
        if self.options.previous.is_none() || !by_value || outcome.certificate.lambda <= 0.0 {
            return self.with_parts_of_no_worth(problem, outcome);
        }
        // The provider has cached these chunks and gives this discount on them.
        let discount = outcome.certificate.lambda * CACHE_DISCOUNT;
        let mut cheaper = problem.clone();
        for (item, candidate) in cheaper.items.iter_mut().zip(&self.candidates.all) {
            if candidate.was_sent {
                for choice in &mut item.choices {
                    #[expect(clippy::cast_precision_loss, reason = "a weight fits a budget")]
                    let weight = choice.weight as f64;
                    choice.value += discount * weight;
                }
            }
        }
        let cheaper = self.solve(&cheaper, budget)?;
        // The discount influences the choice, but is no part of its value.
        let bound = &outcome.certificate;
        let told = cheaper.valued_by(problem, &self.settings(), bound)?;
        self.with_parts_of_no_worth(problem, told)
    }

    /// Adds parts of merged chunks that have no value of their own, if there is room, so that they
    /// are not reported as over budget. Does not replace a rendition by a longer one of equal
    /// value: short renditions exist for that case.
    fn with_parts_of_no_worth(
        &self,
        problem: &Problem,
        mut outcome: Outcome,
    ) -> Result<Outcome, AssembleError> {
        let mut left = problem.capacity.safe.saturating_sub(outcome.weight);
        let mut is_fuller = false;
        let of_parts = self.candidates.all.iter().enumerate();
        for (index, _) in of_parts.filter(|(_, it)| it.unit.parts().len() > 1) {
            let Some(now) = outcome.chosen[index] else {
                continue;
            };
            let item = &problem.items[index];
            let shown = item.choices[now];
            let room = shown.weight.saturating_add(left);
            let room = room.min(item.cap.unwrap_or(u64::MAX));
            let is_no_worse = |&choice: &usize| {
                let fuller = item.choices[choice];
                fuller.value >= shown.value && fuller.weight <= room
            };
            if let Some(choice) = (0..now).find(is_no_worse) {
                let weight = item.choices[choice].weight;
                outcome.chosen[index] = Some(choice);
                left = left + shown.weight - weight;
                is_fuller = true;
            }
        }
        if !is_fuller {
            return Ok(outcome);
        }
        // Such a part may still show new features.
        let bound = outcome.certificate;
        Ok(outcome.valued_by(problem, &self.settings(), &bound)?)
    }

    /// Sets the capacity, the number of items and the caps of the problem as `budget` allows;
    /// returns the capacity.
    pub(crate) fn allow(&mut self, budget: &Budget, aside: SetAside) -> Capacity {
        self.problem.capacity = self.capacity(budget, aside);
        self.problem.max_items = match (self.options.max_chunks, budget.max_items) {
            (Some(most), Some(fewer)) => Some(most.min(fewer)),
            (most, fewer) => most.or(fewer),
        };
        if self.options.caps {
            self.cap(budget.limit);
        }
        self.problem.capacity
    }

    fn capacity(&self, budget: &Budget, aside: SetAside) -> Capacity {
        let capacity = self.fixed.capacity(self.pricer, budget.limit, aside);
        let spare = self.candidates.spare_headings;
        Capacity {
            safe: capacity.safe.saturating_sub(budget.slack),
            // What weighs more may fit if some headings are not written.
            loose: capacity.loose.saturating_add(spare),
        }
    }

    /// The capacity, if chunks of `weight` fit. The count of a given weight is exact, so a weight
    /// may fit although it is above the capacity that is safe for any.
    fn room(&self, budget: &Budget, aside: SetAside, weight: u64) -> Option<Capacity> {
        let capacity = self.capacity(budget, aside);
        if weight <= capacity.safe {
            return Some(capacity);
        }
        let fits = budget.slack == 0 && self.count_with(weight, aside.notice) <= budget.limit;
        let loose = capacity.loose.max(weight);
        fits.then_some(Capacity {
            safe: weight,
            loose,
        })
    }

    /// Sets the cap of each item, by its relevance, the budget of its kind, and what it needs.
    fn cap(&mut self, limit: Tokens) {
        let counter = self.pricer.counter;
        let items = self.candidates.all.iter().zip(&self.problem.items);
        let claims: Vec<Claim> = items
            .map(|(candidate, item)| {
                let chunk = candidate.unit.chunk();
                let heaviest = item.choices.iter().map(|it| it.weight).max();
                Claim {
                    relevance: chunk.relevance.get(),
                    kind_budget: kind_budget(&chunk.kind, CapUnit::Tokens),
                    need: smallest_limit(counter, heaviest.unwrap_or(0)).into(),
                }
            })
            .collect();
        let caps = proportional_caps(&claims, limit.into(), &CapRule::TOKENS);
        for (item, cap) in self.problem.items.iter_mut().zip(caps) {
            let bounds = counter.weight_bounds(Tokens::saturating_from_u64(cap));
            item.cap = Some(bounds.safe);
        }
    }

    fn solve(&self, problem: &Problem, budget: &Budget) -> Result<Outcome, AssembleError> {
        let Some(policy) = self.policy else {
            return self.solve_by(problem, self.options.selection, budget);
        };
        let chunks: Vec<&Chunk> = self
            .candidates
            .all
            .iter()
            .map(|it| it.unit.chunk())
            .collect();
        let choose = |poll: &mut dyn FnMut() -> Poll| policy.choose(problem, &chunks, poll);
        let mut poll = || self.poll();
        let outcome = ctx_budget::select_with(problem, choose, &self.settings(), &mut poll);
        outcome.map_err(|error| self.refusal(error, budget))
    }

    /// Runs a built-in policy on `problem`.
    fn solve_by(
        &self,
        problem: &Problem,
        selection: Selection,
        budget: &Budget,
    ) -> Result<Outcome, AssembleError> {
        let mut poll = || self.poll();
        let outcome = ctx_budget::select(problem, selection, &self.settings(), &mut poll);
        outcome.map_err(|error| self.refusal(error, budget))
    }

    fn refusal(&self, error: BudgetError, budget: &Budget) -> AssembleError {
        match error {
            BudgetError::Cancelled => AssembleError::Cancelled,
            // More pins than `max_chunks` were refused earlier; here the weight does not fit.
            BudgetError::PinsTooLarge { .. } | BudgetError::TooManyPins { .. } => {
                self.too_small(budget.slack)
            }
            other => other.into(),
        }
    }

    fn poll(&self) -> Poll {
        let control = self.pricer.control;
        if control.cancel.is_cancelled() {
            Poll::Cancel
        } else if control.is_late() {
            Poll::Finish
        } else {
            Poll::Continue
        }
    }

    fn settings(&self) -> Settings {
        Settings::default()
            .with_exact(self.options.exact)
            .with_diversity(self.options.diversity)
    }

    /// The weight of the pinned items at their cheapest.
    fn pinned(&self) -> Result<u64, BudgetError> {
        let mut pins = Problem {
            capacity: Capacity::default(),
            max_items: None,
            ..self.problem.clone()
        };
        for item in &mut pins.items {
            item.cap = None;
        }
        let mut go_on = || Poll::Continue;
        match ctx_budget::select(&pins, Selection::InOrder, &Settings::default(), &mut go_on) {
            Ok(_) => Ok(0),
            Err(BudgetError::PinsTooLarge { needed, .. }) => Ok(needed),
            Err(other) => Err(other),
        }
    }

    /// The error with the smallest budget that works: room for the empty context and the pinned
    /// chunks at their cheapest, or for everything without a notice.
    pub(crate) fn too_small(&self, slack: u64) -> AssembleError {
        let notice = self.fixed.notice(self.left_out(&self.cheapest_pins()));
        let with_pins = match self.pinned() {
            Ok(0) => self.least,
            Ok(pinned) => {
                let weight = pinned.saturating_add(slack);
                self.count_with(weight, notice).max(self.least)
            }
            Err(other) => return other.into(),
        };
        let full = self.full(slack).filter(|&full| full <= with_pins);
        let (needed, notice) = full.map_or((with_pins, notice), |full| (full, 0));
        let largest_pin = self.largest_pin().filter(|it| it.tokens > Tokens::ZERO);
        let around = largest_pin
            .as_ref()
            .map(|_| self.fixed.count_around(self.pricer, notice));
        let least = around.unwrap_or(needed).min(needed);
        let parts = self.fixed.parts(self.pricer, self.options, least, notice);
        let pinned = needed.saturating_sub(least);
        let mut refusal = BudgetError::too_small(self.options.max_tokens, &parts, pinned);
        if let BudgetError::TooSmall {
            largest_pin: pin, ..
        } = &mut refusal
        {
            *pin = largest_pin;
        }
        refusal.into()
    }

    /// The selections of the least weight that are allowed, whatever they weigh: the pinned chunks
    /// at their cheapest, and everything at its cheapest, which needs no notice.
    pub(crate) fn least_selections(
        &mut self,
        limit: Tokens,
    ) -> Result<Vec<Selected>, AssembleError> {
        let budget = Budget {
            limit,
            slack: 0,
            max_items: None,
        };
        let weighing = |safe| Capacity {
            safe,
            loose: u64::MAX,
        };
        self.allow(&budget, SetAside::default());
        self.problem.capacity = weighing(self.pinned()?);
        let mut least = vec![self.solve(&self.problem, &budget)];
        if let Some(everything) = Everything::of(self).filter(|_| self.options.include_notice) {
            let problem = everything.problem(weighing(everything.weight()));
            let all = self.solve(&problem, &budget);
            least.push(all.map(|it| everything.of_all(it)));
        }
        let least = least.into_iter().map(|outcome| {
            let granted = Vec::new();
            outcome.map(|outcome| Selected { outcome, granted })
        });
        least.collect()
    }

    /// The choices that show the pinned items at their cheapest, and nothing else.
    fn cheapest_pins(&self) -> Vec<Option<usize>> {
        let cheapest = |item: &Item| {
            let choices = item.choices.iter().enumerate();
            let cheapest = choices.min_by_key(|(_, it)| it.weight)?;
            Some(cheapest.0).filter(|_| item.pinned)
        };
        self.problem.items.iter().map(cheapest).collect()
    }

    /// The pinned candidate that takes the most tokens at its cheapest; of several, the first.
    fn largest_pin(&self) -> Option<Pin> {
        let items = self.problem.items.iter().zip(&self.candidates.all);
        let pinned = items.filter(|(item, _)| item.pinned);
        let cheapest = pinned.filter_map(|(item, candidate)| {
            let weight = item.choices.iter().map(|it| it.weight).min()?;
            Some((weight, candidate.unit.chunk()))
        });
        let (weight, chunk) = cheapest.rev().max_by_key(|(weight, _)| *weight)?;
        let name = match (&chunk.path, chunk.span) {
            (Some(path), Some(span)) => format!("{path}:{span}"),
            (Some(path), None) => path.clone(),
            (None, _) => chunk.id.clone(),
        };
        let weight = self.fixed.without_separator(weight);
        let tokens = self.pricer.counter.count_of(weight);
        Some(Pin { name, tokens })
    }
}

/// How many chunks are neither shown nor part of a shown unit.
pub(crate) fn count_left_out(candidates: &Candidates<'_>, chosen: &[Option<usize>]) -> usize {
    let left_out = |(candidate, choice): (&Candidate<'_>, &Option<usize>)| {
        let parts = candidate.unit.parts().len();
        let shown = choice.map_or(0, |choice| candidate.variants[choice].part_count());
        parts - shown
    };
    candidates.all.iter().zip(chosen).map(left_out).sum()
}
