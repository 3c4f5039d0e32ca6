//! Of which texts it is what a request was told.
//!
//! A request looks for parts of files, and reads the files after that: what it reads may have been stored in between. Every row of a
//! part comes with the hash of the text that it is of, by one statement, so it is known of whatever was told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ctx_retrieve::{Hit, Part};

use crate::store::OwnedStore;

/// No text has this hash.
const SEVERAL: [u8; 32] = [0; 32];

/// A part, and the BLAKE3 of the text of its file that it is of.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) part: Arc<Part>,
    pub(crate) hash: [u8; 32],
}

impl AsRef<Part> for Told {
    fn as_ref(&self) -> &Part {
        &self.part
    }
}

/// The BLAKE3 of the text of each file that something was told of.
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
    /// The BLAKE3 of the text of the file at `path` that the hits are of which this [request](Self::for_request) was told; zeros, which are
    /// of no text, where they are of several; `None` where none was told of the file. Lines of a hit are of that text, and not of what is
    /// stored by now.
    pub fn indexed(&self, path: &str) -> Option<[u8; 32]> {
        self.texts_told()?.hash_of(path)
    }

    /// The part that is told, of which it is noted what text it is of.
    pub(crate) fn noted(&self, told: Told) -> Arc<Part> {
        if let Some(indexed) = self.texts_told() {
            indexed.note(&told.part.path, told.hash);
        }
        told.part
    }

    /// The same of a hit, of a text with this hash.
    pub(crate) fn noted_hit(&self, hit: Hit, hash: [u8; 32]) -> Hit {
        let told = Told {
            part: Arc::clone(&hit.part),
            hash,
        };
        self.noted(told);
        hit
    }
}
