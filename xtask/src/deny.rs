//! `cargo xtask deny`: licences, bans and sources of every dependency, by cargo-deny and `deny.toml`.
//!
//! The check itself never touches the network. cargo-deny does, once, where it is not installed:
//! it is then built below the target folder, and found there ever after.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::command::Call;
use crate::workspace::Workspace;

/// The version that is installed where there is none.
const VERSION: &str = "0.20.2";

/// Advisories are left out: they need the network, and would fail a change for what others found.
const CHECKS: [&str; 3] = ["bans", "licenses", "sources"];

/// Checks the whole graph, every feature on.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    Call::new(program(workspace)?)
        .args([
            "--offline",
            "--all-features",
            "--log-level",
            "error",
            "check",
        ])
        .args(CHECKS)
        .within(&workspace.root)
        .run()
}

/// cargo-deny from the path, or our own.
fn program(workspace: &Workspace) -> Result<PathBuf> {
    let installed = PathBuf::from("cargo-deny");
    if Call::new(&installed).args(["--version"]).output().is_ok() {
        return Ok(installed);
    }
    let tools = workspace.target.join("tools");
    let own = tools
        .join("bin")
        .join(format!("cargo-deny{}", std::env::consts::EXE_SUFFIX));
    if !own.exists() {
        println!("cargo-deny is not installed; building {VERSION} below the target folder, once");
        let build = tools.join("build");
        // Not optimised: it checks in seconds either way, and is built in half the time.
        Call::cargo(["install", "--quiet", "--locked", "--debug", "cargo-deny"])
            .args(["--version", VERSION, "--root"])
            .args([&tools])
            .args(["--target-dir"])
            .args([&build])
            .run()
            .context("failed to install cargo-deny")?;
        fs::remove_dir_all(&build)?;
    }
    Ok(own)
}
