//! Threads, and what is said in them.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::Quota;
use super::database::{Database, Result, at_most, read_failed, write_failed};
use crate::backend::{BackendError, Listing, Message, NewMessage, NewThread, Page, Thread};
use crate::build::now;

impl Database {
    /// Begins a thread.
    pub(super) fn create_thread(
        &self,
        id: String,
        new: NewThread,
        quota: &Quota,
    ) -> Result<Thread> {
        let state = self.state();
        let count: i64 = state
            .query_row("SELECT count(*) FROM threads", [], |row| row.get(0))
            .map_err(read_failed)?;
        if count.cast_unsigned() >= quota.threads {
            let detail = format!("there are {count} threads, and there may be no more");
            return Err(BackendError::Quota {
                field: "id",
                detail,
            });
        }
        let thread = Thread {
            id,
            title: new.title,
            pinned: new.pinned,
            created_at: now(),
        };
        let pinned = serde_json::to_string(&thread.pinned)
            .map_err(|error| BackendError::failed("write a thread", error))?;
        let put = "INSERT INTO threads (id, title, pinned, created_at) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (id) DO NOTHING";
        let row = params![thread.id, thread.title, pinned, thread.created_at];
        match state.execute(put, row).map_err(write_failed)? {
            0 => Err(BackendError::Exists {
                what: "thread",
                field: "id",
                id: thread.id,
            }),
            _ => Ok(thread),
        }
    }

    /// The threads, the latest first.
    pub(super) fn threads(&self, page: &Page) -> Result<Listing<Thread>> {
        let state = self.reader();
        let mut get = state
            .prepare_cached(
                "SELECT seq, id, title, pinned, created_at FROM threads WHERE seq < ?1
                 ORDER BY seq DESC LIMIT ?2",
            )
            .map_err(read_failed)?;
        let rows = params![
            page.after.unwrap_or(i64::MAX),
            at_most(page.limit.get() + 1)
        ];
        let rows = get
            .query_map(rows, |row| {
                let pinned: String = row.get(3)?;
                let thread = Thread {
                    id: row.get(1)?,
                    title: row.get(2)?,
                    pinned: serde_json::from_str(&pinned).unwrap_or_default(),
                    created_at: row.get(4)?,
                };
                Ok((row.get(0)?, thread))
            })
            .and_then(Iterator::collect);
        Ok(Listing::of(rows.map_err(read_failed)?, page))
    }

    /// Sees to it that there is this thread.
    pub(super) fn check_thread(&self, id: &str) -> Result<()> {
        Database::thread(&self.reader(), id, "threadId").map(|_| ())
    }

    /// The number of a thread, and what is pinned to it.
    fn thread(state: &Connection, id: &str, field: &'static str) -> Result<(i64, Vec<String>)> {
        let mut get = state
            .prepare_cached("SELECT seq, pinned FROM threads WHERE id = ?1")
            .map_err(read_failed)?;
        let row = get
            .query_row([id], |row| {
                let pinned: String = row.get(1)?;
                Ok((
                    row.get(0)?,
                    serde_json::from_str(&pinned).unwrap_or_default(),
                ))
            })
            .optional();
        row.map_err(read_failed)?
            .ok_or_else(|| BackendError::NotFound {
                what: "thread",
                field,
                id: id.to_owned(),
            })
    }

    /// Adds a message to a thread.
    pub(super) fn append(
        &self,
        thread: &str,
        id: String,
        new: NewMessage,
        quota: &Quota,
    ) -> Result<Message> {
        let state = self.state();
        let (seq, _) = Database::thread(&state, thread, "threadId")?;
        let count: i64 = state
            .query_row("SELECT coalesce(max(seq), 0) FROM messages", [], |row| {
                row.get(0)
            })
            .map_err(read_failed)?;
        if count.cast_unsigned() >= quota.messages {
            let detail = format!("there are {count} messages, and there may be no more");
            return Err(BackendError::Quota {
                field: "content",
                detail,
            });
        }
        let message = Message {
            id,
            role: new.role,
            content: new.content,
            created_at: now(),
        };
        let put = "INSERT INTO messages (id, thread, role, content, created_at)
            VALUES (?1, ?2, ?3, ?4, ?5)";
        let row = params![
            message.id,
            seq,
            message.role,
            message.content,
            message.created_at
        ];
        state.execute(put, row).map_err(write_failed)?;
        Ok(message)
    }

