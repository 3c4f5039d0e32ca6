//! Contexts that were built, and when their files were shown.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension as _};
use tokio_util::task::TaskTracker;

use super::Quota;
use super::database::{Database, Result, read_failed, write_failed};
use super::rows::CONTEXTS;
use crate::backend::{BackendError, Prime, Receipt};
use crate::cause::{Fact, cause};

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
            tracing::error!(cause = cause(&error), "a context cannot be kept");
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
        let mut contexts = self.contexts();
        let transaction = contexts.transaction().map_err(write_failed)?;
        let last = CONTEXTS.last(&transaction)?;
        let text = match kept(&transaction, prime.id()) {
            Ok(Some((seq, _))) if seq > last - most / 2 => return Ok(()),
            Ok(Some((_, text))) => text,
            // One that is damaged is written anew.
            Ok(None) | Err(BackendError::Damaged { .. }) => serde_json::to_string(&prime.receipt())
                .map_err(|error| BackendError::failed("write a context", error))?,
            Err(error) => return Err(error),
        };
        let row = [prime.id().to_owned().into(), (last + 1).into(), text.into()];
        CONTEXTS.put(&transaction, &row)?;
        let gone = "DELETE FROM contexts WHERE seq <= ?1";
        let mut gone = transaction.prepare_cached(gone).map_err(write_failed)?;
        gone.execute([last + 1 - most]).map_err(write_failed)?;
        drop(gone);
        transaction.commit().map_err(write_failed)
    }

    /// The context of this id, where it is kept.
    pub(super) fn receipt(&self, id: &str) -> Result<Option<Receipt>> {
        if let Some(prime) = self.unwritten().get(id) {
            return Ok(Some(prime.receipt()));
        }
        let contexts = self.contexts_reader();
        let text = kept(&contexts, id)?.map(|it| it.1);
        text.map(|it| serde_json::from_str(&it))
            .transpose()
            .map_err(|error| BackendError::failed("read a context", error))
    }
}

/// The number and the text of the context of this id, where it is kept.
fn kept(contexts: &Connection, id: &str) -> Result<Option<(i64, String)>> {
    let get = CONTEXTS.select("WHERE id = ?1");
    let mut get = contexts.prepare_cached(&get).map_err(of_contexts)?;
    let row = get.query_row([id], |row| {
        let row = CONTEXTS.whole(row)?;
        let (its, seq, text): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok((its == id && !text.is_empty(), (seq, text)))
    });
    match row.optional().map_err(of_contexts)? {
        Some((true, kept)) => Ok(Some(kept)),
        Some((false, _)) => Err(damaged_context(Fact("it was found to be another or none"))),
        None => Ok(None),
    }
}

/// Contexts cannot be read.
pub(super) fn of_contexts(error: rusqlite::Error) -> BackendError {
    match read_failed(error) {
        BackendError::Damaged { source, .. } => damaged_context(source),
        other => other,
    }
}

/// A context is not as it was written. What else is kept has nothing to do with it.
fn damaged_context(how: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> BackendError {
    BackendError::Damaged {
        what: "what is kept of contexts",
        source: how.into(),
    }
}
