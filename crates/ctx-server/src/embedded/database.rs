//! The databases of one owner, and the files that are noted in them.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, Transaction};

use super::ledger::Ledger;
use super::mark::Mark;
use super::receipts::Unwritten;
use super::rows::FILES;
use super::salvage;
use super::schema::{STATE, Schema, changes};
use crate::backend::BackendError;
use crate::cause::{Fact, cause};

/// Its file.
pub(super) const STATE_FILE: &str = "state.db";
/// The file of contexts.
pub(super) const BUILT_FILE: &str = "contexts.db";

/// Both databases of one owner.
pub(super) struct Database {
    /// On the disk before it is acknowledged; and how far it is.
    state: Mutex<(Connection, Mark)>,
    /// The same, for whoever reads: writing waits for the disk.
    reader: Mutex<Connection>,
    /// On the disk soon after: a context can be built again.
    contexts: Mutex<Connection>,
    /// The same, for whoever reads.
    contexts_reader: Mutex<Connection>,
    /// What is kept of contexts. Whoever writes them holds them first.
    pub(super) ledger: Mutex<Ledger>,
    /// Contexts that were answered and are about to be written.
    pub(super) unwritten: Mutex<Unwritten>,
}

pub(super) type Result<T> = std::result::Result<T, BackendError>;

impl Database {
    /// Opens both in `folder`, and makes them where there are none. Contexts that are damaged are let go, and that
    /// is logged.
    ///
    /// # Errors
    /// [`BackendError::Damaged`] where threads, votes or files are; what keeps the databases from being opened.
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let state = prepared(&folder.join(STATE_FILE), &STATE, "FULL")?;
        let mark = marked(folder, &state)?;
        let contexts = salvage::open(folder)?;
        let ledger = Ledger::read(&contexts)?;
        Ok(Database {
            state: Mutex::new((state, mark)),
            reader: Mutex::new(connect(&folder.join(STATE_FILE), "FULL")?),
            contexts: Mutex::new(contexts),
            contexts_reader: Mutex::new(connect(&folder.join(BUILT_FILE), "NORMAL")?),
            ledger: Mutex::new(ledger),
            unwritten: Mutex::default(),
        })
    }

    /// Changes messages, votes and files, all or nothing. It is on the disk when this returns.
    ///
    /// # Errors
    /// Those of `work`, after which nothing is changed, and those of the disk.
    pub(super) fn change<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (connection, mark) = &mut *state;
        let transaction = connection.transaction().map_err(write_failed)?;
        let done = work(&transaction)?;
        let changes = changes(&transaction)?;
        transaction.commit().map_err(write_failed)?;
        if let Err(error) = mark.reach(changes) {
            // What was changed is on the disk. Only that it is missed, should it get lost, is not certain.
            tracing::warn!(
                cause = cause(&error),
                "the mark of what was written cannot be moved"
            );
        }
        Ok(done)
    }

    /// Messages, votes and files, to be read.
    pub(super) fn reader(&self) -> MutexGuard<'_, Connection> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Contexts, and when files were shown, to be written.
    pub(super) fn contexts(&self) -> MutexGuard<'_, Connection> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, unless somebody writes.
    pub(super) fn contexts_unless_held(&self) -> Option<MutexGuard<'_, Connection>> {
        match self.contexts.try_lock() {
            Ok(contexts) => Some(contexts),
            Err(TryLockError::Poisoned(contexts)) => Some(contexts.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The same, to be read.
    pub(super) fn contexts_reader(&self) -> MutexGuard<'_, Connection> {
        let reader = self.contexts_reader.lock();
        reader.unwrap_or_else(PoisonError::into_inner)
    }

    /// How many files there are, and their bytes. O(1).
    pub(super) fn totals(&self) -> Result<(u64, u64)> {
        let sum = FILES.sum(&self.reader())?;
        Ok((sum.count.cast_unsigned(), sum.bytes.cast_unsigned()))
    }
}

/// The mark of `state`, which is in `folder`.
///
/// # Errors
/// [`BackendError::Damaged`] where the state is not as far as that.
fn marked(folder: &Path, state: &Connection) -> Result<Mark> {
    let failed = |error| BackendError::failed("open a database", error);
    let (mut mark, reached) = Mark::open(folder).map_err(failed)?;
    let changes = changes(state)?;
    if reached.is_some_and(|it| it > changes) {
        return Err(damaged(Fact("what was written last is missing")));
    }
    // Writing takes room, which a full disk has not.
    if reached != Some(changes) {
        mark.reach(changes).map_err(failed)?;
    }
    Ok(mark)
}

/// The database in `file`, with its tables as they are to be.
pub(super) fn prepared(file: &Path, schema: &Schema, synchronous: &str) -> Result<Connection> {
    let mut connection = connect(file, synchronous)?;
    let prepared = schema.prepare(&mut connection);
    // A database can be of a later version, which this one may read and no more. None of ours is.
    if connection.is_readonly(MAIN_DB).unwrap_or(false) && may_be_written(file) {
        return Err(damaged(Fact("it says that it is only to be read")));
    }
    prepared?;
    // What a savepoint could bring back is kept in memory, and in no file: the pages of what is written at once. Readers, who
    // may have much to sort, have files for it, and so had the tables as they were made.
    let in_memory = connection.pragma_update(None, "temp_store", "MEMORY");
    in_memory.map_err(|error| classed("open a database", error))?;
    Ok(connection)
}

fn may_be_written(file: &Path) -> bool {
    OpenOptions::new().append(true).open(file).is_ok()
}

/// A connection to a database that no other process uses. On Unix the index of its write-ahead log is in memory, as it
/// needs no room on the disk there: what a full one holds can be read.
fn connection(file: &Path) -> rusqlite::Result<Connection> {
    if cfg!(unix) {
        return Connection::open_with_flags_and_vfs(file, OpenFlags::default(), c"unix-excl");
    }
    Connection::open(file)
}

fn connect(file: &Path, synchronous: &str) -> Result<Connection> {
    let open = || -> rusqlite::Result<Connection> {
        let connection = connection(file)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", synchronous)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        // A plan for whatever is asked: else a statement is prepared anew for other values.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(connection)
    };
    open().map_err(|error| classed("open a database", error))
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
    classed("read a database", error)
}

pub(super) fn write_failed(error: rusqlite::Error) -> BackendError {
    classed("write a database", error)
}

fn classed(what: &'static str, error: rusqlite::Error) -> BackendError {
    if is_damage(&error) {
        return damaged(error);
    }
    BackendError::failed(what, error)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a loss of power takes back no test can see: that a transaction waits for the disk is all that can be asked.
    #[test]
    fn the_state_waits_for_the_disk_and_contexts_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(folder.path()).unwrap();
        let asked = |connection: &Connection, name: &str| -> String {
            connection
                .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
                .map(|value| format!("{value:?}"))
                .unwrap()
        };
        let state = database.state.lock().unwrap();
        for connection in [&state.0, &*database.reader()] {
            // FULL: the log is synced with each transaction (<https://sqlite.org/pragma.html#pragma_synchronous>).
            assert_eq!(asked(connection, "synchronous"), "Integer(2)");
            assert_eq!(asked(connection, "journal_mode"), "Text(\"wal\")");
        }
        for connection in [&*database.contexts(), &*database.contexts_reader()] {
            assert_eq!(asked(connection, "synchronous"), "Integer(1)");
        }
    }
}
