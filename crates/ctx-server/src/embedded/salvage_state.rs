//! Salvage of a damaged state, when whoever runs the server asks for it. Threads, messages and
//! votes cannot be made again, so nothing of them is given up unasked: a damaged state closes its
//! owner's folder. Here its intact rows become a new state, and what was damaged is kept beside it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, Transaction};

use super::database::{Result, STATE_FILE, check_state, keep_log, read_failed, write_failed};
use super::mark::Mark;
use super::rows::{FILES, THREADS, THREADS_7, Table};
use super::salvage::{each_readable, failed, log_of, remove, remove_logs};
use super::schema::{STATE, changes};
use crate::backend::BackendError;
use crate::random::random_id;

/// What was salvaged of the state of an owner, which was damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Salvaged {
    /// The owner's folder; the owner's name is not in it.
    pub folder: PathBuf,
    /// The name in it of a copy of the database as it was found, which has a log beside it, if
    /// there was one. `None` if nothing of it can be read: then it was left in its place.
    pub kept_as: Option<String>,
    /// What there is now, by kind.
    pub rows: Vec<SalvagedRows>,
    /// Threads that were made for messages whose own thread was lost.
    pub threads_made: u64,
    /// Whether what was written last is missing, besides what is counted as lost.
    pub is_behind: bool,
}

/// How many rows of one kind were salvaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvagedRows {
    /// The kind: `files`, `threads`, `messages`, `votes` or `usage`.
    pub kind: &'static str,
    /// How many were intact.
    pub kept: u64,
    /// How many were not, or could not be read, as far as is known.
    pub lost: u64,
}

/// Salvages the state in the owner's `folder`; `None` if it is not damaged. O(bytes).
///
/// The new state is on the disk before it takes the place of the damaged one. Its count of changes
/// is beyond the mark, so that it does not seem to be behind.
pub(super) fn salvage(folder: &Path) -> Result<Option<Salvaged>> {
    match check_state(folder) {
        Err(BackendError::Damaged { .. }) => {}
        checked => return checked.map(|()| None),
    }
    let (_, reached) = Mark::open(folder).map_err(failed)?;
    let file = folder.join(STATE_FILE);
    let kept_as = keep(&file).map_err(failed)?;
    let new = folder.join("state.new");
    remove(&new).map_err(failed)?;
    let mut salvaged = Salvaged {
        folder: folder.to_owned(),
        kept_as: Some(kept_as.clone()),
        rows: Vec::new(),
        threads_made: 0,
        is_behind: false,
    };
    let mut to = Connection::open(&new).map_err(write_failed)?;
    STATE.prepare(&mut to)?;
    let transaction = to.transaction().map_err(write_failed)?;
    let mut written = None;
    if let Ok(from) = Connection::open(&file) {
        keep_log(&from, true).map_err(read_failed)?;
        written = changes(&from).ok();
        let tables = STATE.tables_of(&from).iter().zip(STATE.tables);
        let rows = tables.map(|(it, today)| take((it, today), &from, &transaction));
        salvaged.rows = rows.collect::<Result<_>>()?;
    }
    salvaged.threads_made = make_threads(&transaction)?;
    number_activities(&transaction)?;
    let reached = reached.unwrap_or_default();
    salvaged.is_behind = written.is_none_or(|it| it < reached);
    let more = "UPDATE sums SET changes = changes + ?1 WHERE name = ?2";
    let more = transaction.execute(more, (reached.max(written.unwrap_or_default()), FILES.name));
    more.map_err(write_failed)?;
    transaction.commit().map_err(write_failed)?;
    to.close().map_err(|(_, error)| write_failed(error))?;
    if salvaged.rows.iter().all(|it| it.kept == 0) {
        salvaged.kept_as = None;
        for file in [
            &new,
            &folder.join(&kept_as),
            &log_of(&folder.join(&kept_as)),
        ] {
            remove(file).map_err(failed)?;
        }
        return Ok(Some(salvaged));
    }
    remove_logs(&file).map_err(failed)?;
    fs::rename(&new, &file).map_err(failed)?;
    sync(folder).map_err(failed)?;
    Ok(Some(salvaged))
}

