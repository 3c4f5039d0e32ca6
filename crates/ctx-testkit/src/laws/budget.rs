//! Laws of `ctx_budget` policies, the brute force that they are compared with, and generated
//! problems.

use std::collections::BTreeMap;

use ctx_budget::{
    BudgetError, Capacity, Choice, Feature, Item, Outcome, Poll, Problem, Settings, entry_capacity,
    select,
};
use ctx_model::Selection;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// The largest relative difference between two ways of adding the same numbers.
const ROUNDING: f64 = 1e-9;
/// The most items for which every selection is examined.
const BRUTE_FORCE: usize = 12;

/// Every policy.
pub const POLICIES: [Selection; 3] = [Selection::InOrder, Selection::Density, Selection::Optimal];

/// Solves `problem` by each of `policies` and checks that the answers keep the promises of
/// [`select`]. With few items it also checks that no possible selection has a value above the upper
/// bounds. The result is `None` if the pins do not fit.
///
/// # Panics
/// If a promise is broken, with the details.
pub fn policies<const N: usize>(
    problem: &Problem,
    policies: [Selection; N],
    settings: &Settings,
) -> Option<[Outcome; N]> {
    let few = problem.items.len() <= BRUTE_FORCE;
    let loose = problem.capacity.loose.max(problem.capacity.safe);
    let best = few.then(|| best_value(problem, settings, loose)).flatten();
    let outcomes = policies.map(|policy| {
        let outcome = policy_alone(problem, policy, settings)?;
        let upper = outcome.certificate.upper_bound;
        assert!(
            best.is_none_or(|best| upper >= best * (1.0 - 1e-14)),
            "{policy:?}: the bound is {upper}, and {best:?} can be had"
        );
        Some(outcome)
    });
    if outcomes.iter().all(Option::is_none) {
        return None;
    }
    Some(outcomes.map(|outcome| outcome.expect("pins fit for one policy as for another")))
}

/// The same as [`policies`], for one policy.
///
/// # Panics
/// If a promise is broken, with the details.
pub fn policy(problem: &Problem, policy: Selection, settings: &Settings) -> Option<Outcome> {
    policies(problem, [policy], settings).map(|[outcome]| outcome)
}

