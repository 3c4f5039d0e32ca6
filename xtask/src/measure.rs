//! The verbs that measure, which the package `xtask-measure` does.
//!
//! It needs every crate of the workspace, optimised: some minutes of building that a contribution's
//! check does without.

use std::ffi::OsString;

use anyhow::Result;
use clap::{Args, Subcommand};
use xtask_call::command::Call;

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure, and write the tables to docs/record/bench.md and docs/record/search.md.
    Bench(Arguments),
    /// Ask questions, and measure how much of the answers the contexts show.
    Eval(Arguments),
    /// Test the MCP server with a real client, and count what it sends.
    Mcp(Arguments),
    /// Test the HTTP API against its description, with schemathesis.
    Api(Arguments),
    /// Request contexts from a server at growing rates, and record the results in
    /// docs/record/server.md.
    Load(Arguments),
    /// Kill the server while it is being written to, and check what it had acknowledged.
    Kill(Arguments),
    /// Replay conversations of several users, and check that each answer is current and belongs to
    /// its owner.
    Trace(Arguments),
}

/// What the verb gets, `--help` included: the program that measures knows what it takes.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    all: Vec<OsString>,
}

/// Builds what measures, and says so, as that takes minutes; then runs `verb` there.
///
/// # Errors
/// It does not build, or fails.
pub(crate) fn run(verb: &Verb) -> Result<()> {
    call(verb).run()
}

fn call(verb: &Verb) -> Call {
    let (name, arguments) = match verb {
        Verb::Bench(arguments) => ("bench", arguments),
        Verb::Eval(arguments) => ("eval", arguments),
        Verb::Mcp(arguments) => ("mcp", arguments),
        Verb::Api(arguments) => ("api", arguments),
        Verb::Load(arguments) => ("load", arguments),
        Verb::Kill(arguments) => ("kill", arguments),
        Verb::Trace(arguments) => ("trace", arguments),
    };
    let run = ["run", "--release", "--package", "xtask-measure"];
    Call::cargo(run).args(["--", name]).args(&arguments.all)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(subcommand)]
        verb: Verb,
    }

    #[test]
    fn all_that_follows_a_verb_is_passed_on() {
        for typed in [
            "eval code --repos . --twice",
            "load --help",
            "bench",
            "mcp -h",
        ] {
            let words = std::iter::once("xtask").chain(typed.split(' '));
            let verb = Typed::try_parse_from(words).unwrap().verb;
            let run = "cargo run --release --package xtask-measure --";
            assert_eq!(call(&verb).to_string(), format!("{run} {typed}"));
        }
    }
}
