//! The two databases of one owner, and the connections to them.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, Transaction};

use super::ledger::Ledger;
use super::mark::Mark;
use super::receipts::Unwritten;
use super::rows::FILES;
use super::salvage::{self, log_of};
use super::schema::{STATE, Schema, changes};
use crate::backend::BackendError;
use crate::cause::{Fact, cause};

/// The file of threads, messages, votes and file entries.
pub(super) const STATE_FILE: &str = "state.db";
/// The file of contexts.
pub(super) const BUILT_FILE: &str = "contexts.db";

/// Both databases of one owner.
pub(super) struct Database {
    /// The state, on the disk before a change is acknowledged, and the mark of how far it has come.
    state: Mutex<(Connection, Mark)>,
    /// A second connection to the state, for readers: a writer waits for the disk.
    reader: Mutex<Connection>,
    /// The contexts, on the disk soon after the answer: a lost context can be built again.
    contexts: Mutex<Connection>,
    /// A second connection to the contexts, for readers.
    contexts_reader: Mutex<Connection>,
    /// Sizes and times of the stored contexts. Writers lock `contexts` before they lock this.
    pub(super) ledger: Mutex<Ledger>,
    /// Contexts that were answered and are about to be written.
    pub(super) unwritten: Mutex<Unwritten>,
}

pub(super) type Result<T> = std::result::Result<T, BackendError>;

