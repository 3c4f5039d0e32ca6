//! Recovery of damaged contexts. Contexts can be built again, so damage does not close the folder:
//! intact rows are copied to a new file, and for damaged ones it is recorded that they existed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::types::Value;
use rusqlite::{Connection, Row, Transaction};

use super::database::{BUILT_FILE, Result, prepared, write_failed};
use super::receipts::thread_of;
use super::rows::{CONTEXTS, Table};
use super::schema::BUILT;
use crate::backend::BackendError;
use crate::cause::cause;

/// How many rows were intact, and how many were not.
#[derive(Clone, Copy, Debug, Default)]
struct Left {
    whole: usize,
    damaged: usize,
}

/// Opens the contexts in `folder`, recovering them if they are damaged.
pub(super) fn open(folder: &Path) -> Result<Connection> {
    let file = folder.join(BUILT_FILE);
    match prepared(&file, &BUILT, "NORMAL") {
        Err(BackendError::Damaged { source, .. }) => {
            let Left { whole, damaged } = salvage(&file)?;
            let cause = cause(&*source);
            tracing::error!(cause, whole, damaged, "contexts that were kept are damaged");
            prepared(&file, &BUILT, "NORMAL")
        }
        opened => opened,
    }
}

/// Replaces `file` by one that contains its intact rows.
fn salvage(file: &Path) -> Result<Left> {
    let new = file.with_extension("new");
    remove(&new).map_err(failed)?;
    let mut to = Connection::open(&new).map_err(write_failed)?;
    BUILT.prepare(&mut to)?;
    let transaction = to.transaction().map_err(write_failed)?;
    let mut left = Left::default();
    if let Ok(from) = Connection::open(file) {
        for table in BUILT.tables_of(&from) {
            left.take(table, &from, &transaction);
        }
    }
    transaction.commit().map_err(write_failed)?;
    to.close().map_err(|(_, error)| write_failed(error))?;
    remove_logs(file).map_err(failed)?;
    fs::rename(&new, file).map_err(failed)?;
    Ok(left)
}

/// A file of a database that cannot be written, or read as it is copied.
pub(super) fn failed(error: io::Error) -> BackendError {
    BackendError::failed("write a database", error)
}

/// Removes the log of a database that another takes the place of: it must not be applied to that.
pub(super) fn remove_logs(file: &Path) -> io::Result<()> {
    remove(&log_of(file))?;
    remove(&beside(file, "-shm"))
}

/// The write-ahead log of a database.
pub(super) fn log_of(file: &Path) -> PathBuf {
    beside(file, "-wal")
}

fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Calls `each` with the rows of `table` that can be read: from either end of it, up to a page that
/// cannot.
pub(super) fn each_readable(table: &Table, from: &Connection, each: &mut dyn FnMut(&Row<'_>)) {
    let number = table.columns.iter().find(|it| **it == "seq");
    let key = number.unwrap_or(&table.columns[0]);
    let mut read = |order: &str| -> rusqlite::Result<()> {
        let mut all = from.prepare(&table.select(&format!("ORDER BY {key} {order}")))?;
        let mut rows = all.query([])?;
        while let Some(row) = rows.next()? {
            each(row);
        }
        Ok(())
    };
    let _ = read("ASC").or_else(|_| read("DESC"));
}

impl Left {
    /// Copies the readable rows of a table to that of today.
    fn take(&mut self, table: &Table, from: &Connection, to: &Transaction<'_>) {
        let today = if table.name == CONTEXTS.name {
            &CONTEXTS
        } else {
            table
        };
        each_readable(table, from, &mut |row| {
            let whole = table.whole(row).and_then(|row| table.values(row));
            match whole.map(|values| with_thread(values, today)) {
                Ok(values) if today.put(to, &values).is_ok() => self.whole += 1,
                _ => {
                    self.damaged += 1;
                    // If not even its id can be stored, the row is treated as unreadable.
                    let _ = gravestone(table, row).map(|it| today.put(to, &it));
                }
            }
        });
    }
}

/// A row with the columns of `today`: of an earlier format only the receipt tells the thread.
fn with_thread(mut values: Vec<Value>, today: &Table) -> Vec<Value> {
    if values.len() < today.columns.len()
        && let Some(Value::Text(receipt)) = values.last()
    {
        let thread = thread_of(receipt).map_or(Value::Null, Value::Text);
        values.insert(2, thread);
    }
    values
}

/// What is kept of a damaged context: that one with this id existed.
fn gravestone(table: &Table, row: &Row<'_>) -> Option<[Value; 4]> {
    let is_context = table.name == CONTEXTS.name;
    let id: String = row.get(0).ok().filter(|_| is_context)?;
    let seq: i64 = row.get(1).ok()?;
    Some([id.into(), seq.into(), Value::Null, String::new().into()])
}

pub(super) fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "salvage_tests.rs"]
mod tests;
