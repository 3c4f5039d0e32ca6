//! The pipeline: order, render, select, emit, and count once more.

use std::collections::BTreeSet;

use ctx_budget::{BudgetError, Capacity, Outcome, Poll, Problem, Settings};
use ctx_format::{FormatOptions, Formatter};
use ctx_model::{BuildOptions, BuiltContext, Chunk, GroupBy, Order, Selection, Tokens};
use ctx_tokens::TokenCounter;
use tracing::{debug, debug_span};

use crate::arrange::best_at_both_ends;
use crate::candidates::Candidates;
use crate::emit::{Shown, emit};
use crate::fixed::Fixed;
use crate::price::{Pricer, smallest_limit};
use crate::receipt::Receipt;
use crate::{AssembleError, Control};

/// Builds one context from `chunks` that needs at most `options.max_tokens - options.reserve`
/// tokens by `counter`, counted on its final bytes.
///
/// `options.counter` is not looked at: `counter` is who counts. The order in which `chunks` arrive
/// does not show in the result.
///
/// Time: O(n log n) for n chunks, and two counts of what is rendered: each block once to price it,
/// the whole once more when it is finished. Memory: the context, the largest block, and O(n).
///
/// # Errors
/// [`AssembleError::Budget`] when not even the header, footer and notices fit, with the smallest
/// budget that works; [`AssembleError::DuplicateId`] and [`AssembleError::Model`] for chunks that
/// cannot be told apart or break a rule; [`AssembleError::Format`] when the header, footer or
/// separator would break the document; [`AssembleError::Cancelled`].
pub fn assemble(
    chunks: &[Chunk],
    options: &BuildOptions,
    counter: &dyn TokenCounter,
    control: &Control,
) -> Result<BuiltContext, AssembleError> {
    let span = debug_span!("assemble", chunks = chunks.len(), format = %options.format);
    let _entered = span.enter();
    let started = control.now();
    check_chunks(chunks)?;
    let formatter = formatter_of(options)?;
    let pricer = Pricer {
        formatter: &*formatter,
        counter,
        control,
    };
    let run = Run {
        chunks,
        options,
        pricer,
    };
    let mut built = run.build().map_err(|error| run.confirm(error))?;
    built.build_time = control.now().saturating_sub(started).as_secs_f64() * 1_000.0;
    debug!(
        included = built.included.len(),
        omitted = built.omitted.len(),
        tokens = built.tokens.total.get(),
        milliseconds = built.build_time,
        "built"
    );
    Ok(built)
}

/// The formatter the options ask for, once their texts are known to leave the document whole.
pub(crate) fn formatter_of(options: &BuildOptions) -> Result<Box<dyn Formatter>, AssembleError> {
    for (name, text) in [("header", &options.header), ("footer", &options.footer)] {
        if let Some(text) = text {
            ctx_format::check_text(options.format, name, text)?;
        }
    }
    Ok(ctx_format::formatter(
        options.format,
        &FormatOptions::from(options),
    )?)
}

fn check_chunks(chunks: &[Chunk]) -> Result<(), AssembleError> {
    let mut ids = BTreeSet::new();
    for chunk in chunks {
        chunk.check()?;
        if !ids.insert(chunk.id.as_str()) {
            return Err(AssembleError::DuplicateId {
                id: chunk.id.clone(),
            });
        }
    }
    Ok(())
}

/// One assembly.
#[derive(Clone, Copy)]
struct Run<'a> {
    chunks: &'a [Chunk],
    options: &'a BuildOptions,
    pricer: Pricer<'a>,
}

impl<'a> Run<'a> {
    fn build(&self) -> Result<BuiltContext, AssembleError> {
        self.check_pins()?;
        let candidates = {
            let _stage = debug_span!("price").entered();
            Candidates::price(self.chunks, self.options, &self.pricer)?
        };
        let fixed = Fixed::price(&self.pricer, self.options, self.chunks.len())?;
        let nothing = emit(&self.pricer, self.options, &[], self.chunks.len(), 0);
        let least = self.pricer.recount(&nothing)?;
        let mut problem = candidates.problem(&fixed, self.options.max_chunks);
        let limit = match self.options.max_tokens.checked_sub(self.options.reserve) {
            Some(limit) if least <= limit => limit,
            _ => {
                return Err(self.too_small(
                    &problem,
                    &fixed,
                    &Budget {
                        limit: Tokens::ZERO,
                        least,
                        slack: 0,
                    },
                ));
            }
        };

        // What does not add up, and what rounds, is found by the final count. Each round then has
        // less to spend, until the count agrees; the empty context is known to fit.
        let mut slack = 0_u64;
        loop {
            let budget = Budget {
                limit,
                least,
                slack,
            };
            let outcome = self.select(&candidates, &fixed, &mut problem, &budget)?;
            let _stage = debug_span!("emit").entered();
            let shown = self.shown(&candidates, &outcome);
            let included = shown
                .iter()
                .map(|section| section.showings.len())
                .sum::<usize>();
            let bytes = candidates.bytes(&fixed, &outcome.chosen);
            let omitted = self.chunks.len() - included;
            let context = emit(&self.pricer, self.options, &shown, omitted, bytes);
            let total = self.pricer.recount(&context)?;
            if total <= limit {
                let receipt = Receipt {
                    pricer: &self.pricer,
                    options: self.options,
                    chunks: self.chunks,
                    candidates: &candidates,
                    fixed: &fixed,
                    problem: &problem,
                    outcome: &outcome,
                    shown: &shown,
                    limit,
                    total,
                };
                return receipt.write(context);
            }
            let over = u64::from(total.saturating_sub(limit));
            debug!(over, "the count of the whole is above the sum of its parts");
            if problem.capacity.safe == 0 {
                // What is left weighs nothing by itself, and something together.
                problem.max_items = Some(included / 2);
            }
            slack = slack.saturating_add(over.max(slack));
        }
    }

