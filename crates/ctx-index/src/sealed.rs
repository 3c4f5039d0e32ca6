//! The directory through which the text index reads and writes its folder.
//!
//! Segments carry checksums of their own, but the lists of segments, which are replaced as a whole,
//! do not: here they get one. And in a folder that cannot be written, readers create no lock file.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ctx_source::{check_no_link, open_no_link};
use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
};

/// The length of a line break and a hash in hexadecimal digits.
const SEAL_BYTES: usize = 65;

/// A folder of memory-mapped files with sealed lists.
#[derive(Clone, Debug)]
pub(crate) struct Sealed {
    inner: MmapDirectory,
    folder: PathBuf,
}

impl Sealed {
    pub(crate) fn open(folder: &Path) -> tantivy::Result<Self> {
        let sealed = Sealed {
            inner: MmapDirectory::open(folder)?,
            folder: folder.to_owned(),
        };
        sealed.check_no_link(Path::new(""))?;
        Ok(sealed)
    }

    /// Checks that neither the folder nor `path` in it is a link. Files that are created under a
    /// new name, or replaced, are not written through one in any case.
    fn check_no_link(&self, path: &Path) -> io::Result<()> {
        let around = self.folder.parent().unwrap_or(&self.folder);
        check_no_link(around, &self.folder.join(path))
    }

    /// Takes a lock in a folder that cannot be written: an existing lock file is locked, and a
    /// missing one is not needed, since nobody could have created it.
    fn lock_unwritable(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        let path = self.folder.join(&lock.filepath);
        let file = match open_no_link(&path, File::options().read(true)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(DirectoryLock::from(Box::new(())));
            }
            Err(error) => return Err(LockError::wrap_io_error(error)),
        };
        if lock.is_blocking {
            file.lock().map_err(LockError::wrap_io_error)?;
        } else {
            file.try_lock().map_err(|error| match error {
                TryLockError::WouldBlock => LockError::LockBusy,
                TryLockError::Error(error) => LockError::wrap_io_error(error),
            })?;
        }
        Ok(DirectoryLock::from(Box::new(file)))
    }
}

impl Directory for Sealed {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let refused = |error| OpenReadError::wrap_io_error(error, path.to_owned());
        self.check_no_link(path).map_err(refused)?;
        self.inner.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.inner.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.inner.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.inner.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let refused = |error| OpenReadError::wrap_io_error(error, path.to_owned());
        self.check_no_link(path).map_err(refused)?;
        let mut bytes = self.inner.atomic_read(path)?;
        let text = bytes.len().saturating_sub(SEAL_BYTES);
        if bytes[text..] != seal(&bytes[..text]) {
            let what = "it does not match its checksum";
            let error = io::Error::new(io::ErrorKind::InvalidData, what);
            return Err(OpenReadError::wrap_io_error(error, path.to_owned()));
        }
        bytes.truncate(text);
        Ok(bytes)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let sealed = [data, &seal(data)].concat();
        self.inner.atomic_write(path, &sealed)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.inner.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        self.check_no_link(&lock.filepath)
            .map_err(LockError::wrap_io_error)?;
        match self.inner.acquire_lock(lock) {
            Err(LockError::IoError(error))
                if matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem) =>
            {
                self.lock_unwritable(lock)
            }
            result => result,
        }
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.inner.watch(callback)
    }
}

fn seal(bytes: &[u8]) -> Vec<u8> {
    format!("\n{}", blake3::hash(bytes).to_hex()).into_bytes()
}
