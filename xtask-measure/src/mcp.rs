//! `cargo xtask mcp`: tests the MCP server with the official Python SDK.

use std::path::PathBuf;

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;
use clap::Args;

use crate::python;
use xtask_call::command::{Call, cargo};
use xtask_call::workspace::Workspace;

/// The packages of the client.
const PACKAGES: [&str; 2] = ["mcp==2.3.0", "tiktoken==0.14.0"];
/// The crate that contains the vocabulary for the client's token counts.
const VOCABULARY: (&str, &str) = ("tiktoken-rs", "assets/o200k_base.tiktoken");

/// How thorough to be.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Calls of random sizes over each transport, for each protocol version [default:
    /// `CTX_MCP_CALLS`, else 50].
    #[arg(long, value_name = "N")]
    calls: Option<usize>,
    /// Build the server optimised, for realistic start-up times.
    #[arg(long)]
    release: bool,
    /// The folder to ask about, instead of the workspace.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// Sets up the client if necessary, builds the server and runs the client against it. Without
/// Python it reports that and does nothing.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let environment = python::environment(&workspace.target.join("mcp-client"), &PACKAGES);
    let programs = match environment {
        Ok(programs) => programs,
        Err(error) => {
            println!("skipped: {error:#}");
            return Ok(());
        }
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
    let asked = std::env::var("CTX_MCP_CALLS")
        .ok()
        .and_then(|it| it.parse().ok());
    let calls = options.calls.or(asked).unwrap_or(50);
    let root = options.root.as_ref().unwrap_or(&workspace.root);
    Call::new(programs.join("python"))
        .args([workspace.root.join("crates/ctx-mcp/tests/client.py")])
        .args(["--ctx".as_ref(), server.as_os_str()])
        .args(["--root".as_ref(), root.as_os_str()])
        .args(["--vocabulary".as_ref(), vocabulary(workspace)?.as_os_str()])
        .args(["--calls", &calls.to_string()])
        .within(&workspace.root)
        .run()
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
