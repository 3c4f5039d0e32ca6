//! Limits on the load that the server accepts.

use std::num::NonZeroUsize;
use std::time::Duration;

/// The most bytes of a path, id, title or reference: they are in keys of a database. A JSON schema
/// can only count characters, so the descriptions of these fields state this limit in words.
pub(crate) const LONGEST_NAME: usize = 1024;
/// Builds that may wait, per build that may run.
const QUEUED: usize = 16;
/// The least number of batches that run at once: a long one must not delay those of other owners.
const LEAST_BATCH_WORKERS: usize = 2;
/// The most batches that run at once by default: each holds its files in memory, or a database
/// connection.
const MOST_BATCH_WORKERS: usize = 8;
/// The most store requests that run at once by default. Each, like each build, may occupy a
/// blocking thread; this leaves threads for the work that they wait for.
const MOST_STORE_WORKERS: usize = 192;

/// How much load the server accepts, and how long things may take. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest body of a request.
    pub body_bytes: usize,
    /// The largest body of a batch of files.
    pub files_body_bytes: usize,
    /// Bytes of all bodies that are being read, wait or are in use, and of answers above 64 KiB
    /// that are not sent yet; further bodies are rejected. One owner has at most a quarter of them,
    /// which must be no less than the largest body.
    pub held_bytes: usize,
    /// The largest file.
    pub file_bytes: usize,
    /// Files in a batch. Over PostgreSQL a batch of more than 1,024 files, or of more than about 32
    /// MiB, takes several transactions: if one fails, the earlier ones remain.
    pub batch_files: usize,
    /// Chunks in one assembly.
    pub chunks: usize,
    /// Characters of the message that a context is built for.
    pub message_chars: usize,
    /// Characters of a stored message.
    pub kept_message_chars: usize,
    /// References of a thread, and of a request.
    pub references: usize,
    /// Tokens of the budget of a context (`maxTokens`).
    pub max_tokens: u32,
    /// Builds that run at once; further ones wait.
    pub workers: usize,
    /// Cores to run them on. A build that shares them with others uses one thread.
    pub cores: usize,
    /// Builds that wait; further ones are rejected.
    pub queue: usize,
    /// The longest expected wait of a build, estimated from how long recent builds took; one that
    /// would wait longer is rejected. The first in line never is.
    pub queue_time: Duration,
    /// Batches of files, and removals, that run at once; those of one owner run one at a time.
    pub batch_workers: usize,
    /// Batches and removals that wait.
    pub batch_queue: usize,
    /// The longest expected wait of a batch or removal, estimated and applied like `queue_time`.
    pub batch_queue_time: Duration,
    /// Other store requests that run at once; writes of one owner run one at a time.
    pub store_workers: usize,
    /// Other store requests that wait.
    pub store_queue: usize,
    /// The most places that one owner may have, in percent of the places that are available,
    /// counting only as many waiting ones as `queue_time` admits.
    pub owner_percent: usize,
    /// Open connections; further ones wait to be accepted. Fewer if the process may not open twice
    /// as many files and some more.
    pub connections: usize,
    /// Connections per address; further ones are closed at once.
    pub peer_connections: usize,
    /// Requests per connection, which is closed with the answer to the last.
    pub connection_requests: usize,
    /// How long a connection is kept: it is closed with the answer to the first request after that,
    /// or at the latest when a last request would have used up all its time. [`Duration::MAX`]
    /// means forever.
    pub connection_time: Duration,
    /// How long a client may read nothing of an answer.
    pub write_time: Duration,
    /// How long the head of a request may take, and how long a connection may be idle.
    pub header_time: Duration,
    /// How long the body of a request may take.
    pub body_time: Duration,
    /// How long a request may take once its body has been read.
    pub request_time: Duration,
    /// The same for a batch of files or a removal.
    pub batch_time: Duration,
    /// How long to wait for each source of a context, but at most a fifth of `request_time`: an
    /// answer without one source is better than none.
    pub source_time: Duration,
    /// How long requests are still accepted after the shutdown signal, while `/readyz` reports that
    /// the server is stopping: time for a load balancer to send requests elsewhere.
    pub grace_time: Duration,
    /// How long running requests may go on after requests are no longer accepted.
    pub drain_time: Duration,
}

impl Limits {
    /// The most builds that are worth running at once.
    pub const MOST_WORKERS: usize = 64;

    /// Sets the number of builds that run at once, and lets sixteen wait for each.
    #[must_use]
    pub fn with_workers(self, workers: NonZeroUsize) -> Self {
        Limits {
            workers: workers.get(),
            queue: workers.get().saturating_mul(QUEUED),
            ..self
        }
    }

    /// Sets how long requests are still accepted after the shutdown signal.
    #[must_use]
    pub fn with_grace(self, grace_time: Duration) -> Self {
        Limits { grace_time, ..self }
    }
}

impl Default for Limits {
    /// Three builds for every two cores and sixteen waiting for each, for at most half a second; 4
    /// MiB per body and 256 MiB for all of them; ten seconds per request, and a minute for a batch
    /// of files, which waits for five seconds of it at most.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        // A build sometimes waits for the disk, a database or a thread to wake up, and its core
        // should not idle meanwhile.
        let workers = (cores + cores.div_ceil(2)).min(Limits::MOST_WORKERS);
        let batch_workers = cores.clamp(LEAST_BATCH_WORKERS, MOST_BATCH_WORKERS);
        Limits {
            body_bytes: 4 << 20,
            files_body_bytes: 16 << 20,
            held_bytes: 256 << 20,
            file_bytes: 1 << 20,
            batch_files: 1000,
            chunks: 10_000,
            message_chars: 100_000,
            kept_message_chars: 262_144,
            references: 32,
            max_tokens: 1_000_000,
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
            batch_time: Duration::from_mins(1),
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
