//! The remembered data: usage of files, messages, pins, votes and stored settings. It cannot be
//! rebuilt from the files, so it has a database of its own beside the rest and is never removed
//! with that.

mod keep;
mod rows;
mod salvage;

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use ctx_model::UnixSeconds;
use ctx_retrieve::{MOST_USES, Message, Vote};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, params};

use self::rows::{Changes, KEPT, MESSAGES, PINNED, USAGE, VOTES};
use crate::StoredOptions;
use crate::error::Fault;
use crate::own::REMEMBERED_DB;
use crate::store::{FileId, file_id};

/// The key of the number of votes counted.
const VOTES_COUNTED: &str = "votes";
/// The keys of the stored settings.
const INCLUDE_GENERATED: &str = "include-generated";
const MAX_FILE_BYTES: &str = "max-file-bytes";
/// The key of the root's path.
const ROOT: &str = "root";
/// The key of the time when the index was opened, in seconds since 1970.
const OPENED_AT: &str = "opened-at";
/// The opening time is rewritten at most this often, in seconds.
const DAY: i64 = 86_400;

/// The database.
#[derive(Debug)]
pub(crate) struct Remembered(Mutex<Opened>);

/// The open database.
#[derive(Debug)]
struct Opened {
    connection: Connection,
    is_writable: bool,
    /// Its file, if a replacement by another process is followed: not if it is in memory or was
    /// opened only to look.
    place: Option<DatabaseFile>,
}

/// The identity of a database file, if the system has one, and its folder.
#[derive(Debug)]
struct DatabaseFile {
    folder: PathBuf,
    file: Option<FileId>,
}

impl Deref for Opened {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Opened {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

impl Opened {
    /// The folder, if another database has replaced this one there.
    fn replaced_in(&self) -> Option<&Path> {
        let DatabaseFile { folder, file } = self.place.as_ref()?;
        let now = file_id(&folder.join(REMEMBERED_DB));
        (now.is_some() && now != *file).then_some(folder)
    }
}

impl Remembered {
    fn lock(&self) -> MutexGuard<'_, Opened> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The database that is in the folder now. A process that found this one damaged has put
    /// another in its place, and writes to this one would be lost. One look at the file; O(bytes)
    /// if it is another.
    fn current(&self) -> Result<MutexGuard<'_, Opened>, Fault> {
        let mut opened = self.lock();
        if let Some(folder) = opened.replaced_in() {
            let (other, loss) = Remembered::open(folder)?;
            if loss.is_some() {
                // The details are not logged: they quote paths.
                tracing::warn!("what an index remembered is lost");
            }
            *opened = other.into_opened();
        }
        Ok(opened)
    }

    fn into_opened(self) -> Opened {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_writable(&self) -> bool {
        self.lock().is_writable
    }

    /// Continues with `other`, since the file of this one was removed and writes to it would be
    /// lost.
    pub(crate) fn go_on_with(&self, other: Remembered) {
        *self.lock() = other.into_opened();
    }

    /// Changes rows, all or nothing.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Changes<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut connection = self.current()?;
        let mut changes = Changes::begin(&mut connection)?;
        let result = change(&mut changes)?;
        changes.commit()?;
        Ok(result)
    }

    pub(crate) fn uses(&self, paths: &[String]) -> Result<BTreeMap<String, u64>, Fault> {
        let connection = self.current()?;
        let mut uses = BTreeMap::new();
        for path in paths {
            let found = usage(&connection, path)?;
            uses.extend(found.map(|(count, _)| (path.clone(), count.cast_unsigned())));
        }
        Ok(uses)
    }

    /// Records that files were shown. Does nothing if nothing can be written.
    pub(crate) fn shown(&self, paths: &[String], now: UnixSeconds) -> Result<(), Fault> {
        if !self.is_writable() {
            return Ok(());
        }
        let clock = UnixSeconds::after_1970(UNIX_EPOCH.elapsed().unwrap_or_default());
        self.change(|changes| {
            for path in paths {
                let (uses, shown_at) = usage(changes, path)?.unwrap_or_default();
                // A time that has not come yet is of a clock that was ahead.
                let before = if shown_at > clock.get() { 0 } else { shown_at };
                let row = [text(path), uses.into(), before.max(now.get()).into()];
                changes.put(&USAGE, &row)?;
            }
            Ok(())
        })
    }

    /// Whether any file is recorded as shown or useful.
    pub(crate) fn has_uses(&self) -> Result<bool, Fault> {
        let sql = "SELECT EXISTS (SELECT 1 FROM usage)";
        Ok(self.current()?.query_row(sql, [], |row| row.get(0))?)
    }

