//! What is chosen, within a number of tokens.

use ctx_budget::{
    BudgetError, CapRule, CapUnit, Capacity, Claim, Outcome, Poll, Problem, Settings, kind_budget,
    proportional_caps,
};
use ctx_model::{BuildOptions, Selection, Tokens};

use crate::AssembleError;
use crate::candidates::Candidates;
use crate::fixed::Fixed;
use crate::price::{Pricer, smallest_limit};

/// The share of a token's price that a provider takes off for one it has cached. Providers take off
/// half to nine tenths; see `docs/design/0004-order-and-prompt-caches.md`.
const CACHE_DISCOUNT: f64 = 0.5;

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

impl Plan<'_, '_> {
    /// The largest context there may be.
    ///
    /// # Errors
    /// [`BudgetError::TooSmall`] when it holds neither the empty context nor, without a notice, the
    /// full one.
    pub(crate) fn limit(&self) -> Result<Tokens, AssembleError> {
        match self.options.max_tokens.checked_sub(self.options.reserve) {
            Some(limit) if self.least <= limit => Ok(limit),
            Some(limit) if self.full(0)?.is_some_and(|full| full <= limit) => Ok(limit),
            _ => Err(self.too_small(0)),
        }
    }

    /// What the context needs with everything in it and `slack` besides, where the policy takes
    /// everything when it has that much.
    pub(crate) fn full(&self, slack: u64) -> Result<Option<Tokens>, AssembleError> {
        let Problem { items, groups, .. } = &self.problem;
        if self.leaves_out || items.is_empty() {
            return Ok(None);
        }
        let weights = items
            .iter()
            .map(|item| item.choices[0].weight)
            .chain(groups.iter().copied());
        let weight = self
            .fixed
            .weight_with(weights.fold(slack, u64::saturating_add), false);
        let limit = smallest_limit(self.pricer.counter, weight);
        Ok(self.takes_all(limit, slack)?.then_some(limit))
    }

    /// Whether everything fits into `limit`, and the policy takes it.
    fn takes_all(&self, limit: Tokens, slack: u64) -> Result<bool, AssembleError> {
        let mut plan = Plan {
            problem: self.problem.clone(),
            ..*self
        };
        let budget = Budget {
            limit,
            slack,
            max_items: None,
        };
        plan.allow(&budget, false);
        if !has_room_for_all(&plan.problem) {
            return Ok(false);
        }
        match plan.run(&plan.problem) {
            Ok(outcome) => Ok(outcome.chosen.iter().all(Option::is_some)),
            Err(BudgetError::Cancelled) => Err(AssembleError::Cancelled),
            // What is wrong is told where the context is chosen.
            Err(_) => Ok(false),
        }
    }

    /// Chooses what to show.
    pub(crate) fn select(&mut self, budget: &Budget) -> Result<Outcome, AssembleError> {
        if !self.leaves_out {
            self.allow(budget, false);
            if has_room_for_all(&self.problem) {
                let outcome = self.solve(&self.problem, budget)?;
                // A policy may leave out what is worth nothing; then the notice needs its room.
                if outcome.chosen.iter().all(Option::is_some) {
                    return Ok(outcome);
                }
            }
        }
        self.allow(budget, self.options.include_notice);
        let outcome = self.solve(&self.problem, budget)?;
        let by_value = self.options.selection != Selection::InOrder;
        if self.options.previous.is_none() || !by_value || outcome.certificate.lambda <= 0.0 {
            return Ok(outcome);
        }
        // What the provider has cached already is cheaper than it looks, by so much.
        let discount = outcome.certificate.lambda * CACHE_DISCOUNT;
        let mut problem = self.problem.clone();
        for (item, candidate) in problem.items.iter_mut().zip(&self.candidates.all) {
            if candidate.was_sent {
                for choice in &mut item.choices {
                    #[expect(clippy::cast_precision_loss, reason = "a weight fits a budget")]
                    let weight = choice.weight as f64;
                    choice.value += discount * weight;
                }
            }
        }
        let cheaper = self.solve(&problem, budget)?;
        // A discount chooses, and is no part of what the choice is worth.
        let bound = &outcome.certificate;
        Ok(cheaper.told_by(&self.problem, &self.settings(), bound)?)
    }

    /// Lets the problem spend what `budget` allows, and tells how much that is.
    pub(crate) fn allow(&mut self, budget: &Budget, notice: bool) -> Capacity {
        let capacity = self.fixed.capacity(self.pricer, budget.limit, notice);
        self.problem.capacity = Capacity {
            safe: capacity.safe.saturating_sub(budget.slack),
            ..capacity
        };
        self.problem.max_items = match (self.options.max_chunks, budget.max_items) {
            (Some(most), Some(fewer)) => Some(most.min(fewer)),
            (most, fewer) => most.or(fewer),
        };
        if self.options.caps {
            self.cap(budget.limit);
        }
        self.problem.capacity
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

    /// The refusal that names the smallest budget that works: room for the context with nothing in
    /// it and for what the pinned chunks need besides, or for everything and no notice.
    pub(crate) fn too_small(&self, slack: u64) -> AssembleError {
        let mut pins = Problem {
            capacity: Capacity::default(),
            max_items: None,
            ..self.problem.clone()
        };
        for item in &mut pins.items {
            item.cap = None;
        }
        let mut go_on = || Poll::Continue;
        let nothing =
            ctx_budget::select(&pins, Selection::InOrder, &Settings::default(), &mut go_on);
        let with_pins = match nothing {
            Err(BudgetError::PinsTooLarge { needed, .. }) => {
                let weight = self.fixed.weight_with(needed, self.options.include_notice);
                smallest_limit(self.pricer.counter, weight.saturating_add(slack)).max(self.least)
            }
            Err(other) => return other.into(),
            Ok(_) => self.least,
        };
        let needed = match self.full(slack) {
            Ok(full) => full.map_or(with_pins, |it| it.min(with_pins)),
            Err(cancelled) => return cancelled,
        };
        let least = self.least.min(needed);
        let pinned = needed.saturating_sub(least);
        self.fixed
            .too_small(self.pricer, self.options, least, pinned)
            .into()
    }
}

fn has_room_for_all(problem: &Problem) -> bool {
    let items = &problem.items;
    let weights = items.iter().map(|item| item.choices[0].weight);
    let weight = weights
        .chain(problem.groups.iter().copied())
        .try_fold(0, u64::checked_add);
    problem.max_items.is_none_or(|most| items.len() <= most)
        && weight.is_some_and(|weight| weight <= problem.capacity.safe)
}
