//! `cargo xtask postgres`: the server that tests of the shared store start.
//!
//! Root installs it where it is missing, and others are told how to. Where it cannot be had, those
//! tests are skipped, so that is no failure.

use anyhow::Result;
use ctx_testkit::postgres;

use xtask_call::workspace::Workspace;

/// Installs PostgreSQL where that is wanted, and prints whether it is there.
#[expect(clippy::unnecessary_wraps, reason = "it is called as every chore is")]
pub(crate) fn run(_: &Workspace) -> Result<()> {
    match postgres::install() {
        Ok(()) => println!("PostgreSQL is there"),
        Err(how) => println!("{how}"),
    }
    Ok(())
}
