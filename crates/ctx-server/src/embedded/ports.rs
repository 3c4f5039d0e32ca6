//! The ports of a prime context over an owner's databases.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use ctx_index::Index;
use ctx_model::UnixSeconds;
use ctx_retrieve::{
    Feedback, Generation, History, MOST_USES, Message, PortError, PortResult, References, Usage,
    VOTE_MEMORY, Vote,
};
use ctx_service::Ports;
use rusqlite::{Connection, OptionalExtension as _, Transaction};

use super::blocking;
use super::database::{Database, Result, at_most, read_failed, write_failed};
use super::recall::Receipts;
use super::rows::{USAGE, VOTES};
use crate::cause::cause;

/// The ports of one owner's `index` and `database`. `opened` distinguishes this opening of the two
/// from others.
pub(super) fn ports(index: &Arc<Index>, database: &Arc<Database>, opened: u64) -> Ports {
    let generation = Generations {
        index: Arc::clone(index),
        database: Arc::clone(database),
        opened,
    };
    let state = Arc::new(State(Arc::clone(database)));
    Ports::default()
        .with_search(index.clone())
        .with_history(state.clone())
        .with_references(state.clone())
        .with_usage(state.clone())
        .with_feedback(state)
        .with_generation(Arc::new(generation))
        .with_recall(Arc::new(Receipts(Arc::clone(database))))
}

/// The most votes that may be forgotten per batch, beyond as many as were counted.
const FORGOTTEN: usize = 32;

/// Makes the result of a port. The cause of a failure is logged here: the caller of a context only
/// learns that something is missing.
pub(super) fn answer<T>(result: Result<T>) -> PortResult<T> {
    result.map_err(|error| {
        tracing::warn!(cause = cause(&error), "a port failed");
        PortError::new(error)
    })
}

/// The ports of threads, votes, and shown files.
struct State(Arc<Database>);

#[async_trait]
impl History for State {
    async fn messages(&self, thread: &str, limit: usize) -> PortResult<Vec<Message>> {
        let messages = answer(self.0.last_messages(thread, limit))?;
        Ok(messages.into_iter().map(message).collect())
    }

    async fn exchange(&self, thread: &str, id: &str, limit: usize) -> PortResult<Vec<Message>> {
        let messages = answer(self.0.exchange(thread, id, limit))?;
        Ok(messages.into_iter().map(message).collect())
    }
}

fn message((position, it): (u64, crate::Message)) -> Message {
    let at = UnixSeconds::from_millis(it.created_at);
    Message::new(it.id, it.role, it.content, at).with_position(position)
}

#[async_trait]
impl References for State {
    async fn pinned(&self, thread: &str) -> PortResult<Vec<String>> {
        answer(self.0.pinned_to(thread))
    }
}

#[async_trait]
impl Usage for State {
    async fn counts(&self, paths: &[String]) -> PortResult<BTreeMap<String, u64>> {
        answer(self.0.uses(paths))
    }

    async fn shown(&self, paths: &[String], now: UnixSeconds) -> PortResult<()> {
        let (database, paths) = (Arc::clone(&self.0), paths.to_vec());
        answer(blocking(move || database.note_shown(&paths, now.get())).await)
    }

    async fn recent(&self, limit: usize) -> PortResult<Vec<(String, UnixSeconds)>> {
        let shown = answer(self.0.shown_last(limit))?.into_iter();
        Ok(shown
            .map(|(path, at)| (path, UnixSeconds::new(at)))
            .collect())
    }
}

#[async_trait]
impl Feedback for State {
    async fn vote(&self, vote: &Vote) -> PortResult<bool> {
        let counted = self.votes(std::slice::from_ref(vote)).await?;
        Ok(counted > 0)
    }

    async fn votes(&self, votes: &[Vote]) -> PortResult<usize> {
        let (database, votes) = (Arc::clone(&self.0), votes.to_vec());
        answer(blocking(move || database.count(&votes)).await)
    }
}

/// The generation of the index together with the number of counted votes.
struct Generations {
    index: Arc<Index>,
    database: Arc<Database>,
    opened: u64,
}

