//! The entry point: takes a problem and a policy, and returns a selection with its certificate.

use ctx_model::{Certificate, OmittedReason, Selection};

use crate::bound::{self, Bound};
use crate::coverage::Greedy;
use crate::density;
use crate::in_order::first_fit;
use crate::number::real;
use crate::objective::Objective;
use crate::optimal;
use crate::prepared::{Pins, Prepared, cheapest, pins, within_cap};
use crate::tally::{Tally, weigh};
use crate::ticker::{Stop, Ticker};
use crate::{BudgetError, Choice, Item, Poll, Problem, Settings};

/// A gap below this share is due to rounding and is reported as 0.
const NO_GAP: f64 = 1e-11;

/// A selection, with its quality.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// For each item the index of the choice shown, or `None` if it is left out.
    pub chosen: Vec<Option<usize>>,
    /// The value that each item adds to those before it: 0 if it is left out. The sum is the value
    /// of the selection, but for rounding.
    pub added: Vec<f64>,
    /// The weight of the choices and of the headings of their groups: at most `capacity.safe`.
    pub weight: u64,
    /// The selection has at least the value `value`, and nothing that weighs at most
    /// `capacity.loose` has a value above `upper_bound`.
    pub certificate: Certificate,
    /// The reason for each item that was left out: [`OmittedReason::OverBudget`],
    /// [`OmittedReason::MaxChunks`], or, with a policy of the caller, [`OmittedReason::NotChosen`].
    pub reasons: Vec<Option<OmittedReason>>,
    /// Whether the policy ran to its end, and no deadline stopped it.
    pub finished: bool,
    /// Items looked at and states made, each well under a microsecond. The same on every machine.
    pub steps: usize,
}

impl Outcome {
    /// Restates the selection with the values and weights of `problem`, which it must be a possible
    /// answer to. Use it if the selection was made with other values, such as some with a bonus, or
    /// elsewhere: then set `chosen` of an existing outcome first. `bound` is the certificate of any
    /// answer to `problem`; its upper bound holds for this selection too, provided that its weight
    /// is at most `problem.capacity.loose`, which is not checked. Reasons and steps are left
    /// unchanged.
    ///
    /// # Errors
    /// [`BudgetError::Invalid`] for a selection that does not belong to `problem`, and for invalid
    /// numbers; [`BudgetError::InvalidDiversity`].
    pub fn valued_by(
        self,
        problem: &Problem,
        settings: &Settings,
        bound: &Certificate,
    ) -> Result<Outcome, BudgetError> {
        let diversity = settings.diversity()?;
        problem.check()?;
        is_of(problem, &self.chosen)?;
        let objective = Objective::new(problem, diversity);
        let bound = Bound {
            upper: bound.upper_bound,
            lambda: bound.lambda,
        };
        let weight = weigh(problem, &self.chosen);
        Ok(Outcome {
            added: objective.added(&self.chosen),
            weight: u64::try_from(weight).unwrap_or(u64::MAX),
            certificate: certificate(objective.value(&self.chosen), &bound),
            ..self
        })
    }
}

/// Refuses a selection with items or choices that `problem` does not have.
fn is_of(problem: &Problem, chosen: &[Option<usize>]) -> Result<(), BudgetError> {
    let invalid = |item, what| Err(BudgetError::Invalid { item, what });
    let items = &problem.items;
    if items.len() != chosen.len() {
        return invalid(items.len().min(chosen.len()), "it is in one of the two");
    }
    for (index, (item, choice)) in items.iter().zip(chosen).enumerate() {
        if choice.is_some_and(|choice| choice >= item.choices.len()) {
            return invalid(index, "it does not have the choice");
        }
    }
    Ok(())
}

/// Chooses at most one choice of each item, within the capacity and the number of items.
///
/// Items of value 0 are chosen too, as long as there is room: leave them out of `problem` if you do
/// not want that.
///
/// # Errors
/// [`BudgetError::PinsTooLarge`] and [`BudgetError::TooManyPins`] if the pinned items cannot be
/// shown; [`BudgetError::Invalid`] and [`BudgetError::InvalidDiversity`] for invalid numbers;
/// [`BudgetError::Cancelled`] if `poll` returned [`Poll::Cancel`].
pub fn select(
    problem: &Problem,
    policy: Selection,
    settings: &Settings,
    poll: &mut dyn FnMut() -> Poll,
) -> Result<Outcome, BudgetError> {
    let mut ticker = Ticker::new(poll);
    let run = Run::new(problem, settings, &mut ticker)?;
    let answer = run.answer(policy, &mut ticker);
    let outcome = answer.and_then(|answer| run.certified(answer, policy, &mut ticker));
    outcome.map_err(|_| BudgetError::Cancelled)
}

