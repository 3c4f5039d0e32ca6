//! Checks the paths that owners give to their files.

use std::path::{Component, Path};

use crate::limits;

/// The longest name in a path, in bytes; it leaves room for what an unfinished file's name adds.
const LONGEST_PART: usize = 200;
/// The most names in a path.
const DEEPEST: usize = 32;
/// What is wrong with `path` as the path of a stored file, if anything.
pub(crate) fn fault(path: &str) -> Option<&'static str> {
    if path.len() > limits::LONGEST_NAME {
        return Some("the path has more than 1024 bytes");
    }
    if path.chars().any(|it| it.is_control() || it == '\\') {
        return Some("the path has a control character or a backslash in it");
    }
    let names: Vec<&str> = path.split('/').collect();
    if names.len() > DEEPEST {
        return Some("the path has more than 32 names in it");
    }
    for (number, name) in names.iter().enumerate() {
        let is_last = number + 1 == names.len();
        match *name {
            "" if names.len() == 1 => return Some("the path is empty"),
            "" => return Some("the path begins or ends with a slash, or has two in a row"),
            "." | ".." => return Some("the path has a \".\" or \"..\" in it"),
            ".ctx" | ".ctxignore" => return Some("the path has a name in it that is reserved"),
            name if ctx_secrets::is_secret_file(name) && (is_last || name.starts_with(".env")) => {
                return Some(
                    "the path has the name of a file of keys or settings in it, and such are not kept",
                );
            }
            name if name.len() > LONGEST_PART => {
                return Some("the path has a name of more than 200 bytes in it");
            }
            _ => {}
        }
    }
    let is_plain = |it: Component<'_>| matches!(it, Component::Normal(_));
    let is_relative = Path::new(path).components().all(is_plain);
    (!is_relative).then_some("the path does not lie within the folder")
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        for path in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../x",
            "a/../b",
            "a/..",
            "./a",
            "a/.",
            "a//b",
            "a/",
            "//a",
            "a\0b",
            "a\nb",
            "a\\b",
            "C:\\x",
            ".ctx/x",
            "a/.ctx",
            ".ctxignore",
            "a/.ctxignore",
        ] {
            assert!(fault(path).is_some(), "{path:?}");
        }
        assert!(fault(&"a/".repeat(40)).is_some());
        assert!(fault(&"a".repeat(201)).is_some());
        assert!(fault(&format!("{}/x", "a/b".repeat(400))).is_some());
    }

    #[test]
    fn ordinary_paths_are_taken() {
        for path in [
            "a",
            "a/b.rs",
            ".github/workflows/ci.yml",
            "ä/ö.md",
            "a b/c",
            "..a",
            "a..b/...",
        ] {
            assert_eq!(fault(path), None, "{path:?}");
        }
    }
}
