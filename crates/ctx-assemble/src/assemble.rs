//! The pipeline: order, render, select, emit, and count once more.

use ctx_budget::{BudgetError, Outcome};
use ctx_format::{FormatError, FormatOptions, Formatter, Notice, OwnText};
use ctx_model::{BuildOptions, BuiltContext, Chunk, Format, ModelError, Tokens};
use ctx_tokens::TokenCounter;
use rapidhash::{HashSetExt, RapidHashSet};
use tracing::{debug, debug_span};

use crate::candidates::Candidates;
use crate::chunk_bound::ChunkBound;
use crate::claims::Claimants;
use crate::emit::{Document, Shown, check_bytes, emit, shown};
use crate::entry::{entry_budgets, no_entries};
use crate::fixed::Fixed;
use crate::plan::{Budget, Plan, Selected, count_left_out};
use crate::price::{Joints, Pricer};
use crate::receipt::Receipt;
use crate::screen::Screened;
use crate::total::total;
use crate::unit::Unit;
use crate::variant::Piece;
use crate::{AssembleError, Control, Extras};

/// Builds one context from `chunks` that needs at most `options.max_tokens - options.reserve`
/// tokens by `counter`, counted on its final bytes.
///
/// `options.counter` is ignored: `counter` counts. The result does not depend on the order of
/// `chunks`.
///
/// Time: O(n log n) for n chunks, plus one count of each block to price it. The finished text is
/// counted once more, except for blocks whose bytes, by their hash, are those counted before.
/// Memory: the context, the largest block, and O(n).
///
/// # Errors
/// [`AssembleError::Budget`] if not even the header, footer and notices fit, with the smallest
/// budget that works; [`AssembleError::DuplicateId`] and [`AssembleError::Model`] for chunks with
/// the same id, or that break a rule; [`AssembleError::Format`] if the header, footer or separator
/// would break the document, or the separator is too long; [`AssembleError::TooLong`] if the
/// context would have more than 256 MiB; [`AssembleError::Cancelled`].
pub fn assemble(
    chunks: &[Chunk],
    options: &BuildOptions,
    counter: &dyn TokenCounter,
    control: &Control,
) -> Result<BuiltContext, AssembleError> {
    assemble_with(chunks, &Extras::default(), options, counter, control)
}

