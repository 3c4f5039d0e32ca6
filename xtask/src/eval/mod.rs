//! `cargo xtask eval`: whether a context holds what its question needs.

mod bm25;
mod passages;
mod report;
mod sets;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};

use crate::command::Call;
use crate::workspace::Workspace;

/// Which evaluation.
#[derive(Debug, Subcommand)]
pub(crate) enum Options {
    /// Passages and questions of three sets, with each policy of selection.
    Passages(Passages),
}

#[derive(Debug, Args)]
pub(crate) struct Passages {
    /// The folder of the sets [default: ../shared/data/passages, beside the checkout].
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Print the figures as JSON instead, and write no page.
    #[arg(long)]
    json: bool,
}

/// Runs what was asked for.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    if cfg!(debug_assertions) {
        // Counting is the work, and ten times as fast when it is optimised.
        let release = ["run", "--quiet", "--release", "--package", "xtask", "--"];
        let arguments: Vec<_> = std::env::args_os().skip(1).collect();
        return Call::cargo(release)
            .args(arguments)
            .within(&workspace.root)
            .run();
    }
    match options {
        Options::Passages(options) => passages(workspace, options),
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
    let mut measured = Vec::new();
    for set in sets::load(&folder)? {
        if !options.json {
            println!(
                "{}: {} passages, {} questions",
                set.name,
                set.passages.len(),
                set.questions.len()
            );
        }
        let rows = passages::run(&set)?;
        measured.push((set, rows));
    }
    if options.json {
        println!("{:#}", report::json(&measured));
    } else {
        let page = report::page(&measured);
        println!("\n{page}");
        let path = workspace.root.join("docs/record/passages.md");
        fs::write(&path, page).with_context(|| format!("failed to write {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    let faults = measured.iter().flat_map(|(_, rows)| rows.iter().flatten());
    let (over, unstable) = faults.fold((0, 0), |(over, unstable), it| {
        (over + it.over, unstable + it.unstable)
    });
    ensure!(over == 0, "{over} contexts are over their budget");
    ensure!(
        unstable == 0,
        "{unstable} contexts came out otherwise the second time"
    );
    Ok(())
}
