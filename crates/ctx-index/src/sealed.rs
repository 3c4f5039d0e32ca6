//! The folder of the text index, as the text index sees it.
//!
//! Its segments carry checksums of their own; the lists of them, which are replaced as a whole, do not. Here
//! they get one. And where the folder cannot be written, what only reads asks for no file to lock.

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

/// A seal in hexadecimal digits, and the end of the line before it.
const SEAL_BYTES: usize = 65;

/// A folder of mapped files.
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

    /// Whether neither the folder nor `path` in it is a link. What is written under a new name, or takes the place of another, goes
    /// through none.
    fn check_no_link(&self, path: &Path) -> io::Result<()> {
        let around = self.folder.parent().unwrap_or(&self.folder);
        check_no_link(around, &self.folder.join(path))
    }

    /// Where nothing can be written, a lock that is there is held, and one that is not is not needed: nobody
    /// could have made it.
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
            let what = "it is not as it was written";
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
