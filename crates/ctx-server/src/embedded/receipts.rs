//! Contexts that were built, and when their files were shown.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use rusqlite::{OptionalExtension as _, params};

use tokio_util::task::TaskTracker;

use super::Quota;
use super::database::{Database, Result, read_failed, write_failed};
use crate::backend::{BackendError, Prime, Receipt};

/// More contexts than these do not wait to be written: who builds one more waits for its turn.
const MOST_UNWRITTEN: usize = 64;

/// Keeps a context behind its answer: it is found from now on, and is written as soon as may be, by a task of
/// `behind`. `held` is let go when it is.
pub(super) async fn keep_behind<H>(
    database: &Arc<Database>,
    prime: &Prime,
    quota: &Arc<Quota>,
    behind: &TaskTracker,
    held: H,
) where
    H: Send + 'static,
{
    let is_behind = database.add_unwritten(prime);
    let (database, prime) = (Arc::clone(database), prime.clone());
    let quota = Arc::clone(quota);
    let writing = behind.spawn_blocking(move || {
        let kept = database.keep(&prime, &quota);
        database.unwritten().remove(prime.id());
        drop(held);
        if let Err(error) = kept {
            tracing::error!(cause = %error, "a context cannot be kept");
        }
    });
    if !is_behind {
        // It has said what went wrong.
        let _ = writing.await;
    }
}

impl Database {
    pub(super) fn unwritten(&self) -> MutexGuard<'_, BTreeMap<String, Prime>> {
        self.unwritten
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a context is about to be written, unless too many are.
    fn add_unwritten(&self, prime: &Prime) -> bool {
        let mut unwritten = self.unwritten();
        let has_room = unwritten.len() < MOST_UNWRITTEN;
        if has_room {
            unwritten.insert(prime.id().to_owned(), prime.clone());
        }
        has_room
    }

    /// Keeps a context, and lets the oldest go. One that is kept already, and is about to go, is made the
    /// latest.
    fn keep(&self, prime: &Prime, quota: &Quota) -> Result<()> {
        let most = i64::try_from(quota.contexts).unwrap_or(i64::MAX);
        let mut get = "SELECT seq, (SELECT max(seq) FROM contexts) FROM contexts WHERE id = ?1";
        let contexts = self.contexts();
        let mut known = contexts.prepare_cached(get).map_err(read_failed)?;
        let row = known.query_row([prime.id()], |row| Ok((row.get(0)?, row.get(1)?)));
        let row: Option<(i64, i64)> = row.optional().map_err(read_failed)?;
        if let Some((seq, last)) = row {
            if seq <= last - most / 2 {
                let put = "UPDATE contexts SET seq = ?2 WHERE id = ?1";
                let row = params![prime.id(), last + 1];
                contexts.execute(put, row).map_err(write_failed)?;
            }
            return Ok(());
        }
        let text = serde_json::to_string(&prime.receipt())
            .map_err(|error| BackendError::failed("write a context", error))?;
        get = "INSERT INTO contexts (id, receipt) VALUES (?1, ?2)";
        let mut put = contexts.prepare_cached(get).map_err(write_failed)?;
        put.execute(params![prime.id(), text])
            .map_err(write_failed)?;
        let last = contexts.last_insert_rowid();
        contexts
            .execute("DELETE FROM contexts WHERE seq <= ?1", [last - most])
            .map_err(write_failed)?;
        Ok(())
    }

    /// The context of this id, where it is kept.
    pub(super) fn receipt(&self, id: &str) -> Result<Option<Receipt>> {
        if let Some(prime) = self.unwritten().get(id) {
            return Ok(Some(prime.receipt()));
        }
        let contexts = self.contexts_reader();
        let text: Option<String> = contexts
            .query_row("SELECT receipt FROM contexts WHERE id = ?1", [id], |row| {
                row.get(0)
            })
            .optional()
            .map_err(read_failed)?;
        text.map(|it| serde_json::from_str(&it))
            .transpose()
            .map_err(|error| BackendError::failed("read a context", error))
    }
}
