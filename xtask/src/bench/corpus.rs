//! Some 20 MB of real source, the same on every machine that has the same `Cargo.lock`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use cargo_metadata::{CargoOpt, MetadataCommand};

use crate::command::cargo;
use crate::workspace::Workspace;

const MOST_BYTES: u64 = 20_000_000;
const LARGEST_FILE: u64 = 512 * 1024;

/// A folder of source files.
#[derive(Debug)]
pub(crate) struct Corpus {
    pub(crate) folder: PathBuf,
    pub(super) files: usize,
    pub(super) bytes: u64,
}

/// Copies the Rust files of the dependencies, crate by crate in the order of their names, until there
/// are 20 MB of them.
pub(crate) fn build(workspace: &Workspace) -> Result<Corpus> {
    let mut corpus = Corpus {
        folder: workspace.target.join("bench/corpus"),
        files: 0,
        bytes: 0,
    };
    if corpus.folder.exists() {
        fs::remove_dir_all(&corpus.folder)?;
    }
    for (name, folder) in dependencies(workspace)? {
        let mut files = Vec::new();
        collect(&folder, &mut files)?;
        files.sort();
        for file in files {
            let size = fs::metadata(&file)?.len();
            if size > LARGEST_FILE {
                continue;
            }
            if corpus.bytes + size > MOST_BYTES {
                return Ok(corpus);
            }
            // The peers pass over what is not UTF-8, or change it.
            let Ok(text) = fs::read_to_string(&file) else {
                continue;
            };
            let copy = corpus.folder.join(&name).join(file.strip_prefix(&folder)?);
            fs::create_dir_all(copy.parent().context("a file has a folder")?)?;
            fs::write(copy, text)?;
            corpus.files += 1;
            corpus.bytes += size;
        }
    }
    ensure!(corpus.bytes > 0, "the dependencies have no source to pack");
    Ok(corpus)
}

/// Name and folder of each dependency that came from a registry.
fn dependencies(workspace: &Workspace) -> Result<Vec<(String, PathBuf)>> {
    let metadata = MetadataCommand::new()
        .cargo_path(cargo())
        .manifest_path(workspace.root.join("Cargo.toml"))
        .features(CargoOpt::AllFeatures)
        .other_options(["--locked".to_owned()])
        .exec()?;
    let outside = metadata
        .packages
        .iter()
        .filter(|package| package.source.is_some());
    let mut dependencies: Vec<_> = outside
        .filter_map(|package| {
            let name = format!("{}-{}", package.name, package.version);
            Some((name, package.manifest_path.parent()?.into()))
        })
        .collect();
    dependencies.sort();
    Ok(dependencies)
}

/// Adds every Rust file below `folder`.
pub(crate) fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let path = entry.path();
        if kind.is_dir() {
            collect(&path, files)?;
        } else if kind.is_file() && path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
