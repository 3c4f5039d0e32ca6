//! The hashes of stored files, by which corruption on the disk is detected.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ctx_source::{Hashes, SourceError};

use super::database::Database;
use crate::backend::BackendError;
use crate::cause::cause;

/// Stands for the hash of an unknown text; no text has it.
pub(super) const NOT_KNOWN: [u8; 32] = [0; 32];

/// The hashes of one owner's files.
pub(super) struct StoredHashes {
    database: Arc<Database>,
    /// The earlier hashes of files that are being replaced, each valid until the new text is in
    /// place and indexed.
    replaced: Mutex<BTreeMap<String, [u8; 32]>>,
}

impl StoredHashes {
    pub(super) fn new(database: Arc<Database>) -> Self {
        StoredHashes {
            database,
            replaced: Mutex::default(),
        }
    }

    /// Adds the earlier hashes of files that are about to be replaced. A file that has one keeps
    /// it: its text was not indexed since.
    pub(super) fn replace(&self, before: impl Iterator<Item = (String, [u8; 32])>) {
        let mut replaced = self.replaced();
        for (path, hash) in before {
            replaced.entry(path).or_insert(hash);
        }
    }

    /// Drops the earlier hashes, once the new texts are indexed, of all files but those for which
    /// `is_left` holds.
    pub(super) fn forget(&self, is_left: impl Fn(&str) -> bool) {
        self.replaced().retain(|path, _| is_left(path));
    }

    /// The hash of the indexed text of the file at `path` if that may differ from the text in its
    /// place, or [`NOT_KNOWN`].
    pub(super) fn indexed(&self, path: &str) -> Option<[u8; 32]> {
        self.replaced().get(path).copied()
    }

    fn replaced(&self) -> MutexGuard<'_, BTreeMap<String, [u8; 32]>> {
        self.replaced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for StoredHashes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredHashes").finish_non_exhaustive()
    }
}

impl Hashes for StoredHashes {
    fn of(&self, path: &str) -> Result<Vec<[u8; 32]>, SourceError> {
        let kept = self.database.file(path).map_err(|error| {
            tracing::error!(
                cause = cause(&error),
                "a file cannot be held against its hash"
            );
            let path = path.to_owned();
            match error {
                BackendError::Damaged { .. } => SourceError::Damaged { path },
                _ => SourceError::Io {
                    path,
                    source: io::Error::other("its hash cannot be read"),
                },
            }
        })?;
        // Read after the database: if that had the new hash, and none is found here, the new text
        // is in place.
        let before = self.replaced().get(path).copied();
        let hashes = kept.map(|it| it.0).into_iter().chain(before);
        Ok(hashes.collect())
    }

    fn on_mismatch(&self, _: &str) {
        // The path is not logged, since it belongs to the owner; the owner is told it.
        tracing::error!("a file that is kept is damaged");
    }
}
