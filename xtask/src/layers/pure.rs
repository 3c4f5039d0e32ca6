//! The core, and some others, open no file, no socket and no clock: held against their source.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::table::Table;
use crate::workspace::Workspace;

/// Where a crate that may not reaches for the world outside, as `path:line: word`.
pub(super) fn check(workspace: &Workspace, table: &Table) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for name in table.core.iter().chain(table.pure) {
        let folder = workspace.root.join("crates").join(name).join("src");
        for path in sources(&folder)? {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let shown = path
                .strip_prefix(workspace.root.join("crates"))?
                .display()
                .to_string();
            for (line, word) in reaches(&text, table.impure) {
                if !table.reaching.contains(&(shown.as_str(), word)) {
                    found.push(format!("{shown}:{line}: {word} is not for this crate"));
                }
            }
        }
    }
    Ok(found)
}

/// The lines, from 1, that hold one of `words` outside a comment, each with that word.
pub(super) fn reaches<'w>(text: &str, words: &[&'w str]) -> Vec<(usize, &'w str)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        let words = words.iter().filter(|word| code.contains(*word));
        found.extend(words.map(|word| (index + 1, *word)));
    }
    found
}

/// All Rust files below `folder` but those of tests, in the order of their paths.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
            if path.is_dir() && !is_test {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") && !is_test {
                paths.push(path);
            }
        }
    }
    paths.sort();
    Ok(paths)
}