fn policy_alone(problem: &Problem, policy: Selection, settings: &Settings) -> Option<Outcome> {
    let outcome = match select(problem, policy, settings, &mut || Poll::Continue) {
        Ok(outcome) => outcome,
        Err(BudgetError::PinsTooLarge { .. } | BudgetError::TooManyPins { .. }) => {
            if problem.items.len() <= BRUTE_FORCE {
                let any = best_value(problem, settings, problem.capacity.safe);
                assert_eq!(any, None, "pins were refused that fit");
            }
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    keeps_within(problem, &outcome);
    gives_reasons(problem, &outcome);
    certifies(problem, settings, &outcome);
    Some(outcome)
}

/// Checks weight, number of items, pins and caps.
fn keeps_within(problem: &Problem, outcome: &Outcome) {
    let mut weight = 0_u128;
    let mut open = vec![false; problem.groups.len()];
    let mut count = 0;
    assert_eq!(outcome.chosen.len(), problem.items.len());
    for (index, (item, choice)) in problem.items.iter().zip(&outcome.chosen).enumerate() {
        let Some(choice) = *choice else {
            assert!(!item.pinned, "item {index} is pinned and was left out");
            continue;
        };
        count += 1;
        let taken = item.choices[choice].weight;
        let cheapest = item.choices.iter().map(|choice| choice.weight).min();
        let may_exceed = item.pinned && Some(taken) == cheapest;
        assert!(
            item.cap.is_none_or(|cap| taken <= cap) || may_exceed,
            "item {index} is over its cap"
        );
        weight += u128::from(taken);
        if let Some(group) = item.group
            && !std::mem::replace(&mut open[group as usize], true)
        {
            weight += u128::from(problem.groups[group as usize]);
        }
    }
    assert_eq!(
        weight,
        u128::from(outcome.weight),
        "the weight told is not that of the answer"
    );
    assert!(outcome.weight <= problem.capacity.safe, "over the capacity");
    assert!(
        problem.max_items.is_none_or(|max| count <= max),
        "too many items"
    );
}

/// Checks that an item has a reason exactly when it was left out.
fn gives_reasons(problem: &Problem, outcome: &Outcome) {
    assert_eq!(outcome.reasons.len(), problem.items.len());
    for (index, (choice, reason)) in outcome.chosen.iter().zip(&outcome.reasons).enumerate() {
        assert_eq!(
            choice.is_none(),
            reason.is_some(),
            "item {index} and its reason"
        );
    }
}

/// Checks the certificate against the answer.
fn certifies(problem: &Problem, settings: &Settings, outcome: &Outcome) {
    let certificate = outcome.certificate;
    let value = value(problem, settings, &outcome.chosen);
    let close = |a: f64, b: f64| (a - b).abs() <= ROUNDING * a.abs().max(b.abs());
    assert!(
        close(certificate.value, value),
        "{} is not {value}",
        certificate.value
    );
    let added = &outcome.added;
    assert!(
        close(added.iter().sum(), value),
        "{added:?} do not add up to {value}"
    );
    for (added, choice) in added.iter().zip(&outcome.chosen) {
        assert!(*added == 0.0 || choice.is_some(), "what is left out adds");
    }
    assert!(certificate.upper_bound >= certificate.value);
    assert!(certificate.lambda >= 0.0 && certificate.lambda.is_finite());
    let room = certificate.upper_bound - certificate.value;
    let gap = if room > 0.0 {
        room / certificate.upper_bound
    } else {
        0.0
    };
    assert!(
        (certificate.gap - gap).abs() <= ROUNDING,
        "{} is not {gap}",
        certificate.gap
    );
}

/// Checks that `Optimal` never chooses worse at a larger capacity.
///
/// # Panics
/// If it does, with the two capacities.
pub fn never_worse(
    problem: &Problem,
    settings: &Settings,
    capacities: impl IntoIterator<Item = u64>,
) {
    let mut before: Option<(u64, f64)> = None;
    for capacity in capacities {
        let problem = Problem {
            capacity: Capacity::exact(capacity),
            ..problem.clone()
        };
        let Ok(outcome) = select(&problem, Selection::Optimal, settings, &mut || {
            Poll::Continue
        }) else {
            assert_eq!(before, None, "no answer at {capacity}");
            continue;
        };
        let value = outcome.certificate.value;
        if let Some((smaller, more)) = before {
            assert!(
                value >= more * (1.0 - 1e-11),
                "{value} at {capacity}, but {more} at {smaller}"
            );
        }
        before = Some((capacity, value));
    }
}

/// Checks that `Density` reaches half of the possible value if only the capacity and the caps of
/// items limit it. Pins, groups, the number of items and classes of `problem` are ignored.
///
/// # Panics
/// If it does not, with the values.
pub fn density(problem: &Problem) {
    let mut problem = problem.clone();
    problem.max_items = None;
    problem.groups.clear();
    for item in &mut problem.items {
        (item.group, item.pinned, item.class) = (None, false, 0);
    }
    // The bound covers exactly this capacity.
    problem.capacity = Capacity::exact(problem.capacity.safe);
    let settings = Settings::default();
    let outcome = policy(&problem, Selection::Density, &settings).expect("nothing is pinned");
    let (value, upper) = (outcome.certificate.value, outcome.certificate.upper_bound);
    assert!(
        value >= upper / 2.0 * (1.0 - ROUNDING),
        "{value} of at most {upper}: {problem:?}"
    );
}

/// Checks that an omitted item is chosen at the capacity returned for it, and that a capacity is
/// returned for each item that only the capacity keeps out.
///
/// # Panics
/// If not, with the item.
pub fn entry(problem: &Problem, policy: Selection, settings: &Settings) {
    let run = |problem: &Problem| select(problem, policy, settings, &mut || Poll::Continue);
    let Ok(outcome) = run(problem) else { return };
    for (item, _) in (outcome.chosen.iter().enumerate()).filter(|(_, choice)| choice.is_none()) {
        let told = entry_capacity(problem, policy, settings, item, &mut || Poll::Continue);
        if let Some(capacity) = told.expect("it was solved before") {
            assert!(
                capacity > problem.capacity.safe,
                "item {item} is told a smaller capacity"
            );
            let larger = Problem {
                capacity: Capacity::exact(capacity),
                ..problem.clone()
            };
            let there = run(&larger)
                .expect("a larger capacity is no trouble")
                .chosen[item];
            assert!(there.is_some(), "item {item} is not let in at {capacity}");
        } else {
            let kept_out = problem.max_items.is_some()
                || problem.items[item].cap.is_some()
                || problem.items[item].choices.is_empty();
            assert!(kept_out, "item {item} is told no capacity");
        }
    }
}

/// The value of a selection, summed in the simplest way.
pub fn value(problem: &Problem, settings: &Settings, chosen: &[Option<usize>]) -> f64 {
    let featureless = problem.items.iter().all(|item| item.features.is_empty());
    let diversity = if featureless { 0.0 } else { settings.diversity };
    let mut told = BTreeMap::new();
    let mut relevance = 0.0;
    for (item, choice) in problem.items.iter().zip(chosen) {
        let Some(choice) = *choice else { continue };
        relevance += item.choices[choice].value;
        for feature in item.features.iter().filter(|f| f.until as usize >= choice) {
            let most = told.entry(feature.id).or_insert(0.0_f64);
            *most = most.max(feature.weight);
        }
    }
    (1.0 - diversity) * relevance + diversity * told.values().sum::<f64>()
}

/// The greatest value of any selection within `capacity`, found by examining all of them; `None` if
/// the pins do not fit. Exponential: for up to a dozen items.
pub fn best_value(problem: &Problem, settings: &Settings, capacity: u64) -> Option<f64> {
    let mut force = BruteForce {
        problem,
        settings,
        capacity: capacity.into(),
        chosen: vec![None; problem.items.len()],
        best: None,
    };
    force.visit(0, 0, 0);
    force.best
}

struct BruteForce<'a> {
    problem: &'a Problem,
    settings: &'a Settings,
    capacity: u128,
    chosen: Vec<Option<usize>>,
    best: Option<f64>,
}

impl BruteForce<'_> {
    fn visit(&mut self, index: usize, weight: u128, count: usize) {
        let too_many = self.problem.max_items.is_some_and(|max| count > max);
        if weight > self.capacity || too_many {
            return;
        }
        let Some(item) = self.problem.items.get(index) else {
            let value = value(self.problem, self.settings, &self.chosen);
            self.best = Some(self.best.map_or(value, |best| best.max(value)));
            return;
        };
        let heading = item.group.map_or(0, |group| {
            let before = self.problem.items[..index].iter().zip(&self.chosen);
            let is_open = before
                .filter(|(_, choice)| choice.is_some())
                .any(|(other, _)| other.group == Some(group));
            if is_open {
                0
            } else {
                self.problem.groups[group as usize]
            }
        });
        let least = item.choices.iter().map(|choice| choice.weight).min();
        for (number, choice) in item.choices.iter().enumerate() {
            let free = item.pinned && Some(choice.weight) == least;
            if free || item.cap.is_none_or(|cap| choice.weight <= cap) {
                self.chosen[index] = Some(number);
                let more = u128::from(choice.weight) + u128::from(heading);
                self.visit(index + 1, weight + more, count + 1);
            }
        }
        self.chosen[index] = None;
        if !item.pinned {
            self.visit(index + 1, weight, count);
        }
    }
}

