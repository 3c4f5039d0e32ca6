//! What did not fit, kept for whoever comes back with its cursor.

use std::collections::VecDeque;
use std::path::PathBuf;

use ctx_model::Chunk;

use crate::fault::{Fault, echo};

/// Cursors that are remembered, the latest.
const MOST: usize = 64;
/// What their chunks may take in all.
const BYTES: usize = 64 << 20;

/// What did not fit, of several contexts.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// The oldest first.
    rests: VecDeque<Rest>,
    bytes: usize,
}

/// What of one context did not fit.
#[derive(Clone, Debug)]
pub(crate) struct Rest {
    pub(crate) cursor: String,
    /// The folders that it is from: it is for nobody who may not read them.
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) chunks: Vec<Chunk>,
}

impl Rest {
    fn bytes(&self) -> usize {
        self.chunks.iter().map(|it| it.content.len() + 256).sum()
    }
}

/// The cursor of what `chunks` are left of the context of `digest`.
pub(crate) fn cursor(digest: &str, chunks: &[Chunk]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(digest.as_bytes());
    for chunk in chunks {
        hasher.update(chunk.id.as_bytes());
        hasher.update(&[0]);
        hasher.update(blake3::hash(chunk.full_text().as_bytes()).as_bytes());
    }
    let hash = hasher.finalize().to_hex();
    format!("{}-{}", digest.get(..12).unwrap_or(digest), &hash[..8])
}

impl Pending {
    /// Keeps `rest`, and forgets the oldest where there are too many.
    pub(crate) fn keep(&mut self, rest: Rest) {
        self.take(|it| it.cursor == rest.cursor && it.roots == rest.roots);
        self.bytes += rest.bytes();
        self.rests.push_back(rest);
        while self.rests.len() > MOST || (self.bytes > BYTES && self.rests.len() > 1) {
            let oldest = self.rests.pop_front();
            self.bytes -= oldest.map_or(0, |it| it.bytes());
        }
    }

    /// What `cursor` stands for, for one who reads `roots`. It stays: a reply may get lost.
    ///
    /// # Errors
    /// Nothing is known of it.
    pub(crate) fn get(&self, cursor: &str, roots: &[PathBuf]) -> Result<Rest, Fault> {
        let found = self
            .rests
            .iter()
            .find(|it| it.cursor == cursor && it.roots == roots);
        found.cloned().ok_or_else(|| {
            Fault::new(
                format!(
                    "continue at cursor {}: nothing is known of it any more",
                    echo(cursor)
                ),
                "the same call without cursor",
            )
        })
    }

    fn take(&mut self, is_it: impl Fn(&Rest) -> bool) {
        if let Some(at) = self.rests.iter().position(is_it) {
            let rest = self.rests.remove(at);
            self.bytes -= rest.map_or(0, |it| it.bytes());
        }
    }
}
