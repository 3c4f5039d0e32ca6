//! Errors of an index.

use std::error::Error;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ctx_model::{error_chain, join_first};
use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenReadError, OpenWriteError};

use crate::own::PROBE;

/// The most foreign files that a message names.
const SHOWN: usize = 3;

/// Why an index could not be opened, updated or queried. `Display` is a fragment that follows
/// "failed to …". All variants but [`Cancelled`](IndexError::Cancelled) name the folder of the
/// index or the root; that of [`Root`](IndexError::Root) is in its source.
///
/// Errors of the index itself ([`Text`](IndexError::Text), [`Manifest`](IndexError::Manifest) and
/// [`Damaged`](IndexError::Damaged)) are repaired by opening it again, which verifies it and starts
/// over if it is damaged, or by [`Index::rebuild`](crate::Index::rebuild).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The folder to be indexed cannot be opened.
    #[error("open the folder to index")]
    Root(#[from] ctx_source::SourceError),
    /// The folder of the index cannot be created, read or written.
    #[error("use the index folder {}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// Something that does not belong to an index has the name of one of its files. It is left as
    /// it is.
    #[error("use the index folder {}: {} in it does not belong to an index", folder.display(), join_first(found.iter().map(|it| it.display()), SHOWN))]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// The foreign files, relative to the folder.
        found: Vec<PathBuf>,
    },
    /// Another process is writing the index.
    #[error("write the index {}: process {} is writing it", folder.display(), process(*holder))]
    Busy {
        /// The folder of the index.
        folder: PathBuf,
        /// The process id of the writer, if known.
        holder: Option<u32>,
    },
    /// The text index failed.
    #[error("use the text index in {}", folder.display())]
    Text {
        /// The folder of the index.
        folder: PathBuf,
        /// The cause. Its concrete type may change at any time.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A database of the index failed: the manifest, or the remembered data.
    #[error("use a database of the index in {}", folder.display())]
    Manifest {
        /// The folder of the index.
        folder: PathBuf,
        /// The cause. Its concrete type may change at any time.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A part of the index is damaged.
    #[error("read the index in {}: {what}", folder.display())]
    Damaged {
        /// The folder of the index.
        folder: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The operating system cannot report changes below the root.
    #[error("watch {}", root.display())]
    Watch {
        /// The root.
        root: PathBuf,
        /// The cause. Its concrete type may change at any time.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The caller asked to stop.
    #[error("finish: it was cancelled")]
    Cancelled,
}

impl IndexError {
    pub(crate) fn folder(folder: &Path, source: io::Error) -> Self {
        IndexError::Folder {
            folder: folder.to_owned(),
            source,
        }
    }
}

/// The id of a process, as text.
fn process(id: Option<u32>) -> String {
    id.map_or("unknown".to_owned(), |it| it.to_string())
}

/// An error that does not name the index yet.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The text index failed.
    Text(TantivyError),
    /// A database failed.
    Manifest(rusqlite::Error),
    /// A part is damaged.
    Damaged {
        /// What is wrong.
        what: String,
    },
    /// An error that is already complete.
    Public(IndexError),
}

impl Fault {
    /// Adds the folder of the index.
    pub(crate) fn within(self, folder: &Path) -> IndexError {
        let folder = folder.to_owned();
        match self {
            Fault::Text(source) => IndexError::Text {
                folder,
                source: in_words(source),
            },
            Fault::Manifest(source) => IndexError::Manifest {
                folder,
                source: source.into(),
            },
            Fault::Damaged { what } => IndexError::Damaged { folder, what },
            Fault::Public(error) => error,
        }
    }

    /// The error with its causes as one line of text.
    pub(crate) fn describe(self, folder: &Path) -> String {
        error_chain(&self.within(folder))
    }

    /// Whether the system refused the write: for want of permission, on a read-only disk, or
    /// because the disk is full.
    pub(crate) fn is_refusal(&self) -> bool {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
        use rusqlite::ErrorCode;
        match self {
            Fault::Public(IndexError::Folder { source, .. }) => matches!(
                source.kind(),
                PermissionDenied | ReadOnlyFilesystem | StorageFull
            ),
            Fault::Manifest(error) => matches!(
                error.sqlite_error_code(),
                Some(
                    ErrorCode::CannotOpen
                        | ErrorCode::PermissionDenied
                        | ErrorCode::ReadOnly
                        | ErrorCode::DiskFull
                )
            ),
            _ => false,
        }
    }

    /// Whether rebuilding the index helps.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Fault::Damaged { .. } => true,
            Fault::Manifest(error) => is_damage_of_manifest(error),
            Fault::Text(error) => match io_error_of(error) {
                Some(error) => matches!(
                    error.kind(),
                    io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
                ),
                None => !matches!(error, TantivyError::LockFailure(..)),
            },
            Fault::Public(_) => false,
        }
    }

    /// The error of a write in `folder`, as the error of the operating system where that was the
    /// cause.
    pub(crate) fn while_writing(self, folder: &Path) -> Self {
        let source = match &self {
            Fault::Manifest(error) => match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::DiskFull) => Some(io::ErrorKind::StorageFull.into()),
                Some(rusqlite::ErrorCode::ReadOnly) => {
                    Some(io::ErrorKind::ReadOnlyFilesystem.into())
                }
                _ => None,
            },
            Fault::Text(error) => match io_error_of(error).map(innermost) {
                Some(error) if error.kind() != io::ErrorKind::Other => Some(same(error)),
                _ => no_room(folder),
            },
            _ => None,
        };
        source.map_or(self, |source| IndexError::folder(folder, source).into())
    }
}