/// Small problems with every feature: groups, pins, caps, a number of items, features, ties, and
/// choices that no policy should take.
pub fn problems(max_items: usize) -> impl Strategy<Value = Problem> {
    (vec(0..40_u64, 0..4), 0..400_u64, option::of(0..8_usize)).prop_flat_map(
        move |(groups, capacity, limit)| {
            let items = vec(item(groups.len()), 0..=max_items);
            (items, 0..3_u64).prop_map(move |(items, more)| Problem {
                items,
                groups: groups.clone(),
                capacity: Capacity {
                    safe: capacity,
                    loose: capacity + more,
                },
                max_items: limit,
            })
        },
    )
}

fn item(groups: usize) -> impl Strategy<Value = Item> {
    let group = match u32::try_from(groups) {
        Ok(0) | Err(_) => Just(None).boxed(),
        Ok(groups) => option::of(0..groups).boxed(),
    };
    let value = prop_oneof![0.0..1.0_f64, (0..5_u32).prop_map(|n| f64::from(n) / 4.0)];
    let choice = (0..120_u64, value).prop_map(|(weight, value)| Choice { weight, value });
    let feature = (0..6_u32, 0.0..1.0_f64, 0..4_u32).prop_map(|(id, weight, until)| Feature {
        id,
        weight,
        until,
    });
    (
        vec(choice, 1..=4),
        group,
        prop::bool::weighted(0.1),
        0..3_u32,
        option::weighted(0.2, 0..120_u64),
        vec(feature, 0..4),
    )
        .prop_map(|(choices, group, pinned, class, cap, features)| Item {
            choices,
            group,
            pinned,
            class,
            cap,
            features,
        })
}

