//! What is known of each file: a `SQLite` database. All of it can be made again from the files.
//!
//! Before the text index is committed, the files that it is about to change are marked here; after it, what
//! became of them is noted. A crash between the two leaves marks, and what is marked is indexed again: so it
//! loses nothing and shows nothing twice, whichever of the two the text index has.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use crate::database::{self, Access, Seal, Sum, check_pages, short};
use crate::error::Fault;
use crate::options::{Passed, Reason, Wanted};
use crate::own::APPLICATION_ID;
use crate::schema::FORMAT;

/// The form of the tables. Others are made anew.
pub(crate) const LAYOUT: u32 = 5;
/// Before this they held what is remembered besides.
pub(crate) const APART: u32 = 4;

/// How often the text index was committed.
const GENERATION: &str = "generation";
/// A number by chance, which no other manifest has; none until it is first written.
const ID: &str = "id";
/// When the manifest was written last, in seconds since 1970.
const WRITTEN_AT: &str = "written_at";

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS files (
        path TEXT PRIMARY KEY, size INTEGER NOT NULL, modified INTEGER NOT NULL, hash BLOB NOT NULL,
        parts INTEGER NOT NULL, lines INTEGER NOT NULL, generated INTEGER NOT NULL, seal BLOB NOT NULL
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
    /// Whether its text says that a machine wrote it.
    pub(crate) is_generated: bool,
}

/// In place of the hash of a file that holds no text,
pub(crate) const NO_TEXT: [u8; 32] = [0; 32];
/// of an empty one,
const EMPTY: [u8; 32] = [0xfd; 32];
/// of one that says that a machine wrote it, where such are not wanted,
const GENERATED: [u8; 32] = [0xfe; 32];
/// and of one that could not be read.
const UNREAD: [u8; 32] = [0xff; 32];

impl FileRow {
    /// Of a file that could not be read: it is tried again each time, and nothing is written while it fails.
    pub(crate) fn unread(self) -> Self {
        FileRow {
            hash: UNREAD,
            parts: 0,
            lines: 0,
            ..self
        }
    }

    /// Of a file that is empty.
    pub(crate) fn empty(self) -> Self {
        FileRow {
            hash: EMPTY,
            ..self
        }
    }

    /// Of a file that says that a machine wrote it, and is passed over.
    pub(crate) fn generated(self) -> Self {
        FileRow {
            hash: GENERATED,
            is_generated: true,
            ..self
        }
    }

    pub(crate) fn is_unread(&self) -> bool {
        self.hash == UNREAD
    }

    /// What is known of a file while what the text index has of it changes: that it is like none there is, and what
    /// is answered of it until the text is committed. Where it is indexed anew, and says what it said, both its old text and its new
    /// one are that.
    pub(crate) fn unsure(known: Option<&FileRow>, new: Option<&FileRow>) -> Self {
        let before = known.and_then(FileRow::text_hash);
        let same = before.filter(|hash| new.is_some_and(|it| it.hash == *hash));
        FileRow {
            size: u64::MAX,
            modified: 0,
            hash: same.unwrap_or(NO_TEXT),
            parts: known.map_or(0, |it| it.parts),
            lines: known.map_or(0, |it| it.lines),
            is_generated: false,
        }
    }

    /// Whether it is indexed, or passed over, as generated and blank files are wanted or are not.
    pub(crate) fn is_as_wanted(&self, wanted: Wanted) -> bool {
        let is_empty = self.hash == EMPTY && wanted.include_blank;
        let is_generated = (self.hash == GENERATED) != wanted.include_generated;
        !is_empty && (!self.is_generated || is_generated)
    }

    fn is_unsure(&self) -> bool {
        self.size == u64::MAX
    }

    /// Whether the text index may have something of it: of a text without a word it has the file and no part.
    pub(crate) fn may_be_found(&self) -> bool {
        self.is_unsure() || ![NO_TEXT, EMPTY, GENERATED, UNREAD].contains(&self.hash)
    }

