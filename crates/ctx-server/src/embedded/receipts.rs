//! Stores the contexts that were built, and when their files were shown.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _};
use serde::Deserialize;
use tokio_util::task::TaskTracker;

use super::database::{Database, Result, read_failed, write_failed};
use super::ledger::{self, Ledger};
use super::rows::CONTEXTS;
use super::shown::{note_beside, shown_by};
use super::{Keeping, Quota};
use crate::backend::{BackendError, Prime, Receipt};
use crate::cause::{Fact, cause};

/// How long a write waits for further contexts to write with it: most of the cost is per write.
const TOGETHER: Duration = Duration::from_millis(200);
/// The most contexts that may be unwritten; a build beyond that waits until they are written.
pub(super) const MOST_UNWRITTEN: usize = 128;
/// The most bytes of memory that they may take together, likewise.
const MOST_UNWRITTEN_BYTES: usize = 16 << 20;

/// Contexts that were answered and are not written yet, in the order of their first answers.
#[derive(Default)]
pub(super) struct Unwritten {
    contexts: Vec<Answered>,
    /// Whether a task is about to write them.
    has_writer: bool,
}

/// A context, as it was first answered.
#[derive(Clone)]
pub(super) struct Answered {
    pub(super) prime: Prime,
    /// When it was last answered, in milliseconds since 1970.
    pub(super) last: i64,
    /// About how many bytes of memory it takes.
    bytes: usize,
}

impl Unwritten {
    /// The context with this id.
    fn of(&self, id: &str) -> Option<&Prime> {
        let mut contexts = self.contexts.iter().map(|it| &it.prime);
        contexts.find(|it| it.id() == id)
    }

    /// All contexts, latest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Answered> {
        self.contexts.iter().rev()
    }
}

/// Stores a context behind its answer: it can be read from now on, and is written soon by a task of
/// `behind`. Of several contexts that are written together, the first one's `held` is dropped when
/// all are written.
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
    // In both cases errors were already logged.
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

    /// Adds a context to those about to be written. Returns whether it is the first without a
    /// writer, and whether they are too many or too large.
    fn add_unwritten(&self, prime: &Prime) -> (bool, bool) {
        let mut unwritten = self.unwritten();
        let contexts = &mut unwritten.contexts;
        // If one context is answered twice, the first answer is stored, with the time of the
        // latest.
        match contexts.iter_mut().find(|it| it.prime.id() == prime.id()) {
            Some(known) => known.last = known.last.max(prime.answered_at),
            None => contexts.push(Answered {
                prime: prime.clone(),
                last: prime.answered_at,
                bytes: prime.context.bytes(),
            }),
        }
        let bytes = contexts.iter().map(|it| it.bytes).sum::<usize>();
        let are_many = contexts.len() > MOST_UNWRITTEN || bytes > MOST_UNWRITTEN_BYTES;
        let had_writer = std::mem::replace(&mut unwritten.has_writer, true);
        (!had_writer, are_many)
    }

    /// Writes the unwritten contexts. They can still be read from memory meanwhile.
    pub(super) fn write(&self, quota: &Quota) {
        // Locked first, so that whoever waited for another writer finds nothing left to write.
        let mut contexts = self.contexts();
        // A context added after this may be too late for this write.
        let answered = {
            let mut unwritten = self.unwritten();
            unwritten.has_writer = false;
            unwritten.contexts.clone()
        };
        let written = Written {
            database: self,
            answered: &answered,
        };
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let mut keep =
            |answered: &[Answered]| keep(&mut contexts, &mut ledger, answered, &quota.contexts);
        if let Err(error) = keep(&answered) {
            let mut lost = answered.len();
            if lost > 1 {
                // One faulty context should not make the others fail too.
                for one in answered.chunks(1) {
                    lost -= usize::from(keep(one).is_ok());
                }
            }
            tracing::error!(cause = cause(&error), lost, "contexts cannot be kept");
        }
        drop(written);
    }

    /// The context with this id, if it is stored.
    pub(super) fn receipt(&self, id: &str) -> Result<Option<Receipt>> {
        // Looked up here first: a context that is written meanwhile is found below.
        let unwritten = self.unwritten().of(id).cloned();
        let kept = kept(&self.contexts_reader(), id);
        match (kept, unwritten) {
            // It may be stored from an earlier answer.
            (Ok(Some((_, text))), _) => serde_json::from_str(&text)
                .map(Some)
                .map_err(|error| BackendError::failed("read a context", error)),
            (_, Some(prime)) => Ok(Some(prime.receipt())),
            (kept, None) => kept.map(|_| None),
        }
    }
}

/// Which contexts to remove.
#[derive(Debug)]
pub(super) enum Forgotten<'f> {
    WithId(&'f str),
    OfThread(&'f str),
}

impl Forgotten<'_> {
    fn is_it(&self, prime: &Prime) -> bool {
        match self {
            Forgotten::WithId(id) => prime.id() == *id,
            Forgotten::OfThread(thread) => prime.thread.as_deref() == Some(*thread),
        }
    }
}

