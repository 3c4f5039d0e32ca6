//! Locations of a user's data outside the folders themselves: indexes and preferences.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::failure::Failure;
use crate::walk::shown;

/// Bytes of the hash in an index's name: enough that no two folders share one.
const NAME_BYTES: usize = 16;

/// The folder of an index within the folder that it indexes.
pub(crate) const OWN: &str = ".ctx";
/// The folder within it where `ctx serve` keeps its data by default.
const SERVED: &str = "serve";

/// Reads an environment variable; an empty one counts as unset.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// The folder of the index of `root`, which is canonical. It is `.ctx` within `root` if that is a
/// folder (not a link) that is empty or has more in it than the data of `ctx serve`. Otherwise it
/// is named by a hash of the root's path, below `CTX_CACHE_DIR` or the user's cache folder.
///
/// # Errors
/// There is no cache folder, or it is within `root`, where the index would be indexed.
pub(crate) fn index_folder(root: &Path) -> Result<PathBuf, Failure> {
    let own = root.join(OWN);
    // A link may lead anywhere, and may have been made by the author of the folder.
    let is_there = fs::symlink_metadata(&own).is_ok_and(|it| it.is_dir());
    if is_there && !is_served_alone(&own) {
        return Ok(own);
    }
    let make = if is_there {
        format!("put an empty file into {}", shown(&own))
    } else {
        format!("make the folder {}", shown(&own))
    };
    let cache =
        cache().map_err(|it| it.with_hint(format!("set CTX_CACHE_DIR to a folder, or {make}")))?;
    let folder = cache.join(name_of(root));
    if is_walked(root, &folder) {
        let message = format!(
            "the index of {} would be inside that folder, at {}",
            shown(root),
            shown(&folder)
        );
        let hint = format!("set CTX_CACHE_DIR to a folder elsewhere, or {make}");
        return Err(Failure::input(message).with_hint(hint));
    }
    Ok(folder)
}

/// Whether `own` contains only the data of `ctx serve`, so that nobody made it for an index.
fn is_served_alone(own: &Path) -> bool {
    // If it cannot be read, opening the index reports what is wrong.
    let entries: Vec<_> = fs::read_dir(own).into_iter().flatten().take(2).collect();
    matches!(&*entries, [Ok(it)] if it.file_name() == SERVED)
}

/// The folder of all indexes, which need not exist.
///
/// # Errors
/// The environment names none.
pub(crate) fn cache() -> Result<PathBuf, Failure> {
    let cache = cache_folder(variable).ok_or_else(|| {
        Failure::input("there is no cache folder for the index")
            .with_hint("set CTX_CACHE_DIR to a folder")
    })?;
    Ok(std::path::absolute(&cache).unwrap_or(cache))
}

/// Whether an index at `folder` is within the folder that it indexes.
pub(crate) fn is_own(folder: &Path) -> bool {
    folder.file_name().is_some_and(|it| it == OWN)
}

/// The name of the index of `root` in the cache folder.
pub(crate) fn name_of(root: &Path) -> String {
    let name = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
    name[..2 * NAME_BYTES].to_owned()
}

/// Whether `name` has the form of such a name.
pub(crate) fn is_name(name: &str) -> bool {
    let is_digit = |it: u8| matches!(it, b'0'..=b'9' | b'a'..=b'f');
    name.len() == 2 * NAME_BYTES && name.bytes().all(is_digit)
}

/// Whether a walk through `root` reaches `folder`; it skips hidden folders.
fn is_walked(root: &Path, folder: &Path) -> bool {
    let is_hidden = |it: Component<'_>| it.as_os_str().as_encoded_bytes().starts_with(b".");
    folder
        .strip_prefix(root)
        .is_ok_and(|below| !below.components().any(is_hidden))
}

fn cache_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(folder) = variable("CTX_CACHE_DIR") {
        return Some(PathBuf::from(folder));
    }
    let given = if cfg!(windows) {
        variable("LOCALAPPDATA").map(PathBuf::from)
    } else {
        base(&variable, "XDG_CACHE_HOME", CACHE_BELOW_HOME)
    };
    Some(given?.join("ctx"))
}

const CACHE_BELOW_HOME: &str = if cfg!(target_os = "macos") {
    "Library/Caches"
} else {
    ".cache"
};

/// The file of the user's settings, which need not exist.
pub(crate) fn user_settings() -> Option<PathBuf> {
    let folder = if cfg!(windows) {
        variable("APPDATA").map(PathBuf::from)
    } else {
        base(&variable, "XDG_CONFIG_HOME", ".config")
    };
    Some(folder?.join("ctx").join("ctx.toml"))
}

/// The folder whose file `name` applies to `root`, which is canonical: the nearest one that has
/// such a file, from `root` up to its repository. Outside a repository only `root` itself counts.
pub(crate) fn settings_folder<'r>(root: &'r Path, name: &str) -> &'r Path {
    let Some(repository) = repository_of(root) else {
        return root;
    };
    let mut folders = root.ancestors();
    let nearest = folders.find(|it| has(it, name) || *it == repository);
    nearest.filter(|it| has(it, name)).unwrap_or(root)
}

/// The folder of the git repository that contains `root`, which is canonical. The search goes no
/// further up than `GIT_CEILING_DIRECTORIES` allows, as in git.
pub(crate) fn repository_of(root: &Path) -> Option<&Path> {
    let ceilings = env::var_os("GIT_CEILING_DIRECTORIES").unwrap_or_default();
    let ceilings: Vec<PathBuf> = env::split_paths(&ceilings).collect();
    let is_looked_into = |it: &&Path| *it == root || !ceilings.iter().any(|end| end == it);
    let mut folders = root.ancestors().take_while(is_looked_into);
    folders.find(|it| has(it, ".git"))
}

/// Whether `root` is a git repository without a work tree, or the git folder of one with one.
pub(crate) fn is_bare(root: &Path) -> bool {
    ["HEAD", "objects", "refs"].iter().all(|it| has(root, it))
}

fn has(folder: &Path, name: &str) -> bool {
    fs::symlink_metadata(folder.join(name)).is_ok()
}

/// A base folder of the XDG specification, according to which relative paths are ignored.
fn base(
    variable: &impl Fn(&str) -> Option<OsString>,
    name: &str,
    below_home: &str,
) -> Option<PathBuf> {
    let named = variable(name).map(PathBuf::from);
    named.filter(|it| it.is_absolute()).or_else(|| {
        let home = PathBuf::from(variable("HOME")?);
        Some(home.join(below_home))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn cache(variables: &[(&str, &str)], expected: Option<&str>) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(it, _)| *it == name);
            found.map(|(_, value)| OsString::from(value))
        };
        assert_eq!(cache_folder(variable), expected.map(PathBuf::from));
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn the_cache_is_where_the_environment_says() {
        cache(&[], None);
        cache(&[("HOME", "/h")], Some("/h/.cache/ctx"));
        cache(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")], Some("/x/ctx"));
        cache(
            &[("HOME", "/h"), ("XDG_CACHE_HOME", "x")],
            Some("/h/.cache/ctx"),
        );
        cache(&[("CTX_CACHE_DIR", "/c"), ("HOME", "/h")], Some("/c"));
    }

    #[test]
    fn an_index_is_not_where_it_would_be_indexed() {
        for (folder, expected) in [
            ("/home/me/src/cache/0", true),
            ("/home/me/src/.cache/0", false),
            ("/home/me/.cache/0", false),
        ] {
            let is_walked = is_walked(Path::new("/home/me/src"), Path::new(folder));
            assert_eq!(is_walked, expected, "{folder}");
        }
    }
}
