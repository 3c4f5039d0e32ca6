//! `cargo xtask tidy`: what neither rustfmt nor clippy looks at.
//!
//! rustfmt wraps code at a hundred columns and leaves comments as they are, which readers then have
//! to scroll.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use xtask_call::workspace::Workspace;

/// The most columns of a comment, as of code.
const COLUMNS: usize = 100;
/// The folders with sources.
const FOLDERS: [&str; 5] = [
    "crates",
    "fuzz/fuzz_targets",
    "xtask",
    "xtask-call",
    "xtask-measure",
];

/// Names each comment that is too wide.
///
/// # Errors
/// There is one, or a file cannot be read.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut wide = Vec::new();
    for folder in FOLDERS {
        for path in workspace.sources(folder)? {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let shown = path.strip_prefix(&workspace.root)?;
            wide.extend(too_wide(&text).map(|line| told(shown, line)));
        }
    }
    if wide.is_empty() {
        println!("no comment has more than {COLUMNS} columns");
        return Ok(());
    }
    bail!(
        "comments have at most {COLUMNS} columns:\n{}",
        wide.join("\n")
    )
}

fn told(path: &Path, line: usize) -> String {
    format!("{}:{line}", path.display())
}

/// The lines of `text`, from 1, that are comments and have too many columns. Examples of code in
/// them are as they are, and what has no blank to wrap at: a link, or code that begins a line.
fn too_wide(text: &str) -> impl Iterator<Item = usize> {
    let mut is_code = false;
    let mut is_wide = move |line: &str| {
        let said = line.trim_start().strip_prefix("//");
        let said = said.map_or("", |it| it.trim_start_matches(['/', '!']).trim_start());
        is_code ^= said.starts_with("```");
        let can_wrap = !said.starts_with('`') && said.split_whitespace().nth(1).is_some();
        can_wrap && !is_code && line.chars().count() > COLUMNS
    };
    let lines = text.lines().enumerate();
    lines.filter_map(move |(index, line)| is_wide(line).then_some(index + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_as_wide_as_code() {
        let words = "ten more. ".repeat(10);
        let text = format!(
            "/// {words}\n// {}\n    //! {words}ab\nlet it = \"{words}\";\n// https://{}\n\
             /// ```\n/// {words}\n/// ```\n/// `{words}`\n/// {words}\n",
            &words[..96],
            "a".repeat(120)
        );
        assert_eq!(too_wide(&text).collect::<Vec<_>>(), [1, 3, 10]);
    }
}
