//! How much is taken on.

use std::num::NonZeroUsize;
use std::time::Duration;

/// The longest path, id, title or reference, in bytes: they are in keys of a database. A description counts characters and nothing else,
/// so that it says of these in words what they may have.
pub(crate) const LONGEST_NAME: usize = 1024;
/// So many builds wait for each that may run.
const QUEUED: usize = 16;
/// Batches that run at once, at least: one that takes long is to keep no other owner's waiting;
const LEAST_BATCH_WORKERS: usize = 2;
/// and at most, as each has what its files are read with in memory, or a connection to a database.
const MOST_BATCH_WORKERS: usize = 8;
/// Each may have a thread that blocks, and so may each build: together no more than there are for what they wait for too.
const MOST_STORE_WORKERS: usize = 192;

/// How much is taken on, and for how long. Sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest body of a request.
    pub body_bytes: usize,
    /// The largest body of a batch of files.
    pub files_body_bytes: usize,
    /// Bytes of all bodies that are read, wait or are worked on; what comes then is turned away. One owner has a
    /// quarter of them at most, which is to be no less than the largest body.
    pub held_bytes: usize,
    /// The largest file.
    pub file_bytes: usize,
    /// Files in a batch. Over PostgreSQL a batch of more than 1,024, or of more than about 32 MiB, is several transactions:
    /// of one that is refused those before stay.
    pub batch_files: usize,
    /// Chunks in one assembly.
    pub chunks: usize,
    /// Characters of the message that a context is built for.
    pub message_chars: usize,
    /// Characters of a message that is kept.
    pub kept_message_chars: usize,
    /// References of a thread, and of a request.
    pub references: usize,
    /// Builds that run at once; the rest waits.
    pub workers: usize,
    /// Cores to run them on: a build that shares them with others is one thread's.
    pub cores: usize,
    /// Builds that wait; what comes then is turned away.
    pub queue: usize,
    /// How long a build may be expected to wait, going by what builds took lately; what would wait longer is
    /// turned away. The first in line is not.
    pub queue_time: Duration,
    /// Batches of files, and removals, that run at once: of each owner one.
    pub batch_workers: usize,
    /// Of those, so many wait.
    pub batch_queue: usize,
    /// How long one of those may be expected to wait, going by what others took lately, and as `queue_time` otherwise.
    pub batch_queue_time: Duration,
    /// Of all else that is read of the store, and written to it, so much runs at once: of each owner one that writes.
    pub store_workers: usize,
    /// Of those, so many wait.
    pub store_queue: usize,
    /// The most of the places, in percent, that one owner may take: of those that there are, with no more waiting than
    /// `queue_time` lets in.
    pub owner_percent: usize,
    /// Connections; more wait to be accepted. Fewer, where the process may not open twice as many files and some more.
    pub connections: usize,
    /// Connections of one address; more are closed at once.
    pub peer_connections: usize,
    /// Requests over one connection, which is closed with the answer to the last.
    pub connection_requests: usize,
    /// How long a connection is kept: it is closed with the answer to the first request after, or once the last
    /// request has had all its time. [`Duration::MAX`] is never.
    pub connection_time: Duration,
    /// How long whoever is answered may take nothing of it.
    pub write_time: Duration,
    /// How long the head of a request may take, and how long a connection may be idle.
    pub header_time: Duration,
    /// How long the body of a request may take.
    pub body_time: Duration,
    /// How long a request may take once its body is there.
    pub request_time: Duration,
    /// How long each source of a context is waited for, and a fifth of the time of a request at most: an answer without
    /// one is better than none.
    pub source_time: Duration,
    /// How long requests are still taken once the server is to stop, while `/readyz` says that it is about to end: time for
    /// whoever spreads requests to send them elsewhere.
    pub grace_time: Duration,
    /// How long requests may go on once no more are taken.
    pub drain_time: Duration,
}

impl Limits {
    /// The most builds that it makes sense to run at once.
    pub const MOST_WORKERS: usize = 64;

    /// These with `workers` builds at once, and sixteen waiting for each.
    #[must_use]
    pub fn with_workers(self, workers: NonZeroUsize) -> Self {
        Limits {
            workers: workers.get(),
            queue: workers.get().saturating_mul(QUEUED),
            ..self
        }
    }

    /// These with requests taken for so long after the server is told to stop.
    #[must_use]
    pub fn with_grace(self, grace_time: Duration) -> Self {
        Limits { grace_time, ..self }
    }
}

impl Default for Limits {
    /// Three builds for every two cores and sixteen waiting for each, half a second at most, 4 MiB a body, 256 MiB of them,
    /// ten seconds a request, of which a batch of files waits for half at most.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        // A build waits now and then, for the disk, a database or a thread to wake, and a core is not to wait with it.
        let workers = (cores + cores.div_ceil(2)).min(Limits::MOST_WORKERS);
        let batch_workers = cores.clamp(LEAST_BATCH_WORKERS, MOST_BATCH_WORKERS);
        Limits {
            body_bytes: 4 << 20,
            files_body_bytes: 16 << 20,
            held_bytes: 256 << 20,
            file_bytes: 1 << 20,
            batch_files: 1000,
            chunks: 10_000,
            message_chars: 32_768,
            kept_message_chars: 262_144,
            references: 32,
            workers,
            cores,
            queue: workers * QUEUED,
            queue_time: Duration::from_millis(500),
            batch_workers,
            batch_queue: batch_workers * QUEUED,
            batch_queue_time: Duration::from_secs(5),
            store_workers: (cores * 4).min(MOST_STORE_WORKERS),
            store_queue: cores * 64,
            owner_percent: 75,
            connections: 1024,
            peer_connections: 896,
            connection_requests: 10_000,
            connection_time: Duration::from_mins(10),
            write_time: Duration::from_secs(10),
            header_time: Duration::from_secs(10),
            body_time: Duration::from_secs(10),
            request_time: Duration::from_secs(10),
            source_time: Duration::from_secs(2),
            grace_time: Duration::ZERO,
            drain_time: Duration::from_secs(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_wait_for_each_build() {
        let limits = Limits::default();
        assert_eq!(limits.queue, limits.workers * QUEUED);
        assert!(limits.workers > limits.cores || limits.workers == Limits::MOST_WORKERS);
        let limits = limits.with_workers(NonZeroUsize::MIN);
        assert_eq!((limits.workers, limits.queue), (1, QUEUED));
    }
}