/// Copies `file`, and its log if there is one, to a name that is free. Returns that.
fn keep(file: &Path) -> io::Result<String> {
    let mut number = 1_u32;
    let name = loop {
        let name = format!("{STATE_FILE}.damaged-{number}");
        if !file.with_file_name(&name).try_exists()? {
            break name;
        }
        number += 1;
    };
    let copy = file.with_file_name(&name);
    let log = log_of(file);
    if log.try_exists()? {
        fs::copy(log, log_of(&copy))?;
        File::open(log_of(&copy))?.sync_all()?;
    }
    fs::copy(file, &copy)?;
    File::open(&copy)?.sync_all()?;
    Ok(name)
}

/// Copies the intact rows of a table that can be read to that of today.
fn take(
    (table, today): (&Table, &Table),
    from: &Connection,
    to: &Transaction<'_>,
) -> Result<SalvagedRows> {
    let written = table.sum(from).map_or(0, |it| it.count);
    let (mut seen, mut fault) = (0, None);
    each_readable(table, from, &mut |row| {
        seen += 1;
        if let Ok(mut values) = table.whole(row).and_then(|row| table.values(row))
            && let Err(error) = {
                // Those of threads of an earlier format are known when all is taken.
                values.resize(today.columns.len(), 0.into());
                today.put(to, &values)
            }
            && !is_taken(&error)
        {
            fault = Some(error);
        }
    });
    if let Some(error) = fault {
        return Err(error);
    }
    let kept = today.sum(to)?.count;
    Ok(SalvagedRows {
        kind: table.name,
        kept: kept.cast_unsigned(),
        lost: (written.max(seen) - kept).max(0).cast_unsigned(),
    })
}

/// Whether a row could not be written because one of its keys is another's.
fn is_taken(error: &BackendError) -> bool {
    let source = std::error::Error::source(error);
    let source = source.and_then(|it| it.downcast_ref::<rusqlite::Error>());
    source.and_then(rusqlite::Error::sqlite_error_code) == Some(ErrorCode::ConstraintViolation)
}

/// Makes a thread for the messages of each that was lost: these can be read then, and removed.
fn make_threads(to: &Transaction<'_>) -> Result<u64> {
    let get = "SELECT thread, min(created_at) FROM messages
        WHERE thread NOT IN (SELECT seq FROM threads) GROUP BY thread ORDER BY thread";
    let mut get = to.prepare(get).map_err(read_failed)?;
    let lost = get.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let lost = lost.and_then(Iterator::collect::<rusqlite::Result<Vec<(i64, i64)>>>);
    let lost = lost.map_err(read_failed)?;
    for (seq, created_at) in &lost {
        let id = format!("thr-{}", random_id()?);
        let title = "salvaged".to_owned();
        let pinned = "[]".to_owned();
        let row = [
            (*seq).into(),
            id.into(),
            title.into(),
            pinned.into(),
            (*created_at).into(),
            0.into(),
            0.into(),
        ];
        THREADS.put(to, &row)?;
    }
    Ok(lost.len() as u64)
}

/// Gives a last activity to the threads that have none, as they were made here or are of an earlier
/// format: their creation or last message. They come after the others, in the order of these times.
fn number_activities(to: &Transaction<'_>) -> Result<()> {
    let get = "SELECT t.seq, max(t.created_at, coalesce(max(m.created_at), t.created_at)) AS at,
            (SELECT max(activity) FROM threads) + row_number() OVER (
                ORDER BY max(t.created_at, coalesce(max(m.created_at), t.created_at)), t.seq
            )
        FROM threads t LEFT JOIN messages m ON m.thread = t.seq
        WHERE t.activity = 0 GROUP BY t.seq";
    let mut get = to.prepare(get).map_err(read_failed)?;
    let idle = get.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    let idle = idle.and_then(Iterator::collect::<rusqlite::Result<Vec<(i64, i64, i64)>>>);
    let thread = THREADS.select("WHERE seq = ?1");
    for (seq, active_at, activity) in idle.map_err(read_failed)? {
        let values = to.query_row(&thread, [seq], |row| THREADS.values(row));
        let mut values = values.map_err(read_failed)?;
        values.truncate(THREADS_7.columns.len());
        values.extend([activity.into(), active_at.into()]);
        THREADS.put(to, &values)?;
    }
    Ok(())
}

/// Puts the names in `folder` on the disk, where the system can.
fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "salvage_state_tests.rs"]
mod tests;
