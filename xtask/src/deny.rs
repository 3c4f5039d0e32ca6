//! `cargo xtask deny`: licences, bans and sources of every dependency, by cargo-deny and
//! `deny.toml`.
//!
//! The check itself never uses the network. Only installing cargo-deny does, once, if it is not
//! installed: it is then built below the target folder, and used from there.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use xtask_call::command::Call;
use xtask_call::workspace::Workspace;

/// The version that is installed if there is none.
const VERSION: &str = "0.20.2";

/// The checks. Advisories are not among them: they need the network, and would fail a change for
/// something unrelated.
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

/// The installed cargo-deny, or one that is built here.
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
        // A debug build: the check takes seconds either way, and this takes half the time to build.
        Call::cargo(["install", "--quiet", "--locked", "--debug", "cargo-deny"])
            .args(["--version", VERSION, "--root"])
            .args([&tools])
            .args(["--target-dir"])
            .args([&build])
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .run()
            .context("failed to install cargo-deny")?;
        fs::remove_dir_all(&build)?;
    }
    Ok(own)
}