impl Database {
    /// Opens both databases in `folder`, and creates them if they do not exist. Damaged contexts
    /// are dropped, which is logged.
    ///
    /// # Errors
    /// [`BackendError::Damaged`] if threads, votes or file entries are damaged; errors that keep
    /// the databases from being opened.
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let state = prepared(&folder.join(STATE_FILE), &STATE, "FULL")?;
        let mark = marked(folder, &state)?;
        let contexts = salvage::open(folder)?;
        let ledger = Ledger::read(&contexts)?;
        let reader = connect(&folder.join(STATE_FILE), "FULL")?;
        let contexts_reader = connect(&folder.join(BUILT_FILE), "NORMAL")?;
        // Both are whole, so that nothing of their logs is needed beside them.
        for connection in [&state, &reader, &contexts, &contexts_reader] {
            keep_log(connection, false).map_err(|error| classed("open a database", error))?;
        }
        let database = Database {
            state: Mutex::new((state, mark)),
            reader: Mutex::new(reader),
            contexts: Mutex::new(contexts),
            contexts_reader: Mutex::new(contexts_reader),
            ledger: Mutex::new(ledger),
            unwritten: Mutex::default(),
        };
        // A crash may have come between a thread's removal and theirs.
        if let Err(error) = database.forget_orphans() {
            tracing::error!(cause = cause(&error), "contexts of removed threads stay");
        }
        Ok(database)
    }

    /// Changes messages, votes and file entries in one transaction, which is on the disk when this
    /// returns.
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
            // The change is on the disk. Without the mark it would merely not be noticed if it were
            // lost.
            tracing::warn!(
                cause = cause(&error),
                "the mark of what was written cannot be moved"
            );
        }
        Ok(done)
    }

    /// The connection for reading messages, votes and file entries.
    pub(super) fn reader(&self) -> MutexGuard<'_, Connection> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection for writing contexts, and when files were shown.
    pub(super) fn contexts(&self) -> MutexGuard<'_, Connection> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection for writing contexts, unless it is in use.
    pub(super) fn contexts_unless_held(&self) -> Option<MutexGuard<'_, Connection>> {
        match self.contexts.try_lock() {
            Ok(contexts) => Some(contexts),
            Err(TryLockError::Poisoned(contexts)) => Some(contexts.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The connection for reading contexts, and when files were shown.
    pub(super) fn contexts_reader(&self) -> MutexGuard<'_, Connection> {
        let reader = self.contexts_reader.lock();
        reader.unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of files and the sum of their bytes. O(1).
    pub(super) fn totals(&self) -> Result<(u64, u64)> {
        let sum = FILES.sum(&self.reader())?;
        Ok((sum.count.cast_unsigned(), sum.bytes.cast_unsigned()))
    }
}

/// Checks the state in `folder`, as opening it does.
///
/// # Errors
/// As for [`Database::open`].
pub(super) fn check_state(folder: &Path) -> Result<()> {
    let state = prepared(&folder.join(STATE_FILE), &STATE, "FULL")?;
    marked(folder, &state)?;
    keep_log(&state, false).map_err(|error| classed("open a database", error))
}

/// Reads the mark of `state`, which is in `folder`, and brings it up to date.
///
/// # Errors
/// [`BackendError::Damaged`] if the state is behind the mark.
fn marked(folder: &Path, state: &Connection) -> Result<Mark> {
    let failed = |error| BackendError::failed("open a database", error);
    let (mut mark, reached) = Mark::open(folder).map_err(failed)?;
    let changes = changes(state)?;
    if reached.is_some_and(|it| it > changes) {
        return Err(damaged(Fact("the last writes are missing")));
    }
    // Not written needlessly: that takes room, and a full disk has none.
    if reached != Some(changes) {
        mark.reach(changes).map_err(failed)?;
    }
    Ok(mark)
}

/// Opens the database in `file`, with its tables in the current format.
pub(super) fn prepared(file: &Path, schema: &Schema, synchronous: &str) -> Result<Connection> {
    let mut connection = connect(file, synchronous)?;
    let prepared = schema.prepare(&mut connection);
    // A file format of SQLite can be too new to be written and still be readable. None of our files
    // has one, so it is damage.
    if connection.is_readonly(MAIN_DB).unwrap_or(false) && may_be_written(file) {
        return Err(damaged(Fact("it is marked as read-only")));
    }
    prepared?;
    // The pages that a savepoint could restore are kept in memory, not in a file; they are only
    // those of one write. Readers, who may sort a lot, use temporary files, and so did the
    // migration above.
    let in_memory = connection.pragma_update(None, "temp_store", "MEMORY");
    in_memory.map_err(|error| classed("open a database", error))?;
    Ok(connection)
}

fn may_be_written(file: &Path) -> bool {
    OpenOptions::new().append(true).open(file).is_ok()
}

/// A connection to a database that no other process uses. On Unix the index of its write-ahead log
/// is in memory, so it needs no disk space: the database can be read when the disk is full.
fn connection(file: &Path) -> rusqlite::Result<Connection> {
    if cfg!(unix) {
        return Connection::open_with_flags_and_vfs(file, OpenFlags::default(), c"unix-excl");
    }
    Connection::open(file)
}

/// Whether the log stays as it is when the last connection is closed. Otherwise `SQLite` moves what
/// it can read of it to the database and removes it, with all that comes after damage.
pub(super) fn keep_log(connection: &Connection, keeps: bool) -> rusqlite::Result<()> {
    let set = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    connection.set_db_config(set, keeps).map(|_| ())
}

/// A connection that leaves the log as it is, until it is said that it need not.
fn connect(file: &Path, synchronous: &str) -> Result<Connection> {
    let open = || -> rusqlite::Result<Connection> {
        let connection = connection(file)?;
        keep_log(&connection, true)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", synchronous)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        // A plan that does not depend on the bound values: otherwise a statement is prepared again
        // for other values.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(connection)
    };
    open().map_err(|error| match refusal(&error, file) {
        Some(refusal) => BackendError::failed("open a database", refusal),
        None => classed("open a database", error),
    })
}

/// What the system says of a file that `SQLite` cannot open, of which the library says no more than
/// that: whether it may be opened later depends on it. `None` if it can be opened by now.
fn refusal(error: &rusqlite::Error, file: &Path) -> Option<io::Error> {
    if error.sqlite_error_code() != Some(ErrorCode::CannotOpen) {
        return None;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    let log = options.open(log_of(file)).err();
    let log = log.filter(|it| it.kind() != io::ErrorKind::NotFound);
    // SQLite creates it, too.
    options.create(true).truncate(false);
    options.open(file).err().or(log)
}

/// Reports damage of threads, messages, votes or file entries.
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

/// Whether the error is caused by wrong bytes on the disk.
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

    #[test]
    fn a_database_that_cannot_be_opened_is_told_by_the_systems_reason() {
        for name in [STATE_FILE, "state.db-wal", BUILT_FILE] {
            let folder = tempfile::tempdir().unwrap();
            drop(Database::open(folder.path()).unwrap());
            let file = folder.path().join(name);
            let _ = std::fs::remove_file(&file);
            std::fs::create_dir(&file).unwrap();
            // Asking again does not help: it was said to.
            let Err(BackendError::Failed { source, .. }) = Database::open(folder.path()) else {
                panic!("{name}");
            };
            let kind = source.downcast_ref().map(io::Error::kind);
            assert_eq!(kind, Some(io::ErrorKind::IsADirectory), "{name}: {source}");
        }
    }

    /// No test can show what a power failure would undo; it can only check that a transaction waits
    /// for the disk.
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
            // FULL: the log is synced with each transaction
            // (<https://sqlite.org/pragma.html#pragma_synchronous>).
            assert_eq!(asked(connection, "synchronous"), "Integer(2)");
            assert_eq!(asked(connection, "journal_mode"), "Text(\"wal\")");
        }
        for connection in [&*database.contexts(), &*database.contexts_reader()] {
            assert_eq!(asked(connection, "synchronous"), "Integer(1)");
        }
    }
}
