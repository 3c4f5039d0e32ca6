//! Limits of what one owner may store and ask.

use std::time::Duration;

/// Limits on stored data and on the cost of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most connections of this process.
    pub connections: usize,
    /// How long to wait for a free connection, and then for a new one to be opened if there is
    /// none.
    pub wait: Duration,
    /// The time limit of a statement that reads.
    pub reading: Duration,
    /// The time limit of a statement that writes.
    pub writing: Duration,
    /// The time limit of a statement that stores or removes files: one may write all rows of a
    /// batch.
    pub storing: Duration,
    /// The most terms of a question that are searched for: the most informative ones.
    pub terms: usize,
    /// About how many parts are ranked by all terms: those that hold an informative term.
    pub candidates: usize,
    /// The most rows of an answer, whatever the caller asks for.
    pub rows: usize,
    /// The size of the largest file that is stored, in bytes. Larger ones are skipped.
    pub file_bytes: usize,
    /// The size of the longest message that is stored, in bytes. Longer ones are refused.
    pub message_bytes: usize,
    /// The size of the cache of documents and lists, in bytes, shared by all owners. Counts of
    /// terms take some 5 MiB besides.
    pub kept_bytes: u64,
    /// How often a transaction is tried again that gave way to another, or whose connection had
    /// ended before it began.
    pub retries: u32,
}

impl Default for Limits {
    /// 8 connections; one second for reads, 30 seconds for writes and a minute for files; 32 terms,
    /// 1,000 candidates, 1,000 rows; files and messages of 1 MiB; a cache of 256 MiB; 6 retries.
    fn default() -> Self {
        Limits {
            connections: 8,
            wait: Duration::from_secs(5),
            reading: Duration::from_secs(1),
            writing: Duration::from_secs(30),
            storing: Duration::from_mins(1),
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
    /// Sets the number of connections.
    #[must_use]
    pub fn with_connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Sets the time limit of a statement that reads.
    #[must_use]
    pub fn with_reading(mut self, reading: Duration) -> Self {
        self.reading = reading;
        self
    }

    /// Sets the number of candidates.
    #[must_use]
    pub fn with_candidates(mut self, candidates: usize) -> Self {
        self.candidates = candidates;
        self
    }

    /// Sets the size of the cache, in bytes.
    #[must_use]
    pub fn with_kept_bytes(mut self, bytes: u64) -> Self {
        self.kept_bytes = bytes;
        self
    }

    /// `limit` as a parameter for the server, and at most [`Limits::rows`].
    pub(crate) fn rows(&self, limit: usize) -> i32 {
        i32::try_from(limit.min(self.rows)).unwrap_or(i32::MAX)
    }
}
