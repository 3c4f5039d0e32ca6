//! A folder that is opened once; all reads go through its handle.

use std::fmt;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, FileType, Metadata, OpenOptions};

use crate::{PathFault, SourceError};

/// The longest path that Linux accepts, in bytes.
pub(crate) const LONGEST_PATH: usize = 4096;

/// The most reads of a file that changes while it is read.
const ATTEMPTS: usize = 3;

/// A folder that was opened once. Nothing outside it can be read through it: not by `..`, an
/// absolute path or a link, and not by swapping one for the other at the right moment, because
/// every path is resolved beneath the handle and every check is made on what was opened.
pub struct Root {
    dir: Dir,
    path: PathBuf,
}

/// Metadata that distinguishes states of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    length: u64,
    /// Nanoseconds since 1970.
    modified: i128,
    /// Nanoseconds since 1970; 0 where there is no such time.
    changed: i128,
    /// Device and inode; zeros where there are none.
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

    /// Opens the folder at `path` within this one, beneath its handle.
    ///
    /// # Errors
    /// [`SourceError::Root`] when it cannot be opened, or lies outside.
    pub fn folder(&self, path: impl AsRef<Path>) -> Result<Self, SourceError> {
        let path = path.as_ref();
        Root::of(&self.path.join(path), self.dir(path))
    }

    /// Duplicates the handle of the folder.
    ///
    /// # Errors
    /// [`SourceError::Root`] when too many files are open.
    pub fn try_clone(&self) -> Result<Self, SourceError> {
        Root::of(&self.path, self.dir.try_clone())
    }

    pub(crate) fn dir(&self, path: &Path) -> io::Result<Dir> {
        if path.as_os_str().is_empty() {
            return self.dir.try_clone();
        }
        self.dir.open_dir(path)
    }

    /// The path by which the folder was opened; for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its path still leads to this very folder, not to nothing or to a new one of that
    /// name. On systems without inode numbers: whether the path leads to a folder.
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

    /// A `path` that begins with the [path](Root::path) by which this folder was opened, made
    /// relative to the folder; other paths are returned unchanged. Compares names only. If the
    /// folder was opened by a relative path, so must `path` be: `src/a.rs` within `src` is `a.rs`.
    /// Do not give it a path that is relative to the folder already, as that may begin so, too.
    pub fn relative<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.path).unwrap_or(path)
    }

    /// Reads the file at `path`, of at most `limit` bytes.
    ///
    /// Never blocks on what the path leads to: pipes, devices and folders are refused, and a file
    /// that grows past the limit is an error. O(bytes).
    ///
    /// # Errors
    /// All but [`SourceError::Root`] and [`SourceError::Binary`].
    pub fn read(&self, path: impl AsRef<Path>, limit: u64) -> Result<Vec<u8>, SourceError> {
        Ok(self.read_stamped(path.as_ref(), limit)?.0)
    }

    /// Reads the file, and returns its bytes with the state they belong to.
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
                path: display_path(path),
                limit,
            })?;
            let after = Stamp::of(&file.metadata().map_err(failed)?);
            attempts += 1;
            if before == after || attempts == ATTEMPTS {
                return Ok((bytes, after));
            }
        }
    }

    /// Whether the file at `path` holds secrets, by its name or by that of the file it links to;
    /// see [`ctx_secrets::is_secret_file`]. Looks up each folder of the path.
    ///
    /// # Errors
    /// Those of [`Root::read`] except [`SourceError::TooLarge`] and [`SourceError::NotAFile`].
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
    /// Those of [`Root::read`] except [`SourceError::TooLarge`].
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
    /// The state of what is at `path` of the file system, whatever links lead there.
    ///
    /// # Errors
    /// The error of the system.
    pub fn at(path: impl AsRef<Path>) -> io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        Ok(Stamp::of(&Metadata::from_just_metadata(metadata)))
    }

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
            changed: changed(metadata),
            node: node(metadata),
        }
    }

    /// The size, in bytes.
    pub fn length(self) -> u64 {
        self.length
    }

    /// When the file was last changed, in nanoseconds since 1970; `i128::MIN` if unknown. Whoever
    /// writes a file may set it, as programs that unpack or copy files do.
    pub fn modified(self) -> i128 {
        self.modified
    }

    /// When the system last changed the content or the metadata of the file, in nanoseconds since
    /// 1970; 0 where the system keeps no such time, as on Windows. Nobody can set it, so it differs
    /// for another file of the same size and time, too.
    pub fn changed(self) -> i128 {
        self.changed
    }

    /// Device and inode, which identify a file under any name; zeros where there are none.
    pub fn node(self) -> (u64, u64) {
        self.node
    }
}

#[cfg(unix)]
fn changed(metadata: &Metadata) -> i128 {
    use cap_std::fs::MetadataExt as _;
    i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn changed(_: &Metadata) -> i128 {
    0
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

/// Rejects what cannot be a path of a file within a folder. Links are left to the capability.
fn check(path: &Path) -> Result<&Path, SourceError> {
    let fault = |fault| {
        Err(SourceError::Path {
            path: display_path(path),
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

/// The path as errors print it.
fn display_path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn open(dir: &Dir, path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        // Without these flags, opening a pipe without a writer blocks, and a terminal may become
        // the controlling one.
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
        path: display_path(path),
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
    let path = display_path(at);
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

/// Reads `reader` to its end; `None` if it has more than `limit` bytes. `expected` is a hint for
/// the allocation; a file may be larger by the time it is read, or report no size at all.
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
