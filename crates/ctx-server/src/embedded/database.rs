//! Threads, messages, votes and contexts of one owner.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::{Quota, now};
use crate::backend::{
    BackendError, Listing, Message, NewMessage, NewThread, Page, Receipt, Thread,
};

/// The format of `state.db`.
const VERSION: i64 = 1;
/// How far one vote, and all of them, move what a file is thought to be worth.
const MOST_VOTES: i64 = 10;

const STATE: &str = "
    CREATE TABLE IF NOT EXISTS files (
        path TEXT PRIMARY KEY, bytes INTEGER NOT NULL, hash BLOB NOT NULL, created_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS threads (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, title TEXT, pinned TEXT NOT NULL,
        created_at INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
        thread INTEGER NOT NULL REFERENCES threads (seq), role TEXT NOT NULL, content TEXT NOT NULL,
        created_at INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS messages_of_threads ON messages (thread, seq);
    CREATE TABLE IF NOT EXISTS votes (
        context TEXT PRIMARY KEY, useful INTEGER NOT NULL, item TEXT, created_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS usage (path TEXT PRIMARY KEY, votes INTEGER NOT NULL) WITHOUT ROWID;";

const CONTEXTS: &str = "
    CREATE TABLE IF NOT EXISTS contexts (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, receipt TEXT NOT NULL
    );";

/// Both databases of one owner.
pub(super) struct Database {
    /// On the disk before it is acknowledged.
    state: Mutex<Connection>,
    /// On the disk soon after: a context can be built again.
    contexts: Mutex<Connection>,
}

type Result<T> = std::result::Result<T, BackendError>;

impl Database {
    /// Opens both in `folder`, and makes them where there are none.
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let open = |name: &str, synchronous: &str, tables: &str| -> rusqlite::Result<Connection> {
            let connection = Connection::open(folder.join(name))?;
            connection.busy_timeout(Duration::from_secs(5))?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", synchronous)?;
            connection.pragma_update(None, "foreign_keys", true)?;
            connection.execute_batch(tables)?;
            Ok(connection)
        };
        let failed = |error| BackendError::failed("open a database", error);
        let state = open("state.db", "FULL", STATE).map_err(failed)?;
        let version: i64 = state
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .map_err(failed)?;
        match version {
            0 => state
                .pragma_update(None, "user_version", VERSION)
                .map_err(failed)?,
            VERSION => {}
            _ => {
                let what = format!("it is of format {version}, this program reads {VERSION}");
                return Err(BackendError::failed("open a database", what));
            }
        }
        Ok(Database {
            state: Mutex::new(state),
            contexts: Mutex::new(open("contexts.db", "NORMAL", CONTEXTS).map_err(failed)?),
        })
    }

    fn state(&self) -> MutexGuard<'_, Connection> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn contexts(&self) -> MutexGuard<'_, Connection> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hash and size of the file at `path`, where it is kept.
    pub(super) fn file(&self, path: &str) -> Result<Option<([u8; 32], u64)>> {
        let state = self.state();
        let mut get = state
            .prepare_cached("SELECT hash, bytes FROM files WHERE path = ?1")
            .map_err(read_failed)?;
        let row = get.query_row([path], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned()))
        });
        row.optional().map_err(read_failed)
    }

    /// How many files there are, and their bytes.
    pub(super) fn totals(&self) -> Result<(u64, u64)> {
        let state = self.state();
        let row = state.query_row(
            "SELECT count(*), coalesce(sum(bytes), 0) FROM files",
            [],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)),
        );
        let (files, bytes) = row.map_err(read_failed)?;
        Ok((files.cast_unsigned(), bytes.cast_unsigned()))
    }

    /// Notes files that are kept now: path, size, hash.
    pub(super) fn note_files(&self, files: &[(&str, usize, [u8; 32])]) -> Result<()> {
        let mut state = self.state();
        let transaction = state.transaction().map_err(write_failed)?;
        for (path, bytes, hash) in files {
            let bytes = i64::try_from(*bytes).unwrap_or(i64::MAX);
            let row = params![path, bytes, hash, now()];
            let put = "INSERT INTO files (path, bytes, hash, created_at) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT (path) DO UPDATE SET bytes = excluded.bytes, hash = excluded.hash";
            transaction.execute(put, row).map_err(write_failed)?;
        }
        transaction.commit().map_err(write_failed)
    }

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
        let state = self.state();
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
        Ok(listing(rows.map_err(read_failed)?, page))
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
        let state = self.state();
        let (seq, _) = Database::thread(&state, thread, "threadId")?;
        let mut get = state
            .prepare_cached(
                "SELECT seq, id, role, content, created_at FROM messages
                 WHERE thread = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
            )
            .map_err(read_failed)?;
        let rows = params![seq, page.after.unwrap_or(0), at_most(page.limit.get() + 1)];
        let rows = get.query_map(rows, numbered).and_then(Iterator::collect);
        Ok(listing(rows.map_err(read_failed)?, page))
    }

    /// The last `limit` messages of a thread, the oldest first, and what is pinned to it.
    pub(super) fn history(
        &self,
        thread: &str,
        limit: usize,
    ) -> Result<(Vec<Message>, Vec<String>)> {
        let state = self.state();
        let (seq, pinned) = Database::thread(&state, thread, "threadId")?;
        let mut get = state
            .prepare_cached(
                "SELECT seq, id, role, content, created_at FROM messages
                 WHERE thread = ?1 ORDER BY seq DESC LIMIT ?2",
            )
            .map_err(read_failed)?;
        let rows = get
            .query_map(params![seq, at_most(limit)], numbered)
            .and_then(Iterator::collect::<rusqlite::Result<Vec<(i64, Message)>>>);
        let mut messages: Vec<Message> = rows
            .map_err(read_failed)?
            .into_iter()
            .map(|it| it.1)
            .collect();
        messages.reverse();
        Ok((messages, pinned))
    }

    /// Counts the first vote on a context, and moves what its files are thought to be worth, within bounds.
    pub(super) fn vote(
        &self,
        context: &str,
        useful: bool,
        item: Option<&str>,
        files: &[String],
    ) -> Result<bool> {
        let mut state = self.state();
        let transaction = state.transaction().map_err(write_failed)?;
        let put = "INSERT INTO votes (context, useful, item, created_at) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (context) DO NOTHING";
        let row = params![context, useful, item, now()];
        if transaction.execute(put, row).map_err(write_failed)? == 0 {
            return Ok(false);
        }
        let step = if useful { 1 } else { -1 };
        for path in files {
            let put = "INSERT INTO usage (path, votes) VALUES (?1, ?2)
                ON CONFLICT (path) DO UPDATE SET votes = max(-?3, min(?3, votes + ?2))";
            let row = params![path, step, MOST_VOTES];
            transaction.execute(put, row).map_err(write_failed)?;
        }
        transaction.commit().map_err(write_failed)?;
        Ok(true)
    }

    /// Keeps a context, and lets the oldest go.
    pub(super) fn keep(&self, receipt: &Receipt, quota: &Quota) -> Result<()> {
        let text = serde_json::to_string(receipt)
            .map_err(|error| BackendError::failed("write a context", error))?;
        let contexts = self.contexts();
        contexts
            .execute(
                "INSERT INTO contexts (id, receipt) VALUES (?1, ?2)",
                params![receipt.id, text],
            )
            .map_err(write_failed)?;
        let last = contexts.last_insert_rowid();
        let most = i64::try_from(quota.contexts).unwrap_or(i64::MAX);
        contexts
            .execute("DELETE FROM contexts WHERE seq <= ?1", [last - most])
            .map_err(write_failed)?;
        Ok(())
    }

    /// The context of this id, where it is kept.
    pub(super) fn receipt(&self, id: &str) -> Result<Option<Receipt>> {
        let contexts = self.contexts();
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

fn numbered(row: &rusqlite::Row<'_>) -> rusqlite::Result<(i64, Message)> {
    let message = Message {
        id: row.get(1)?,
        role: row.get(2)?,
        content: row.get(3)?,
        created_at: row.get(4)?,
    };
    Ok((row.get(0)?, message))
}

/// One row more than was asked for tells that there is a next part.
fn listing<T>(mut rows: Vec<(i64, T)>, page: &Page) -> Listing<T> {
    let is_more = rows.len() > page.limit.get();
    rows.truncate(page.limit.get());
    let next = rows.last().filter(|_| is_more).map(|(seq, _)| *seq);
    Listing {
        items: rows.into_iter().map(|(_, it)| it).collect(),
        next,
    }
}

fn at_most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn read_failed(error: rusqlite::Error) -> BackendError {
    BackendError::failed("read a database", error)
}

fn write_failed(error: rusqlite::Error) -> BackendError {
    BackendError::failed("write a database", error)
}
