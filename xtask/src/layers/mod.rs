//! `cargo xtask layers`: which crate may depend on which.
//!
//! [`table`] is the law as data, [`graph`] what `cargo metadata` found, and `rules` holds one
//! against the other; `pure` looks for files, sockets and clocks in the source of the core and of
//! others that open none, and [`counts`] for numbers of crates in READMEs that are not those of
//! `cargo tree`. [`alone`] then builds each core crate as another team would: by itself, outside
//! the workspace, with default features off; and so the facade, without features and with each
//! light one. The rest that has features compiles without them, too: the tests and lints of the
//! workspace have all of them on.

mod alone;
mod counts;
mod graph;
mod pure;
mod rules;
mod table;
#[cfg(test)]
mod tests;

use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use graph::Graph;
use xtask_call::command::Call;
use xtask_call::workspace::Workspace;

/// How much to check.
#[derive(Debug, Default, Args)]
pub(crate) struct Options {
    /// Check the table only: build nothing.
    #[arg(long)]
    pub(crate) no_build: bool,
}

/// Checks the table, then builds the core crates and the facade alone, and the others without their
/// features.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    check_table(workspace)?;
    if options.no_build {
        return Ok(());
    }
    let core = table::TABLE.core.iter().map(|&name| (name, None));
    let (facade, features) = table::TABLE.facade;
    let features = features.iter().map(|&feature| (facade, Some(feature)));
    for (name, feature) in core.chain([(facade, None)]).chain(features) {
        let start = Instant::now();
        alone::build(workspace, name, feature)?;
        let seconds = start.elapsed().as_secs_f64();
        let with = feature.map_or_else(String::new, |it| format!(" but for `{it}`"));
        println!("{name}: builds alone, default features off{with} ({seconds:.1} s)");
    }
    for group in table::TABLE.bare {
        let start = Instant::now();
        lint_bare(workspace, group)?;
        let (names, seconds) = (group.join(", "), start.elapsed().as_secs_f64());
        println!("{names}: no lint has anything to say, features off ({seconds:.1} s)");
    }
    Ok(())
}

/// Runs within the workspace, and by clippy: so most dependencies were already compiled for the
/// lints with all features.
fn lint_bare(workspace: &Workspace, group: &[&str]) -> Result<()> {
    Call::cargo(["clippy", "--quiet", "--offline", "--no-default-features"])
        .args(group.iter().flat_map(|&name| ["--package", name]))
        .args(["--", "-D", "warnings"])
        .within(&workspace.root)
        .run()
        .with_context(|| format!("{} do not compile without features", group.join(", ")))
}

fn check_table(workspace: &Workspace) -> Result<()> {
    let graph = Graph::of(&workspace.members);
    let found = rules::check(&graph, &table::TABLE);
    let mut violations: Vec<String> = found.iter().map(ToString::to_string).collect();
    violations.extend(pure::check(workspace, &table::TABLE)?);
    let counts = counts::check(workspace, &table::TABLE)?;
    for violation in &violations {
        println!("{violation}");
    }
    if !violations.is_empty() {
        bail!(
            "{} against the table of layers (xtask/src/layers/table.rs)",
            violations.len()
        );
    }
    for count in &counts {
        println!("{count}");
    }
    if !counts.is_empty() {
        bail!("{} to be corrected in READMEs", counts.len());
    }
    let chain = rules::longest_chain(&graph, &table::TABLE);
    println!(
        "{} crates, {} edges, all downwards; longest chain {} of {}: {}",
        graph.crates.len(),
        graph.edges(),
        chain.len(),
        table::TABLE.longest_chain,
        chain.join(" → "),
    );
    Ok(())
}