impl From<IndexError> for Fault {
    fn from(error: IndexError) -> Self {
        Fault::Public(error)
    }
}

impl From<ctx_source::SourceError> for Fault {
    fn from(error: ctx_source::SourceError) -> Self {
        Fault::Public(error.into())
    }
}

impl From<TantivyError> for Fault {
    fn from(error: TantivyError) -> Self {
        Fault::Text(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::Manifest(error)
    }
}

fn is_damage_of_manifest(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, FileLockingProtocolFailed,
        OperationInterrupted, OutOfMemory, PermissionDenied, ReadOnly, SystemIoFailure,
    };
    match error.sqlite_error_code() {
        Some(code) => !matches!(
            code,
            CannotOpen
                | DatabaseBusy
                | DatabaseLocked
                | DiskFull
                | FileLockingProtocolFailed
                | OperationInterrupted
                | OutOfMemory
                | PermissionDenied
                | ReadOnly
                | SystemIoFailure
        ),
        // A value has another type than was written.
        None => true,
    }
}

fn io_error_of(error: &TantivyError) -> Option<&io::Error> {
    match error {
        TantivyError::IoError(error)
        | TantivyError::LockFailure(LockError::IoError(error), _)
        | TantivyError::OpenReadError(OpenReadError::IoError {
            io_error: error, ..
        })
        | TantivyError::OpenWriteError(OpenWriteError::IoError {
            io_error: error, ..
        }) => Some(error),
        _ => None,
    }
}

/// The error of the text index, with the file and the cause in place of the names of types that it
/// has for them.
fn in_words(error: TantivyError) -> Box<dyn Error + Send + Sync> {
    let of_file = |file: &Path, why: &dyn Display| format!("{}: {why}", file.display()).into();
    match &error {
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, filepath })
        | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, filepath }) => {
            of_file(filepath, innermost(io_error))
        }
        TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(file)) => {
            of_file(file, &"it is not there")
        }
        TantivyError::OpenWriteError(OpenWriteError::FileAlreadyExists(file)) => {
            of_file(file, &"it is there already")
        }
        TantivyError::LockFailure(LockError::IoError(error), _) => {
            format!("its lock: {}", innermost(error)).into()
        }
        TantivyError::LockFailure(LockError::LockBusy, _) => "its lock is taken".into(),
        _ => error.into(),
    }
}

/// The innermost error that wraps no other I/O error: the one of the operating system.
fn innermost(error: &io::Error) -> &io::Error {
    let mut innermost = error;
    let mut next = error.get_ref().map(|it| it as &(dyn Error + 'static));
    while let Some(error) = next {
        innermost = error.downcast_ref().unwrap_or(innermost);
        next = error.source();
    }
    innermost
}

/// A copy of the error, which keeps its OS error code, if any: a few are recognised by that.
fn same(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(number) => io::Error::from_raw_os_error(number),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// Threads of the text index report that they failed, but not always why. Whether the disk is full
/// can be tried by writing a probe file.
fn no_room(folder: &Path) -> Option<io::Error> {
    const ROOM: &[u8] = &[0; 1 << 20];
    let probe = folder.join(PROBE);
    // Removes a probe that a killed process left, and never writes through a link.
    let _ = fs::remove_file(&probe);
    let tried = File::create_new(&probe).and_then(|mut it| it.write_all(ROOM));
    let is_there = |it: &io::Error| it.kind() == io::ErrorKind::AlreadyExists;
    let failed = tried.err().filter(|it| !is_there(it));
    let _ = fs::remove_file(probe);
    failed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_text_index_are_worded() {
        let damaged = io::Error::new(io::ErrorKind::InvalidData, "it does not match its checksum");
        let damaged = OpenReadError::wrap_io_error(damaged, "meta.json".into());
        let gone = OpenReadError::FileDoesNotExist("a.store".into());
        let closed = LockError::wrap_io_error(io::ErrorKind::PermissionDenied.into());
        let closed = TantivyError::LockFailure(closed, Some("why".to_owned()));
        for (error, words) in [
            (damaged.into(), "meta.json: it does not match its checksum"),
            (gone.into(), "a.store: it is not there"),
            (closed, "its lock: permission denied"),
        ] {
            let told = Fault::Text(error).describe(Path::new("index"));
            assert_eq!(told, format!("use the text index in index: {words}"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn system_errors_while_writing_keep_their_code() {
        // Too many open files (24, EMFILE), for which there is no `ErrorKind`.
        let of_system = io::Error::from_raw_os_error(24);
        let wrapped = io::Error::new(of_system.kind(), of_system);
        let fault = Fault::Text(TantivyError::IoError(std::sync::Arc::new(wrapped)));
        let fault = fault.while_writing(Path::new("index"));
        let Fault::Public(IndexError::Folder { source, .. }) = &fault else {
            panic!("{fault:?}");
        };
        assert_eq!(source.raw_os_error(), Some(24));
    }

    #[cfg(unix)]
    #[test]
    fn room_is_not_looked_for_through_a_link() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let notes = other.path().join("notes");
        fs::write(&notes, "keep this").unwrap();
        std::os::unix::fs::symlink(&notes, folder.path().join(PROBE)).unwrap();
        assert!(no_room(folder.path()).is_none());
        assert_eq!(fs::read_to_string(notes).unwrap(), "keep this");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
