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
                    "the path has the name of a file of keys or settings in it, which are not stored",
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
#[path = "paths_tests.rs"]
mod tests;
