//! What is chosen, within a number of tokens.

use ctx_budget::{
    BudgetError, CapRule, CapUnit, Capacity, Claim, Outcome, Pin, Poll, Problem, Settings,
    kind_budget, proportional_caps,
};
use ctx_model::{BuildOptions, Selection, Tokens};

use crate::AssembleError;
use crate::candidates::Candidates;
use crate::everything::Everything;
use crate::fixed::Fixed;
use crate::price::Pricer;

/// The share of a token's price that a provider takes off for one it has cached. Providers take off
/// half to nine tenths; see `docs/design/0004-order-and-prompt-caches.md`.
const CACHE_DISCOUNT: f64 = 0.5;

/// A bound and a value that differ by less than this share may be one.
const ROUNDING: f64 = 1e-9;

/// All that selection needs.
pub(crate) struct Plan<'p, 'u> {
    pub(crate) options: &'p BuildOptions,
    pub(crate) pricer: &'p Pricer<'p>,
    pub(crate) candidates: &'p Candidates<'u>,
    pub(crate) fixed: &'p Fixed,
    /// The candidates in numbers, and what the last round could spend.
    pub(crate) problem: Problem,
    /// What the context needs with nothing in it.
    pub(crate) least: Tokens,
    /// Whether something is left out whatever is chosen.
    pub(crate) leaves_out: bool,
}

/// What one round of selection may spend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) limit: Tokens,
    /// Weight that is not to be spent, whatever the limit allows.
    pub(crate) slack: u64,
    /// At most so many items, beside what the options say.
    pub(crate) max_items: Option<usize>,
}

/// The best of the contexts that show everything.
struct All {
    outcome: Outcome,
    /// Whether it is sure to fit; else its bound is what counts.
    fits: bool,
}

impl Plan<'_, '_> {
    /// The largest context there may be.
    ///
    /// # Errors
    /// [`BudgetError::TooSmall`] when it holds neither the empty context nor, without a notice, the
    /// full one.
    pub(crate) fn limit(&self) -> Result<Tokens, AssembleError> {
        match self.options.max_tokens.checked_sub(self.options.reserve) {
            Some(limit) if self.least <= limit => Ok(limit),
            Some(limit) if self.full(0).is_some_and(|full| full <= limit) => Ok(limit),
            _ => Err(self.too_small(0)),
        }
    }

    /// The least that the context needs with everything in it and `slack` besides; `None` where something is left out
    /// whatever is chosen.
    pub(crate) fn full(&self, slack: u64) -> Option<Tokens> {
        let weight = Everything::of(self)?.weight();
        let limit = self.count_with(weight.saturating_add(slack), false);
        if self.options.caps {
            // They come with the budget.
            let mut capped = Plan {
                problem: self.problem.clone(),
                ..*self
            };
            capped.cap(limit);
            Everything::of(&capped)?;
        }
        Some(limit)
    }

    /// What a context needs with chunks of this weight, each with a separator after it.
    fn count_with(&self, chunks: u64, notice: bool) -> Tokens {
        let weight = self.fixed.weight_with(chunks, notice);
        self.pricer.counter.count_of(weight)
    }