/// The same problem with all items of one class, as if all chunks were code.
pub fn of_one_class(mut problem: Problem) -> Problem {
    for item in &mut problem.items {
        item.class = 0;
    }
    problem
}

/// The headings of a [`synthetic`] problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headings {
    /// No headings.
    None,
    /// About one for every four items, as for files.
    PerFile,
}

/// A problem like those of retrieval: relevance that falls with rank, lengths that differ by a
/// factor of fifty, four renditions of each item with nested prices, five classes, items in order
/// of relevance. Equal arguments give the same problem on every machine.
pub fn synthetic(items: usize, capacity: u64, headings: Headings, seed: u64) -> Problem {
    let mut random = Random(seed);
    let files = (items / 4).max(1);
    let groups = match headings {
        Headings::None => Vec::new(),
        Headings::PerFile => (0..files).map(|_| random.between(6, 20)).collect(),
    };
    let make = |rank: usize| {
        let group = (headings == Headings::PerFile)
            .then(|| random.between(0, files as u64 - 1))
            .and_then(|file| u32::try_from(file).ok());
        let relevance = relevance(rank) * (0.7 + 0.3 * random.share());
        Item {
            group,
            class: u32::try_from(random.between(0, 4)).unwrap_or(0),
            ..Item::new(renditions(relevance, &mut random))
        }
    };
    Problem {
        items: (0..items).map(make).collect(),
        groups,
        capacity: Capacity::exact(capacity),
        max_items: None,
    }
}

/// Zipf's law, flattened at the beginning.
fn relevance(rank: usize) -> f64 {
    let rank = u32::try_from(rank).map_or(f64::INFINITY, f64::from);
    (8.0 / (8.0 + rank)).powf(0.8)
}

/// Full text, skeleton, signature and mention: the cost of each, and the information it keeps.
fn renditions(relevance: f64, random: &mut Random) -> Vec<Choice> {
    let full = 30.0 * 50.0_f64.powf(random.share());
    let mut choice = |cost: f64, keeps: f64, spread: f64| Choice {
        weight: rounded(cost * (0.8 + 0.4 * random.share())),
        value: relevance * (keeps + spread * random.share()),
    };
    vec![
        choice(full + 14.0, 0.95, 0.05),
        choice(full * 0.4 + 14.0, 0.5, 0.3),
        choice(full * 0.12 + 14.0, 0.2, 0.2),
        choice(14.0, 0.04, 0.08),
    ]
}

/// Pseudo-random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to 1, with 1 excluded.
    fn share(&mut self) -> f64 {
        u32::try_from(self.next() >> 32).map_or(0.0, f64::from) / 2.0_f64.powi(32)
    }

    /// A number from `least` to `most`, both included.
    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }
}

/// The whole number nearest to a small number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "prices made here are positive and small"
)]
fn rounded(n: f64) -> u64 {
    n.round() as u64
}
