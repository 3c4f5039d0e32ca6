//! A folder, opened once; every read goes through it.

use std::fmt;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, FileType, Metadata, OpenOptions};

use crate::{PathFault, SourceError};

/// Linux takes no longer path, and nobody means one.
pub(crate) const LONGEST_PATH: usize = 4096;

/// How often a file is read anew that changes while it is read.
const ATTEMPTS: usize = 3;

/// A folder that was opened once. What lies outside of it cannot be read through it: not by `..`, not
/// by an absolute path, not by a link, and not by swapping one for the other at the right moment,
/// because every path is resolved beneath the handle and every check is made on what was opened.
pub struct Root {
    dir: Dir,
    path: PathBuf,
}

/// What tells one state of a file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    length: u64,
    /// Nanoseconds since 1970.
    modified: i128,
    /// Device and inode, where there are such.
    node: (u64, u64),
}

impl Root {
    /// Opens a folder.
    ///
    /// # Errors
    /// [`SourceError::Root`] when it cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SourceError> {
        let path = path.as_ref();
        Root::of(path, Dir::open_ambient_dir(path, ambient_authority()))
    }

    fn of(path: &Path, dir: io::Result<Dir>) -> Result<Self, SourceError> {
        let path = path.to_owned();
        match dir {
            Ok(dir) => Ok(Root { dir, path }),
            Err(source) => Err(SourceError::Root {
                path: path.display().to_string(),
                source,
            }),
        }
    }

    /// The folder at `path` within this one, opened beneath its handle.
    ///
    /// # Errors
    /// [`SourceError::Root`] when it cannot be opened, or lies elsewhere.
    pub fn folder(&self, path: impl AsRef<Path>) -> Result<Self, SourceError> {
        let path = path.as_ref();
        Root::of(&self.path.join(path), self.dir(path))
    }

    /// The same folder once more.
    ///
    /// # Errors
    /// [`SourceError::Root`] when there are too many open files.
    pub fn try_clone(&self) -> Result<Self, SourceError> {
        Root::of(&self.path, self.dir.try_clone())
    }

    pub(crate) fn dir(&self, path: &Path) -> io::Result<Dir> {
        if path.as_os_str().is_empty() {
            return self.dir.try_clone();
        }
        self.dir.open_dir(path)
    }

    /// The folder, as it was named when it was opened; for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its path leads to this folder still, and not to nothing or to another one that has its name now. Where
    /// folders have no number, whether there is one.
    pub fn is_there(&self) -> bool {
        #[cfg(unix)]
        {
            use cap_std::fs::MetadataExt as _;
            use std::os::unix::fs::MetadataExt as _;
            let (now, then) = (std::fs::metadata(&self.path), self.dir.dir_metadata());
            match (now, then) {
                (Ok(now), Ok(then)) => (now.dev(), now.ino()) == (then.dev(), then.ino()),
                _ => false,
            }
        }
        #[cfg(not(unix))]
        self.path.is_dir()
    }

    /// `path` as seen from this folder, where it is given in full and lies in it; other paths are
    /// returned as they are. Looks at names alone.
    pub fn relative<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.path).unwrap_or(path)
    }

    /// The bytes of the file at `path`, of which there may be at most `limit`.
    ///
    /// Ends soon whatever the path leads to: pipes, devices and folders are refused, and a file that
    /// grows is cut off with an error. O(bytes).
    ///
    /// # Errors
    /// All but [`SourceError::Root`] and [`SourceError::Binary`].
    pub fn read(&self, path: impl AsRef<Path>, limit: u64) -> Result<Vec<u8>, SourceError> {
        Ok(self.read_stamped(path.as_ref(), limit)?.0)
    }

    /// The bytes, and the state of the file that they are.
    pub(crate) fn read_stamped(
        &self,
        path: &Path,
        limit: u64,
    ) -> Result<(Vec<u8>, Stamp), SourceError> {
        let checked = check(path)?;
        let failed = |source| failed(&self.dir, path, source);
        let mut attempts = 0;
        loop {
            let mut file = open(&self.dir, checked).map_err(failed)?;
            let metadata = file.metadata().map_err(failed)?;
            refuse_others(path, &metadata)?;
            let before = Stamp::of(&metadata);
            let bytes = read_up_to(&mut file, before.length, limit).map_err(failed)?;
            let bytes = bytes.ok_or_else(|| SourceError::TooLarge {
                path: told(path),
                limit,
            })?;
            let after = Stamp::of(&file.metadata().map_err(failed)?);
            attempts += 1;
            if before == after || attempts == ATTEMPTS {
                return Ok((bytes, after));
            }
        }
    }

    /// Whether the file at `path` is there to hold secrets: by its name, or by that of the file that it leads to by
    /// links; see [`ctx_secrets::is_secret_file`]. One look at each folder of the path.
    ///
    /// # Errors
    /// Those of [`Root::read`] but for what is too large or not a file.
    pub fn is_secret_file(&self, path: impl AsRef<Path>) -> Result<bool, SourceError> {
        let path = path.as_ref();
        let is_secret = |path: &Path| ctx_secrets::is_secret_file(&path.to_string_lossy());
        if is_secret(path) {
            return Ok(true);
        }
        let real = self.dir.canonicalize(check(path)?);
        let real = real.map_err(|source| failed(&self.dir, path, source))?;
        Ok(is_secret(&real))
    }

    /// The state of the file at `path`, without opening it.
    ///
    /// # Errors
    /// Those of [`Root::read`] but for what is too large.
    pub fn stamp(&self, path: impl AsRef<Path>) -> Result<Stamp, SourceError> {
        let path = path.as_ref();
        let metadata = self.dir.metadata(check(path)?);
        let metadata = metadata.map_err(|source| failed(&self.dir, path, source))?;
        refuse_others(path, &metadata)?;
        Ok(Stamp::of(&metadata))
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Root").field(&self.path).finish()
    }
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok().map(|time| {
            let since = time.into_std().duration_since(std::time::UNIX_EPOCH);
            since.map_or_else(
                |before| -i128::try_from(before.duration().as_nanos()).unwrap_or(i128::MAX),
                |after| i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
            )
        });
        Stamp {
            length: metadata.len(),
            modified: modified.unwrap_or(i128::MIN),
            node: node(metadata),
        }
    }

    /// Bytes.
    pub fn length(self) -> u64 {
        self.length
    }

    /// When it was changed last, in nanoseconds since 1970; `i128::MIN` where that is not known.
    pub fn modified(self) -> i128 {
        self.modified
    }

    /// Device and inode, by which a file is known under any name; zeros where there are none.
    pub fn node(self) -> (u64, u64) {
        self.node
    }
}

