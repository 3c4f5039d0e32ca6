//! Contexts that were built, and when their files were shown.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _};
use tokio_util::task::TaskTracker;

use super::Quota;
use super::database::{Database, Result, read_failed, write_failed};
use super::rows::CONTEXTS;
use super::shown::{note, shown_by};
use crate::backend::{BackendError, Prime, Receipt};
use crate::cause::{Fact, cause};

/// What comes within this long of each other is written together: most of what it costs to write is for each time.
const TOGETHER: Duration = Duration::from_millis(100);
/// Who builds one more than these waits until they are written.
pub(super) const MOST_UNWRITTEN: usize = 64;

/// Contexts that were answered and are not written yet, in their order.
#[derive(Default)]
pub(super) struct Unwritten {
    contexts: Vec<Prime>,
    /// Whether somebody is about to write them.
    has_writer: bool,
}

impl Unwritten {
    /// The context of this id.
    fn of(&self, id: &str) -> Option<&Prime> {
        self.contexts.iter().find(|it| it.id() == id)
    }

    /// All, the latest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Prime> {
        self.contexts.iter().rev()
    }
}

/// Keeps a context behind its answer: it is found from now on, and is written soon, by a task of `behind`. What the first
/// of several has `held` is let go when all of them are.
pub(super) async fn keep_behind<H>(
    database: &Arc<Database>,
    prime: &Prime,
    quota: &Arc<Quota>,
    behind: &TaskTracker,
    held: H,
) where
    H: Send + 'static,
{
    let (is_first, are_many) = database.add_unwritten(prime);
    if !is_first && !are_many {
        return;
    }
    let (database, quota) = (Arc::clone(database), Arc::clone(quota));
    let write = move || {
        database.write(&quota);
        drop(held);
    };
    // Of either, what goes wrong was said.
    if are_many {
        let _ = behind.spawn_blocking(write).await;
    } else {
        behind.spawn(async {
            tokio::time::sleep(TOGETHER).await;
            let _ = tokio::task::spawn_blocking(write).await;
        });
    }
}

impl Database {
    pub(super) fn unwritten(&self) -> MutexGuard<'_, Unwritten> {
        self.unwritten
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a context is about to be written. Whether nobody else is about to write any, and whether they are too many.
    fn add_unwritten(&self, prime: &Prime) -> (bool, bool) {
        let mut unwritten = self.unwritten();
        // Of two answers with one context, the latest tells when it was shown.
        let contexts = &mut unwritten.contexts;
        match contexts.iter_mut().find(|it| it.id() == prime.id()) {
            Some(known) => known.clone_from(prime),
            None => contexts.push(prime.clone()),
        }
        let had_writer = std::mem::replace(&mut unwritten.has_writer, true);
        (!had_writer, unwritten.contexts.len() > MOST_UNWRITTEN)
    }

    /// Writes what is not written yet. Meanwhile it is still found in memory.
    fn write(&self, quota: &Quota) {
        // First, so that who waits for another's writing finds nothing left to write.
        let mut contexts = self.contexts();
        // Whoever comes from now on may have come too late for this.
        let primes = {
            let mut unwritten = self.unwritten();
            unwritten.has_writer = false;
            unwritten.contexts.clone()
        };
        let written = Written {
            database: self,
            primes: &primes,
        };
        match keep(&mut contexts, &primes, quota) {
            Ok(()) => {}
            // What is wrong with one of them is no reason to lose the others.
            Err(_) if primes.len() > 1 => {
                for prime in &primes {
                    told(keep(&mut contexts, std::slice::from_ref(prime), quota));
                }
            }
            failed => told(failed),
        }
        drop(written);
    }

    /// The context of this id, where it is kept.
    pub(super) fn receipt(&self, id: &str) -> Result<Option<Receipt>> {
        let unwritten = self.unwritten().of(id).cloned();
        if let Some(prime) = unwritten {
            return Ok(Some(prime.receipt()));
        }
        let contexts = self.contexts_reader();
        let text = kept(&contexts, id)?.map(|it| it.1);
        text.map(|it| serde_json::from_str(&it))
            .transpose()
            .map_err(|error| BackendError::failed("read a context", error))
    }
}

/// Contexts that were written, or never will be: whatever became of that, they wait for it no longer.
struct Written<'w> {
    database: &'w Database,
    primes: &'w [Prime],
}

impl Drop for Written<'_> {
    fn drop(&mut self) {
        // One that was answered again meanwhile is to be written again.
        let is_done = |it: &Prime| {
            let of_it = |done: &Prime| done.id() == it.id() && done.answered_at == it.answered_at;
            self.primes.iter().any(of_it)
        };
        let mut unwritten = self.database.unwritten();
        unwritten.contexts.retain(|it| !is_done(it));
    }
}

fn told(kept: Result<()>) {
    if let Err(error) = kept {
        tracing::error!(cause = cause(&error), "a context cannot be kept");
    }
}

/// Keeps contexts, and when their files were shown, and lets the oldest contexts go. One that is kept already, and is about
/// to go, is made the latest.
fn keep(contexts: &mut Connection, primes: &[Prime], quota: &Quota) -> Result<()> {
    if primes.is_empty() {
        return Ok(());
    }
    let most = i64::try_from(quota.contexts).unwrap_or(i64::MAX);
    let transaction = contexts.transaction().map_err(write_failed)?;
    let mut last = CONTEXTS.last(&transaction)?;
    for prime in primes {
        let text = match kept(&transaction, prime.id()) {
            Ok(Some((seq, _))) if seq > last - most / 2 => continue,
            Ok(Some((_, text))) => text,
            // One that is damaged is written anew.
            Ok(None) | Err(BackendError::Damaged { .. }) => serde_json::to_string(&prime.receipt())
                .map_err(|error| BackendError::failed("write a context", error))?,
            Err(error) => return Err(error),
        };
        last += 1;
        let row = [prime.id().to_owned().into(), last.into(), text.into()];
        CONTEXTS.put(&transaction, &row)?;
    }
    let gone = "DELETE FROM contexts WHERE seq <= ?1";
    let mut gone = transaction.prepare_cached(gone).map_err(write_failed)?;
    gone.execute([last - most]).map_err(write_failed)?;
    drop(gone);
    note(&transaction, shown_by(primes.iter()).into_iter())?;
    transaction.commit().map_err(write_failed)
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
