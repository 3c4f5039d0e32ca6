//! The databases of one owner, and the files that are noted in them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::rows;
use crate::backend::{BackendError, Prime};

/// The format of `state.db`.
const VERSION: i64 = 4;

/// From format 1, whose votes were of contexts: what they came to is kept.
const FROM_1: &str = "
    DROP TABLE votes;
    ALTER TABLE usage RENAME COLUMN votes TO uses;
    UPDATE usage SET uses = max(0, uses);";

/// From format 2, whose files were never pending.
const FROM_2: &str = "ALTER TABLE files ADD COLUMN pending INTEGER NOT NULL DEFAULT 0;";

const CONTEXTS: &str = "
    CREATE TABLE IF NOT EXISTS contexts (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, receipt TEXT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS shown (path TEXT PRIMARY KEY, shown_at INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS shown_last ON shown (shown_at);";

/// Both databases of one owner.
pub(super) struct Database {
    /// On the disk before it is acknowledged.
    state: Mutex<Connection>,
    /// The same, for whoever reads: writing waits for the disk.
    reader: Mutex<Connection>,
    /// On the disk soon after: a context can be built again.
    contexts: Mutex<Connection>,
    /// The same, for whoever reads.
    contexts_reader: Mutex<Connection>,
    /// Contexts that were answered and are about to be written, by their ids.
    pub(super) unwritten: Mutex<BTreeMap<String, Prime>>,
}

pub(super) type Result<T> = std::result::Result<T, BackendError>;

impl Database {
    /// Opens both in `folder`, and makes them where there are none.
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let open = |name: &str, synchronous: &str| -> rusqlite::Result<Connection> {
            let connection = connect(&folder.join(name))?;
            connection.busy_timeout(Duration::from_secs(5))?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", synchronous)?;
            connection.pragma_update(None, "foreign_keys", true)?;
            Ok(connection)
        };
        let failed = |error| BackendError::failed("open a database", error);
        let mut state = open("state.db", "FULL").map_err(failed)?;
        prepare(&mut state)?;
        let contexts = open("contexts.db", "NORMAL").map_err(failed)?;
        contexts.execute_batch(CONTEXTS).map_err(failed)?;
        Ok(Database {
            state: Mutex::new(state),
            reader: Mutex::new(open("state.db", "FULL").map_err(failed)?),
            contexts: Mutex::new(contexts),
            contexts_reader: Mutex::new(open("contexts.db", "NORMAL").map_err(failed)?),
            unwritten: Mutex::default(),
        })
    }

    /// Messages, votes and files, to be written.
    pub(super) fn state(&self) -> MutexGuard<'_, Connection> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, to be read.
    pub(super) fn reader(&self) -> MutexGuard<'_, Connection> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Contexts, and when files were shown, to be written.
    pub(super) fn contexts(&self) -> MutexGuard<'_, Connection> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, to be read.
    pub(super) fn contexts_reader(&self) -> MutexGuard<'_, Connection> {
        let reader = self.contexts_reader.lock();
        reader.unwrap_or_else(PoisonError::into_inner)
    }

    /// How many files there are, and their bytes.
    pub(super) fn totals(&self) -> Result<(u64, u64)> {
        let state = self.reader();
        let row = state.query_row(
            "SELECT count(*), coalesce(sum(bytes), 0) FROM files",
            [],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)),
        );
        let (files, bytes) = row.map_err(read_failed)?;
        Ok((files.cast_unsigned(), bytes.cast_unsigned()))
    }
}

/// A connection to a database that no other process uses. On Unix the index of its write-ahead log is in memory, as it
/// needs no room on the disk there: what a full one holds can be read.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    if cfg!(unix) {
        return Connection::open_with_flags_and_vfs(path, OpenFlags::default(), c"unix-excl");
    }
    Connection::open(path)
}

/// Makes the tables of `state.db`, or brings those of an older format up to date, and looks whether they are as
/// they were written.
fn prepare(state: &mut Connection) -> Result<()> {
    let version = state.pragma_query_value(None, "user_version", |row| row.get(0));
    let version: i64 = version.map_err(read_failed)?;
    let before: Option<&[&str]> = match version {
        0 | VERSION => None,
        1 => Some(&[FROM_1, FROM_2]),
        2 => Some(&[FROM_2]),
        3 => Some(&[]),
        other => {
            let what = format!("it is of format {other}, this program reads {VERSION}");
            return Err(BackendError::failed("open a database", what));
        }
    };
    let transaction = state.transaction().map_err(write_failed)?;
    match before {
        None => rows::create(&transaction)?,
        Some(steps) => {
            for step in steps {
                transaction.execute_batch(step).map_err(write_failed)?;
            }
            rows::replace(&transaction)?;
        }
    }
    rows::check(&transaction)?;
    // Writing takes room, which a full disk has not.
    if version != VERSION {
        let version = transaction.pragma_update(None, "user_version", VERSION);
        version.map_err(write_failed)?;
    }
    transaction.commit().map_err(write_failed)
}

/// What is kept of threads, messages, votes and files is not as it was written.
pub(super) fn damaged(how: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> BackendError {
    BackendError::Damaged {
        what: "what is kept of threads, votes and files",
        source: how.into(),
    }
}

pub(super) fn at_most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(super) fn read_failed(error: rusqlite::Error) -> BackendError {
    if is_damage(&error) {
        return damaged(error);
    }
    BackendError::failed("read a database", error)
}

pub(super) fn write_failed(error: rusqlite::Error) -> BackendError {
    if is_damage(&error) {
        return damaged(error);
    }
    BackendError::failed("write a database", error)
}

/// Whether it is the bytes on the disk that are at fault.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
    };
    let code = error.sqlite_error_code();
    let is_of_value = matches!(
        error,
        FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnType(..)
            | Utf8Error(..)
    );
    is_of_value
        || matches!(
            code,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        )
}
