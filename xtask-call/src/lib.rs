//! What all chores share: the [`workspace`], [calls](command) of other programs, and how they end.

#![expect(clippy::print_stdout, reason = "a chore reports to the terminal")]

pub mod command;
pub mod workspace;

use std::process::ExitCode;

/// Prints the error, if any, with its causes, and returns the exit code of a chore: 1 if it failed.
pub fn end(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}
