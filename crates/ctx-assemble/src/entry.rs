//! The budget at which each omitted chunk would be included.

use ctx_budget::{BudgetError, Item, Problem};
use ctx_model::{Selection, Tokens};
use rapidhash::RapidHashSet;
use smallvec::{SmallVec, smallvec};
use tracing::debug;

use crate::AssembleError;
use crate::candidates::Candidate;
use crate::plan::{Budget, Plan};
use crate::price::smallest_limit;

/// The most candidates for which a receipt computes entry budgets without `explain`.
const FEW: usize = 256;

/// How many larger budgets are tried at most.
const TRIES: u32 = 10;
/// After this many steps of selection, only the budget that has room for everything is still tried.
const STEPS: usize = 1 << 17;

/// The `max_tokens` of each part of a candidate, in order.
pub(crate) type Entries = SmallVec<[Option<Tokens>; 1]>;

/// For each part of each candidate, a `max_tokens` above the present one at which it is included;
/// `None` if none was found or looked for. Without `explain`, and with other policies than first
/// fit, it is only computed for up to [`FEW`] candidates. Each budget is certain: first fit
/// includes a candidate if there is room for it and all before it, and for the other policies the
/// budget was tried. So these budgets work, but are not always the smallest. If nothing is shown
/// (`is_empty`), the smallest budget that shows something is among them, except with caps, which
/// depend on the budget, and past the deadline.
pub(crate) fn entry_budgets(
    plan: &mut Plan<'_, '_>,
    limit: Tokens,
    is_empty: bool,
) -> Result<Vec<Entries>, AssembleError> {
    let footer = plan.options.footer.as_deref();
    if !plan.pricer.adds_up(footer) {
        // The selection at another budget would depend on a count of the whole context, which was
        // not made.
        return Ok(no_entries(plan));
    }
    let by_order_alone =
        !plan.options.caps && plan.options.diversity == 0.0 && plan.claimants.is_empty();
    let is_first_fit = plan.options.selection == Selection::InOrder && plan.policy.is_none();
    let mut limits = if is_first_fit && by_order_alone {
        first_fit(plan)
    } else {
        tried_out(plan, limit)?
    };
    if is_empty {
        first_of_all(plan, limit, &mut limits)?;
    }
    let reserve = plan.options.reserve;
    let budget = |limit: Tokens| Some(limit + reserve).filter(|&it| it < Tokens::MAX);
    Ok(limits
        .into_iter()
        .map(|of_parts| of_parts.into_iter().map(|it| it.and_then(budget)).collect())
        .collect())
}

/// No entry budget for any part.
pub(crate) fn no_entries(plan: &Plan<'_, '_>) -> Vec<Entries> {
    let parts = |candidate: &Candidate<'_>| smallvec![None; candidate.unit.parts().len()];
    plan.candidates.all.iter().map(parts).collect()
}

/// The budget with room for each candidate in full, and for all candidates before it.
fn first_fit(plan: &Plan<'_, '_>) -> Vec<Entries> {
    let problem = &plan.problem;
    let (mut weight, mut places) = (0_u64, 0);
    let mut paid = vec![false; problem.groups.len()];
    let pinned = problem.items.iter().filter(|item| item.pinned);
    // Pinned chunks have their room and place, whatever comes before them.
    for item in pinned {
        places += 1;
        weight = weight.saturating_add(item.choices[0].weight);
        pay_group(item.group, problem, &mut paid, &mut weight);
    }
    problem
        .items
        .iter()
        .zip(&plan.candidates.all)
        .map(|(item, candidate)| {
            if !item.pinned {
                places += 1;
                weight = weight.saturating_add(item.choices[0].weight);
                pay_group(item.group, problem, &mut paid, &mut weight);
            }
            let has_place = plan.options.max_chunks.is_none_or(|most| places <= most);
            let limit = (item.pinned || has_place).then(|| limit_for(plan, weight));
            smallvec![limit; candidate.unit.parts().len()]
        })
        .collect()
}

fn pay_group(group: Option<u32>, problem: &Problem, paid: &mut [bool], weight: &mut u64) {
    if let Some(group) = group.map(|group| group as usize)
        && !std::mem::replace(&mut paid[group], true)
    {
        *weight = weight.saturating_add(problem.groups[group]);
    }
}

