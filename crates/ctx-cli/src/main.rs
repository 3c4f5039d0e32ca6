//! Questions, search hits and files in, one prompt-ready context out, never over its token budget.
//!
//! `main` reads the arguments, runs one verb and turns its result into an exit code. Each verb has
//! its own module; they share modules for reading ([`walk`], [`read`], [`input`], [`receipt`]),
//! searching ([`indexing`], [`user_dirs`]), preferences ([`settings`], [`layers`], [`values`]),
//! writing ([`emit`], [`explain`], [`findings`]) and reporting ([`report`], [`progress`],
//! [`failure`]).

mod args;
mod assemble;
mod bounded;
mod cached;
mod completions;
mod document;
mod emit;
mod explain;
mod failure;
mod findings;
mod hits;
mod index;
mod indexing;
mod input;
mod interrupt;
mod layers;
mod locate;
mod mcp;
mod missed;
mod options;
mod outline;
mod pack;
mod past;
mod progress;
mod query;
mod read;
mod receipt;
mod relations;
mod relevance;
mod report;
mod serve;
mod settings;
mod show;
mod skipped;
mod tokens;
mod tree;
mod user_dirs;
mod values;
mod verify;
mod visible;
mod walk;

use std::process::ExitCode;

use clap::Parser as _;
use mimalloc::MiMalloc;

use crate::args::{Cli, Verb};
use crate::failure::{Exit, Failure};
use crate::report::Report;

/// Grammars and databases, which are C code, use this allocator too.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => return print_usage(&args::with_question(error, &words)),
    };
    let report = Report::new(cli.talk.verbosity());
    ended(run(&cli.verb, report), cli.verb.is_json())
}

/// Prints clap's message: a help text, or what is wrong with the arguments.
fn print_usage(error: &clap::Error) -> ExitCode {
    match error.print() {
        Err(unwritten) if !error.use_stderr() => ended(Err(Failure::output(unwritten)), false),
        _ => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8)),
    }
}

/// Reports how the program ended, as JSON if the answer would have been JSON.
fn ended(outcome: Result<(), Failure>, is_json: bool) -> ExitCode {
    let code = match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the output closed it.
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) if failure.exit == Exit::Cancelled => interrupt::end(),
        Err(failure) => {
            if is_json {
                report::failure_as_json(&failure);
            } else {
                report::failure(&failure);
            }
            ExitCode::from(failure.exit as u8)
        }
    };
    report::flush();
    code
}

fn run(verb: &Verb, report: Report) -> Result<(), Failure> {
    // The server handles signals itself, so that requests can end.
    let is_server = matches!(verb, Verb::Serve(_));
    let cancel = (!is_server).then(interrupt::install).unwrap_or_default();
    match verb {
        Verb::Query(args) => query::run(args, report, &cancel),
        Verb::Index(args) => index::run(args, report, &cancel),
        Verb::Assemble(args) => assemble::run(args, report, &cancel),
        Verb::Pack(args) => pack::run(args, report, &cancel),
        Verb::Tokens(args) => tokens::run(args, report, &cancel),
        Verb::Outline(args) => outline::run(args, report, &cancel),
        Verb::Show(args) => show::run(args, report),
        Verb::Relations(args) => relations::run(args, report, &cancel),
        Verb::Verify(args) => verify::run(args),
        Verb::Serve(args) => serve::run(args, report),
        Verb::Mcp(args) => mcp::run(args, &cancel),
        Verb::Completions(args) => completions::run(args),
    }
}
