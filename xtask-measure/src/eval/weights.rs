//! Whether other weights of the search would do better on repositories that were not used to choose
//! them.
//!
//! Thirteen weights (those of strategies, titles, neighbours, heads and documents, and of all roles
//! except source together) are each set to zero, halved and doubled while the others keep their
//! values, and so is that of another search if questions come with its hits; the search of parts by
//! text is also run alone. On repositories that were not used to choose the default, this shows the
//! value of each weight.
//!
//! Then, for each repository, the choice that shows most in all others (the default included) is
//! evaluated on it: that is what choosing by such figures is worth for an unseen repository. A
//! default that was chosen on these same repositories is not a choice for unseen ones.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Result, ensure};
use ctx::rank::Role;
use ctx::retrieve::{self, Strategy, Weights};

use super::code::{self, Instance, Places};
use super::product::By;

/// The tokens of each context.
const BUDGET: u32 = code::BUDGETS[2];

/// A named choice of weights.
struct Choice {
    name: String,
    weights: Weights,
    /// The share of the lines that each issue's context shows, in the order of the issues.
    shown: Vec<f64>,
}

/// Evaluates each choice of weights, and returns the table of results.
pub(super) fn run(places: &Places<'_>, all: &[Instance]) -> Result<String> {
    ensure!(!all.is_empty(), "there are no issues");
    let mut choices = choices(all.iter().any(|it| !it.near.is_empty()));
    let runtime = code::runtime()?;
    for (number, instance) in all.iter().enumerate() {
        code::tell(number, all.len(), instance);
        let (service, _) = code::service(places, instance, By::Query)?;
        for choice in &mut choices {
            let mut retrieve = retrieve::Options::default();
            retrieve.weights = choice.weights.clone();
            let answer = code::answer(&service, instance, BUDGET, retrieve);
            let answer = runtime.block_on(answer)?;
            let shown = code::shown(instance, BUDGET, &code::spans(&answer), 0.0);
            choice.shown.push(shown.lines);
        }
    }
    println!();
    Ok(table(all, &choices))
}

/// The default first. The weight of another search, if its hits are there.
fn choices(has_hits: bool) -> Vec<Choice> {
    let strategies = || Strategy::ALL.iter().copied();
    let weighed = || strategies().filter(|it| has_hits || *it != Strategy::Semantic);
    let mut choices = Vec::new();
    let mut add = |name: &str, change: &dyn Fn(&mut Weights)| {
        let mut weights = Weights::default();
        change(&mut weights);
        choices.push(Choice {
            name: name.to_owned(),
            weights,
            shown: Vec::new(),
        });
    };
    add("default", &|_| ());
    add("text alone", &|it| {
        let others = strategies().filter(|it| *it != Strategy::Text);
        others.for_each(|strategy| scale(it, strategy, 0.0));
        (it.title, it.neighbour, it.head) = (0.0, 0.0, 0.0);
    });
    for factor in [0.0, 0.5, 2.0] {
        for strategy in weighed() {
            let name = format!("{} × {factor}", strategy.as_str());
            add(&name, &|it| scale(it, strategy, factor));
        }
        add(&format!("title × {factor}"), &|it| it.title *= factor);
        add(&format!("neighbour × {factor}"), &|it| {
            it.neighbour *= factor;
        });
        add(&format!("head × {factor}"), &|it| it.head *= factor);
        add(&format!("documents × {factor}"), &|it| {
            it.documents *= factor;
        });
        add(&format!("other roles × {factor}"), &|it| {
            for &role in Role::ALL.iter().filter(|it| **it != Role::Source) {
                *it = it.clone().with_role(role, it.role(role) * factor);
            }
        });
    }
    choices
}

/// A difference smaller than this counts as none.
const NOISE: f64 = 0.001;

fn table(all: &[Instance], choices: &[Choice]) -> String {
    let repos: BTreeSet<&str> = all.iter().map(|it| &*it.repo).collect();
    // The result of each choice for each repository, in the order of their names.
    let of_repos: Vec<Vec<f64>> = choices
        .iter()
        .map(|it| repos.iter().map(|repo| of_repo(all, it, repo)).collect())
        .collect();
    let mut table = String::from(
        "| weights | lines shown | against the default | mean over repositories | against the default | helps | hurts |\n\
         |---|--:|--:|--:|--:|--:|--:|\n",
    );
    let over = |choice: usize| code::mean(of_repos[choice].iter().copied());
    let shown = |choice: &Choice| code::mean(choice.shown.iter().copied());
    let default = shown(&choices[0]);
    for (index, choice) in choices.iter().enumerate() {
        let gains = || {
            let pairs = of_repos[index].iter().zip(&of_repos[0]);
            pairs.map(|(it, default)| it - default)
        };
        let _ = writeln!(
            table,
            "| {} | {:.4} | {:+.4} | {:.4} | {:+.4} | {} | {} |",
            choice.name,
            shown(choice),
            shown(choice) - default,
            over(index),
            over(index) - over(0),
            gains().filter(|gain| *gain > NOISE).count(),
            gains().filter(|gain| *gain < -NOISE).count(),
        );
    }
    table.push_str(
        "\n| repository | questions | default | chosen without it | shows |\n|---|--:|--:|---|--:|\n",
    );
    let mut held_out = Vec::new();
    for (at, repo) in repos.iter().enumerate() {
        let best = chosen_without(&of_repos, at);
        let count = all.iter().filter(|it| it.repo == **repo).count();
        let (default, shown) = (of_repos[0][at], of_repos[best][at]);
        let name = &choices[best].name;
        let _ = writeln!(
            table,
            "| {repo} | {count} | {default:.3} | {name} | {shown:.3} |"
        );
        held_out.push(shown);
    }
    let _ = writeln!(
        table,
        "\nChosen without the repository that is asked about: {:.4} of the lines in the mean over repositories; the default: \
         {:.4}.",
        code::mean(held_out.into_iter()),
        over(0)
    );
    table
}

fn scale(weights: &mut Weights, strategy: Strategy, factor: f64) {
    let weight = weights.strategy(strategy) * factor;
    *weights = weights.clone().with_strategy(strategy, weight);
}

/// The share of the lines of a repository's questions that a choice shows.
fn of_repo(all: &[Instance], choice: &Choice, repo: &str) -> f64 {
    let shown = all.iter().zip(&choice.shown);
    let shown = shown.filter(|(instance, _)| instance.repo == repo);
    code::mean(shown.map(|(_, shown)| *shown))
}

/// The choice with the best mean over all repositories except `repo`; of equals the first, so that
/// the default precedes all others.
fn chosen_without(of_repos: &[Vec<f64>], repo: usize) -> usize {
    let others = |choice: usize| {
        let shown = of_repos[choice].iter().enumerate();
        code::mean(shown.filter(|(at, _)| *at != repo).map(|(_, shown)| *shown))
    };
    let best = (0..of_repos.len())
        .rev()
        .max_by(|a, b| others(*a).total_cmp(&others(*b)));
    best.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_another() {
        let names = |has_hits| -> BTreeSet<String> {
            choices(has_hits).into_iter().map(|it| it.name).collect()
        };
        let (without, with) = (names(false), names(true));
        // The default, the text alone, and thirteen weights by three factors.
        assert_eq!(without.len(), 2 + 13 * 3);
        let added: Vec<&String> = with.difference(&without).collect();
        assert_eq!(added, ["semantic × 0", "semantic × 0.5", "semantic × 2"]);
    }
}
