//! What a request begins with, read together.
//!
//! A context is built from a dozen answers, and most of them first ask how far the files are: whether what was kept
//! of them is still good. A request asks once, when it begins, and with that what was said in its thread.

use std::fmt;

use ctx_retrieve::Message;
use tokio::sync::{Mutex, MutexGuard};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::StoreError;
use crate::store::OwnedStore;
use crate::threads::message;

/// What was so when a request began.
pub(crate) struct Opening {
    thread: String,
    /// The last of the thread, and so many were asked for.
    messages: Vec<Message>,
    most: usize,
    pinned: Vec<String>,
    /// The files that were shown last, and when: so many were asked for.
    recent: Vec<(String, i64)>,
    most_recent: usize,
    pub(crate) progress: Progress,
    /// The generation at which terms were counted last, or are to be, held by the one who counts.
    counting: Mutex<u64>,
    /// Held by the one who looks for definitions.
    defining: Mutex<()>,
}

impl fmt::Debug for Opening {
    /// Without what was said.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening")
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}

/// How far an owner's data are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Progress {
    /// Of files: how often some were stored or removed.
    pub(crate) generation: u64,
    /// Votes that counted.
    pub(crate) votes: i64,
}

const OPENING: &str = "
    SELECT s.is_there, coalesce(s.generation, 0), coalesce(s.votes, 0), s.pinned, r.paths, r.times, m.id, m.role, m.content, m.created_at
    FROM (
        SELECT EXISTS (SELECT 1 FROM ctx.threads WHERE owner = $1 AND thread = $2) AS is_there,
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
    /// The same, for one request that is about `thread`; and whether that was begun. How far files and votes are, what is
    /// pinned, the last `messages` messages and the `recent` files that were shown last are read now, together, and later
    /// answers go by them: none is older than this call, and what another process writes in between may be missing. Not
    /// to be kept for longer than the request.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn opened(
        &self,
        thread: &str,
        messages: usize,
        recent: usize,
    ) -> Result<(OwnedStore, bool), StoreError> {
        // No thread is called so.
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
            paths.into_iter().zip(times).collect()
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
        let is_there = first.is_some_and(|row| row.get(0));
        self.told(progress.generation);
        Ok((self.begun(opening), is_there))
    }

    /// Of which generation files are at the least, where this is [for one request](Self::opened): what was read at that
    /// generation need not be read again.
    pub fn began_at(&self) -> Option<u64> {
        self.opening().map(|it| it.progress.generation)
    }
}

/// In two columns of `row`, the first in column `at`.
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

    /// What is pinned to `thread`, if that was read.
    pub(crate) fn pinned(&self, thread: &str) -> Option<Vec<String>> {
        (thread == self.thread).then(|| self.pinned.clone())
    }

    /// The `limit` files that were shown last, and when, if they were read.
    pub(crate) fn recent(&self, limit: usize) -> Option<Vec<(String, i64)>> {
        let is_known = limit <= self.most_recent;
        is_known.then(|| self.recent.iter().take(limit).cloned().collect())
    }

    /// The turn to count terms, and the generation at which that was done last.
    pub(crate) async fn counting(&self) -> MutexGuard<'_, u64> {
        self.counting.lock().await
    }

    /// The turn to look for definitions.
    pub(crate) async fn defining(&self) -> MutexGuard<'_, ()> {
        self.defining.lock().await
    }
}
