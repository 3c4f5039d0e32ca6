//! A corpus of real source code, equal on all machines with the same `Cargo.lock`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use cargo_metadata::{CargoOpt, MetadataCommand};

use xtask_call::command::cargo;
use xtask_call::workspace::Workspace;

const LARGEST_FILE: u64 = 512 * 1024;

/// How to make a corpus.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recipe {
    /// The name of its folder, below that of the benches.
    pub(super) folder: &'static str,
    /// The endings of its files' names.
    pub(crate) extensions: &'static [&'static str],
    /// The most bytes that it may have.
    pub(super) most_bytes: u64,
    /// The number of lines at which it ends: the file that exceeds it is the last.
    pub(super) most_lines: u64,
}

/// 20 MB of Rust, to be packed.
pub(crate) const PACKED: Recipe = Recipe {
    folder: "corpus",
    extensions: &["rs"],
    most_bytes: 20_000_000,
    most_lines: u64::MAX,
};

/// A million lines of what people write in crates, to be searched.
pub(super) const SEARCHED: Recipe = Recipe {
    folder: "million",
    extensions: &["rs", "md", "toml"],
    most_bytes: u64::MAX,
    most_lines: 1_000_000,
};

/// A folder of source files.
#[derive(Debug)]
pub(crate) struct Corpus {
    pub(crate) folder: PathBuf,
    pub(super) files: usize,
    pub(super) bytes: u64,
    pub(super) lines: u64,
}

/// Copies files of the dependencies, crate by crate in the order of their names, until the limits
/// of the recipe are reached or there are no more.
pub(crate) fn build(workspace: &Workspace, recipe: &Recipe) -> Result<Corpus> {
    let mut corpus = Corpus {
        folder: workspace.target.join("bench").join(recipe.folder),
        files: 0,
        bytes: 0,
        lines: 0,
    };
    if corpus.folder.exists() {
        fs::remove_dir_all(&corpus.folder)?;
    }
    for (name, folder) in dependencies(workspace)? {
        let mut files = Vec::new();
        collect(&folder, recipe.extensions, &mut files)?;
        files.sort();
        for file in files {
            let size = fs::metadata(&file)?.len();
            if size > LARGEST_FILE {
                continue;
            }
            if corpus.bytes + size > recipe.most_bytes || corpus.lines >= recipe.most_lines {
                return Ok(corpus);
            }
            // The peers skip or change files that are not UTF-8.
            let Ok(text) = fs::read_to_string(&file) else {
                continue;
            };
            let copy = corpus.folder.join(&name).join(file.strip_prefix(&folder)?);
            fs::create_dir_all(copy.parent().context("a file has a folder")?)?;
            corpus.files += 1;
            corpus.bytes += size;
            corpus.lines += text.lines().count() as u64;
            fs::write(copy, text)?;
        }
    }
    ensure!(corpus.bytes > 0, "the dependencies have no source");
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

/// Adds every file below `folder` whose name ends in one of `extensions`.
pub(crate) fn collect(folder: &Path, extensions: &[&str], files: &mut Vec<PathBuf>) -> Result<()> {
    let is_wanted = |path: &Path| {
        let extension = path.extension().and_then(|it| it.to_str());
        extension.is_some_and(|it| extensions.contains(&it))
    };
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let path = entry.path();
        // Hidden files are not searched.
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if kind.is_dir() {
            collect(&path, extensions, files)?;
        } else if kind.is_file() && is_wanted(&path) {
            files.push(path);
        }
    }
    Ok(())
}