#[cfg(unix)]
fn node(metadata: &Metadata) -> (u64, u64) {
    use cap_std::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn node(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

/// What is certainly no path to a file beneath a folder. Links are for the capability to judge.
fn check(path: &Path) -> Result<&Path, SourceError> {
    let fault = |fault| {
        Err(SourceError::Path {
            path: told(path),
            fault,
        })
    };
    if path.as_os_str().len() > LONGEST_PATH {
        return fault(PathFault::TooLong);
    }
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return fault(PathFault::Nul);
    }
    let mut names = 0;
    for component in path.components() {
        match component {
            Component::Normal(_) => names += 1,
            Component::CurDir => {}
            Component::ParentDir => return fault(PathFault::Parent),
            Component::RootDir | Component::Prefix(_) => return fault(PathFault::Absolute),
        }
    }
    if names == 0 {
        return fault(PathFault::Empty);
    }
    Ok(path)
}

/// As errors name it.
fn told(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn open(dir: &Dir, path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        // A pipe that nobody writes to would be waited for, and a terminal would become ours.
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    }
    dir.open_with(path, &options)
}

fn refuse_others(path: &Path, metadata: &Metadata) -> Result<(), SourceError> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(());
    }
    Err(SourceError::NotAFile {
        path: told(path),
        what: name_of(kind),
    })
}

fn name_of(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use cap_std::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_block_device() || kind.is_char_device() {
            return "a device";
        }
    }
    if kind.is_dir() {
        "a folder"
    } else {
        "something else"
    }
}

fn failed(dir: &Dir, at: &Path, source: io::Error) -> SourceError {
    let path = told(at);
    let is_link = || dir.symlink_metadata(at).is_ok_and(|it| it.is_symlink());
    match source.kind() {
        io::ErrorKind::NotFound if is_link() => SourceError::DeadLink { path },
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => SourceError::NotFound { path },
        io::ErrorKind::IsADirectory => SourceError::NotAFile {
            path,
            what: "a folder",
        },
        _ => SourceError::Io { path, source },
    }
}

/// All that `reader` has, or `None` when that is more than `limit` bytes. `expected` is a guess that
/// saves growing; a file may be larger by the time it is read, or have no size at all.
///
/// # Errors
/// Those of the reader, and [`io::ErrorKind::OutOfMemory`].
pub fn read_up_to(reader: &mut dyn Read, expected: u64, limit: u64) -> io::Result<Option<Vec<u8>>> {
    if expected > limit {
        return Ok(None);
    }
    let expected = usize::try_from(expected).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(expected.saturating_add(1))
        .map_err(|_| io::ErrorKind::OutOfMemory)?;
    let read = reader
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)? as u64;
    Ok((read <= limit).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_allowed() {
        let read = |mut bytes: &[u8], expected, limit| {
            read_up_to(&mut bytes, expected, limit).expect("it is in memory")
        };
        assert_eq!(read(b"abc", 3, 3), Some(b"abc".to_vec()));
        assert_eq!(read(b"abc", 0, 3), Some(b"abc".to_vec()));
        assert_eq!(read(b"abcd", 0, 3), None);
        assert_eq!(read(b"", 4, 3), None);
        let endless = read_up_to(&mut io::repeat(b'x'), 0, 1000);
        assert_eq!(endless.expect("it reads"), None);
    }
}
