//! `cargo xtask eval`: measures whether contexts contain what their questions need.

mod answers;
mod bm25;
mod code;
mod history;
mod messages;
mod passages;
mod product;
mod report;
mod sets;
mod shown;
mod weights;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};

use xtask_call::workspace::Workspace;

/// Which evaluation.
#[derive(Debug, Subcommand)]
pub(crate) enum Options {
    /// Passages and questions of three sets, answered as by `ctx query`, and with each selection
    /// policy.
    Passages(Passages),
    /// Issues of real projects, and the lines that their fixes touched.
    Code(Code),
    /// The same issues, or changes, with weights of the search set to zero, halved and doubled, and
    /// how the best of these do on repositories that were not used to choose them.
    Weights(Weights),
    /// Changes of any repositories: their commit messages as questions, and the lines that they
    /// touched.
    History(History),
    /// Messages that the programs of any repositories raise, with other values, and the lines that
    /// raise them.
    Messages(History),
}

/// Issues, and where their repositories are.
#[derive(Debug, Args)]
pub(crate) struct Issues {
    /// The issues [default: ../shared/data/code/dev.jsonl, beside the checkout].
    #[arg(long, value_name = "FILE")]
    instances: Option<PathBuf>,
    /// The folder with a git folder for each repository, OWNER+NAME.
    #[arg(long, value_name = "DIR")]
    repos: PathBuf,
    /// Only this many issues, from the first.
    #[arg(long, value_name = "N")]
    first: Option<usize>,
}

