//! Indexes as they lie among others, each in a folder of its own: what each is of, and how one is removed that nobody wants.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::IndexError;
use crate::error::Fault;
use crate::index::bytes_below;
use crate::lock::{REMEMBERED, WRITER, busy, holder, lock};
use crate::manifest;
use crate::own;
use crate::remembered::Remembered;
use crate::store::Store;

/// An index that is looked at from outside, whether or not what it is of is there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stored {
    /// Where it is.
    pub folder: PathBuf,
    /// What it is of. `None` where it was last opened by a version that did not note that, where that cannot be read, and where
    /// the path is no text.
    pub root: Option<PathBuf>,
    /// The format that its manifest names, which need not be one that this version reads.
    pub format: Option<String>,
    /// Bytes on the disk.
    pub bytes: u64,
    /// When what is indexed changed last, in seconds since 1970.
    pub written_at: Option<i64>,
    /// When one of its files was written last, in seconds since 1970; it is whenever the index shows something, and once a
    /// day that it is opened, where it can be.
    pub used_at: Option<i64>,
}

impl Stored {
    /// The index in `folder`, or what is left of one; `None` if there is none, or if `folder` is no folder, such as a link to one.
    /// Changes nothing, and verifies only what tells what it is of. O(files of the index, and what it remembers).
    ///
    /// # Errors
    /// The folder cannot be read, or has something in it that is not an index's where an index has its files.
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
            written_at,
            used_at: newest(folder),
        }))
    }

    /// Why whoever opens it begins it anew, as a fragment that follows "failed to"; `None` if it is whole. Every checksum is
    /// verified. O(bytes of the index).
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn fault(&self) -> Result<Option<String>, IndexError> {
        match Store::look(&self.folder) {
            Ok(Some(_)) => Ok(None),
            Ok(None) => Ok(Some("find more of it than what it remembers".to_owned())),
            Err(error) if error.is_damage() => Ok(Some(error.told_of(&self.folder))),
            Err(error) => Err(error.within(&self.folder)),
        }
    }

    /// Whether [`Stored::remove`] would remove it. Changes nothing.
    ///
    /// # Errors
    /// Those of [`Stored::remove`], as far as they are known before.
    pub fn is_removable(&self, beside: &dyn Fn(&str) -> bool) -> Result<(), IndexError> {
        for name in [WRITER, REMEMBERED] {
            if let Some(holder) = holder(&self.folder, name) {
                return Err(busy(&self.folder, holder));
            }
        }
        own::check_all(&self.folder, beside)
    }

    /// Removes it with all that it remembers, its folder, and the files in that which are called as `beside` says: those that
    /// the caller keeps with it. Whether it did: not if it was used, or removed, since it was looked at. Whoever has it open to be asked is
    /// not noticed; what they have of it goes on answering, and their next update makes it anew.
    ///
    /// # Errors
    /// [`IndexError::Busy`] if another process writes it, [`IndexError::Foreign`] if there is anything in its folder that is neither an
    /// index's nor called so: then nothing is removed. [`IndexError::Folder`] if it cannot be removed, or not all of it.
    pub fn remove(&self, beside: &dyn Fn(&str) -> bool) -> Result<bool, IndexError> {
        // Nothing is begun where somebody else has just removed it.
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

/// What the index in `folder` is of, where that was noted.
fn root_of(folder: &Path) -> Result<Option<PathBuf>, Fault> {
    Remembered::look(folder)?.0.root()
}

/// When the newest file below `folder` was written, but for the locks, which whoever wants to know takes too.
fn newest(folder: &Path) -> Option<i64> {
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

/// Since 1970.
pub(crate) fn seconds(time: SystemTime) -> i64 {
    i64::try_from(manifest::seconds(time)).unwrap_or(i64::MAX)
}
