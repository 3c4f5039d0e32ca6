//! What is known of each file, and what is remembered of its use: one `SQLite` database.
//!
//! The text index is committed first and this second. What the text index has and this has not is indexed
//! again, which changes nothing; so a crash between the two loses nothing and shows nothing twice.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ctx_retrieve::{MOST_USES, Message, Vote};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};

use crate::IndexError;
use crate::schema::FORMAT;

/// How long one process waits for another that is writing.
const PATIENCE: Duration = Duration::from_secs(5);

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS files (
        path TEXT PRIMARY KEY, size INTEGER NOT NULL, modified INTEGER NOT NULL, hash BLOB NOT NULL,
        parts INTEGER NOT NULL, lines INTEGER NOT NULL, seal BLOB NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS usage (
        path TEXT PRIMARY KEY, uses INTEGER NOT NULL DEFAULT 0, shown_at INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS usage_shown ON usage (shown_at);
    CREATE TABLE IF NOT EXISTS messages (
        thread TEXT NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL, role TEXT NOT NULL,
        content TEXT NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (thread, seq)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS pinned (
        thread TEXT NOT NULL, seq INTEGER NOT NULL, what TEXT NOT NULL, PRIMARY KEY (thread, seq)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS votes (
        key TEXT PRIMARY KEY, voted_at INTEGER NOT NULL
    ) WITHOUT ROWID;";

/// One file, as it was indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileRow {
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: i64,
    pub(crate) hash: [u8; 32],
    pub(crate) parts: u32,
    pub(crate) lines: u32,
}

impl FileRow {
    /// Tells a row that was changed on the disk from one that was written.
    fn seal(&self, path: &str) -> [u8; 8] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(path.as_bytes());
        hasher.update(&self.size.to_le_bytes());
        hasher.update(&self.modified.to_le_bytes());
        hasher.update(&self.hash);
        hasher.update(&self.parts.to_le_bytes());
        hasher.update(&self.lines.to_le_bytes());
        let mut seal = [0; 8];
        hasher.finalize_xof().fill(&mut seal);
        seal
    }
}

/// The database.
#[derive(Debug)]
pub(crate) struct Manifest {
    connection: Mutex<Connection>,
    is_writable: bool,
}

/// What an update changes.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) indexed: Vec<(String, FileRow)>,
    pub(crate) removed: Vec<String>,
}

impl Manifest {
    /// Opens the database, and makes it where there is none; read-only where it cannot be written.
    pub(crate) fn open(path: &Path) -> Result<Self, IndexError> {
        match Manifest::open_writable(path) {
            Ok(manifest) => Ok(manifest),
            Err(error) if is_read_only(&error) && path.exists() => {
                let connection =
                    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
                connection.busy_timeout(PATIENCE)?;
                Ok(Manifest {
                    connection: Mutex::new(connection),
                    is_writable: false,
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    fn open_writable(path: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(PATIENCE)?;
        // The newest of them: a database from before it gets it now.
        let has_all: bool = connection.query_row(
            "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'votes')",
            [],
            |row| row.get(0),
        )?;
        if !has_all {
            connection.execute_batch(TABLES)?;
        }
        Ok(Manifest {
            connection: Mutex::new(connection),
            is_writable: true,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The generation of the text index that the rows belong to; `None` in a new database.
    pub(crate) fn generation(&self) -> Result<Option<u64>, IndexError> {
        let connection = self.lock();
        let get = |key: &str| -> rusqlite::Result<Option<String>> {
            let found =
                connection.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| {
                    row.get(0)
                });
            found.optional()
        };
        let Some(format) = get("format")? else {
            return Ok(None);
        };
        if format != FORMAT.to_string() {
            let what = format!("it is of format {format}, this program reads format {FORMAT}");
            return Err(IndexError::Damaged { what });
        }
        let generation = get("generation")?.and_then(|it| it.parse().ok());
        generation.map(Some).ok_or_else(|| IndexError::Damaged {
            what: "its manifest has no generation".to_owned(),
        })
    }

    /// All files, each row checked against its seal. O(files).
    pub(crate) fn files(&self) -> Result<BTreeMap<String, FileRow>, IndexError> {
        let connection = self.lock();
        let mut statement = connection
            .prepare("SELECT path, size, modified, hash, parts, lines, seal FROM files")?;
        let mut rows = statement.query([])?;
        let mut files = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let path: String = row.get(0)?;
            let file = FileRow {
                size: row.get::<_, i64>(1)?.cast_unsigned(),
                modified: row.get(2)?,
                hash: row.get(3)?,
                parts: row.get(4)?,
                lines: row.get(5)?,
            };
            if row.get::<_, [u8; 8]>(6)? != file.seal(&path) {
                let what = format!("the entry of {path:?} is not as it was written");
                return Err(IndexError::Damaged { what });
            }
            files.insert(path, file);
        }
        Ok(files)
    }

    /// Notes what the text index of this generation has, all or nothing.
    pub(crate) fn commit(&self, changes: &Changes, generation: u64) -> Result<(), IndexError> {
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        {
            let mut put = transaction.prepare_cached(
                "INSERT OR REPLACE INTO files (path, size, modified, hash, parts, lines, seal)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?;
            for (path, row) in &changes.indexed {
                put.execute(params![
                    path,
                    row.size.cast_signed(),
                    row.modified,
                    row.hash,
                    row.parts,
                    row.lines,
                    row.seal(path)
                ])?;
            }
            let mut remove = transaction.prepare_cached("DELETE FROM files WHERE path = ?1")?;
            for path in &changes.removed {
                remove.execute([path])?;
            }
            let mut set = transaction
                .prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")?;
            set.execute(["format", &FORMAT.to_string()])?;
            set.execute(["generation", &generation.to_string()])?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// How many files, parts and lines there are.
    pub(crate) fn totals(&self) -> Result<(u64, u64, u64), IndexError> {
        let connection = self.lock();
        let totals = connection.query_row(
            "SELECT count(*), coalesce(sum(parts), 0), coalesce(sum(lines), 0) FROM files WHERE parts > 0",
            [],
            |row| {
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, i64>(1)?,
                    row.get::<_, i64>(2)?,
                ))
            },
        )?;
        let (files, parts, lines) = totals;
        Ok((
            files.cast_unsigned(),
            parts.cast_unsigned(),
            lines.cast_unsigned(),
        ))
    }

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
        let transaction = connection.transaction()?;
        {
            let mut put = transaction.prepare_cached(
                "INSERT INTO usage (path, uses, shown_at) VALUES (?1, 0, ?2)
                 ON CONFLICT (path) DO UPDATE SET shown_at = max(shown_at, excluded.shown_at)",
            )?;
            for path in paths {
                put.execute(params![path, now])?;
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
        let transaction = connection.transaction()?;
        let is_new = transaction.execute(
            "INSERT INTO votes (key, voted_at) VALUES (?1, ?2) ON CONFLICT (key) DO NOTHING",
            params![vote.key, vote.at],
        )? > 0;
        if is_new {
            let most = MOST_USES.cast_signed();
            let by = if vote.is_useful { 1 } else { -1 };
            transaction.execute(
                "INSERT INTO usage (path, uses) VALUES (?1, max(0, ?2))
                 ON CONFLICT (path) DO UPDATE SET uses = max(0, min(?3, uses + ?2))",
                params![vote.path, by, most],
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
        let votes: Option<String> = self
            .lock()
            .query_row("SELECT value FROM meta WHERE key = 'votes'", [], |row| {
                row.get(0)
            })
            .optional()?;
        let votes: u64 = votes.and_then(|it| it.parse().ok()).unwrap_or(0);
        Ok(self.generation()?.unwrap_or(0).saturating_add(votes))
    }
}

fn is_read_only(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    matches!(
        error.sqlite_error_code(),
        Some(ReadOnly | PermissionDenied | CannotOpen)
    )
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
