//! How near the best each policy comes, on generated problems: prints a Markdown table.
//!
//! `cargo run --release -p ctx-budget --example quality`

#![allow(clippy::print_stdout, reason = "the table is what it is for")]

use std::time::{Duration, Instant};

use ctx_budget::{Outcome, Poll, Problem, Settings, select};
use ctx_model::Selection;
use ctx_testkit::laws::budget::{Headings, of_one_class, synthetic};

/// Problems for each row.
const SEEDS: u64 = 5;

fn main() {
    println!(
        "| items | budget | headings | most items | policy | share of best (mean) | (least) \
         | gap (mean) | (most) | proved | time (mean) | (most) |"
    );
    println!("|--:|--:|:--|--:|:--|--:|--:|--:|--:|--:|--:|--:|");
    for (items, budgets) in [
        (60, [2_000, 4_000, 8_000].as_slice()),
        (300, &[4_000, 8_000, 32_000]),
        (1_000, &[8_000, 32_000, 128_000]),
        (10_000, &[8_000, 32_000, 128_000]),
        (100_000, &[8_000, 128_000]),
    ] {
        for &budget in budgets {
            for headings in [Headings::None, Headings::PerFile] {
                for max_items in [None, Some(40)] {
                    rows(items, budget, headings, max_items);
                }
            }
        }
    }
}

/// The rows of one kind of problem.
fn rows(items: usize, budget: u64, headings: Headings, max_items: Option<usize>) {
    let problems: Vec<Problem> = (0..SEEDS)
        .map(|seed| Problem {
            max_items,
            ..synthetic(items, budget, headings, seed)
        })
        .collect();
    let full: Vec<Problem> = problems.iter().map(full_texts).collect();
    // The other policies ignore classes.
    let alike: Vec<Problem> = problems.iter().cloned().map(of_one_class).collect();
    let best: Vec<f64> = problems.iter().map(best_known).collect();
    for (name, problems, policy) in [
        ("score order, full texts", &full, Selection::InOrder),
        ("density, full texts", &full, Selection::Density),
        ("score order", &problems, Selection::InOrder),
        ("density", &problems, Selection::Density),
        ("density, one class", &alike, Selection::Density),
        ("optimal", &problems, Selection::Optimal),
    ] {
        let mut row = Row::default();
        for (problem, best) in problems.iter().zip(&best) {
            let start = Instant::now();
            let outcome = run(problem, policy, &Settings::default());
            row.add(&outcome, *best, start.elapsed());
        }
        let max_items = max_items.map_or("–".to_owned(), |max| max.to_string());
        println!(
            "| {items} | {budget} | {headings:?} | {max_items} | {name} | {}",
            row.finish()
        );
    }
}

/// The same problem with only the first choice of each item.
fn full_texts(problem: &Problem) -> Problem {
    let mut full = problem.clone();
    for item in &mut full.items {
        item.choices.truncate(1);
    }
    full
}

/// The optimum, or an upper bound on it.
fn best_known(problem: &Problem) -> f64 {
    let settings = Settings::default();
    run(problem, Selection::Optimal, &settings)
        .certificate
        .upper_bound
}

fn run(problem: &Problem, policy: Selection, settings: &Settings) -> Outcome {
    select(problem, policy, settings, &mut || Poll::Continue).expect("a synthetic problem is valid")
}

/// Means and extremes of some runs.
#[derive(Default)]
struct Row {
    shares: Vec<f64>,
    gaps: Vec<f64>,
    times: Vec<Duration>,
}

impl Row {
    fn add(&mut self, outcome: &Outcome, best: f64, time: Duration) {
        self.shares.push(outcome.certificate.value / best);
        self.gaps.push(outcome.certificate.gap);
        self.times.push(time);
    }

    fn finish(&self) -> String {
        let runs = f64::from(u32::try_from(self.gaps.len()).expect("a handful"));
        let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / runs;
        let least = self.shares.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.gaps.iter().copied().fold(0.0, f64::max);
        let proved = self.gaps.iter().filter(|gap| **gap == 0.0).count();
        let time = self.times.iter().map(Duration::as_secs_f64).sum::<f64>() / runs;
        let slowest = self.times.iter().max().map_or(0.0, Duration::as_secs_f64);
        format!(
            "{:.2} % | {:.2} % | {:.3} % | {:.3} % | {proved} of {runs} | {:.2} ms | {:.2} ms |",
            mean(&self.shares) * 100.0,
            least * 100.0,
            mean(&self.gaps) * 100.0,
            most * 100.0,
            time * 1e3,
            slowest * 1e3,
        )
    }
}
