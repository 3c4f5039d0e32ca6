//! The numbers of crates that READMEs tell are those that `cargo tree` lists.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result};

use super::table::Table;
use xtask_call::command::Call;
use xtask_call::workspace::Workspace;

/// The system that crates are counted for, whatever this one is.
const SYSTEM: &str = "x86_64-unknown-linux-gnu";

/// A number of crates that a README tells.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StatedCount {
    /// The arguments of `cargo` that list them.
    pub(super) arguments: Vec<String>,
    pub(super) crates: usize,
}

/// Where a README tells another number than is compiled. Takes some 0.2 s for each number.
pub(super) fn check(workspace: &Workspace, table: &Table) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let (facade, _) = table.facade;
    for package in &workspace.members.packages {
        let name = package.name.as_str();
        let Some(readme) = package.readme() else {
            continue;
        };
        let text = fs::read_to_string(&readme).with_context(|| readme.to_string())?;
        let mut all = sentences(&text);
        if name == facade {
            all.extend(rows(&text, name));
        }
        for told in all {
            let crates = count(workspace, &told.arguments)?;
            if crates != told.crates {
                let (arguments, told) = (told.arguments.join(" "), told.crates);
                found.push(format!(
                    "{name}: its README tells of {told} crates, and `cargo {arguments}` lists {crates}"
                ));
            }
        }
    }
    Ok(found)
}

/// The numbers in sentences such as ``13 crates (`cargo tree -p ctx-tokens`, …)``. What a pipe does
/// to the list is done by [`distinct`].
pub(super) fn sentences(text: &str) -> Vec<StatedCount> {
    const COMMAND: &str = "crates (`cargo ";
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut all = Vec::new();
    for (at, _) in text.match_indices(COMMAND) {
        let number = text[..at].split_whitespace().next_back();
        let command = text[at + COMMAND.len()..].split(['`', '|']).next();
        if let (Some(Ok(crates)), Some(command)) = (number.map(str::parse), command) {
            let arguments = command.split_whitespace().map(str::to_owned).collect();
            all.push(StatedCount { arguments, crates });
        }
    }
    all
}

/// The numbers in the last column of the table of features of `name`.
pub(super) fn rows(text: &str, name: &str) -> Vec<StatedCount> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix('|')?.split('|').map(str::trim).collect();
        let (first, last) = (cells.first()?, cells.iter().rev().nth(1)?);
        let crates = last.parse().ok()?;
        let mut arguments = vec!["tree", "-p", name, "--no-default-features"];
        arguments.extend(["-e", "normal,build", "--prefix", "none"]);
        if let Some(feature) = first.strip_prefix('`').and_then(|it| it.strip_suffix('`')) {
            arguments.extend(["--features", feature]);
        }
        let arguments = arguments.into_iter().map(str::to_owned).collect();
        Some(StatedCount { arguments, crates })
    };
    text.lines().filter_map(row).collect()
}

fn count(workspace: &Workspace, arguments: &[String]) -> Result<usize> {
    let listed = Call::cargo(arguments)
        .args(["--offline", "--target", SYSTEM])
        .within(&workspace.root)
        .output()?;
    Ok(distinct(&listed))
}

/// The number of crates in a list that names some of them again, then with `(*)`.
pub(super) fn distinct(listed: &str) -> usize {
    let crates = listed.lines().map(|it| it.trim_end_matches(" (*)"));
    let crates: BTreeSet<&str> = crates.filter(|it| !it.is_empty()).collect();
    crates.len()
}