    /// Records renames, in which no path occurs twice as a source or as a target: the usage of a
    /// file follows it. If a renamed file replaced another that was not renamed, the larger value
    /// of each is kept. For a file of `gone` that was not renamed, the time when it was shown is
    /// dropped, and the whole row if it was never useful.
    pub(crate) fn moved(&self, moves: &[(String, String)], gone: &[String]) -> Result<(), Fault> {
        if !self.is_writable() || (moves.is_empty() && gone.is_empty()) {
            return Ok(());
        }
        self.change(|changes| {
            // All rows are read before any is written, as files may have swapped names.
            let mut rows = Vec::new();
            for (from, to) in moves {
                rows.extend(usage(changes, from)?.map(|row| (to, row)));
            }
            for (from, _) in moves {
                changes.remove(&USAGE, &[text(from)])?;
            }
            for (to, (uses, shown_at)) in rows {
                let (before, shown_before) = usage(changes, to)?.unwrap_or_default();
                let (uses, shown_at) = (uses.max(before), shown_at.max(shown_before));
                changes.put(&USAGE, &[text(to), uses.into(), shown_at.into()])?;
            }
            for path in gone {
                if let Some((uses, 1..)) = usage(changes, path)? {
                    changes.put(&USAGE, &[text(path), uses.into(), 0.into()])?;
                }
            }
            // Such rows were left by earlier versions, too.
            for path in idle(changes)? {
                changes.remove(&USAGE, &[Value::Text(path)])?;
            }
            Ok(())
        })
    }

