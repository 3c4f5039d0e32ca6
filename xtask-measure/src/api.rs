//! `cargo xtask api`: tests the HTTP API against its own description, with a tool that reads
//! nothing else.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use serde_json::Value;

use crate::bench::machine;
use crate::served::{self, Served, Store};
use crate::{python, record};
use xtask_call::command::Call;
use xtask_call::workspace::Workspace;

const TOOL: &str = "schemathesis==4.32.5";
/// The phases: the described examples, the edges of every type, random requests, and requests that
/// follow from answers.
const PHASES: &str = "examples,coverage,fuzzing,stateful";

/// Settings of the tool: the statuses with which a request that matches the description may still
/// be refused. 422 is what a description cannot rule out: an unknown counter, two chunks of one id,
/// a budget too small. 404, 409 and 413 depend on what is stored.
const SETTINGS: &str = "\
[checks.positive_data_acceptance]
expected-statuses = [\"2xx\", 404, 409, 413, 422]
";

/// How thorough to be.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Random requests for each route, good and bad ones
    #[arg(long, value_name = "N", default_value_t = 50)]
    max_examples: u32,
    /// The seed of the random requests
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Build the server optimised
    #[arg(long)]
    release: bool,
    /// Write the figures to docs/record/server.md
    #[arg(long)]
    record: bool,
}

impl Options {
    fn command(&self) -> String {
        let Options {
            max_examples, seed, ..
        } = self;
        format!("cargo xtask api --max-examples {max_examples} --seed {seed} --record")
    }
}

/// Starts a server over an empty folder and runs schemathesis against it, whose verdict is the
/// result.
///
/// # Errors
/// An answer differs from the description, or the tool cannot be installed.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let tools = workspace.target.join("tools/schemathesis");
    let programs = python::environment(&tools, &[TOOL])?;
    let tool = served::build(workspace, options.release)?;
    let folder = tempfile::tempdir().context("failed to make a folder")?;
    let owners = served::owners(&tool, folder.path(), &["ada"])?;
    let served = Served::start(&tool, folder.path(), &Store::embedded(), None)?;
    fs::write(folder.path().join("schemathesis.toml"), SETTINGS)?;
    let report = folder.path().join("report.json");
    let asked = Call::new(programs.join("schemathesis"))
        .args([
            "run".to_owned(),
            format!("http://{}/openapi.json", served.addr),
        ])
        .args([
            "--header",
            &format!("Authorization: Bearer {}", owners[0].token),
        ])
        .args(["--phases", PHASES, "--checks", "all"])
        .args(["--max-examples", &options.max_examples.to_string()])
        .args(["--seed", &options.seed.to_string()])
        .args(["--request-timeout", "30", "--no-color"])
        .args(["--report", "json", "--report-json-path"])
        .args([&report])
        .within(folder.path())
        .command()
        .status()
        .context("failed to start schemathesis")?;
    let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    ensure!(
        asked.success(),
        "schemathesis has found what should not be; it ended with {asked}, and the server's log is:\n{log}"
    );
    let is_warned = [" WARN ", " ERROR ", "warning"]
        .iter()
        .any(|it| log.contains(it));
    ensure!(!is_warned, "the server warns:\n{log}");
    let said = fs::read(&report).context("schemathesis wrote no report")?;
    let section = section(workspace, options, &serde_json::from_slice(&said)?)?;
    println!("\n{section}");
    if options.record {
        record::write(
            workspace,
            "The description, held against the answers",
            &section,
        )?;
    }
    Ok(())
}

fn section(workspace: &Workspace, options: &Options, said: &Value) -> Result<String> {
    let cases = &said["test_cases"];
    Ok(format!(
        "\
Written by `{}`. Measured {}.

{TOOL} on `/openapi.json` with every check it has, in the phases {}: {} routes asked, {} requests generated, {} with a failure.
A 404, a 409, a 413 or a 422 is an answer to a request that is as described and still cannot be done; the tool is told so.
",
        options.command(),
        machine::describe(workspace)?,
        gone_through(&said["phases"]),
        said["operations"]["tested"],
        cases["generated"],
        cases["with_failures"],
    ))
}

/// The phases that had something to do.
fn gone_through(phases: &Value) -> String {
    let done = PHASES
        .split(',')
        .filter(|it| phases[it]["status"] != "skip");
    done.collect::<Vec<_>>().join(", ")
}