/// Does what [`assemble`] does, with `extras`: chunks with a first claim, a formatter or a policy
/// of your own.
///
/// The budget holds whatever these do. If a formatter breaks its laws, less than possible may be
/// shown, or the certificate may not hold; if a policy does, that is an error.
///
/// # Errors
/// Those of [`assemble`]; [`BudgetError::Selection`] if the policy breaks its contract.
pub fn assemble_with(
    chunks: &[Chunk],
    extras: &Extras<'_>,
    options: &BuildOptions,
    counter: &dyn TokenCounter,
    control: &Control,
) -> Result<BuiltContext, AssembleError> {
    let built_in;
    let formatter = if let Some(formatter) = extras.formatter {
        check_own_text(formatter.format(), options)?;
        formatter
    } else {
        built_in = formatter_of(options)?;
        &*built_in
    };
    let span = debug_span!("assemble", chunks = chunks.len(), format = %formatter.format());
    let _entered = span.enter();
    let started = control.now();
    check_chunks(chunks)?;
    check_previous(options)?;
    let pricer = Pricer {
        formatter,
        counter,
        control,
        joints: &Joints::default(),
    };
    let run = Run {
        chunks,
        extras,
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

/// Makes the formatter that the options request, after checking that the header and footer do not
/// break the document.
pub(crate) fn formatter_of(options: &BuildOptions) -> Result<Box<dyn Formatter>, AssembleError> {
    check_own_text(options.format, options)?;
    Ok(ctx_format::formatter(
        options.format,
        &FormatOptions::from(options),
    )?)
}

/// Refuses a header or footer that breaks the document.
fn check_own_text(format: Format, options: &BuildOptions) -> Result<(), FormatError> {
    for (part, text) in [
        (OwnText::Header, &options.header),
        (OwnText::Footer, &options.footer),
    ] {
        if let Some(text) = text {
            ctx_format::check_text(format, part, text)?;
        }
    }
    Ok(())
}

fn check_chunks(chunks: &[Chunk]) -> Result<(), AssembleError> {
    let mut ids = RapidHashSet::with_capacity(chunks.len());
    for (index, chunk) in chunks.iter().enumerate() {
        chunk.check().map_err(|error| match error {
            // A chunk without an id is named by its number.
            ModelError::EmptyId => ModelError::InList {
                number: index + 1,
                count: chunks.len(),
                why: Box::new(error),
            },
            error => error,
        })?;
        if !ids.insert(chunk.id.as_str()) {
            return Err(AssembleError::DuplicateId {
                id: chunk.id.clone(),
            });
        }
    }
    Ok(())
}

/// Refuses more pinned units than `max_chunks` allows.
fn check_pins(units: &[Unit<'_>], options: &BuildOptions) -> Result<(), BudgetError> {
    let pinned = units.iter().filter(|it| it.chunk().pinned).count();
    match options.max_chunks {
        Some(max_items) if max_items < pinned => {
            Err(BudgetError::TooManyPins { pinned, max_items })
        }
        _ => Ok(()),
    }
}

/// Refuses a previous context whose text does not have the digest given with it.
fn check_previous(options: &BuildOptions) -> Result<(), AssembleError> {
    let Some(previous) = &options.previous else {
        return Ok(());
    };
    match &previous.context {
        Some(text) if *blake3::hash(text.as_bytes()).to_hex() != *previous.digest => {
            Err(AssembleError::PreviousDigest {
                digest: previous.digest.clone(),
            })
        }
        _ => Ok(()),
    }
}

/// A selection, as it is written.
struct Draft<'u, 'c> {
    shown: Vec<Shown<'u, 'c>>,
    /// The number of omitted chunks in the notice.
    left_out: usize,
    document: Document,
    /// The count of the document.
    total: Tokens,
}

/// One assembly.
#[derive(Clone, Copy)]
struct Run<'a> {
    chunks: &'a [Chunk],
    extras: &'a Extras<'a>,
    options: &'a BuildOptions,
    pricer: Pricer<'a>,
}

impl Run<'_> {
    fn build(&self) -> Result<BuiltContext, AssembleError> {
        let control = self.pricer.control;
        let screened = stage("merge", control, || {
            Screened::new(self.chunks, self.options, self.extras, control)
        })?;
        debug!(
            units = screened.units.len(),
            left_out = screened.out.len(),
            "merged"
        );
        check_pins(&screened.units, self.options)?;
        let candidates = stage("price", control, || {
            Candidates::price(&screened.units, self.options, &self.pricer)
        })?;
        let total = self.chunks.len();
        let fixed = Fixed::price(&self.pricer, self.options, total)?;
        let all_out = Notice {
            omitted: total,
            total,
        };
        let empty = emit(&self.pricer, self.options, &[], &all_out, 0)?;
        let problem = candidates.problem(&fixed, self.options, control)?;
        let is_one_price = fixed.notices(0).len() == 1;
        let claimants = Claimants::of(self.extras, &candidates);
        let chunk_bound = (!is_one_price).then(|| ChunkBound::of(&candidates, &problem));
        let plan = Plan {
            options: self.options,
            pricer: &self.pricer,
            candidates: &candidates,
            fixed: &fixed,
            problem,
            least: self.pricer.recount(&empty.text)?,
            screened: &screened,
            chunk_bound: chunk_bound.as_ref(),
            claimants: &claimants,
            policy: self.extras.policy,
        };
        self.fill(plan)
    }

    /// Selects by weight; if not even the least that must be shown has room by weight, it is
    /// written and counted: where weights do not add up, it may fit all the same.
    fn fill(&self, mut plan: Plan<'_, '_>) -> Result<BuiltContext, AssembleError> {
        let footer = self.options.footer.as_deref();
        match self.fill_by_weight(&mut plan) {
            Err(AssembleError::Budget(error @ BudgetError::TooSmall { .. }))
                if !self.pricer.adds_up(footer) || plan.candidates.spare_headings > 0 =>
            {
                let built = self.fill_by_count(&mut plan)?;
                built.ok_or(AssembleError::Budget(error))
            }
            filled => filled,
        }
    }

    /// Selects and emits, until the final count is within the limit.
    ///
    /// Where weights do not add up, or counts are rounded, the final count detects it. Each further
    /// round may spend less; the empty context is known to fit.
    fn fill_by_weight(&self, plan: &mut Plan<'_, '_>) -> Result<BuiltContext, AssembleError> {
        let limit = plan.limit()?;
        let mut budget = Budget {
            limit,
            slack: 0,
            max_items: None,
        };
        loop {
            let control = self.pricer.control;
            let selected = stage("select", control, || plan.select(&budget))?;
            let draft = self.write(plan, &selected.outcome)?;
            let total = draft.total;
            if total <= limit {
                return self.finish(plan, limit, &selected, draft);
            }
            let chosen = &selected.outcome.chosen;
            if chosen.iter().all(Option::is_none) {
                // Only a context with everything in it and no notice would have fitted, if its
                // parts had added up.
                return Err(plan.too_small(budget.slack.saturating_add(1)));
            }
            let over = u64::from(total.saturating_sub(limit));
            debug!(over, "the count of the whole is above the sum of its parts");
            if plan.allow(&budget, plan.fixed.any_notice()).safe == 0 {
                // The chosen items weigh nothing one by one, but something together: allow fewer.
                budget.max_items = Some(chosen.iter().flatten().count() / 2);
            }
            budget.slack = budget.slack.saturating_add(over.max(budget.slack));
        }
    }

    /// The first of the least contexts whose count is within the limit.
    fn fill_by_count(
        &self,
        plan: &mut Plan<'_, '_>,
    ) -> Result<Option<BuiltContext>, AssembleError> {
        let limit = self.options.max_tokens.checked_sub(self.options.reserve);
        let Some(limit) = limit else {
            return Ok(None);
        };
        for selected in plan.least_selections(limit)? {
            let draft = self.write(plan, &selected.outcome)?;
            if draft.total <= limit {
                return self.finish(plan, limit, &selected, draft).map(Some);
            }
        }
        Ok(None)
    }

    /// Adds the receipt to `draft`, which shows what was `selected`.
    fn finish<'u>(
        &self,
        plan: &mut Plan<'_, 'u>,
        limit: Tokens,
        selected: &Selected,
        draft: Draft<'u, '_>,
    ) -> Result<BuiltContext, AssembleError> {
        let outcome = &selected.outcome;
        // Before other budgets are tried.
        let declined = plan.declined(outcome).into_iter().map(str::to_owned);
        let declined = declined.collect();
        let entries = if count_left_out(plan.candidates, &outcome.chosen) == 0 {
            no_entries(plan)
        } else {
            let is_empty = draft.shown.is_empty();
            stage("entry budgets", self.pricer.control, || {
                entry_budgets(plan, limit, is_empty)
            })?
        };
        let receipt = Receipt {
            plan,
            entries,
            outcome,
            granted: &selected.granted,
            declined,
            shown: &draft.shown,
            limit,
            total: draft.total,
            given: self.chunks.len(),
            left_out: draft.left_out,
        };
        receipt.write(draft.document)
    }

    /// Writes what `outcome` selects, with a notice of what is left out, and counts it.
    fn write<'u, 'p>(
        &self,
        plan: &Plan<'p, 'u>,
        outcome: &Outcome,
    ) -> Result<Draft<'u, 'p>, AssembleError> {
        let shown = shown(plan.candidates, outcome, self.options);
        let left_out = plan.left_out(&outcome.chosen);
        let (document, total) = stage("emit", self.pricer.control, || {
            let bytes = plan.candidates.bytes(plan.fixed, &outcome.chosen);
            check_bytes(bytes, plan.fixed, &shown)?;
            let notice = Notice {
                omitted: left_out,
                total: self.chunks.len(),
            };
            let document = emit(&self.pricer, self.options, &shown, &notice, bytes)?;
            let pieces = shown.iter().flat_map(Shown::pieces).map(|(_, it)| it);
            let pieces: Vec<&Piece<'_>> = pieces.collect();
            let total = total(&self.pricer, &document, &pieces)?;
            Ok((document, total))
        })?;
        debug!(
            weight = outcome.weight,
            tokens = total.get(),
            left_out,
            "selected"
        );
        Ok(Draft {
            shown,
            left_out,
            document,
            total,
        })
    }

    /// Verifies the smallest budget named by an error about pinned chunks, by trying it: if weights
    /// do not quite add up, nothing else is certain.
    fn confirm(&self, error: AssembleError) -> AssembleError {
        let AssembleError::Budget(refusal) = error else {
            return error;
        };
        let footer = self.options.footer.as_deref();
        let confirmed = self.raised(refusal).and_then(|refusal| {
            // If the pieces do not add up, the tokens that were kept in reserve for that may not be
            // needed; nor may those for the headings of groups that have several places.
            if self.pricer.adds_up(footer) && self.options.previous.is_none() {
                Ok(refusal)
            } else {
                self.lowered(refusal)
            }
        });
        confirmed.map_or_else(|error| error, AssembleError::Budget)
    }

    /// `refusal` with a budget that works, if the one it names does not.
    fn raised(&self, mut refusal: BudgetError) -> Result<BudgetError, AssembleError> {
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
            match self.build_within(*smallest) {
                Err(AssembleError::Budget(BudgetError::TooSmall { smallest: more, .. }))
                    if more > *smallest =>
                {
                    let difference = more.saturating_sub(*smallest);
                    *needed += difference;
                    *pinned += difference;
                    *smallest = more;
                }
                Err(AssembleError::Cancelled) => return Err(AssembleError::Cancelled),
                _ => break,
            }
        }
        Ok(refusal)
    }

    /// `refusal` with the smallest budget that works, between the budget that was refused and the
    /// one it names, which works. O(log n) attempts for a difference of n tokens.
    fn lowered(&self, mut refusal: BudgetError) -> Result<BudgetError, AssembleError> {
        let BudgetError::TooSmall {
            needed,
            pinned,
            smallest,
            ..
        } = &mut refusal
        else {
            return Ok(refusal);
        };
        let refused = smallest.saturating_sub(self.options.max_tokens);
        // With `works` fewer tokens it works, and with `fails` fewer it does not. Usually none can
        // be spared, so the search begins with small steps.
        let (mut works, mut step) = (0, 1);
        let mut fails = refused.get().min(pinned.get().saturating_add(1));
        while works + 1 < fails {
            let less = works + step.min((fails - works) / 2);
            match self.build_within(smallest.saturating_sub(Tokens::new(less))) {
                Ok(_) => (works, step) = (less, step.saturating_mul(2)),
                Err(AssembleError::Cancelled) => return Err(AssembleError::Cancelled),
                Err(_) => (fails, step) = (less, u32::MAX),
            }
        }
        let less = Tokens::new(works);
        *needed = needed.saturating_sub(less);
        *pinned = pinned.saturating_sub(less);
        *smallest = smallest.saturating_sub(less);
        Ok(refusal)
    }

    fn build_within(&self, max_tokens: Tokens) -> Result<BuiltContext, AssembleError> {
        let options = self.options.clone().with_max_tokens(max_tokens);
        Run {
            options: &options,
            ..*self
        }
        .build()
    }
}

/// Runs one stage of the pipeline, in its own span, and logs the time it took.
fn stage<T>(
    name: &'static str,
    control: &Control,
    work: impl FnOnce() -> Result<T, AssembleError>,
) -> Result<T, AssembleError> {
    let _entered = debug_span!("stage", name).entered();
    let started = control.now();
    let done = work();
    let milliseconds = control.now().saturating_sub(started).as_secs_f64() * 1_000.0;
    debug!(milliseconds, is_ok = done.is_ok(), "done");
    done
}
