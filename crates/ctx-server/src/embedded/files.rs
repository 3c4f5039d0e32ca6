//! Files as the owner sent them: written beneath a handle of the owner's folder, never by a path of ours.

use std::io::{self, Write as _};
use std::path::{Component, Path};

use cap_std::fs::{Dir, OpenOptions};

use crate::backend::BackendError;

/// The longest path, in bytes.
const LONGEST_PATH: usize = 1024;
/// The longest name in a path, in bytes, with room for what an unfinished file is called.
const LONGEST_NAME: usize = 200;
/// The deepest path, in names.
const DEEPEST: usize = 32;
/// Everything that was sent is to be found, whatever files that say otherwise are sent with it, or lie above
/// the data folder.
const IGNORE_FILE: (&str, &[u8]) = (".ctxignore", b"!*\n.ctxignore\n");

/// What is wrong with `path` as the path of a file to be kept, if anything is.
pub(super) fn fault(path: &str) -> Option<&'static str> {
    if path.len() > LONGEST_PATH {
        return Some("the path is longer than 1024 bytes");
    }
    if path.chars().any(|it| it.is_control() || it == '\\') {
        return Some("the path has a control character or a backslash in it");
    }
    let names: Vec<&str> = path.split('/').collect();
    if names.len() > DEEPEST {
        return Some("the path has more than 32 names in it");
    }
    for name in &names {
        match *name {
            "" if names.len() == 1 => return Some("the path is empty"),
            "" => return Some("the path begins or ends with a slash, or has two in a row"),
            "." | ".." => return Some("the path has a \".\" or \"..\" in it"),
            ".ctx" | ".ctxignore" => return Some("the path has a name in it that is reserved"),
            name if name.len() > LONGEST_NAME => {
                return Some("the path has a name of more than 200 bytes in it");
            }
            _ => {}
        }
    }
    let is_plain = |it: Component<'_>| matches!(it, Component::Normal(_));
    let is_relative = Path::new(path).components().all(is_plain);
    (!is_relative).then_some("the path does not lie within the folder")
}

/// Makes the folder ready.
pub(super) fn prepare(files: &Dir) -> io::Result<()> {
    let (name, content) = IGNORE_FILE;
    if files.read(name).is_ok_and(|it| it == content) {
        return Ok(());
    }
    files.write(name, content)
}

/// Writes `content` to `path`, whole or not at all. It is on the disk when this returns, but for the entry
/// in its folder: that is for [`sync`].
pub(super) fn write(files: &Dir, path: &str, content: &[u8]) -> Result<(), BackendError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotADirectory
        | io::ErrorKind::AlreadyExists
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::DirectoryNotEmpty => BackendError::Invalid {
            field: String::new(),
            detail: "the path is that of a folder, or leads through a file".to_owned(),
        },
        _ => BackendError::failed("write a file", source),
    };
    let path = Path::new(path);
    if let Some(parent) = path.parent().filter(|it| *it != Path::new("")) {
        files.create_dir_all(parent).map_err(failed)?;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Within a reserved folder's name nobody can have a file of this path.
    files.create_dir_all(".ctx").map_err(failed)?;
    let unfinished = Path::new(".ctx").join(format!("{name}.unfinished"));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let mut file = files.open_with(&unfinished, &options).map_err(failed)?;
    file.write_all(content).map_err(failed)?;
    file.sync_data().map_err(failed)?;
    files.rename(&unfinished, files, path).map_err(failed)
}

/// Puts the entry of `path` in its folder on the disk.
pub(super) fn sync(files: &Dir, path: &str) -> io::Result<()> {
    let parent = Path::new(path)
        .parent()
        .filter(|it| *it != Path::new(""))
        .unwrap_or(Path::new("."));
    files.open(parent)?.sync_all()
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
