//! The page of the server's figures, `docs/record/server.md`: each chore writes its own section.

use std::fs;

use anyhow::{Context as _, Result};

use xtask_call::workspace::Workspace;

const PAGE: &str = "docs/record/server.md";
const HEAD: &str =
    "# The server, measured\n\nEach section is written by the command it names; none by hand.\n";

/// Replaces the section `title` by `text`, or appends it.
///
/// # Errors
/// The page cannot be written.
pub(crate) fn write(workspace: &Workspace, title: &str, text: &str) -> Result<()> {
    let path = workspace.root.join(PAGE);
    let before = fs::read_to_string(&path).unwrap_or_default();
    let page = replaced(&before, title, text);
    fs::write(&path, page).with_context(|| format!("failed to write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// `page` with `text` as its section `title`.
fn replaced(page: &str, title: &str, text: &str) -> String {
    let page = page.trim_end();
    let mut sections: Vec<&str> = page.split("\n## ").skip(1).collect();
    let new = format!("{title}\n\n{}", text.trim());
    match sections
        .iter()
        .position(|it| it.lines().next() == Some(title))
    {
        Some(at) => sections[at] = &new,
        None => sections.push(&new),
    }
    let mut whole = HEAD.to_owned();
    for section in sections {
        whole.extend(["\n## ", section.trim_end(), "\n"]);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_takes_its_own_place_and_leaves_the_others() {
        let one = replaced("", "One", "first\n");
        assert_eq!(one, format!("{HEAD}\n## One\n\nfirst\n"));
        let two = replaced(&one, "Two", "second\n\n### Part\n\nof it");
        assert_eq!(
            two,
            format!("{one}\n## Two\n\nsecond\n\n### Part\n\nof it\n")
        );
        let again = replaced(&two, "One", "third");
        assert_eq!(again, two.replace("first", "third"));
    }
}