    fn check_pins(&self) -> Result<(), BudgetError> {
        let pinned = self.chunks.iter().filter(|chunk| chunk.pinned).count();
        match self.options.max_chunks {
            Some(max_items) if max_items < pinned => {
                Err(BudgetError::TooManyPins { pinned, max_items })
            }
            _ => Ok(()),
        }
    }

    /// A refusal on account of pinned chunks, with the smallest budget tried out: where weights do
    /// not quite add up, only that tells.
    fn confirm(&self, error: AssembleError) -> AssembleError {
        let AssembleError::Budget(mut refusal) = error else {
            return error;
        };
        while let BudgetError::TooSmall {
            needed,
            pinned,
            smallest,
            ..
        } = &mut refusal
        {
            if *pinned == Tokens::ZERO {
                break;
            }
            let enough = self.options.clone().with_max_tokens(*smallest);
            let attempt = Run {
                options: &enough,
                ..*self
            }
            .build();
            match attempt {
                Err(AssembleError::Budget(BudgetError::TooSmall { smallest: more, .. }))
                    if more > *smallest =>
                {
                    let difference = more.saturating_sub(*smallest);
                    *needed = *needed + difference;
                    *pinned = *pinned + difference;
                    *smallest = more;
                }
                Err(AssembleError::Cancelled) => return AssembleError::Cancelled,
                _ => break,
            }
        }
        refusal.into()
    }

    /// Chooses what to show, and leaves in `problem` what could be spent.
    fn select(
        &self,
        candidates: &Candidates<'a>,
        fixed: &Fixed,
        problem: &mut Problem,
        budget: &Budget,
    ) -> Result<Outcome, AssembleError> {
        let _stage = debug_span!("select", limit = budget.limit.get()).entered();
        let capacity = |notice| {
            let capacity = fixed.capacity(&self.pricer, budget.limit, notice);
            Capacity {
                safe: capacity.safe.saturating_sub(budget.slack),
                ..capacity
            }
        };
        if candidates.below_min_relevance.is_empty() {
            problem.capacity = capacity(false);
            if Candidates::all_fit(problem) {
                let outcome = self.solve(problem, fixed, budget)?;
                // A policy may leave out what is worth nothing; then the notice needs its room.
                if outcome.chosen.iter().all(Option::is_some) {
                    return Ok(outcome);
                }
            }
        }
        problem.capacity = capacity(self.options.include_notice);
        self.solve(problem, fixed, budget)
    }

    fn solve(
        &self,
        problem: &Problem,
        fixed: &Fixed,
        budget: &Budget,
    ) -> Result<Outcome, AssembleError> {
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
        let settings = Settings::default();
        let outcome = ctx_budget::select(problem, self.options.selection, &settings, &mut poll);
        outcome.map_err(|error| match error {
            BudgetError::Cancelled => AssembleError::Cancelled,
            // More pins than `max_chunks` are refused at once; here it is the room that is short.
            BudgetError::PinsTooLarge { .. } | BudgetError::TooManyPins { .. } => {
                self.too_small(problem, fixed, budget)
            }
            other => other.into(),
        })
    }

    /// The refusal that names the smallest budget that works: room for the context with nothing in
    /// it, and for what the pinned chunks need besides.
    fn too_small(&self, problem: &Problem, fixed: &Fixed, budget: &Budget) -> AssembleError {
        let pins = Problem {
            capacity: Capacity::default(),
            max_items: None,
            ..problem.clone()
        };
        let nothing =
            ctx_budget::select(&pins, Selection::InOrder, &Settings::default(), &mut || {
                Poll::Continue
            });
        let pinned = match nothing {
            Err(BudgetError::PinsTooLarge { needed, .. }) => {
                let weight = fixed.weight_with(needed, self.options.include_notice);
                let weight = weight.saturating_add(budget.slack);
                smallest_limit(self.pricer.counter, weight).saturating_sub(budget.least)
            }
            Err(other) => return other.into(),
            Ok(_) => Tokens::ZERO,
        };
        fixed
            .too_small(&self.pricer, self.options, budget.least, pinned)
            .into()
    }

    /// What was chosen, in the order it is shown.
    fn shown<'c>(&self, candidates: &'c Candidates<'a>, outcome: &Outcome) -> Vec<Shown<'a, 'c>> {
        let mut shown: Vec<Shown<'a, 'c>> = Vec::new();
        let mut section = None;
        for (candidate, choice) in candidates.all.iter().zip(&outcome.chosen) {
            let Some(choice) = *choice else { continue };
            if section != Some(candidate.section) {
                section = Some(candidate.section);
                let group = candidates.groups[candidate.section];
                shown.push(Shown {
                    group,
                    showings: Vec::new(),
                });
            }
            let last = shown.last_mut().expect("a section was just opened");
            last.showings.push((candidate, choice));
        }
        if self.options.order == Order::Edges {
            arrange_edges(&mut shown, self.options.group_by);
        }
        shown
    }
}

/// What one round of selection may spend.
struct Budget {
    limit: Tokens,
    /// What the context needs with nothing in it.
    least: Tokens,
    /// Weight that is not to be spent, whatever the capacity says.
    slack: u64,
}

/// Puts the best at both ends: of the groups where the groups are ranked, else of each group's
/// chunks.
fn arrange_edges(shown: &mut Vec<Shown<'_, '_>>, group_by: GroupBy) {
    if group_by == GroupBy::File {
        *shown = best_at_both_ends(std::mem::take(shown));
    } else {
        for section in shown {
            section.showings = best_at_both_ends(std::mem::take(&mut section.showings));
        }
    }
}