/// For each part, the smallest of the tried budgets at which it was included.
fn tried_out(plan: &mut Plan<'_, '_>, limit: Tokens) -> Result<Vec<Entries>, AssembleError> {
    let problem = &plan.problem;
    let mut found = no_entries(plan);
    if !plan.options.explain && problem.items.len() > FEW {
        // Naming only the budget that has room for everything would not help with any of them.
        return Ok(found);
    }
    let full = problem
        .items
        .iter()
        .map(|item| item.choices.first().map_or(0, |it| it.weight));
    let all = full
        .chain(problem.groups.iter().copied())
        .fold(0, u64::saturating_add);
    let most = limit_for(plan, all);
    if most <= limit {
        return Ok(found);
    }
    let (mut attempt, mut steps) = (1, 0);
    while attempt <= TRIES && !plan.pricer.control.is_late() {
        let limit = between(limit, most, attempt, TRIES);
        let taken = try_out(plan, limit, &mut found)?;
        steps += taken;
        debug!(attempt, steps = taken, "tried");
        attempt = if steps > STEPS {
            TRIES.max(attempt + 1)
        } else {
            attempt + 1
        };
    }
    Ok(found)
}

/// Tries the smallest budget that holds any candidate, and notes it for the chunks chosen with it.
fn first_of_all(
    plan: &mut Plan<'_, '_>,
    present: Tokens,
    found: &mut [Entries],
) -> Result<(), AssembleError> {
    let Problem { items, groups, .. } = &plan.problem;
    let least = |(index, item): (usize, &Item)| {
        let choices = item.choices.iter().enumerate();
        let (choice, cheapest) = choices.min_by_key(|(_, it)| it.weight)?;
        let heading = item.group.map_or(0, |group| groups[group as usize]);
        Some((cheapest.weight.saturating_add(heading), index, choice))
    };
    let Some((weight, index, choice)) = items.iter().enumerate().filter_map(least).min() else {
        return Ok(());
    };
    let mut chosen = vec![None; items.len()];
    chosen[index] = Some(choice);
    let notice = plan.fixed.notice(plan.left_out(&chosen));
    let weight = plan.fixed.weight_with(weight, notice);
    let limit = smallest_limit(plan.pricer.counter, weight).max(plan.least);
    let limit = plan.full(0).map_or(limit, |full| full.min(limit));
    if limit > present {
        try_out(plan, limit, found)?;
    }
    Ok(())
}

/// Selects within `limit`, and notes that limit for all parts shown; returns the number of steps.
/// A selection that the deadline cut short tells nothing of one with more time.
fn try_out(
    plan: &mut Plan<'_, '_>,
    limit: Tokens,
    found: &mut [Entries],
) -> Result<usize, AssembleError> {
    let budget = Budget {
        limit,
        slack: 0,
        max_items: None,
    };
    let outcome = match plan.select(&budget) {
        // What is pinned may fit by its count and not by its prices, which are those with every
        // heading.
        Err(AssembleError::Budget(BudgetError::TooSmall { .. })) => return Ok(0),
        selected => selected?.outcome,
    };
    if !outcome.finished {
        return Ok(outcome.steps);
    }
    let candidates = plan.candidates.all.iter();
    for ((candidate, found), chosen) in candidates.zip(found).zip(&outcome.chosen) {
        if let Some(choice) = *chosen {
            note(candidate, choice, limit, found);
        }
    }
    Ok(outcome.steps)
}

/// Notes `limit` for each part that `choice` of `candidate` shows, unless a smaller one is known.
fn note(candidate: &Candidate<'_>, choice: usize, limit: Tokens, found: &mut Entries) {
    let is_known = |it: &Option<Tokens>| it.is_some_and(|known| known <= limit);
    if found.iter().all(is_known) {
        return;
    }
    let pieces = candidate.variants[choice].pieces.iter();
    let parts = pieces.flat_map(|piece| &piece.parts);
    let shown: RapidHashSet<&str> = parts.map(|part| &*part.id).collect();
    for (part, found) in candidate.unit.parts().iter().zip(found) {
        if shown.contains(&*part.id) {
            *found = Some(found.map_or(limit, |known| known.min(limit)));
        }
    }
}

/// The `n`-th of `of` numbers from `low` (excluded) to `high`, each larger than the one before by
/// about the same factor.
fn between(low: Tokens, high: Tokens, n: u32, of: u32) -> Tokens {
    if n == of {
        return high;
    }
    let (low, high) = (f64::from(low.get().max(1)), f64::from(high.get()));
    let at = low * (high / low).powf(f64::from(n) / f64::from(of));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it lies between two numbers of tokens"
    )]
    let at = at.ceil() as u32;
    Tokens::new(at)
}

fn limit_for(plan: &Plan<'_, '_>, weight: u64) -> Tokens {
    let weight = plan
        .fixed
        .weight_with(weight, plan.fixed.any_notice().notice);
    smallest_limit(plan.pricer.counter, weight)
}