    /// Chooses what to show: everything, or the best that leaves room for the notice that something is left out.
    pub(crate) fn select(&mut self, budget: &Budget) -> Result<Outcome, AssembleError> {
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

    /// Everything at its fullest, where there is room for that.
    fn all_in_full(&mut self, budget: &Budget) -> Result<Option<Outcome>, AssembleError> {
        if self.leaves_out {
            return Ok(None);
        }
        self.allow(budget, false);
        let Problem { items, groups, .. } = &self.problem;
        let weights = items.iter().map(|item| item.choices[0].weight);
        let mut weights = weights.chain(groups.iter().copied());
        let has_places = self
            .problem
            .max_items
            .is_none_or(|most| items.len() <= most);
        let weight = weights.try_fold(0, u64::checked_add);
        let room = weight.and_then(|it| self.room(budget, false, it));
        let Some(room) = room.filter(|_| has_places) else {
            return Ok(None);
        };
        self.problem.capacity = room;
        let outcome = self.solve(&self.problem, budget)?;
        // A policy may leave out what is worth nothing; then the notice needs its room.
        let is_all = outcome.chosen.iter().all(Option::is_some);
        Ok(is_all.then_some(outcome))
    }

    /// The best with room for a notice, whether or not it needs one.
    fn some(&mut self, budget: &Budget) -> Result<Outcome, AssembleError> {
        let notice = self.options.include_notice;
        self.allow(budget, notice);
        let some = self.best(&self.problem, budget);
        if let Err(AssembleError::Budget(BudgetError::TooSmall { .. })) = some
            && let Some(room) = self.room(budget, notice, self.pinned()?)
        {
            self.problem.capacity = room;
            return self.best(&self.problem, budget);
        }
        some
    }

    /// The best of the contexts that show everything and so need no notice; `None` where there is none, or none that is
    /// worth as much as `some`.
    fn all(&self, budget: &Budget, some: Option<&Outcome>) -> Result<Option<All>, AssembleError> {
        let everything = Everything::of(self).filter(|_| self.options.include_notice);
        let Some(everything) = everything else {
            return Ok(None);
        };
        let mut capacity = self.capacity(budget, false);
        let least = everything.weight();
        let room = self.room(budget, false, least);
        if least > capacity.loose.max(room.map_or(0, |it| it.safe)) {
            return Ok(None);
        }
        capacity.safe = room.map_or(capacity.loose, |it| it.safe);
        let is_worse = |some: &Outcome| {
            let bound = everything.bound(&capacity, some.certificate.lambda);
            self.options.diversity.is_none() && bound < some.certificate.value * (1.0 - ROUNDING)
        };
        if some.is_some_and(is_worse) {
            return Ok(None);
        }
        let outcome = self.best(&everything.problem(capacity), budget)?;
        Ok(Some(All {
            outcome: everything.of_all(outcome),
            fits: room.is_some(),
        }))
    }

    /// Of `some` and everything the one that is worth more, with a bound on both.
    fn better(&self, some: Outcome, all: All) -> Result<Outcome, AssembleError> {
        let All { outcome: all, fits } = all;
        let upper = some.certificate.upper_bound;
        let upper = upper.max(all.certificate.upper_bound);
        let is_better = fits && all.certificate.value >= some.certificate.value;
        let (steps, finished) = (some.steps + all.steps, some.finished && all.finished);
        let better = if is_better { all } else { some };
        let mut bound = better.certificate;
        bound.upper_bound = upper;
        let mut better = better.told_by(&self.problem, &self.settings(), &bound)?;
        (better.steps, better.finished) = (steps, finished);
        Ok(better)
    }

    /// The best for `problem`, where what was sent before is cheaper than it looks.
    fn best(&self, problem: &Problem, budget: &Budget) -> Result<Outcome, AssembleError> {
        let outcome = self.solve(problem, budget)?;
        let by_value = self.options.selection != Selection::InOrder;
        if self.options.previous.is_none() || !by_value || outcome.certificate.lambda <= 0.0 {
            return Ok(outcome);
        }
        // The provider has cached it already, and takes so much off.
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
        // A discount chooses, and is no part of what the choice is worth.
        let bound = &outcome.certificate;
        Ok(cheaper.told_by(problem, &self.settings(), bound)?)
    }

    /// Lets the problem spend what `budget` allows, and tells how much that is.
    pub(crate) fn allow(&mut self, budget: &Budget, notice: bool) -> Capacity {
        self.problem.capacity = self.capacity(budget, notice);
        self.problem.max_items = match (self.options.max_chunks, budget.max_items) {
            (Some(most), Some(fewer)) => Some(most.min(fewer)),
            (most, fewer) => most.or(fewer),
        };
        if self.options.caps {
            self.cap(budget.limit);
        }
        self.problem.capacity
    }

    fn capacity(&self, budget: &Budget, notice: bool) -> Capacity {
        let capacity = self.fixed.capacity(self.pricer, budget.limit, notice);
        Capacity {
            safe: capacity.safe.saturating_sub(budget.slack),
            ..capacity
        }
    }

    /// What may be spent, where chunks of `weight` fit. A weight that is known has a count that is known, so that it may be above
    /// what is safe for any.
    fn room(&self, budget: &Budget, notice: bool, weight: u64) -> Option<Capacity> {
        let capacity = self.capacity(budget, notice);
        if weight <= capacity.safe {
            return Some(capacity);
        }
        let fits = budget.slack == 0 && self.count_with(weight, notice) <= budget.limit;
        let loose = capacity.loose.max(weight);
        fits.then_some(Capacity {
            safe: weight,
            loose,
        })
    }

    /// Gives each item no more than its relevance and the budget of its kind allow.
    fn cap(&mut self, limit: Tokens) {
        let claims: Vec<Claim> = self
            .candidates
            .all
            .iter()
            .map(|candidate| {
                let chunk = candidate.unit.chunk();
                Claim {
                    relevance: chunk.relevance.get(),
                    kind_budget: kind_budget(&chunk.kind, CapUnit::Tokens),
                }
            })
            .collect();
        let caps = proportional_caps(&claims, limit.into(), &CapRule::TOKENS);
        for (item, cap) in self.problem.items.iter_mut().zip(caps) {
            let capacity = self
                .pricer
                .counter
                .capacity(Tokens::saturating_from_u64(cap));
            item.cap = Some(capacity.safe);
        }
    }

    fn solve(&self, problem: &Problem, budget: &Budget) -> Result<Outcome, AssembleError> {
        self.run(problem).map_err(|error| match error {
            BudgetError::Cancelled => AssembleError::Cancelled,
            // More pins than `max_chunks` are refused at once; here it is the room that is short.
            BudgetError::PinsTooLarge { .. } | BudgetError::TooManyPins { .. } => {
                self.too_small(budget.slack)
            }
            other => other.into(),
        })
    }

    /// What the policy makes of `problem`.
    fn run(&self, problem: &Problem) -> Result<Outcome, BudgetError> {
        let control = self.pricer.control;
        let mut poll = || {
            if control.cancel.is_cancelled() {
                Poll::Cancel
            } else if control.is_late() {
                Poll::Finish
            } else {
                Poll::Continue
            }
        };
        let selection = self.options.selection;
        ctx_budget::select(problem, selection, &self.settings(), &mut poll)
    }

    fn settings(&self) -> Settings {
        Settings::default()
            .with_exact(self.options.exact)
            .with_diversity(self.options.diversity)
    }

    /// What the pinned items weigh at their cheapest.
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

    /// The refusal that names the smallest budget that works: room for the context with nothing in
    /// it and for what the pinned chunks need besides, or for everything and no notice.
    pub(crate) fn too_small(&self, slack: u64) -> AssembleError {
        let with_pins = match self.pinned() {
            Ok(0) => self.least,
            Ok(pinned) => {
                let weight = pinned.saturating_add(slack);
                let notice = self.options.include_notice;
                self.count_with(weight, notice).max(self.least)
            }
            Err(other) => return other.into(),
        };
        let needed = self.full(slack).map_or(with_pins, |it| it.min(with_pins));
        let least = self.least.min(needed);
        let pinned = needed.saturating_sub(least);
        let mut refusal = (self.fixed).too_small(self.pricer, self.options, least, pinned);
        if let BudgetError::TooSmall { largest_pin, .. } = &mut refusal
            && pinned > Tokens::ZERO
        {
            *largest_pin = self.largest_pin();
        }
        refusal.into()
    }

    /// The pinned candidate that takes most at its cheapest, of several the first.
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
        Some(Pin {
            name,
            tokens: self.pricer.counter.count_of(weight),
        })
    }
}
