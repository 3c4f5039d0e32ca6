//! Records which text of a file the results of a request refer to.
//!
//! A request finds parts of files first and reads the files later, and they may have been stored
//! anew in between. Every row of a part comes, by the same statement, with the hash of the text
//! that it was cut from.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ctx_retrieve::{Hit, Part};

use crate::store::OwnedStore;

/// A hash that no text has: the results refer to several texts.
const SEVERAL: [u8; 32] = [0; 32];

/// A part, and the BLAKE3 of the file text that it was cut from.
#[derive(Clone, Debug)]
pub(crate) struct HashedPart {
    pub(crate) part: Arc<Part>,
    pub(crate) hash: [u8; 32],
}

impl AsRef<Part> for HashedPart {
    fn as_ref(&self) -> &Part {
        &self.part
    }
}

/// The BLAKE3 of the text of each file that results referred to.
#[derive(Debug, Default)]
pub(crate) struct Indexed(Mutex<HashMap<String, [u8; 32]>>);

impl Indexed {
    fn note(&self, path: &str, hash: [u8; 32]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get_mut(path) {
            Some(its) if *its != hash => *its = SEVERAL,
            Some(_) => {}
            None => drop(known.insert(path.to_owned(), hash)),
        }
    }

    fn hash_of(&self, path: &str) -> Option<[u8; 32]> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(path).copied()
    }
}

impl OwnedStore {
    /// The BLAKE3 of the text that this [request's](Self::for_request) hits in the file at `path`
    /// refer to, which may no longer be the stored one. All zeros if they refer to different texts;
    /// `None` if no hit named the file.
    pub fn indexed(&self, path: &str) -> Option<[u8; 32]> {
        self.indexed_texts()?.hash_of(path)
    }

    /// Records which text a part refers to, and returns the part.
    pub(crate) fn noted(&self, part: HashedPart) -> Arc<Part> {
        if let Some(indexed) = self.indexed_texts() {
            indexed.note(&part.part.path, part.hash);
        }
        part.part
    }

    /// Records that a hit refers to the text with this hash, and returns the hit.
    pub(crate) fn noted_hit(&self, hit: Hit, hash: [u8; 32]) -> Hit {
        let part = HashedPart {
            part: Arc::clone(&hit.part),
            hash,
        };
        self.noted(part);
        hit
    }
}