#[async_trait]
impl Generation for Generations {
    async fn generation(&self) -> PortResult<u64> {
        let indexed = self.index.generation().await?;
        let votes = answer(self.database.last_vote())?;
        // An index that is rebuilt counts from the beginning.
        let mut hasher = blake3::Hasher::new();
        for number in [self.opened, indexed, votes.cast_unsigned()] {
            hasher.update(&number.to_le_bytes());
        }
        let mut hash = [0; 8];
        hasher.finalize_xof().fill(&mut hash);
        Ok(u64::from_le_bytes(hash))
    }
}

impl Database {
    /// How often each of these files was voted useful; files without votes are left out.
    fn uses(&self, paths: &[String]) -> Result<BTreeMap<String, u64>> {
        let state = self.reader();
        let mut uses = BTreeMap::new();
        for path in paths {
            let found = uses_of(&state, path)?;
            uses.extend(found.map(|it| (path.clone(), it.cast_unsigned())));
        }
        Ok(uses)
    }

    /// Counts the votes whose keys are new, all in one transaction, and returns how many there
    /// were. Also deletes some votes that are old enough to be forgotten.
    fn count(&self, votes: &[Vote]) -> Result<usize> {
        self.change(|transaction| {
            let mut counted = 0;
            for vote in votes {
                counted += usize::from(count_one(transaction, vote)?);
            }
            if counted > 0
                && let Some(now) = votes.iter().map(|it| it.at).max()
            {
                forget(transaction, now, FORGOTTEN + counted)?;
            }
            Ok(counted)
        })
    }

    /// The number of the last vote that was counted.
    fn last_vote(&self) -> Result<i64> {
        VOTES.last(&self.reader())
    }
}

/// Counts a vote, unless its key is known already.
fn count_one(transaction: &Transaction<'_>, vote: &Vote) -> Result<bool> {
    if is_counted(transaction, &vote.key)? {
        return Ok(false);
    }
    let row = [
        (VOTES.last(transaction)? + 1).into(),
        vote.key.clone().into(),
        vote.path.clone().into(),
        i64::from(vote.is_useful()).into(),
        vote.at.get().into(),
    ];
    VOTES.put(transaction, &row)?;
    let step = if vote.is_useful() { 1 } else { -1 };
    let uses = uses_of(transaction, &vote.path)?.unwrap_or(0) + step;
    let uses = uses.clamp(0, MOST_USES.cast_signed());
    USAGE.put(transaction, &[vote.path.clone().into(), uses.into()])?;
    Ok(true)
}

/// Deletes the oldest votes that at `now` need not be remembered any more;
/// at most `most`.
fn forget(transaction: &Transaction<'_>, now: UnixSeconds, most: usize) -> Result<()> {
    let forget = "DELETE FROM votes WHERE seq IN (
        SELECT seq FROM votes WHERE created_at < ?1 ORDER BY created_at LIMIT ?2
    )";
    let mut forget = transaction.prepare_cached(forget).map_err(write_failed)?;
    let forgotten = forget.execute([now.saturating_sub(VOTE_MEMORY).get(), at_most(most)]);
    forgotten.map(drop).map_err(write_failed)
}

/// How often a file was voted useful; `None` without votes.
fn uses_of(state: &Connection, path: &str) -> Result<Option<i64>> {
    let get = USAGE.select("WHERE path = ?1");
    let mut get = state.prepare_cached(&get).map_err(read_failed)?;
    let row = get.query_row([path], |row| USAGE.whole(row)?.get(1));
    row.optional().map_err(read_failed)
}

/// Whether a vote with this key was counted.
fn is_counted(state: &Connection, key: &str) -> Result<bool> {
    let get = VOTES.select("WHERE key = ?1");
    let mut get = state.prepare_cached(&get).map_err(read_failed)?;
    let row = get.query_row([key], |row| VOTES.whole(row).map(|_| ()));
    Ok(row.optional().map_err(read_failed)?.is_some())
}

#[cfg(test)]
#[path = "ports_tests.rs"]
mod tests;
