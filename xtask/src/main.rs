//! The project's own chores: `cargo xtask <verb>`.
//!
//! `test` is all a contribution must pass; `tidy`, `layers`, `deny` and `postgres` are steps of it,
//! and can be run alone. [`fuzz`] looks for longer than a test may. The other verbs
//! [`measure`], and are programs of their own.

#![expect(clippy::print_stdout, reason = "a chore reports to the terminal")]

mod deny;
mod fuzz;
mod layers;
mod measure;
mod postgres;
mod test;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask_call::workspace::Workspace;

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
    /// Look for inputs that break a law, guided by coverage; needs cargo-fuzz and nightly Rust.
    Fuzz(fuzz::Options),
    #[command(flatten)]
    Measure(measure::Verb),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = Workspace::find().and_then(|workspace| match arguments.verb {
        Verb::Test(options) => test::run(&workspace, &options),
        Verb::Tidy => tidy::run(&workspace),
        Verb::Layers(options) => layers::run(&workspace, &options),
        Verb::Deny => deny::run(&workspace),
        Verb::Postgres => postgres::run(&workspace),
        Verb::Fuzz(options) => fuzz::run(&workspace, &options),
        Verb::Measure(verb) => measure::run(&verb),
    });
    xtask_call::end(outcome)
}