impl Database {
    /// Removes contexts, those that are not written yet among them. Returns whether there were any.
    pub(super) fn forget_contexts(&self, which: &Forgotten<'_>) -> Result<bool> {
        // Locked first: no writer has a copy of those that are not written.
        let mut contexts = self.contexts();
        let unwritten = {
            let mut unwritten = self.unwritten();
            let before = unwritten.contexts.len();
            unwritten.contexts.retain(|it| !which.is_it(&it.prime));
            before - unwritten.contexts.len()
        };
        let (column, value) = match which {
            Forgotten::WithId(id) => ("id", id),
            Forgotten::OfThread(thread) => ("thread", thread),
        };
        let transaction = contexts.transaction().map_err(write_failed)?;
        let seqs = {
            let forget = format!("DELETE FROM contexts WHERE {column} = ?1 RETURNING seq");
            let mut forget = transaction.prepare_cached(&forget).map_err(write_failed)?;
            let seqs = forget.query_map([value], |row| row.get(0));
            seqs.and_then(Iterator::collect::<rusqlite::Result<Vec<i64>>>)
                .map_err(of_contexts)?
        };
        transaction.commit().map_err(write_failed)?;
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        for seq in &seqs {
            ledger.remove(*seq);
        }
        Ok(unwritten + seqs.len() > 0)
    }

    /// Removes the contexts of threads that are gone.
    pub(super) fn forget_orphans(&self) -> Result<()> {
        let threads: Vec<String> = {
            let contexts = self.contexts_reader();
            let threads = "SELECT DISTINCT thread FROM contexts WHERE thread IS NOT NULL";
            let mut threads = contexts.prepare(threads).map_err(of_contexts)?;
            let threads = threads.query_map([], |row| row.get(0));
            threads.and_then(Iterator::collect).map_err(of_contexts)?
        };
        for thread in threads {
            match self.begun(&thread) {
                Ok(_) => {}
                Err(BackendError::NotFound { .. }) => {
                    self.forget_contexts(&Forgotten::OfThread(&thread))?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The thread that a stored receipt is of.
pub(super) fn thread_of(receipt: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Stored {
        #[serde(rename = "threadId")]
        thread: Option<String>,
    }

    serde_json::from_str::<Stored>(receipt).ok()?.thread
}

/// Contexts whose write has ended, in success or not: they are removed from the unwritten ones.
struct Written<'w> {
    database: &'w Database,
    answered: &'w [Answered],
}

impl Drop for Written<'_> {
    fn drop(&mut self) {
        // One that was answered again meanwhile must be written again.
        let is_done = |it: &Answered| {
            let of_it = |done: &Answered| done.prime.id() == it.prime.id() && done.last == it.last;
            self.answered.iter().any(of_it)
        };
        let mut unwritten = self.database.unwritten();
        unwritten.contexts.retain(|it| !is_done(it));
    }
}

/// Stores contexts, and when their files were shown, and deletes contexts that are too old or
/// exceed the size. A context that is stored already, and would be deleted soon, becomes the
/// latest.
fn keep(
    contexts: &mut Connection,
    ledger: &mut Ledger,
    answered: &[Answered],
    keeping: &Keeping,
) -> Result<()> {
    if answered.is_empty() {
        return Ok(());
    }
    let mut transaction = contexts.transaction().map_err(write_failed)?;
    // A copy: the ledger may change only after the commit.
    let mut then = ledger.clone();
    let mut now = i64::MIN;
    let mut last = CONTEXTS.last(&transaction)?;
    for Answered {
        prime, last: at, ..
    } in answered
    {
        now = now.max(*at);
        let text = match kept(&transaction, prime.id()) {
            Ok(Some((seq, _))) if !then.is_about_to_go(seq, *at, keeping) => continue,
            Ok(Some((seq, text))) => {
                then.remove(seq);
                text
            }
            // A damaged one is written again.
            Ok(None) | Err(BackendError::Damaged { .. }) => serde_json::to_string(&prime.receipt())
                .map_err(|error| BackendError::failed("write a context", error))?,
            Err(error) => return Err(error),
        };
        last = ledger::number(last, *at);
        then.add(last, text.len() as u64, *at);
        let thread = prime.thread.clone();
        let row = [
            prime.id().to_owned().into(),
            last.into(),
            thread.into(),
            text.into(),
        ];
        CONTEXTS.put(&transaction, &row)?;
    }
    if let Some(gone) = then.let_go(now, keeping) {
        let forget = "DELETE FROM contexts WHERE seq <= ?1";
        let mut forget = transaction.prepare_cached(forget).map_err(write_failed)?;
        forget.execute([gone]).map_err(write_failed)?;
    }
    if let Err(error) = note_beside(&mut transaction, &shown_by(answered.iter())) {
        tracing::error!(
            cause = cause(&error),
            "when files were shown cannot be kept"
        );
    }
    transaction.commit().map_err(write_failed)?;
    *ledger = then;
    Ok(())
}

/// The number and the text of the context with this id, if it is stored.
fn kept(contexts: &Connection, id: &str) -> Result<Option<(i64, String)>> {
    let get = CONTEXTS.select("WHERE id = ?1");
    let mut get = contexts.prepare_cached(&get).map_err(of_contexts)?;
    let row = get.query_row([id], |row| {
        let row = CONTEXTS.whole(row)?;
        let (its, seq, text): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(3)?);
        Ok((its == id && !text.is_empty(), (seq, text)))
    });
    match row.optional().map_err(of_contexts)? {
        Some((true, kept)) => Ok(Some(kept)),
        Some((false, _)) => Err(damaged_context(Fact("it was found to be another or none"))),
        None => Ok(None),
    }
}

/// Reports an error from reading contexts.
pub(super) fn of_contexts(error: rusqlite::Error) -> BackendError {
    match read_failed(error) {
        BackendError::Damaged { source, .. } => damaged_context(source),
        other => other,
    }
}

/// Reports that a context is damaged. Other stored data is not affected.
fn damaged_context(how: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> BackendError {
    BackendError::Damaged {
        what: "what is kept of contexts",
        source: how.into(),
    }
}