/// Does what [`select`] does, with a policy of the caller: `choose` returns the index of one of the
/// choices of each item, or `None` to leave it out. It is called once, with `poll`, when the pinned
/// items are known to fit. The certificate bounds every selection, whatever the policy's aim.
///
/// # Errors
/// Those of [`select`]; [`BudgetError::Selection`] if the selection does not belong to `problem`,
/// lacks a pinned item, is too heavy, has too many items, or exceeds a cap.
pub fn select_with(
    problem: &Problem,
    choose: impl FnOnce(&mut dyn FnMut() -> Poll) -> Vec<Option<usize>>,
    settings: &Settings,
    poll: &mut dyn FnMut() -> Poll,
) -> Result<Outcome, BudgetError> {
    let mut ticker = Ticker::new(poll);
    let run = Run::new(problem, settings, &mut ticker)?;
    let mut finished = true;
    let chosen = choose(&mut || {
        let polled = ticker.poll();
        finished &= polled != Poll::Finish;
        polled
    });
    if ticker.poll() == Poll::Cancel {
        return Err(BudgetError::Cancelled);
    }
    is_allowed(problem, &chosen).map_err(|what| BudgetError::Selection { what })?;
    let answer = Answer {
        tally: Tally::of(problem, problem.capacity.safe, chosen),
        bound: None,
        finished,
    };
    // Reasons are those of a policy that weighs values against prices, but such a policy leaves out
    // nothing that there is room for.
    let outcome = run.certified(answer, Selection::Optimal, &mut ticker);
    let mut outcome = outcome.map_err(|_| BudgetError::Cancelled)?;
    for item in had_room(problem, &outcome.chosen) {
        outcome.reasons[item] = Some(OmittedReason::NotChosen);
    }
    Ok(outcome)
}

/// The items that are left out of `chosen` although there is room for one of their choices, its
/// heading included, and a place.
fn had_room(problem: &Problem, chosen: &[Option<usize>]) -> Vec<usize> {
    let tally = Tally::of(problem, problem.capacity.safe, chosen.to_vec());
    let fits = |&item: &usize| {
        let mut choices = 0..problem.items[item].choices.len();
        chosen[item].is_none() && choices.any(|choice| tally.weight_with(item, choice).is_some())
    };
    (0..chosen.len()).filter(fits).collect()
}

/// Refuses a selection that `problem` does not allow.
fn is_allowed(problem: &Problem, chosen: &[Option<usize>]) -> Result<(), &'static str> {
    is_of(problem, chosen).map_err(|_| "does not belong to the problem")?;
    let items = || problem.items.iter().zip(chosen);
    if items().any(|(item, choice)| item.pinned && choice.is_none()) {
        return Err("leaves out a pinned item");
    }
    let is_within = |(item, choice): (&Item, &Option<usize>)| {
        choice.is_none_or(|it| within_cap(item, it) || item.pinned && cheapest(item) == Some(it))
    };
    if !items().all(is_within) {
        return Err("exceeds the cap of an item");
    }
    let count = chosen.iter().flatten().count();
    if problem.max_items.is_some_and(|most| count > most) {
        return Err("has too many items");
    }
    if weigh(problem, chosen) > u128::from(problem.capacity.safe) {
        return Err("is too heavy");
    }
    Ok(())
}

/// Chooses without computing a certificate; also returns whether the policy ran to its end.
pub(crate) fn choose(
    problem: &Problem,
    policy: Selection,
    settings: &Settings,
    poll: &mut dyn FnMut() -> Poll,
) -> Result<(Vec<Option<usize>>, bool), BudgetError> {
    let mut ticker = Ticker::new(poll);
    Run::new(problem, settings, &mut ticker)?
        .answer(policy, &mut ticker)
        .map(|answer| (answer.tally.chosen, answer.finished))
        .map_err(|_| BudgetError::Cancelled)
}

/// The result of a policy.
struct Answer<'p> {
    tally: Tally<'p>,
    /// The bound, if the policy computed one on its way.
    bound: Option<Bound>,
    finished: bool,
}

/// One call of [`select`].
struct Run<'p> {
    problem: &'p Problem,
    settings: &'p Settings,
    objective: Objective<'p>,
    pins: Pins,
    /// The capacity up to which bounds hold.
    loose: u64,
}

