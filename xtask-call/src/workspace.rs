//! The location of the workspace, and what `cargo metadata` reports about it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::{Metadata, MetadataCommand};

use crate::command::cargo;

/// The workspace this binary was built in.
#[derive(Debug)]
pub struct Workspace {
    /// The folder of the root manifest.
    pub root: PathBuf,
    /// The target folder of cargo.
    pub target: PathBuf,
    /// The workspace's own packages, without their dependencies.
    pub members: Metadata,
}

impl Workspace {
    /// Runs `cargo metadata`, which takes some 50 ms and uses no network.
    pub fn find() -> Result<Self> {
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

    /// All Rust files below `folder` of the workspace, in the order of their paths.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn sources(&self, folder: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        let mut folders = vec![self.root.join(folder)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|it| it == "rs") {
                    paths.push(path);
                }
            }
        }
        paths.sort();
        Ok(paths)
    }
}
