//! The data that a request begins with, read in one round trip.
//!
//! A context is built from a dozen queries, and most of them first need the generation of the
//! files, to know whether cached data is valid. A request reads it once at its beginning, together
//! with the messages of its thread.

use std::fmt;

use ctx_model::UnixSeconds;
use ctx_retrieve::Message;
use tokio::sync::{Mutex, MutexGuard};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::StoreError;
use crate::conversations::BegunThread;
use crate::store::OwnedStore;
use crate::threads::message;

/// The state at the beginning of a request.
pub(crate) struct Opening {
    thread: String,
    /// The last messages of the thread, as many as `most`.
    messages: Vec<Message>,
    most: usize,
    pinned: Vec<String>,
    /// The files shown last, and when, as many as `most_recent`.
    recent: Vec<(String, UnixSeconds)>,
    most_recent: usize,
    pub(crate) progress: Progress,
    /// The generation at which terms were last counted. Locked while they are counted.
    counting: Mutex<u64>,
    /// Locked while definitions are looked up.
    defining: Mutex<()>,
}

impl fmt::Debug for Opening {
    /// Without messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening")
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}

/// The state of an owner's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Progress {
    /// How often files were stored or removed.
    pub(crate) generation: u64,
    /// The number of votes counted.
    pub(crate) votes: i64,
}

const OPENING: &str = "
    SELECT s.begun, coalesce(s.generation, 0), coalesce(s.votes, 0), s.pinned, r.paths, r.times, m.id, m.role, m.content, m.created_at, m.number
    FROM (
        SELECT (SELECT number FROM ctx.threads WHERE owner = $1 AND thread = $2) AS begun,
            (SELECT generation FROM ctx.owners WHERE owner = $1) AS generation,
            (SELECT counted FROM ctx.votes WHERE owner = $1) AS votes,
            ARRAY(SELECT what FROM ctx.pinned WHERE owner = $1 AND thread = $2 ORDER BY number LIMIT $4::int) AS pinned
    ) s
    CROSS JOIN (
        SELECT coalesce(array_agg(path ORDER BY shown_at DESC, path DESC), '{}') AS paths,
            coalesce(array_agg(shown_at ORDER BY shown_at DESC, path DESC), '{}') AS times
        FROM (
            SELECT path, shown_at FROM ctx.usage WHERE owner = $1 AND shown_at > 0
            ORDER BY shown_at DESC, path DESC LIMIT $5::int
        ) shown
    ) r
    LEFT JOIN LATERAL (
        SELECT number, id, role, content, created_at FROM ctx.messages
        WHERE owner = $1 AND thread = $2 ORDER BY number DESC LIMIT $3::int
    ) m ON true
    ORDER BY m.number";

impl OwnedStore {
    /// A handle for one request about `thread`, and the thread, if there is one. The state of files
    /// and votes, the pins, the last `messages` messages and the `recent` files shown last
    /// are read now, together, and later calls rely on them: they are never older than this call,
    /// but may miss what other processes write meanwhile. Not to be kept longer than the request.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn opened(
        &self,
        thread: &str,
        messages: usize,
        recent: usize,
    ) -> Result<(OwnedStore, Option<BegunThread>), StoreError> {
        // No thread has this name.
        let thread = if thread.contains('\0') { "" } else { thread };
        let limits = self.limits();
        let (most, pins) = (limits.rows(messages), limits.rows(usize::MAX));
        let most_recent = limits.rows(recent);
        let values: [&(dyn ToSql + Sync); 5] = [&self.owner(), &thread, &most, &pins, &most_recent];
        let rows = self.read("begin a request", OPENING, &values).await?;
        let said = |row: &Row| row.get::<_, Option<String>>(6).map(|_| message(row, 6));
        let first = rows.first();
        let progress = first.map(|row| progress(row, 1)).unwrap_or_default();
        let recent = first.map(|row| {
            let (paths, times): (Vec<String>, Vec<i64>) = (row.get(4), row.get(5));
            paths
                .into_iter()
                .zip(times.into_iter().map(UnixSeconds::new))
                .collect()
        });
        let opening = Opening {
            thread: thread.to_owned(),
            messages: rows.iter().filter_map(said).collect(),
            most: usize::try_from(most).unwrap_or(0),
            pinned: first.map(|row| row.get(3)).unwrap_or_default(),
            recent: recent.unwrap_or_default(),
            most_recent: usize::try_from(most_recent).unwrap_or(0),
            progress,
            counting: Mutex::new(progress.generation),
            defining: Mutex::default(),
        };
        let number: Option<i64> = first.and_then(|row| row.get(0));
        let begun = number.map(|number| BegunThread {
            thread: thread.to_owned(),
            number,
        });
        self.note_generation(progress.generation);
        Ok((self.begun(opening), begun))
    }

    /// The generation that the files had, at least, when [this request began](Self::opened). Data
    /// read at that generation need not be read again. `None` outside a request.
    pub fn began_at(&self) -> Option<u64> {
        self.opening().map(|it| it.progress.generation)
    }
}

/// Reads the progress from two columns of `row`, the first of which is `at`.
pub(crate) fn progress(row: &Row, at: usize) -> Progress {
    Progress {
        generation: row.get::<_, i64>(at).cast_unsigned(),
        votes: row.get(at + 1),
    }
}

impl Opening {
    /// The last `limit` messages of `thread`, if they were read.
    pub(crate) fn messages(&self, thread: &str, limit: usize) -> Option<Vec<Message>> {
        let is_known = thread == self.thread && limit <= self.most;
        let later = self.messages.len().saturating_sub(limit);
        is_known.then(|| self.messages[later..].to_vec())
    }

    /// The pins of `thread`, if they were read.
    pub(crate) fn pinned(&self, thread: &str) -> Option<Vec<String>> {
        (thread == self.thread).then(|| self.pinned.clone())
    }

    /// The `limit` files shown last, and when, if they were read.
    pub(crate) fn recent(&self, limit: usize) -> Option<Vec<(String, UnixSeconds)>> {
        let is_known = limit <= self.most_recent;
        is_known.then(|| self.recent.iter().take(limit).cloned().collect())
    }

    /// Locks the counting of terms, and gives the generation at which it was last done.
    pub(crate) async fn counting(&self) -> MutexGuard<'_, u64> {
        self.counting.lock().await
    }

    /// Locks the lookup of definitions.
    pub(crate) async fn defining(&self) -> MutexGuard<'_, ()> {
        self.defining.lock().await
    }
}
