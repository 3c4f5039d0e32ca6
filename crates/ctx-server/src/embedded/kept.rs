//! What files were kept with: what a disk has made of them since is told by that.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ctx_source::{Hashes, SourceError};

use super::database::Database;
use crate::backend::BackendError;
use crate::cause::cause;

/// In place of the hash of a text that is not known: no text has it.
pub(super) const NOT_KNOWN: [u8; 32] = [0; 32];

/// The hashes of one owner's files.
pub(super) struct Kept {
    database: Arc<Database>,
    /// Of files that are being replaced: what they say until then, and are found by until they are indexed.
    replaced: Mutex<BTreeMap<String, [u8; 32]>>,
}

impl Kept {
    pub(super) fn new(database: Arc<Database>) -> Self {
        Kept {
            database,
            replaced: Mutex::default(),
        }
    }

    /// Of files that are about to be replaced, what they say until then: until this is called again, once they are indexed.
    pub(super) fn replace(&self, before: BTreeMap<String, [u8; 32]>) {
        *self.replaced() = before;
    }

    /// The hash of the text that is indexed of the file at `path`, or [`NOT_KNOWN`], where it need not be the text that is in its
    /// place.
    pub(super) fn indexed(&self, path: &str) -> Option<[u8; 32]> {
        self.replaced().get(path).copied()
    }

    fn replaced(&self) -> MutexGuard<'_, BTreeMap<String, [u8; 32]>> {
        self.replaced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

impl Hashes for Kept {
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
        // Looked at last: where the hash is that of the new text, and this knows of no other, the new text is in its place.
        let before = self.replaced().get(path).copied();
        let hashes = kept.map(|it| it.0).into_iter().chain(before);
        Ok(hashes.collect())
    }

    fn told(&self, _: &str) {
        // Which one, its owner is told: a path is the owner's too.
        tracing::error!("a file that is kept is damaged");
    }
}
