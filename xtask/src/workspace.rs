//! The location of the workspace, and what `cargo metadata` reports about it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::{Metadata, MetadataCommand};

use crate::command::cargo;

/// The workspace this binary was built in.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The folder of the root manifest.
    pub(crate) root: PathBuf,
    /// The target folder of cargo.
    pub(crate) target: PathBuf,
    /// The workspace's own packages, without their dependencies.
    pub(crate) members: Metadata,
}

impl Workspace {
    /// Runs `cargo metadata`, which takes some 50 ms and uses no network.
    pub(crate) fn find() -> Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
        let members = MetadataCommand::new()
            .cargo_path(cargo())
            .manifest_path(manifest)
            .no_deps()
            .exec()
            .context("failed to read the workspace's manifests")?;
        Ok(Workspace {
            root: members.workspace_root.clone().into(),
            target: members.target_directory.clone().into(),
            members,
        })
    }
}