impl<'p> Run<'p> {
    fn new(
        problem: &'p Problem,
        settings: &'p Settings,
        ticker: &mut Ticker<'_>,
    ) -> Result<Self, BudgetError> {
        let mut pass = || {
            let passed = ticker.tick_on(problem.items.len());
            passed.map_err(|_| BudgetError::Cancelled)
        };
        let diversity = settings.diversity()?;
        problem.check()?;
        pass()?;
        let pins = pins(problem, problem.capacity.safe)?;
        pass()?;
        Ok(Run {
            problem,
            settings,
            objective: Objective::new(problem, diversity),
            pins,
            loose: problem.capacity.loose.max(problem.capacity.safe),
        })
    }

    fn answer(&self, policy: Selection, ticker: &mut Ticker<'_>) -> Result<Answer<'p>, Stop> {
        match policy {
            Selection::InOrder => self.in_order(ticker),
            _ if self.objective.is_coverage() => self.coverage(policy, ticker),
            Selection::Density => self.density(ticker),
            Selection::Optimal => self.optimal(ticker),
        }
    }

    fn tally(&self) -> Tally<'p> {
        Tally::new(self.problem, self.problem.capacity.safe, self.pins)
    }

    fn in_order(&self, ticker: &mut Ticker<'_>) -> Result<Answer<'p>, Stop> {
        let mut tally = self.tally();
        first_fit(&mut tally, ticker)?;
        Ok(Answer {
            bound: None,
            tally,
            finished: true,
        })
    }

    fn optimal(&self, ticker: &mut Ticker<'_>) -> Result<Answer<'p>, Stop> {
        let safe = self.problem.capacity.safe;
        let solved = match optimal::solve(self.problem, safe, self.settings, ticker) {
            Ok(solved) => solved,
            Err(Stop::Finish) => {
                let late = self.in_order(ticker)?;
                return Ok(Answer {
                    finished: false,
                    ..late
                });
            }
            Err(cancel) => return Err(cancel),
        };
        // A proof for `safe` does not cover answers between `safe` and `loose`.
        let bound = (self.loose == safe).then_some(Bound {
            upper: solved.upper,
            lambda: solved.lambda,
        });
        let mut tally = Tally::of(self.problem, safe, solved.chosen);
        tally.fill(ticker)?;
        Ok(Answer {
            tally,
            bound,
            finished: solved.finished,
        })
    }

    fn density(&self, ticker: &mut Ticker<'_>) -> Result<Answer<'p>, Stop> {
        let mut tally = self.tally();
        let finished = in_time(self.greedy(&mut tally, ticker))?;
        // Items of value 0 have no density, so no step takes them.
        tally.fill(ticker)?;
        Ok(Answer {
            bound: None,
            tally,
            finished,
        })
    }

    fn greedy(&self, tally: &mut Tally<'p>, ticker: &mut Ticker<'_>) -> Result<(), Stop> {
        let value = |item: usize, choice: usize| self.problem.items[item].choices[choice].value;
        let safe = self.problem.capacity.safe;
        let prepared = Prepared::new(self.problem, safe, self.pins, value, ticker)?;
        density::greedy(&prepared, tally, ticker)
    }

    fn coverage(&self, policy: Selection, ticker: &mut Ticker<'_>) -> Result<Answer<'p>, Stop> {
        let mut greedy = Greedy::new(self.problem, &self.objective, self.pins, self.loose);
        let mut tally = self.tally();
        let mut finished = in_time(greedy.run(&mut tally, ticker))?;
        if finished && policy == Selection::Optimal {
            finished = in_time(self.try_relevance(&mut greedy, &mut tally, ticker))?;
        }
        tally.fill(ticker)?;
        // Choices that show more but nothing new have no gain, and are still taken if they fit.
        tally.raise(ticker)?;
        Ok(Answer {
            tally,
            bound: greedy.bound,
            finished,
        })
    }

    /// Tries whether the best answer by relevance alone is a better starting point.
    fn try_relevance(
        &self,
        greedy: &mut Greedy<'_, 'p>,
        tally: &mut Tally<'p>,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stop> {
        let safe = self.problem.capacity.safe;
        let solved = optimal::solve(self.problem, safe, self.settings, ticker)?;
        let other = Tally::of(self.problem, safe, solved.chosen);
        greedy.improve_on(other, tally, ticker)
    }

    /// Computes the bound for a policy that does not compute its own. Values that depend on each
    /// other are taken as they are when nothing else is chosen.
    fn bound_within(
        &self,
        capacity: u64,
        tally: &Tally<'_>,
        ticker: &mut Ticker<'_>,
    ) -> Result<Bound, Stop> {
        let covered = self.objective.nothing_covered();
        let value = |item, choice| self.objective.gain(&covered, item, None, choice);
        let guess = self.objective.value(&tally.chosen) / real(capacity.max(1));
        bound::of_values(self.problem, capacity, self.pins, value, guess, ticker)
    }

    /// `answer` with its certificate.
    fn certified(
        &self,
        answer: Answer<'p>,
        policy: Selection,
        ticker: &mut Ticker<'_>,
    ) -> Result<Outcome, Stop> {
        let bound = match answer.bound {
            Some(bound) => bound,
            None => self.bound_within(self.loose, &answer.tally, ticker)?,
        };
        // A capacity that is no constraint has no price: the price for the safe capacity is
        // reported.
        let safe = self.problem.capacity.safe;
        let bound = if bound.lambda <= 0.0 && self.loose > safe {
            let lambda = self.bound_within(safe, &answer.tally, ticker)?.lambda;
            Bound { lambda, ..bound }
        } else {
            bound
        };
        ticker.tick_on(self.problem.items.len())?;
        let steps = ticker.steps();
        Ok(self.outcome(answer, &bound, policy, steps))
    }

    fn outcome(
        &self,
        answer: Answer<'p>,
        bound: &Bound,
        policy: Selection,
        steps: usize,
    ) -> Outcome {
        let tally = answer.tally;
        debug_assert_eq!(weigh(self.problem, &tally.chosen), u128::from(tally.weight));
        let reasons = if policy == Selection::InOrder {
            in_order_reasons(self.problem, self.pins, &tally.chosen)
        } else {
            priced_reasons(self.problem, &tally, bound)
        };
        Outcome {
            weight: tally.weight,
            added: self.objective.added(&tally.chosen),
            certificate: certificate(self.objective.value(&tally.chosen), bound),
            reasons,
            finished: answer.finished,
            chosen: tally.chosen,
            steps,
        }
    }
}

/// Whether the work ran to its end; a cancellation is passed on.
fn in_time(result: Result<(), Stop>) -> Result<bool, Stop> {
    match result {
        Ok(()) => Ok(true),
        Err(Stop::Finish) => Ok(false),
        Err(Stop::Cancel) => Err(Stop::Cancel),
    }
}

fn certificate(value: f64, bound: &Bound) -> Certificate {
    let upper_bound = bound.upper.max(value);
    let gap = if upper_bound > 0.0 {
        (upper_bound - value) / upper_bound
    } else {
        0.0
    };
    Certificate {
        value,
        upper_bound,
        gap: if gap < NO_GAP { 0.0 } else { gap },
        lambda: bound.lambda,
    }
}

/// With `InOrder`, an item lacks a place if none was left at its turn.
fn in_order_reasons(
    problem: &Problem,
    pins: Pins,
    chosen: &[Option<usize>],
) -> Vec<Option<OmittedReason>> {
    let places = problem.max_items.unwrap_or(usize::MAX);
    let mut taken = pins.count;
    let reason = |(item, choice): (&Item, &Option<usize>)| match choice {
        Some(_) => {
            taken += usize::from(!item.pinned);
            None
        }
        None if taken >= places => Some(OmittedReason::MaxChunks),
        None => Some(OmittedReason::OverBudget),
    };
    problem.items.iter().zip(chosen).map(reason).collect()
}

/// With the other policies, if no place is left, an item lacks a place if it would have paid for
/// its weight at the margin, or if there is room for it.
fn priced_reasons(
    problem: &Problem,
    tally: &Tally<'_>,
    bound: &Bound,
) -> Vec<Option<OmittedReason>> {
    let left = problem.capacity.safe.saturating_sub(tally.weight);
    let reason = |(item, choice): (&Item, &Option<usize>)| {
        let heading = item.group.map_or(0, |it| problem.groups[it as usize]);
        let is_for_want_of_a_place = |choice: &Choice| {
            choice.value > bound.lambda * real(choice.weight)
                || choice.weight.saturating_add(heading) <= left
        };
        match choice {
            Some(_) => None,
            None if !tally.has_place() && item.choices.iter().any(is_for_want_of_a_place) => {
                Some(OmittedReason::MaxChunks)
            }
            None => Some(OmittedReason::OverBudget),
        }
    };
    problem
        .items
        .iter()
        .zip(&tally.chosen)
        .map(reason)
        .collect()
}
