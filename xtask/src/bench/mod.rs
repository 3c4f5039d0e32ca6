//! `cargo xtask bench`.
use crate::workspace::Workspace;
use anyhow::Result;
use clap::Args;
/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Peers as well.
    #[arg(long)]
    peers: bool,
}
pub(crate) fn run(_: &Workspace, _: &Options) -> Result<()> {
    Ok(())
}