/// The questions for each choice of weights.
#[derive(Debug, Args)]
pub(crate) struct Weights {
    #[command(flatten)]
    issues: Issues,
    /// Use changes of the repositories' own histories, as `eval history` does, instead of issues.
    #[arg(long, conflicts_with = "instances")]
    history: bool,
    /// The number of changes per repository.
    #[arg(long, value_name = "N", default_value_t = 12, requires = "history")]
    each: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Code {
    #[command(flatten)]
    issues: Issues,
    /// Where the contexts are written [default: target/eval/predictions.jsonl].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// What answers the questions.
    #[arg(long, value_enum, default_value_t)]
    by: product::By,
    /// Write what was found for each issue, and the scores of each strategy for it.
    #[arg(long, value_name = "FILE", conflicts_with = "by")]
    features: Option<PathBuf>,
    /// Build each context twice, and compare.
    #[arg(long)]
    twice: bool,
}

#[derive(Debug, Args)]
pub(crate) struct History {
    /// The folder with the repositories: work trees or git folders.
    #[arg(long, value_name = "DIR")]
    repos: PathBuf,
    /// Only the one in the folder of this name.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// The number of questions per repository.
    #[arg(long, value_name = "N", default_value_t = 12)]
    each: usize,
    /// What answers the questions.
    #[arg(long, value_enum, default_value_t)]
    by: product::By,
    /// Build each context twice, and compare.
    #[arg(long)]
    twice: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Passages {
    /// The folder of the sets [default: ../shared/data/passages, beside the checkout].
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Only this set (`codebase`, `docs`, `chroma`, or `headed`, which is `chroma` with its
    /// headings marked): its section is printed, and no page is written.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Print the figures as JSON instead, and write no page.
    #[arg(long)]
    json: bool,
}

/// Runs the requested evaluation.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    match options {
        Options::Passages(options) => passages(workspace, options),
        Options::Code(options) => code(workspace, options),
        Options::Weights(options) => weights(workspace, options),
        Options::History(options) => history::run(workspace, options, history::of_repository),
        Options::Messages(options) => history::run(workspace, options, messages::of_repository),
    }
}

fn code(workspace: &Workspace, options: &Code) -> Result<()> {
    let work = work(workspace)?;
    let predictions = options.out.clone();
    let predictions = predictions.unwrap_or_else(|| work.join("predictions.jsonl"));
    let places = code::Places {
        repos: &options.issues.repos,
        work: &work,
    };
    let all = options.issues.load(workspace)?;
    let out = code::Out {
        predictions: &predictions,
        features: options.features.as_deref(),
    };
    let run = code::run(&places, &all, &out, options.by, options.twice)?;
    println!("wrote {}", predictions.display());
    run.faults.none()
}

fn weights(workspace: &Workspace, options: &Weights) -> Result<()> {
    let work = work(workspace)?;
    let places = code::Places {
        repos: &options.issues.repos,
        work: &work,
    };
    let all = if options.history {
        let mut all = history::instances(places.repos, None, options.each, history::of_repository)?;
        all.truncate(options.issues.first.unwrap_or(usize::MAX));
        all
    } else {
        options.issues.load(workspace)?
    };
    let table = weights::run(&places, &all)?;
    println!("{table}");
    Ok(())
}

/// The folder of trees and indexes.
fn work(workspace: &Workspace) -> Result<PathBuf> {
    let work = workspace.root.join("target/eval");
    fs::create_dir_all(&work)?;
    Ok(work)
}

impl Issues {
    fn load(&self, workspace: &Workspace) -> Result<Vec<code::Instance>> {
        let beside = workspace.root.join("../shared/data/code/dev.jsonl");
        let mut all = code::instances(self.instances.as_ref().unwrap_or(&beside))?;
        all.truncate(self.first.unwrap_or(usize::MAX));
        Ok(all)
    }
}

/// What no context may have.
#[derive(Clone, Copy, Debug, Default)]
struct Faults {
    /// Contexts over their budget, according to a recount.
    over: usize,
    /// Contexts that differed the second time.
    unstable: usize,
    /// Parts that a context cites but does not contain.
    false_spans: usize,
}

impl Faults {
    /// # Errors
    /// There are some.
    fn none(self) -> Result<()> {
        let Faults {
            over,
            unstable,
            false_spans,
        } = self;
        ensure!(
            false_spans == 0,
            "{false_spans} parts are not where they are cited"
        );
        ensure!(over == 0, "{over} contexts are over their budget");
        ensure!(
            unstable == 0,
            "{unstable} contexts came out otherwise the second time"
        );
        Ok(())
    }
}

fn passages(workspace: &Workspace, options: &Passages) -> Result<()> {
    let beside = workspace.root.join("../shared/data/passages");
    let folder = options.data.clone().unwrap_or(beside);
    if !folder.exists() && options.data.is_none() {
        println!(
            "skipped: {} is not there; give --data DIR",
            folder.display()
        );
        return Ok(());
    }
    let work = workspace.root.join("target/eval/passages");
    let mut measured = Vec::new();
    for set in sets::load(&folder, options.only.as_deref())? {
        if !options.json {
            println!(
                "{}: {} passages, {} questions",
                set.name,
                set.passages.len(),
                set.questions.len()
            );
        }
        let rows = passages::run(&set)?;
        let answers = product::run(&set, &answers::ways(&set), &work)?;
        measured.push((set, rows, answers));
    }
    if options.json {
        println!("{:#}", report::json(&measured));
    } else if options.only.is_some() {
        println!("{}", answers::section(&measured));
    } else {
        let page = report::page(&measured);
        println!("\n{page}");
        let path = workspace.root.join("docs/record/passages.md");
        fs::write(&path, page).with_context(|| format!("failed to write {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    let mut faults = Faults::default();
    for (_, rows, answers) in &measured {
        for cell in rows.iter().flatten() {
            faults.over += cell.over;
            faults.unstable += cell.unstable;
        }
        for cell in &answers.cells {
            faults.over += cell.over;
            faults.unstable += cell.unstable;
            faults.false_spans += cell.false_spans;
        }
    }
    faults.none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_fault_is_an_error() {
        Faults::default().none().unwrap();
        let of = |over, unstable, false_spans| Faults {
            over,
            unstable,
            false_spans,
        };
        for (faults, told) in [
            (of(1, 0, 0), "1 contexts are over their budget"),
            (of(0, 2, 0), "2 contexts came out otherwise the second time"),
            (of(0, 0, 3), "3 parts are not where they are cited"),
        ] {
            assert_eq!(faults.none().unwrap_err().to_string(), told);
        }
    }
}
