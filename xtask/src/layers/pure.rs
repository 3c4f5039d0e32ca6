//! The core, and some others, open no file, no socket and no clock: held against their source.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::table::Table;
use xtask_call::workspace::Workspace;

/// Where a crate that may not reaches for the world outside, tests aside, as `path:line: word`.
pub(super) fn check(workspace: &Workspace, table: &Table) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for name in table.core.iter().chain(table.pure) {
        let folder = Path::new("crates").join(name).join("src");
        for path in workspace.sources(&folder)? {
            let shown = path.strip_prefix(workspace.root.join("crates"))?;
            if shown
                .iter()
                .any(|it| Path::new(it).file_stem() == Some("tests".as_ref()))
            {
                continue;
            }
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let shown = shown.display().to_string();
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