    /// The hash of its text, if it has one and that is indexed.
    pub(crate) fn text_hash(&self) -> Option<[u8; 32]> {
        (!self.is_unsure() && self.may_be_found()).then_some(self.hash)
    }

    /// Tells a row that was changed on the disk from one that was written.
    fn seal(&self, path: &str) -> Seal {
        let mut hasher = blake3::Hasher::new();
        hasher.update(path.as_bytes());
        hasher.update(&self.size.to_le_bytes());
        hasher.update(&self.modified.to_le_bytes());
        hasher.update(&self.hash);
        hasher.update(&self.parts.to_le_bytes());
        hasher.update(&self.lines.to_le_bytes());
        hasher.update(&[u8::from(self.is_generated)]);
        short(&hasher)
    }
}

/// The database.
#[derive(Debug)]
pub(crate) struct Manifest {
    connection: Mutex<Connection>,
}

/// What an update changes.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) indexed: Vec<(String, FileRow)>,
    pub(crate) removed: Vec<String>,
    /// Files of which the text index has something else than before, as they are known until that is committed.
    pub(crate) unsure: Vec<(String, FileRow)>,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.indexed.is_empty() && self.removed.is_empty()
    }
}

/// All that is known at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    /// The generation of the text index that the rows belong to; `None` in a new database.
    pub(crate) generation: Option<u64>,
    /// When it was written last, in seconds since 1970.
    pub(crate) written_at: Option<i64>,
    pub(crate) files: BTreeMap<String, FileRow>,
}

impl Snapshot {
    /// Whether an update came to no end, so that the text index may be ahead.
    pub(crate) fn is_unsure(&self) -> bool {
        self.files.values().any(FileRow::is_unsure)
    }
}

/// A state of the database, as one connection sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The database, as others may have put one in its place.
    id: Option<i64>,
    /// What others wrote,
    others: i64,
    /// and what this connection did.
    own: u64,
}

/// Sums of what is indexed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) files: u64,
    pub(crate) parts: u64,
    pub(crate) lines: u64,
}

