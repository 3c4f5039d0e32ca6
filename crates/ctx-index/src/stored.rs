//! Indexes seen from outside: which root each is of, how large and old it is, and its removal.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::IndexError;
use crate::error::Fault;
use crate::index::bytes_below;
use crate::lock::{REMEMBERED, WRITER, check_free, lock};
use crate::manifest;
use crate::own;
use crate::remembered::Remembered;
use crate::store::Store;
use ctx_model::UnixSeconds;

/// An index seen from outside, whether or not its root still exists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stored {
    /// The folder of the index.
    pub folder: PathBuf,
    /// The root. `None` if the index was last opened by a version that did not record it, if the
    /// record cannot be read, or if the path is not UTF-8.
    pub root: Option<PathBuf>,
    /// The format that its manifest names, which may be one that this version cannot read.
    pub format: Option<String>,
    /// Bytes on the disk.
    pub bytes: u64,
    /// When the indexed content last changed.
    pub written_at: Option<UnixSeconds>,
    /// When one of its files was last written. That happens whenever the
    /// index shows something and, if the folder can be written, on its first opening each day.
    pub used_at: Option<UnixSeconds>,
}

impl Stored {
    /// Describes the index in `folder`, or the remains of one; `None` if there is none, or if
    /// `folder` is not a folder, such as a link to one. Changes nothing, and verifies only the data
    /// that names the root. O(files of the index + remembered data).
    ///
    /// # Errors
    /// The folder cannot be read, or something that does not belong to an index has the name of one
    /// of its files.
    pub fn at(folder: &Path) -> Result<Option<Stored>, IndexError> {
        match fs::symlink_metadata(folder) {
            Ok(it) if it.is_dir() => {}
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(IndexError::folder(folder, error));
            }
            _ => return Ok(None),
        }
        if !own::is_index(folder)? {
            return Ok(None);
        }
        let (format, written_at) = manifest::glance(&folder.join("manifest.db"));
        Ok(Some(Stored {
            folder: folder.to_owned(),
            root: root_of(folder).map_err(|it| it.within(folder))?,
            format,
            bytes: bytes_below(folder),
            written_at: written_at.map(UnixSeconds::new),
            used_at: newest(folder),
        }))
    }

    /// Why opening the index would start it over, as a fragment that follows "failed to"; `None` if
    /// it is whole. Every checksum is verified. O(bytes of the index).
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn fault(&self) -> Result<Option<String>, IndexError> {
        match Store::look(&self.folder) {
            Ok(Some(_)) => Ok(None),
            Ok(None) => Ok(Some("find more of it than what it remembers".to_owned())),
            Err(error) if error.is_damage() => Ok(Some(error.describe(&self.folder))),
            Err(error) => Err(error.within(&self.folder)),
        }
    }

    /// Checks that [`Stored::remove`] would remove the index. Changes nothing.
    ///
    /// # Errors
    /// Those of [`Stored::remove`], as far as they can be foreseen.
    pub fn is_removable(&self, beside: &dyn Fn(&str) -> bool) -> Result<(), IndexError> {
        for name in [WRITER, REMEMBERED] {
            check_free(&self.folder, name)?;
        }
        own::check_all(&self.folder, beside)
    }

    /// Removes the index with its remembered data, its folder, and the files in it whose names
    /// satisfy `beside`, which belong to the caller. Returns whether it did: it does not if the
    /// index was used or removed since [`Stored::at`]. Readers in other processes are not detected;
    /// they go on answering from what they have open, and their next update creates the index
    /// again.
    ///
    /// # Errors
    /// [`IndexError::Busy`] if another process writes it, and [`IndexError::Foreign`] if its folder
    /// has anything that neither belongs to an index nor satisfies `beside`: in both cases nothing
    /// is removed. [`IndexError::Folder`] if it cannot be removed, or only in part.
    pub fn remove(&self, beside: &dyn Fn(&str) -> bool) -> Result<bool, IndexError> {
        // The lock files are not created anew if another process has just removed the folder.
        if !self.folder.is_dir() {
            return Ok(false);
        }
        self.is_removable(beside)?;
        let _writer = lock(&self.folder, WRITER)?;
        let _remembered = lock(&self.folder, REMEMBERED)?;
        let now = Stored::at(&self.folder)?;
        if now.is_none_or(|it| (it.root, it.used_at) != (self.root.clone(), self.used_at)) {
            return Ok(false);
        }
        own::remove_all(&self.folder, beside)?;
        Ok(true)
    }
}

/// The root of the index in `folder`, if it was recorded.
fn root_of(folder: &Path) -> Result<Option<PathBuf>, Fault> {
    Remembered::look(folder)?.0.root()
}

/// When the newest file below `folder` was written, except the lock files, which are also written
/// by callers of [`Stored::remove`].
fn newest(folder: &Path) -> Option<UnixSeconds> {
    let entries = fs::read_dir(folder).ok()?;
    let time = |entry: fs::DirEntry| {
        let metadata = entry.metadata().ok()?;
        if metadata.is_dir() {
            return newest(&entry.path());
        }
        let is_lock = [WRITER, REMEMBERED]
            .iter()
            .any(|it| entry.file_name() == *it);
        metadata.modified().ok().filter(|_| !is_lock).map(seconds)
    };
    entries.flatten().filter_map(time).max()
}

/// `time` in seconds; 0 if it is before 1970.
pub(crate) fn seconds(time: SystemTime) -> UnixSeconds {
    UnixSeconds::new(i64::try_from(manifest::seconds(time)).unwrap_or(i64::MAX))
}