    pub(crate) fn recent(&self, limit: usize) -> Result<Vec<(String, UnixSeconds)>, Fault> {
        let connection = self.current()?;
        let mut statement = connection.prepare_cached(
            "SELECT path, shown_at FROM usage WHERE shown_at > 0 ORDER BY shown_at DESC, path DESC LIMIT ?1",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement.query_map([limit], |row| {
            Ok((row.get(0)?, UnixSeconds::new(row.get(1)?)))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    pub(crate) fn messages(&self, thread: &str, limit: usize) -> Result<Vec<Message>, Fault> {
        let connection = self.current()?;
        let mut statement = connection.prepare_cached(
            "SELECT id, role, content, created_at, seq FROM messages WHERE thread = ?1 ORDER BY seq DESC LIMIT ?2",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement.query_map(params![thread, limit], |row| {
            let (id, role, content): (String, String, String) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            let place = row.get::<_, i64>(4)?.cast_unsigned();
            Ok(Message::new(id, role, content, UnixSeconds::new(row.get(3)?)).with_position(place))
        })?;
        let mut messages = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        messages.reverse();
        Ok(messages)
    }

    pub(crate) fn pinned(&self, thread: &str) -> Result<Vec<String>, Fault> {
        let connection = self.current()?;
        let mut statement =
            connection.prepare_cached("SELECT what FROM pinned WHERE thread = ?1 ORDER BY seq")?;
        let rows = statement.query_map([thread], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Appends a message to its thread, unless it is there already.
    pub(crate) fn append(&self, thread: &str, message: &Message) -> Result<(), Fault> {
        self.change(|changes| {
            let is_known = "SELECT seq FROM messages WHERE thread = ?1 AND id = ?2";
            if seq(changes, is_known, params![thread, message.id])?.is_none() {
                let last = "SELECT max(seq) FROM messages WHERE thread = ?1";
                let next = seq(changes, last, params![thread])?.unwrap_or(0) + 1;
                let row = [
                    text(thread),
                    next.into(),
                    text(&message.id),
                    text(&message.role),
                    text(&message.content),
                    message.sent_at.get().into(),
                ];
                changes.put(&MESSAGES, &row)?;
            }
            Ok(())
        })
    }

    /// Pins the text, unless it is pinned already.
    pub(crate) fn pin(&self, thread: &str, what: &str) -> Result<(), Fault> {
        self.change(|changes| {
            if seq(changes, PIN, params![thread, what])?.is_none() {
                let last = "SELECT max(seq) FROM pinned WHERE thread = ?1";
                let next = seq(changes, last, params![thread])?.unwrap_or(0) + 1;
                changes.put(&PINNED, &[text(thread), next.into(), text(what)])?;
            }
            Ok(())
        })
    }

    pub(crate) fn unpin(&self, thread: &str, what: &str) -> Result<(), Fault> {
        self.change(|changes| {
            if let Some(number) = seq(changes, PIN, params![thread, what])? {
                changes.remove(&PINNED, &[text(thread), number.into()])?;
            }
            Ok(())
        })
    }

    /// Counts a vote, unless it was counted already; all or nothing. Returns whether it was counted
    /// now.
    pub(crate) fn vote(&self, vote: &Vote) -> Result<bool, Fault> {
        self.change(|changes| {
            let is_known = "SELECT voted_at FROM votes WHERE key = ?1";
            if seq(changes, is_known, params![vote.key])?.is_some() {
                return Ok(false);
            }
            changes.put(&VOTES, &[text(&vote.key), vote.at.get().into()])?;
            let by = if vote.is_useful() { 1 } else { -1 };
            let (uses, shown_at) = usage(changes, &vote.path)?.unwrap_or_default();
            let uses = (uses + by).clamp(0, MOST_USES.cast_signed());
            changes.put(&USAGE, &[text(&vote.path), uses.into(), shown_at.into()])?;
            let counted = votes(changes)? + 1;
            changes.put(&KEPT, &[text(VOTES_COUNTED), text(&counted.to_string())])?;
            Ok(true)
        })
    }

    /// The stored settings.
    pub(crate) fn stored_options(&self) -> Result<StoredOptions, Fault> {
        let connection = self.current()?;
        Ok(StoredOptions {
            include_generated: value(&connection, INCLUDE_GENERATED)?,
            max_file_bytes: value(&connection, MAX_FILE_BYTES)?,
        })
    }

    /// Stores settings; a field that is `None` is not changed.
    pub(crate) fn store_options(&self, options: StoredOptions) -> Result<(), Fault> {
        let include_generated = options.include_generated.map(|it| it.to_string());
        let max_file_bytes = options.max_file_bytes.map(|it| it.to_string());
        self.change(|changes| {
            for (key, new) in [
                (INCLUDE_GENERATED, include_generated),
                (MAX_FILE_BYTES, max_file_bytes),
            ] {
                if let Some(new) = new
                    && value::<String>(changes, key)?.as_ref() != Some(&new)
                {
                    changes.put(&KEPT, &[text(key), Value::Text(new)])?;
                }
            }
            Ok(())
        })
    }

    /// Records the root, and at most once a day that the index was opened. Does nothing if nothing
    /// can be written. A root whose path is not UTF-8 is not recorded.
    pub(crate) fn opened(&self, root: &Path, now: UnixSeconds) -> Result<(), Fault> {
        if !self.is_writable() {
            return Ok(());
        }
        let (noted, opened_at) = {
            let connection = self.current()?;
            let opened_at: Option<i64> = value(&connection, OPENED_AT)?;
            (value::<String>(&connection, ROOT)?, opened_at)
        };
        let is_recent = |at: i64| (at..at.saturating_add(DAY)).contains(&now.get());
        let root = root.to_str().unwrap_or_default();
        if noted.as_deref() == Some(root) && opened_at.is_some_and(is_recent) {
            return Ok(());
        }
        self.change(|changes| {
            changes.put(&KEPT, &[text(ROOT), text(root)])?;
            changes.put(&KEPT, &[text(OPENED_AT), text(&now.get().to_string())])?;
            Ok(())
        })
    }

    /// The root, if it was recorded.
    pub(crate) fn root(&self) -> Result<Option<PathBuf>, Fault> {
        let connection = self.current()?;
        let root: Option<String> = value(&connection, ROOT)?;
        Ok(root.filter(|it| !it.is_empty()).map(PathBuf::from))
    }

    /// The number of votes counted. It never falls.
    pub(crate) fn votes(&self) -> Result<u64, Fault> {
        let connection = self.current()?;
        votes(&connection)
    }
}

const PIN: &str = "SELECT seq FROM pinned WHERE thread = ?1 AND what = ?2";

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// How often a file was useful, and when it was last shown.
fn usage(connection: &Connection, path: &str) -> Result<Option<(i64, i64)>, Fault> {
    let mut statement =
        connection.prepare_cached("SELECT uses, shown_at FROM usage WHERE path = ?1")?;
    let row = statement.query_row([path], |row| Ok((row.get(0)?, row.get(1)?)));
    Ok(row.optional()?)
}

/// The files that were never useful and whose time of showing was dropped. O(files).
fn idle(connection: &Connection) -> Result<Vec<String>, Fault> {
    let sql = "SELECT path FROM usage WHERE uses = 0 AND shown_at = 0";
    let mut statement = connection.prepare_cached(sql)?;
    let paths = statement.query_map([], |row| row.get(0))?;
    Ok(paths.collect::<rusqlite::Result<_>>()?)
}

fn seq(
    connection: &Connection,
    sql: &str,
    params: &[&dyn rusqlite::ToSql],
) -> Result<Option<i64>, Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let number = statement.query_row(params, |row| row.get::<_, Option<i64>>(0));
    Ok(number.optional()?.flatten())
}

/// The stored value of this key.
fn value<T: FromStr>(connection: &Connection, key: &str) -> Result<Option<T>, Fault> {
    let mut statement = connection.prepare_cached("SELECT value FROM kept WHERE key = ?1")?;
    let value = statement.query_row([key], |row| row.get::<_, String>(0));
    Ok(value.optional()?.and_then(|it| it.parse().ok()))
}

fn votes(connection: &Connection) -> Result<u64, Fault> {
    Ok(value(connection, VOTES_COUNTED)?.unwrap_or(0))
}

#[cfg(test)]
#[path = "remembered_tests.rs"]
mod tests;
