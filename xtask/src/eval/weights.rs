//! Whether other weights of the search would hold on repositories that had no say in them.
//!
//! Twelve weights (those of strategies, titles, neighbours and heads, and of all roles but source together) are halved and
//! doubled, the others as they are. Of these and the default the one that shows most of all repositories but one is
//! asked about that one: what it shows there is what choosing by such figures is worth on a repository nobody
//! looked at. The default was chosen on issues that it is held against here, and is no such choice.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Result, ensure};
use ctx::retrieve::{self, Strategy, Weights};

use super::code::{self, Instance, Places};

/// Tokens of each context.
const BUDGET: u32 = code::BUDGETS[2];

/// Weights under a name.
struct Choice {
    name: String,
    weights: Weights,
    /// The share of the lines that each issue's context shows, in the order of the issues.
    shown: Vec<f64>,
}

/// Asks with each choice of weights, and gives the table of what was shown.
pub(super) fn run(places: &Places<'_>, all: &[Instance]) -> Result<String> {
    ensure!(!all.is_empty(), "there are no issues");
    let mut choices = choices();
    let runtime = code::runtime()?;
    for (number, instance) in all.iter().enumerate() {
        code::tell(number, all.len(), instance);
        let (service, _) = code::service(places, instance)?;
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

/// The default first.
fn choices() -> Vec<Choice> {
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
    for factor in [0.5, 2.0] {
        for strategy in Strategy::ALL {
            let name = format!("{} × {factor}", strategy.as_str());
            add(&name, &|it| it.strategies[strategy.index()] *= factor);
        }
        add(&format!("title × {factor}"), &|it| it.title *= factor);
        add(&format!("neighbour × {factor}"), &|it| {
            it.neighbour *= factor;
        });
        add(&format!("head × {factor}"), &|it| it.head *= factor);
        add(&format!("other roles × {factor}"), &|it| {
            it.roles[1..].iter_mut().for_each(|role| *role *= factor);
        });
    }
    choices
}

fn table(all: &[Instance], choices: &[Choice]) -> String {
    let repos: BTreeSet<&str> = all.iter().map(|it| &*it.repo).collect();
    // What `choice` shows of the issues of those repositories.
    let mean = |choice: &Choice, is_of: &dyn Fn(&str) -> bool| {
        let shown = all.iter().zip(&choice.shown);
        code::mean(
            shown
                .filter(|(instance, _)| is_of(&instance.repo))
                .map(|(_, shown)| *shown),
        )
    };
    let mut table =
        String::from("| weights | lines shown | against the default |\n|---|--:|--:|\n");
    let of_all = |choice: &Choice| mean(choice, &|_| true);
    let default = of_all(&choices[0]);
    for choice in choices {
        let shown = of_all(choice);
        let _ = writeln!(
            table,
            "| {} | {shown:.4} | {:+.4} |",
            choice.name,
            shown - default
        );
    }
    table.push_str(
        "\n| repository | issues | default | chosen without it | shows |\n|---|--:|--:|---|--:|\n",
    );
    let mut held_out = 0.0;
    for repo in &repos {
        let others = |choice: &&Choice| mean(choice, &|it| it != *repo);
        // Of equals the first: the default before all others.
        let best = choices
            .iter()
            .rev()
            .max_by(|a, b| others(a).total_cmp(&others(b)));
        let best = best.unwrap_or(&choices[0]);
        let of_repo = |choice: &Choice| mean(choice, &|it| it == *repo);
        let count = all.iter().filter(|it| it.repo == **repo).count();
        let (default, shown) = (of_repo(&choices[0]), of_repo(best));
        let name = &best.name;
        let _ = writeln!(
            table,
            "| {repo} | {count} | {default:.3} | {name} | {shown:.3} |"
        );
        held_out += shown * code::share(count, all.len());
    }
    let _ = writeln!(
        table,
        "\nChosen without the repository that is asked about: {held_out:.4} of the lines; the default: {default:.4}."
    );
    table
}
