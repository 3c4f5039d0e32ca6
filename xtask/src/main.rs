//! The project's own chores: `cargo xtask <verb>`.
//!
//! `test` is all a contribution must pass; `layers`, `deny` and `postgres` are steps of it, and can be
//! run alone; `bench` measures speed, `eval` what contexts are good for, `load`, `trace`, `kill` and
//! `api` how the server does, and all write what they measured under `docs/record/`.

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
mod trace;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;
use workspace::Workspace;

/// That of `ctx`, so that what is measured here is what its users have; peers in this process have it too.
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
    /// Who may name whom; and each core crate built alone.
    Layers(layers::Options),
    /// Licences, bans and sources of every dependency, without the network.
    Deny,
    /// Install PostgreSQL for the tests, where it is missing and continuous integration runs them.
    Postgres,
    /// Measure, and write the tables to docs/record/bench.md and docs/record/search.md.
    Bench(bench::Options),
    /// One part of `bench`, as it starts it.
    #[command(hide = true)]
    BenchWorker(bench::Worker),
    /// Ask questions, and measure what the contexts show of the answers.
    #[command(subcommand)]
    Eval(eval::Options),
    /// Ask the MCP server what a real client asks, and count what it sends.
    Mcp(mcp::Options),
    /// Hold the HTTP API against its description, by schemathesis.
    Api(api::Options),
    /// Ask a server for more and more contexts, and write what became of it to docs/record/server.md.
    Load(load::Options),
    /// End the server without a warning while it is written to, and look for what it had acknowledged.
    Kill(kill::Options),
    /// Replay conversations of several users, and hold each answer against what is there and whose it is.
    Trace(trace::Options),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = Workspace::find().and_then(|workspace| match arguments.verb {
        Verb::Test(options) => test::run(&workspace, &options),
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
