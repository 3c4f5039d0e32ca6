//! Which files there are.

use std::path::Path;

use ctx_assemble::Cancel;
use ignore::WalkBuilder;

use crate::fault::{Fault, echo};

/// Files that one walk lists.
const MOST: usize = 100_000;

/// The files below `within`, which is relative to `root` and may be empty, by the bytes of their paths: as
/// ignore files say, links not followed, so that nothing beside the root is listed. A file that is named
/// itself is listed whatever ignore files say. O(files below the root that are not passed over).
///
/// # Errors
/// `within` is no path below a root; the caller cancelled.
pub(crate) fn files(root: &Path, within: &str, cancel: &Cancel) -> Result<Vec<String>, Fault> {
    let within = clean(within)?;
    let folder = within.clone();
    let walk = WalkBuilder::new(root)
        .git_global(false)
        .require_git(false)
        .add_custom_ignore_filename(".ctxignore")
        .filter_entry({
            let root = root.to_owned();
            move |entry| {
                let path = entry.path().strip_prefix(&root).ok().and_then(Path::to_str);
                entry.file_name() != ".ctx" && path.is_some_and(|path| is_on_the_way(path, &folder))
            }
        })
        .build();
    let mut files = Vec::new();
    for entry in walk.flatten() {
        if cancel.is_cancelled() {
            return Err(Fault::cancelled());
        }
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let path = entry.path().strip_prefix(root).ok().and_then(Path::to_str);
        if let (true, Some(path), true) = (is_file, path, files.len() < MOST) {
            files.push(path.replace(std::path::MAIN_SEPARATOR, "/"));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Whether `path` lies in `folder`, or the other way round.
fn is_on_the_way(path: &str, folder: &str) -> bool {
    let is_in = |inner: &str, outer: &str| {
        outer.is_empty()
            || inner
                .strip_prefix(outer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_in(path, folder) || is_in(folder, path)
}

fn clean(within: &str) -> Result<String, Fault> {
    let parts = within.split('/').filter(|it| !it.is_empty() && *it != ".");
    let parts: Vec<&str> = parts.collect();
    if within.starts_with('/') || parts.contains(&"..") || within.contains(['\0', '\\']) {
        return Err(Fault::new(
            format!("list {}: it may lead out of the root", echo(within)),
            "a path relative to the root, as the tools show them",
        ));
    }
    Ok(parts.join("/"))
}
