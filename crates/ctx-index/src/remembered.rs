//! What is remembered of the use of files, and of what was said: it cannot be made again from the files.

use std::collections::BTreeMap;

use ctx_retrieve::{MOST_USES, Message, Vote};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use crate::IndexError;
use crate::manifest::{Manifest, get, short};

impl Manifest {
    pub(crate) fn uses(&self, paths: &[String]) -> Result<BTreeMap<String, u64>, IndexError> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached("SELECT uses FROM usage WHERE path = ?1")?;
        let mut uses = BTreeMap::new();
        for path in paths {
            let count = statement
                .query_row([path], |row| row.get::<_, i64>(0))
                .optional()?;
            uses.extend(count.map(|it| (path.clone(), it.cast_unsigned())));
        }
        Ok(uses)
    }

    pub(crate) fn shown(&self, paths: &[String], now: i64) -> Result<(), IndexError> {
        if !self.is_writable {
            return Ok(());
        }
        let mut connection = self.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut get =
                transaction.prepare_cached("SELECT uses, shown_at FROM usage WHERE path = ?1")?;
            let mut put = transaction.prepare_cached(
                "INSERT OR REPLACE INTO usage (path, uses, shown_at, seal) VALUES (?1, ?2, ?3, ?4)",
            )?;
            for path in paths {
                let before = get
                    .query_row([path], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()?;
                let (uses, shown_at): (i64, i64) = before.unwrap_or_default();
                let shown_at = shown_at.max(now);
                put.execute(params![
                    path,
                    uses,
                    shown_at,
                    usage_seal(path, uses, shown_at)
                ])?;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    pub(crate) fn recent(&self, limit: usize) -> Result<Vec<(String, i64)>, IndexError> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(
            "SELECT path, shown_at FROM usage WHERE shown_at > 0 ORDER BY shown_at DESC, path LIMIT ?1",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement.query_map([limit], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    pub(crate) fn messages(&self, thread: &str, limit: usize) -> Result<Vec<Message>, IndexError> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(
            "SELECT id, role, content, created_at FROM messages WHERE thread = ?1 ORDER BY seq DESC LIMIT ?2",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement.query_map(params![thread, limit], |row| {
            let (id, role, content): (String, String, String) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(Message::new(id, role, content, row.get(3)?))
        })?;
        let mut messages = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        messages.reverse();
        Ok(messages)
    }

    pub(crate) fn pinned(&self, thread: &str) -> Result<Vec<String>, IndexError> {
        let connection = self.lock();
        let mut statement =
            connection.prepare_cached("SELECT what FROM pinned WHERE thread = ?1 ORDER BY seq")?;
        let rows = statement.query_map([thread], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    pub(crate) fn append(&self, thread: &str, message: &Message) -> Result<(), IndexError> {
        self.lock().execute(
            "INSERT INTO messages (thread, seq, id, role, content, created_at)
             SELECT ?1, (SELECT coalesce(max(seq), 0) + 1 FROM messages WHERE thread = ?1), ?2, ?3, ?4, ?5
             WHERE NOT EXISTS (SELECT 1 FROM messages WHERE thread = ?1 AND id = ?2)",
            params![
                thread,
                message.id,
                message.role,
                message.content,
                message.created_at
            ],
        )?;
        Ok(())
    }

    pub(crate) fn pin(&self, thread: &str, what: &str) -> Result<(), IndexError> {
        self.lock().execute(
            "INSERT INTO pinned (thread, seq, what)
             SELECT ?1, (SELECT coalesce(max(seq), 0) + 1 FROM pinned WHERE thread = ?1), ?2
             WHERE NOT EXISTS (SELECT 1 FROM pinned WHERE thread = ?1 AND what = ?2)",
            params![thread, what],
        )?;
        Ok(())
    }

    pub(crate) fn unpin(&self, thread: &str, what: &str) -> Result<(), IndexError> {
        self.lock().execute(
            "DELETE FROM pinned WHERE thread = ?1 AND what = ?2",
            params![thread, what],
        )?;
        Ok(())
    }

    /// Counts a vote, once, all or nothing.
    pub(crate) fn vote(&self, vote: &Vote) -> Result<bool, IndexError> {
        let mut connection = self.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let is_new = transaction.execute(
            "INSERT INTO votes (key, voted_at) VALUES (?1, ?2) ON CONFLICT (key) DO NOTHING",
            params![vote.key, vote.at],
        )? > 0;
        if is_new {
            let most = MOST_USES.cast_signed();
            let by = if vote.is_useful { 1 } else { -1 };
            let before = transaction
                .query_row(
                    "SELECT uses, shown_at FROM usage WHERE path = ?1",
                    [&vote.path],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )
                .optional()?;
            let (uses, shown_at): (i64, i64) = before.unwrap_or_default();
            let uses = (uses + by).clamp(0, most);
            transaction.execute(
                "INSERT OR REPLACE INTO usage (path, uses, shown_at, seal) VALUES (?1, ?2, ?3, ?4)",
                params![
                    vote.path,
                    uses,
                    shown_at,
                    usage_seal(&vote.path, uses, shown_at)
                ],
            )?;
            transaction.execute(
                "INSERT INTO meta (key, value) VALUES ('votes', '1')
                 ON CONFLICT (key) DO UPDATE SET value = value + 1",
                [],
            )?;
        }
        transaction.commit()?;
        Ok(is_new)
    }

    /// The generation and the number of votes in one number: neither ever falls, so that it changes with
    /// each.
    pub(crate) fn state(&self) -> Result<u64, IndexError> {
        let connection = self.lock();
        let number = |key: &str| -> rusqlite::Result<u64> {
            let value = get(&connection, key)?;
            Ok(value.and_then(|it| it.parse().ok()).unwrap_or(0))
        };
        Ok(number("generation")?.saturating_add(number("votes")?))
    }
}

fn usage_seal(path: &str, uses: i64, shown_at: i64) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(path.as_bytes());
    hasher.update(&uses.to_le_bytes());
    hasher.update(&shown_at.to_le_bytes());
    short(&hasher)
}

/// Whether each row is as it was written.
pub(crate) fn check_usage(connection: &Connection) -> Result<(), IndexError> {
    let mut statement = connection.prepare("SELECT path, uses, shown_at, seal FROM usage")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let path: String = row.get(0)?;
        if row.get::<_, [u8; 8]>(3)? != usage_seal(&path, row.get(1)?, row.get(2)?) {
            let what = format!("what is remembered of {path:?} is not as it was written");
            return Err(IndexError::Damaged { what });
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "remembered_tests.rs"]
mod tests;
