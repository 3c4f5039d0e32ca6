//! The chores that measure: `cargo xtask <verb>` builds and starts this program, optimised.
//!
//! `bench` measures speed, `eval` what contexts are good for, `load`, `trace`, `kill` and `api` how
//! the server does, and all write what they measured under `docs/record/`; `mcp` tests the MCP
//! server.

#![expect(clippy::print_stdout, reason = "a chore reports to the terminal")]

mod api;
mod bench;
mod eval;
mod kill;
mod load;
mod mcp;
mod python;
mod record;
mod served;
mod strategies;
mod trace;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;
use xtask_call::workspace::Workspace;

/// The allocator of `ctx`, so that measurements apply to its users; peers in this process use it
/// too.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The project's own measurements.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Measure, and write the tables to docs/record/bench.md and docs/record/search.md.
    Bench(bench::Options),
    /// One part of `bench`, started by it.
    #[command(hide = true)]
    BenchWorker(bench::Worker),
    /// Ask questions, and measure how much of the answers the contexts show.
    #[command(subcommand)]
    Eval(eval::Options),
    /// Test the MCP server with a real client, and count what it sends.
    Mcp(mcp::Options),
    /// Test the HTTP API against its description, with schemathesis.
    Api(api::Options),
    /// Request contexts from a server at growing rates, and record the results in
    /// docs/record/server.md.
    Load(load::Options),
    /// Kill the server while it is being written to, and check what it had acknowledged.
    Kill(kill::Options),
    /// Replay conversations of several users, and check that each answer is current and belongs to
    /// its owner.
    Trace(trace::Options),
}

fn run(verb: Verb) -> Result<()> {
    // Clients compete with the server for the processor, and evaluations count ten times as fast.
    ensure!(
        !cfg!(debug_assertions),
        "this build is not optimised, and would measure itself; `cargo xtask` starts one that is"
    );
    let workspace = Workspace::find()?;
    match verb {
        Verb::Bench(options) => bench::run(&workspace, &options),
        Verb::BenchWorker(worker) => worker.run(),
        Verb::Eval(options) => eval::run(&workspace, &options),
        Verb::Mcp(options) => mcp::run(&workspace, &options),
        Verb::Api(options) => api::run(&workspace, &options),
        Verb::Kill(options) => kill::run(&workspace, &options),
        Verb::Trace(options) => trace::run(&workspace, &options),
        Verb::Load(options) => load::run(&workspace, &options),
    }
}

fn main() -> ExitCode {
    xtask_call::end(run(Arguments::parse().verb))
}