impl Manifest {
    /// Opens the database; if it is to be written, makes it where there is none, and opens it to be read where it cannot be
    /// written.
    pub(crate) fn open(path: &Path, access: Access) -> Result<Self, Fault> {
        let (mut connection, is_writable) = database::open(path, access)?;
        if is_writable && !database::has_tables(&connection)? {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "user_version", LAYOUT)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.commit()?;
        }
        Ok(Manifest {
            connection: Mutex::new(connection),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// All files, and all of it checked: the pages of the database, each row against its seal, and all rows
    /// against theirs. O(files).
    pub(crate) fn verified(&self) -> Result<Snapshot, Fault> {
        {
            let mut connection = self.lock();
            let transaction = connection.transaction()?;
            // Another format is told as such, before it is found to be damaged.
            format_of(&transaction)?;
            check_pages(&transaction, "its manifest")?;
        }
        self.snapshot()
    }

    /// All files, each row checked against its seal and all against theirs. O(files).
    pub(crate) fn snapshot(&self) -> Result<Snapshot, Fault> {
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        if format_of(&transaction)?.is_none() {
            return Ok(Snapshot::default());
        }
        let number = |key| -> Result<u64, Fault> {
            let number = get(&transaction, key)?.and_then(|it| it.parse().ok());
            number.ok_or_else(|| Fault::Damaged {
                what: format!("its manifest has no {key}"),
            })
        };
        let (generation, written_at) = (number(GENERATION)?, number(WRITTEN_AT)?);
        let mut files = BTreeMap::new();
        let mut sum = Sum::default();
        {
            let mut statement = transaction.prepare(
                "SELECT path, size, modified, hash, parts, lines, generated, seal FROM files",
            )?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let (path, file, seal) = read_row(row)?;
                sum.add(seal);
                files.insert(path, file);
            }
        }
        let id = id_of(&transaction)?;
        if get(&transaction, "seal")? != Some(seal(&transaction, sum, generation, written_at, id)?)
        {
            let what = "its manifest is not as it was written".to_owned();
            return Err(Fault::Damaged { what });
        }
        Ok(Snapshot {
            generation: Some(generation),
            written_at: i64::try_from(written_at).ok(),
            files,
        })
    }

    /// Notes of which files the text index is about to have something else. A crash from here to
    /// [`Manifest::commit`] leaves them to be indexed again, whatever the text index has of them by then.
    pub(crate) fn announce(&self, changes: &Changes, generation: u64) -> Result<(), Fault> {
        let written_at = get(&self.lock(), WRITTEN_AT)?.and_then(|it| it.parse().ok());
        let written_at = written_at.unwrap_or_else(|| seconds(SystemTime::now()));
        self.put(&changes.unsure, &[], generation, written_at)
    }

    /// Notes what the text index of this generation has, all or nothing.
    pub(crate) fn commit(&self, changes: &Changes, generation: u64) -> Result<(), Fault> {
        let written_at = seconds(SystemTime::now());
        self.put(&changes.indexed, &changes.removed, generation, written_at)
    }

    fn put(
        &self,
        rows: &[(String, FileRow)],
        removed: &[String],
        generation: u64,
        written_at: u64,
    ) -> Result<(), Fault> {
        let mut connection = self.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut put = transaction.prepare_cached(
                "INSERT OR REPLACE INTO files (path, size, modified, hash, parts, lines, generated, seal)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?;
            for (path, row) in rows {
                put.execute(params![
                    path,
                    row.size.cast_signed(),
                    row.modified,
                    row.hash,
                    row.parts,
                    row.lines,
                    row.is_generated,
                    row.seal(path)
                ])?;
            }
            let mut remove = transaction.prepare_cached("DELETE FROM files WHERE path = ?1")?;
            for path in removed {
                remove.execute([path])?;
            }
            let mut sum = Sum::default();
            let mut seals = transaction.prepare_cached("SELECT seal FROM files")?;
            let mut seals = seals.query([])?;
            while let Some(row) = seals.next()? {
                sum.add(row.get(0)?);
            }
            let mut set = transaction
                .prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")?;
            set.execute(["format", &format()])?;
            set.execute([GENERATION, &generation.to_string()])?;
            set.execute([WRITTEN_AT, &written_at.to_string()])?;
            let new_id = "INSERT OR IGNORE INTO meta (key, value) VALUES (?1, random())";
            transaction.execute(new_id, [ID])?;
            let id = id_of(&transaction)?;
            let seal = seal(&transaction, sum, generation, written_at, id)?;
            set.execute(["seal", &seal])?;
        }
        // Earlier versions gave it none.
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.commit()?;
        Ok(())
    }

    /// The number that no other manifest has, where it has one.
    pub(crate) fn id(&self) -> Result<Option<i64>, Fault> {
        id_of(&self.lock())
    }

    /// What tells whether anybody writes from now on: then it is another one.
    pub(crate) fn moment(&self) -> Result<Moment, Fault> {
        let connection = self.lock();
        Ok(Moment {
            id: id_of(&connection)?,
            others: connection.pragma_query_value(None, "data_version", |row| row.get(0))?,
            own: connection.total_changes(),
        })
    }

    /// What is indexed, in sums. Files that hold no text, could not be read, or were new when an update came to no end
    /// have no lines, and do not count.
    pub(crate) fn totals(&self) -> Result<Totals, Fault> {
        let connection = self.lock();
        let totals = connection.query_row(
            "SELECT count(*), coalesce(sum(parts), 0), coalesce(sum(lines), 0)
             FROM files WHERE lines > 0",
            [],
            |row| {
                Ok(Totals {
                    files: row.get::<_, i64>(0)?.cast_unsigned(),
                    parts: row.get::<_, i64>(1)?.cast_unsigned(),
                    lines: row.get::<_, i64>(2)?.cast_unsigned(),
                })
            },
        )?;
        Ok(totals)
    }
}

impl Manifest {
    /// The hash of the text that is indexed of the file at `path`, and the generation that it is known at. Of a file that is marked, and
    /// changes, it is [`NO_TEXT`]: the text index has its old text or its new one.
    pub(crate) fn hash_of(&self, path: &str) -> Result<Option<([u8; 32], u64)>, Fault> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(
            "SELECT hash, (SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?2)
             FROM files WHERE path = ?1 AND lines > 0",
        )?;
        let found = statement.query_row([path, GENERATION], |row| {
            let generation: Option<i64> = row.get(1)?;
            Ok((row.get(0)?, generation.unwrap_or(0).cast_unsigned()))
        });
        Ok(found.optional()?)
    }

