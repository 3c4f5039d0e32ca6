//! The project's own chores: `cargo xtask <verb>`.
//!
//! `test` is all a contribution must pass; `tidy`, `layers`, `deny` and `postgres` are steps of it,
//! and can be run alone; `bench` measures speed, `eval` what contexts are good for, `load`,
//! `trace`, `kill` and `api` how the server does, and all write what they measured under
//! `docs/record/`.

#![expect(clippy::print_stdout, reason = "a chore reports to the terminal")]

mod api;
mod bench;
mod command;
mod deny;
mod eval;
mod kill;
mod layers;
mod load;
mod mcp;
mod postgres;
mod python;
mod record;
mod served;
mod test;
mod tidy;
mod trace;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;
use workspace::Workspace;

/// The allocator of `ctx`, so that measurements apply to its users; peers in this process use it
/// too.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The project's own chores.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Everything a contribution must pass, in order, up to the first failure.
    Test(test::Options),
    /// Check what neither rustfmt nor clippy looks at: how wide comments are.
    Tidy,
    /// Check which crate may depend on which, and build each core crate alone.
    Layers(layers::Options),
    /// Check licences, bans and sources of every dependency, without the network.
    Deny,
    /// Install PostgreSQL for the tests, where it is missing and the user is root.
    Postgres,
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

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = Workspace::find().and_then(|workspace| match arguments.verb {
        Verb::Test(options) => test::run(&workspace, &options),
        Verb::Tidy => tidy::run(&workspace),
        Verb::Layers(options) => layers::run(&workspace, &options),
        Verb::Deny => deny::run(&workspace),
        Verb::Postgres => postgres::run(&workspace),
        Verb::Bench(options) => bench::run(&workspace, &options),
        Verb::BenchWorker(worker) => worker.run(),
        Verb::Eval(options) => eval::run(&workspace, &options),
        Verb::Mcp(options) => mcp::run(&workspace, &options),
        Verb::Api(options) => api::run(&workspace, &options),
        Verb::Kill(options) => kill::run(&workspace, &options),
        Verb::Trace(options) => trace::run(&workspace, &options),
        Verb::Load(options) => load::run(&workspace, &options),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}