    /// The messages of a thread, the oldest first.
    pub(super) fn messages(&self, thread: &str, page: &Page) -> Result<Listing<Message>> {
        let state = self.reader();
        let (seq, _) = Database::thread(&state, thread, "threadId")?;
        let mut get = state
            .prepare_cached(
                "SELECT seq, id, role, content, created_at FROM messages
                 WHERE thread = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
            )
            .map_err(read_failed)?;
        let rows = params![seq, page.after.unwrap_or(0), at_most(page.limit.get() + 1)];
        let rows = get.query_map(rows, numbered).and_then(Iterator::collect);
        Ok(Listing::of(rows.map_err(read_failed)?, page))
    }

    /// The last `limit` messages of a thread, the oldest first; none of a thread that is not.
    pub(super) fn last_messages(&self, thread: &str, limit: usize) -> Result<Vec<Message>> {
        let state = self.reader();
        let mut get = state
            .prepare_cached(
                "SELECT seq, id, role, content, created_at FROM messages
                 WHERE thread = (SELECT seq FROM threads WHERE id = ?1) ORDER BY seq DESC LIMIT ?2",
            )
            .map_err(read_failed)?;
        let rows = get
            .query_map(params![thread, at_most(limit)], numbered)
            .and_then(Iterator::collect::<rusqlite::Result<Vec<(i64, Message)>>>);
        let rows = rows.map_err(read_failed)?.into_iter().rev();
        Ok(rows.map(|it| it.1).collect())
    }

    /// The exchange that a message is part of, the oldest first, at most `limit` messages; none where it is not.
    pub(super) fn exchange(&self, thread: &str, id: &str, limit: usize) -> Result<Vec<Message>> {
        let state = self.reader();
        let mut get = state
            .prepare_cached(
                "WITH it AS (
                     SELECT m.thread, m.seq FROM messages m JOIN threads t ON t.seq = m.thread
                     WHERE t.id = ?1 AND m.id = ?2
                 )
                 SELECT m.seq, m.id, m.role, m.content, m.created_at FROM it JOIN messages m ON m.thread = it.thread
                 WHERE m.seq >= coalesce((
                     SELECT max(u.seq) FROM messages u
                     WHERE u.thread = it.thread AND u.seq <= it.seq AND u.role = 'user'
                 ), 0) AND NOT EXISTS (
                     SELECT 1 FROM messages u
                     WHERE u.thread = it.thread AND u.seq > it.seq AND u.seq <= m.seq AND u.role = 'user'
                 ) ORDER BY m.seq LIMIT ?3",
            )
            .map_err(read_failed)?;
        let rows = get
            .query_map(params![thread, id, at_most(limit)], numbered)
            .and_then(Iterator::collect::<rusqlite::Result<Vec<(i64, Message)>>>);
        let rows = rows.map_err(read_failed)?.into_iter();
        Ok(rows.map(|it| it.1).collect())
    }

    /// Pins `pinned` to a thread, in the place of what was pinned to it.
    pub(super) fn pin(&self, id: String, pinned: Vec<String>) -> Result<Thread> {
        let text = serde_json::to_string(&pinned)
            .map_err(|error| BackendError::failed("write a thread", error))?;
        let put = "UPDATE threads SET pinned = ?2 WHERE id = ?1 RETURNING title, created_at";
        let state = self.state();
        let row = state.query_row(put, params![id, text], |row| Ok((row.get(0)?, row.get(1)?)));
        match row.optional().map_err(write_failed)? {
            Some((title, created_at)) => Ok(Thread {
                id,
                title,
                pinned,
                created_at,
            }),
            None => Err(BackendError::NotFound {
                what: "thread",
                field: "threadId",
                id,
            }),
        }
    }

    /// What is pinned to a thread; nothing, where it is not.
    pub(super) fn pinned_to(&self, thread: &str) -> Result<Vec<String>> {
        match Database::thread(&self.reader(), thread, "threadId") {
            Ok((_, pinned)) => Ok(pinned),
            Err(BackendError::NotFound { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

fn numbered(row: &rusqlite::Row<'_>) -> rusqlite::Result<(i64, Message)> {
    let message = Message {
        id: row.get(1)?,
        role: row.get(2)?,
        content: row.get(3)?,
        created_at: row.get(4)?,
    };
    Ok((row.get(0)?, message))
}