    /// The files that were read and passed over.
    pub(crate) fn passed_over(&self) -> Result<Vec<Passed>, Fault> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(
            "SELECT path, hash FROM files WHERE hash IN (?1, ?2, ?3) AND size >= 0 ORDER BY path",
        )?;
        let passed = statement.query_map([NO_TEXT, EMPTY, GENERATED], |row| {
            let path: String = row.get(0)?;
            let reason = match row.get(1)? {
                GENERATED => Reason::Generated,
                EMPTY => Reason::Empty,
                _ => Reason::NoText,
            };
            let path = path.into();
            Ok(Passed { path, reason })
        })?;
        Ok(passed.collect::<rusqlite::Result<_>>()?)
    }
}

pub(crate) fn seconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.map_or(0, |it| it.as_secs())
}

/// The format of the manifest at `path`, ours or not, and when it was written last, in seconds since 1970: as far as they can be
/// read, and unverified.
pub(crate) fn glance(path: &Path) -> (Option<String>, Option<i64>) {
    let Ok((connection, _)) = database::open(path, Access::Look) else {
        return (None, None);
    };
    let read = |key| get(&connection, key).ok().flatten();
    let written_at = read(WRITTEN_AT).and_then(|it| it.parse().ok());
    (read("format"), written_at)
}

fn format() -> String {
    format!("{FORMAT}.{LAYOUT}")
}

fn get(connection: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    let mut statement = connection.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
    statement.query_row([key], |row| row.get(0)).optional()
}

fn id_of(connection: &Connection) -> Result<Option<i64>, Fault> {
    let Some(id) = get(connection, ID)? else {
        return Ok(None);
    };
    let id = id.parse().map_err(|_| Fault::Damaged {
        what: "its manifest has an id that is none".to_owned(),
    })?;
    Ok(Some(id))
}

/// Of all rows, and of what is told of them.
fn seal(
    connection: &Connection,
    rows: Sum,
    generation: u64,
    written_at: u64,
    id: Option<i64>,
) -> rusqlite::Result<String> {
    let id = id.map(i64::cast_unsigned);
    let numbers = [generation, written_at].into_iter().chain(id);
    rows.seal(connection, &numbers.collect::<Vec<_>>())
}

/// The format, if it is ours; `None` in a new database.
fn format_of(connection: &Connection) -> Result<Option<String>, Fault> {
    let format_found = get(connection, "format")?;
    let layout: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let (theirs, ours) = (
        format_found.clone().unwrap_or_else(|| layout.to_string()),
        format(),
    );
    if format_found.as_ref().is_some_and(|it| *it != ours) || layout != LAYOUT {
        let what = format!("it is of format {theirs}, this program reads format {ours}");
        return Err(Fault::Damaged { what });
    }
    Ok(format_found)
}

fn read_row(row: &rusqlite::Row<'_>) -> Result<(String, FileRow, Seal), Fault> {
    let path: String = row.get(0)?;
    let file = FileRow {
        size: row.get::<_, i64>(1)?.cast_unsigned(),
        modified: row.get(2)?,
        hash: row.get(3)?,
        parts: row.get(4)?,
        lines: row.get(5)?,
        is_generated: row.get(6)?,
    };
    let seal = row.get(7)?;
    if seal != file.seal(&path) {
        let what = format!("the entry of {path:?} is not as it was written");
        return Err(Fault::Damaged { what });
    }
    Ok((path, file, seal))
}
