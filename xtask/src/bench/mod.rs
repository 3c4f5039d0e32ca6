//! `cargo xtask bench`: measures, holds the figures against the goals, and writes them down.
//!
//! [`criterion`] runs the workspace's benches and reads what they found; [`tool`] times the command
//! line as a whole, beside its [`peers`], on a [`corpus`] of real source; [`goals`] says what was to
//! be reached; [`report`] writes the page.

pub(crate) mod corpus;
mod criterion;
pub(crate) mod figures;
pub(crate) mod goals;
pub(crate) mod machine;
mod peers;
mod report;
mod tool;

use std::fs;

use anyhow::{Context, Result};
use clap::Args;

use crate::workspace::Workspace;

/// What to measure, and how carefully.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Install the peers of the command line from the public registries, and time them beside it.
    #[arg(long)]
    peers: bool,
    /// Fewer samples: some five minutes instead of fifteen. The page says so.
    #[arg(long)]
    quick: bool,
    /// Only the benches of this package; printed, not recorded.
    #[arg(long, value_name = "PACKAGE")]
    only: Option<String>,
}

impl Options {
    /// The command that repeats the run.
    fn command(&self) -> String {
        let peers = if self.peers { " --peers" } else { "" };
        let quick = if self.quick { " --quick" } else { "" };
        let only = self.only.iter().map(|name| format!(" --only {name}"));
        format!(
            "cargo xtask bench{peers}{quick}{}",
            only.collect::<String>()
        )
    }
}

/// Everything one run found.
struct Run {
    command: String,
    benches: criterion::Benches,
    /// Tables that a package's example printed, with the command that prints them.
    tables: Vec<(String, String)>,
    tool: Option<tool::Figures>,
}

/// Measures, then writes `docs/record/bench.md`, or prints it where the run was not a whole one.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let benches = criterion::run(workspace, options)?;
    let tables = criterion::tables(workspace, options)?;
    let tool = match options.only {
        Some(_) => None,
        None => tool::run(workspace, options)?,
    };
    let run = Run {
        command: options.command(),
        benches,
        tables,
        tool,
    };
    let page = report::page(&run, &machine::describe(workspace)?);
    if options.only.is_some() {
        println!("\n{page}");
        return Ok(());
    }
    let path = workspace.root.join("docs/record/bench.md");
    fs::create_dir_all(path.with_file_name(""))?;
    fs::write(&path, page).with_context(|| format!("failed to write {}", path.display()))?;
    println!("\nwrote {}", path.display());
    Ok(())
}
