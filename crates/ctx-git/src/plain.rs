//! Checks that what is read of a repository is plain files.
//!
//! Git's own files are opened by name and read to their end. Opening a pipe without a writer blocks
//! forever, and a device may never end. No clone contains such, but an unpacked archive may. So
//! each file is checked before it is read, and files that are read whole are read here first, up to
//! their limit: the reported length is not reliable, since some system files report none. A file
//! that is replaced between check and use goes unnoticed.

use std::collections::BTreeSet;
use std::fs::{self, File, FileType, Metadata};
use std::io::{self, BufReader, Read as _, Write};
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice as _;
use gix::discover::path::{from_gitdir_file, from_plain_file};
use gix::hash::oid;
use gix::quote::ansi_c;

use crate::error::GitError;

/// Files of a git folder that are read whole, besides references and objects.
const FILES: [&str; 6] = [
    "HEAD",
    "commondir",
    "gitdir",
    "config",
    "config.worktree",
    "shallow",
];
/// The most bytes of a file in [`FILES`], of a reference, and of a list of other object folders.
const LARGEST: u64 = 16 << 20;
/// The most bytes of `packed-refs`: room for a million references.
const LARGEST_PACKED: u64 = 64 << 20;
/// Where git looks for a reference: a prefix, and a suffix.
const BELOW: [(&str, &str); 6] = [
    ("", ""),
    ("refs", ""),
    ("refs/tags", ""),
    ("refs/heads", ""),
    ("refs/remotes", ""),
    ("refs/remotes", "HEAD"),
];
/// The longest chain of symbolic references that is followed; git follows five.
const MOST_REFERENCES: usize = 16;
/// The most object folders that may borrow from each other.
const MOST_BORROWED: usize = 256;

/// The object folders of a repository: its own, and those it borrows from.
#[derive(Debug)]
pub(crate) struct Objects(Vec<PathBuf>);

/// Checks that all files are plain that are read to find the repository around `root`, in each
/// folder upwards until the first repository, or one of `ceilings`.
pub(crate) fn around(root: &Path, ceilings: &[PathBuf]) -> Result<(), GitError> {
    // A ceiling does not apply to itself.
    let is_end = |folder: &Path| ceilings.iter().any(|it| it == folder && it != root);
    for folder in root.ancestors() {
        let git = folder.join(".git");
        if git.symlink_metadata().is_ok() {
            repository(&git)?;
            if gix::discover::is_git(&git).is_ok() {
                break;
            }
        }
        if is_end(folder) {
            break;
        }
    }
    Ok(())
}

/// Checks that all files are plain that are read to open the repository at `folder`, a git folder
/// or a work tree.
pub(crate) fn at(folder: &Path) -> Result<Objects, GitError> {
    let mut objects = repository(folder)?;
    let git = folder.join(".git");
    if git.symlink_metadata().is_ok() {
        objects.0.extend(repository(&git)?.0);
    }
    Ok(objects)
}

/// Checks that all files are plain that are read to open the repository at `git`, a git folder or a
/// file that names one. Does not check references that `HEAD` does not lead to, or loose objects,
/// which [`Objects::one`] and [`Objects::all`] check.
fn repository(git: &Path) -> Result<Objects, GitError> {
    let own = if small(git)? {
        // If it does not name a folder, opening the repository will report that.
        from_gitdir_file(git).unwrap_or_else(|_| git.to_owned())
    } else {
        git.to_owned()
    };
    small(&own.join("commondir"))?;
    let common = match from_plain_file(&own.join("commondir")) {
        Some(Ok(common)) => own.join(common),
        _ => own.clone(),
    };
    let mut folders = vec![&*own, &*common];
    folders.dedup();
    for folder in &folders {
        for file in FILES {
            small(&folder.join(file))?;
        }
        copied(&folder.join("packed-refs"), LARGEST_PACKED, io::sink())?;
    }
    references(&folders)?;
    objects(&common.join("objects"))
}

/// Checks the references to which `HEAD` leads, in any of `folders`.
fn references(folders: &[&Path]) -> Result<(), GitError> {
    let mut names = vec!["HEAD".to_owned()];
    for _ in 0..MOST_REFERENCES {
        let mut next = Vec::new();
        for name in names {
            for (below, after) in BELOW {
                for folder in folders {
                    let at = folder.join(below).join(&name);
                    let at = if after.is_empty() { at } else { at.join(after) };
                    let Some(bytes) = said(&at)? else {
                        continue;
                    };
                    let name = bytes.strip_prefix(b"ref:").map(|it| it.trim().as_bstr());
                    let name = name.filter(|it| gix::validate::reference::name(it).is_ok());
                    if let Some(Ok(name)) = name.map(|it| it.to_str()) {
                        next.push(name.to_owned());
                    }
                }
            }
        }
        next.sort_unstable();
        next.dedup();
        names = next;
    }
    Ok(())
}

