//! What one owner may ask of the server.

use std::time::Duration;

/// Bounds on what is kept and on what a request may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Connections of this process.
    pub connections: usize,
    /// How long one waits for a connection to become free, and then for a new one to be made where it has to be.
    pub wait: Duration,
    /// How long a statement that reads may take.
    pub reading: Duration,
    /// How long a statement that writes may take.
    pub writing: Duration,
    /// So many terms of a question are looked for: those that tell most.
    pub terms: usize,
    /// So many parts are ranked by all terms, about: those that hold a term that tells much.
    pub candidates: usize,
    /// No answer has more rows, whatever was asked for.
    pub rows: usize,
    /// Larger files are passed over, in bytes.
    pub file_bytes: usize,
    /// Longer messages are refused, in bytes.
    pub message_bytes: usize,
    /// So many bytes of what searches have read are kept, of all owners together; beside some 5 MiB of how often terms are
    /// there.
    pub kept_bytes: u64,
    /// So often a transaction that gave way to another is tried again.
    pub retries: u32,
}

impl Default for Limits {
    /// 8 connections; a second to read and half a minute to write; 32 terms, 1,000 candidates, 1,000 rows; files and
    /// messages of 1 MiB; 256 MiB of what was read; 6 retries.
    fn default() -> Self {
        Limits {
            connections: 8,
            wait: Duration::from_secs(5),
            reading: Duration::from_secs(1),
            writing: Duration::from_secs(30),
            terms: 32,
            candidates: 1_000,
            rows: 1_000,
            file_bytes: 1 << 20,
            message_bytes: 1 << 20,
            kept_bytes: 256 << 20,
            retries: 6,
        }
    }
}

impl Limits {
    /// With so many connections.
    #[must_use]
    pub fn with_connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// With so long for a statement that reads.
    #[must_use]
    pub fn with_reading(mut self, reading: Duration) -> Self {
        self.reading = reading;
        self
    }

    /// With so many candidates.
    #[must_use]
    pub fn with_candidates(mut self, candidates: usize) -> Self {
        self.candidates = candidates;
        self
    }

    /// With so many bytes of what searches have read.
    #[must_use]
    pub fn with_kept_bytes(mut self, bytes: u64) -> Self {
        self.kept_bytes = bytes;
        self
    }

    /// `limit` as the server takes it, and no more than [`Limits::rows`].
    pub(crate) fn rows(&self, limit: usize) -> i32 {
        i32::try_from(limit.min(self.rows)).unwrap_or(i32::MAX)
    }
}
