//! `cargo xtask mcp`: the MCP server as the official Python SDK meets it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;
use clap::Args;

use crate::command::{Call, cargo};
use crate::workspace::Workspace;

/// What the client is made of.
const PACKAGES: [&str; 2] = ["mcp==2.3.0", "tiktoken==0.14.0"];
/// The crate that carries the vocabulary by which the client counts.
const VOCABULARY: (&str, &str) = ("tiktoken-rs", "assets/o200k_base.tiktoken");

/// How thorough to be.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// So many calls of random sizes over each transport.
    #[arg(long, default_value_t = 50, value_name = "N")]
    calls: usize,
    /// Build the server optimised, as start-up times want it.
    #[arg(long)]
    release: bool,
    /// The folder that is asked about, instead of the workspace.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// Makes the client where there is none, builds the server and has the one ask the other. Where there is no
/// Python, says so and does nothing.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let Some(python) = client(&workspace.target.join("mcp-client"))? else {
        println!(
            "skipped: python3 with venv and pip is needed, and a package index that has {}",
            PACKAGES.join(" and ")
        );
        return Ok(());
    };
    let mut build = Call::cargo(["build", "-p", "ctx-cli"]).within(&workspace.root);
    if options.release {
        build = build.args(["--release"]);
    }
    build.run()?;
    let profile = if options.release { "release" } else { "debug" };
    let server = workspace
        .target
        .join(profile)
        .join(format!("ctx{}", std::env::consts::EXE_SUFFIX));
    let root = options.root.as_ref().unwrap_or(&workspace.root);
    Call::new(python)
        .args([workspace.root.join("crates/ctx-mcp/tests/client.py")])
        .args(["--ctx".as_ref(), server.as_os_str()])
        .args(["--root".as_ref(), root.as_os_str()])
        .args(["--vocabulary".as_ref(), vocabulary(workspace)?.as_os_str()])
        .args(["--calls", &options.calls.to_string()])
        .within(&workspace.root)
        .run()
}

/// The Python of an environment in `folder` that has the packages; `None` where it cannot be had.
fn client(folder: &Path) -> Result<Option<PathBuf>> {
    let python = folder.join(if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    });
    let made = folder.join("made");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&made).is_ok_and(|it| it == wanted) {
        return Ok(Some(python));
    }
    let venv = Call::new("python3").args(["-m", "venv"]).args([folder]);
    let install = Call::new(&python)
        .args(["-m", "pip", "install", "--quiet"])
        .args(PACKAGES);
    for call in [venv, install] {
        if let Err(error) = call.run() {
            println!("{error:#}");
            return Ok(None);
        }
    }
    std::fs::write(&made, wanted).with_context(|| format!("failed to write {}", made.display()))?;
    Ok(Some(python))
}

/// Where cargo keeps the vocabulary.
fn vocabulary(workspace: &Workspace) -> Result<PathBuf> {
    let metadata = MetadataCommand::new()
        .cargo_path(cargo())
        .manifest_path(workspace.root.join("Cargo.toml"))
        .exec()
        .context("failed to read the dependencies")?;
    let (name, file) = VOCABULARY;
    let package = metadata.packages.iter().find(|it| it.name.as_str() == name);
    let package = package.with_context(|| format!("there is no dependency {name}"))?;
    let folder = package
        .manifest_path
        .parent()
        .context("a manifest lies in a folder")?;
    Ok(folder.join(file).into())
}