/// The folder `objects` and those that it borrows from; checks all of their files except loose
/// objects.
fn objects(objects: &Path) -> Result<Objects, GitError> {
    let mut pending = vec![objects.to_owned()];
    let (mut known, mut folders) = (BTreeSet::new(), Vec::new());
    while let Some(folder) = pending.pop() {
        // A folder that does not exist has nothing to read.
        let Ok(canonical) = folder.canonicalize() else {
            continue;
        };
        if folders.len() == MOST_BORROWED || !known.insert(canonical) {
            continue;
        }
        let info = folder.join("info");
        if let Some(bytes) = said(&info.join("alternates"))? {
            pending.extend(borrowed(&bytes).into_iter().map(|it| objects.join(it)));
        }
        plain(&info.join("commit-graph"))?;
        all_plain(&info.join("commit-graphs"))?;
        all_plain(&folder.join("pack"))?;
        folders.push(folder);
    }
    Ok(Objects(folders))
}

/// The folders named in an `alternates` file, parsed as git does.
fn borrowed(mut bytes: &[u8]) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    while !bytes.is_empty() {
        let end = bytes.find_byte(b'\n').unwrap_or(bytes.len());
        let line = bytes[..end].as_bstr();
        let quoted = bytes.starts_with(b"\"").then(|| ansi_c::undo(bytes.into()));
        let (path, end) = match quoted {
            Some(Ok((path, end))) => (path.into_owned(), end),
            _ => (line.to_owned(), end),
        };
        if !path.is_empty() && !line.starts_with(b"#") {
            folders.extend(path.to_path().map(Path::to_owned));
        }
        bytes = bytes.get(end + 1..).unwrap_or_default();
    }
    folders
}

impl Objects {
    /// Checks that the object `id` is a plain file, in every folder where it is loose.
    pub(crate) fn one(&self, id: &oid) -> Result<(), GitError> {
        let id = id.to_string();
        let (folder, file) = id.split_at(2);
        let mut all = self.0.iter().map(|it| it.join(folder).join(file));
        all.try_for_each(|it| plain(&it).map(drop))
    }

    /// Checks that all loose objects are plain files. O(loose objects).
    pub(crate) fn all(&self) -> Result<(), GitError> {
        let mut folders = (0..=u8::MAX).flat_map(|first| {
            let name = format!("{first:02x}");
            self.0.iter().map(move |it| it.join(&name))
        });
        folders.try_for_each(|it| all_plain(&it))
    }
}

/// The bytes of the file at `path`, if it exists and can be read.
fn said(path: &Path) -> Result<Option<Vec<u8>>, GitError> {
    let mut bytes = Vec::new();
    Ok(copied(path, LARGEST, &mut bytes)?.then_some(bytes))
}

/// Whether there is a readable file at `path`; an error if it is too large or not a plain file.
fn small(path: &Path) -> Result<bool, GitError> {
    copied(path, LARGEST, io::sink())
}

/// Copies the file at `path` to `to`, and returns whether it could be opened. An error if it has
/// more than `limit` bytes.
fn copied(path: &Path, limit: u64, mut to: impl Write) -> Result<bool, GitError> {
    let is_file = plain(path)?.is_some_and(|it| it.is_file());
    let Some(file) = is_file.then(|| File::open(path)).and_then(Result::ok) else {
        return Ok(false);
    };
    // Some system files can only be read in whole words, so reads are buffered.
    let mut bytes = BufReader::new(file).take(limit + 1);
    let count = io::copy(&mut bytes, &mut to);
    if count.map_err(|error| GitError::repository(path, error))? > limit {
        return Err(GitError::TooLarge {
            path: path.to_owned(),
            limit,
        });
    }
    Ok(true)
}

/// Checks that everything in `folder`, if it is a folder, is a plain file.
fn all_plain(folder: &Path) -> Result<(), GitError> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries.filter_map(Result::ok) {
        // Most file systems report the type with the name.
        let is_plain = entry.file_type().is_ok_and(|it| it.is_file());
        if !is_plain {
            plain(&entry.path())?;
        }
    }
    Ok(())
}

/// Checks that `path` leads to a file or a folder, or to nothing: these can be opened without
/// blocking, and have an end.
fn plain(path: &Path) -> Result<Option<Metadata>, GitError> {
    let Ok(metadata) = fs::metadata(path) else {
        return Ok(None);
    };
    let kind = metadata.file_type();
    if kind.is_file() || kind.is_dir() {
        return Ok(Some(metadata));
    }
    Err(GitError::NotAFile {
        path: path.to_owned(),
        what: name_of(kind),
    })
}

#[cfg(unix)]
fn name_of(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn name_of(_: FileType) -> &'static str {
    "something else"
}
