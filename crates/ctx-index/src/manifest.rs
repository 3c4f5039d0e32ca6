//! What is known of each file: a `SQLite` database. All of it can be rebuilt from the files.
//!
//! Before the text index is committed, the files that are about to change are marked here; after
//! it, their new rows are written. A crash between the two leaves marks, and marked files are
//! indexed again. So nothing is lost and nothing is found twice, whether or not the text index was
//! committed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use crate::database::{self, Access, Seal, Sum, check_pages, short};
use crate::error::Fault;
use crate::options::{Reason, SkippedFile, Wanted};
use crate::own::APPLICATION_ID;
use crate::schema::FORMAT;

/// The layout of the tables. A manifest of another layout is rebuilt.
pub(crate) const LAYOUT: u32 = 6;
/// Manifests of earlier layouts also held the remembered data.
pub(crate) const APART: u32 = 4;

/// The key of the number of commits of the text index.
const GENERATION: &str = "generation";
/// The key of a random number that no other manifest has; not set before the first write.
const ID: &str = "id";
/// The key of the time of the last write, in seconds since 1970.
const WRITTEN_AT: &str = "written_at";

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS files (
        path TEXT PRIMARY KEY, size INTEGER NOT NULL, modified INTEGER NOT NULL,
        changed INTEGER NOT NULL, hash BLOB NOT NULL, parts INTEGER NOT NULL, lines INTEGER NOT NULL,
        generated INTEGER NOT NULL, seal BLOB NOT NULL
    ) WITHOUT ROWID;";

/// One file as it was indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileRow {
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: i64,
    /// When the system last changed it, in nanoseconds since 1970. Programs that copy or unpack
    /// files set `modified`, and nobody can set this.
    pub(crate) changed: i64,
    pub(crate) hash: [u8; 32],
    pub(crate) parts: u32,
    pub(crate) lines: u32,
    /// Whether its text says that it is generated.
    pub(crate) is_generated: bool,
}

/// Stands for the hash of a file without text: binary, or only blanks if such are not wanted.
pub(crate) const NO_TEXT: [u8; 32] = [0; 32];
/// Stands for the hash of an empty file.
const EMPTY: [u8; 32] = [0xfd; 32];
/// Stands for the hash of a file whose text says that it is generated, if such files are not
/// wanted.
const GENERATED: [u8; 32] = [0xfe; 32];
/// Stands for the hash of a file that could not be read.
const UNREAD: [u8; 32] = [0xff; 32];

impl FileRow {
    /// The row of a file that could not be read: it is tried again each time, and nothing is
    /// written while that fails.
    pub(crate) fn unread(self) -> Self {
        FileRow {
            hash: UNREAD,
            parts: 0,
            lines: 0,
            ..self
        }
    }

    /// The row of an empty file.
    pub(crate) fn empty(self) -> Self {
        FileRow {
            hash: EMPTY,
            ..self
        }
    }

    /// The row of a file that is skipped because its text says that it is generated.
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

    /// The mark of a file whose documents are about to change. It matches no file, and holds what
    /// is reported of the file until the text index is committed. If the file is indexed again with
    /// the same text, its hash stays: old and new documents are both of that text.
    pub(crate) fn unsure(known: Option<&FileRow>, new: Option<&FileRow>) -> Self {
        let before = known.and_then(FileRow::text_hash);
        let same = before.filter(|hash| new.is_some_and(|it| it.hash == *hash));
        FileRow {
            size: u64::MAX,
            modified: 0,
            changed: 0,
            hash: same.unwrap_or(NO_TEXT),
            parts: known.map_or(0, |it| it.parts),
            lines: known.map_or(0, |it| it.lines),
            is_generated: false,
        }
    }

    /// Whether the file was indexed or skipped in keeping with the settings for generated and blank
    /// files.
    pub(crate) fn is_as_wanted(&self, wanted: Wanted) -> bool {
        let is_empty = self.hash == EMPTY && wanted.include_blank;
        let is_generated = (self.hash == GENERATED) != wanted.include_generated;
        !is_empty && (!self.is_generated || is_generated)
    }

    fn is_unsure(&self) -> bool {
        self.size == u64::MAX
    }

    /// Whether the text index may have documents of the file. A text without a word has the
    /// document of the file and no part.
    pub(crate) fn may_be_found(&self) -> bool {
        self.is_unsure() || ![NO_TEXT, EMPTY, GENERATED, UNREAD].contains(&self.hash)
    }

    /// The hash of its text, if that is indexed.
    pub(crate) fn text_hash(&self) -> Option<[u8; 32]> {
        (!self.is_unsure() && self.may_be_found()).then_some(self.hash)
    }

    /// A seal that detects a row changed on the disk.
    fn seal(&self, path: &str) -> Seal {
        let mut hasher = blake3::Hasher::new();
        hasher.update(path.as_bytes());
        hasher.update(&self.size.to_le_bytes());
        hasher.update(&self.modified.to_le_bytes());
        hasher.update(&self.changed.to_le_bytes());
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

/// The rows that an update changes.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) indexed: Vec<(String, FileRow)>,
    pub(crate) removed: Vec<String>,
    /// The marks of files whose documents change, valid until the text index is committed.
    pub(crate) unsure: Vec<(String, FileRow)>,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.indexed.is_empty() && self.removed.is_empty()
    }
}

/// All rows at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    /// The generation of the text index that the rows belong to; `None` in a new database.
    pub(crate) generation: Option<u64>,
    /// The time of the last write, in seconds since 1970.
    pub(crate) written_at: Option<i64>,
    pub(crate) files: BTreeMap<String, FileRow>,
}

impl Snapshot {
    /// Whether an update was interrupted, so that the text index may be ahead.
    pub(crate) fn is_unsure(&self) -> bool {
        self.files.values().any(FileRow::is_unsure)
    }
}

/// A state of the database, as one connection sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The id of the database: another process may have replaced it.
    id: Option<i64>,
    /// `SQLite`'s counter of writes by other connections.
    others: i64,
    /// The number of rows changed by this connection.
    own: u64,
}

/// Totals of what is indexed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) files: u64,
    pub(crate) parts: u64,
    pub(crate) lines: u64,
}

impl Manifest {
    /// Opens the database. With [`Access::Write`] it is created if it does not exist, and opened
    /// read-only if it cannot be written.
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

    /// Returns all files after checking everything: the pages of the database, each row against its
    /// seal, and all rows against their common seal. O(files).
    pub(crate) fn verified(&self) -> Result<Snapshot, Fault> {
        {
            let mut connection = self.lock();
            let transaction = connection.transaction()?;
            // Another format is reported as such, not as damage.
            format_of(&transaction)?;
            check_pages(&transaction, "its manifest")?;
        }
        self.snapshot()
    }

    /// Returns all files, each row checked against its seal and all rows against their common seal.
    /// O(files).
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
                "SELECT path, size, modified, changed, hash, parts, lines, generated, seal FROM files",
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
            let what = "its manifest does not match its checksum".to_owned();
            return Err(Fault::Damaged { what });
        }
        Ok(Snapshot {
            generation: Some(generation),
            written_at: i64::try_from(written_at).ok(),
            files,
        })
    }

    /// Marks the files whose documents are about to change. After a crash between this and
    /// [`Manifest::commit`] they are indexed again, whatever the text index has of them by then.
    pub(crate) fn announce(&self, changes: &Changes, generation: u64) -> Result<(), Fault> {
        let written_at = get(&self.lock(), WRITTEN_AT)?.and_then(|it| it.parse().ok());
        let written_at = written_at.unwrap_or_else(|| seconds(SystemTime::now()));
        self.put(&changes.unsure, &[], generation, written_at)
    }

    /// Writes the rows that belong to this generation of the text index, all or nothing.
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
                "INSERT OR REPLACE INTO files
                 (path, size, modified, changed, hash, parts, lines, generated, seal)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?;
            for (path, row) in rows {
                put.execute(params![
                    path,
                    row.size.cast_signed(),
                    row.modified,
                    row.changed,
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
        // Earlier versions did not set it.
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.commit()?;
        Ok(())
    }

    /// The random number that no other manifest has, if it is set.
    pub(crate) fn id(&self) -> Result<Option<i64>, Fault> {
        id_of(&self.lock())
    }

    /// A value that differs after any later write, by whatever process.
    pub(crate) fn moment(&self) -> Result<Moment, Fault> {
        let connection = self.lock();
        Ok(Moment {
            id: id_of(&connection)?,
            others: connection.pragma_query_value(None, "data_version", |row| row.get(0))?,
            own: connection.total_changes(),
        })
    }

    /// Totals of what is indexed. Files without lines are not counted: those without text, that
    /// could not be read, or were new when an update was interrupted.
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
    /// The hash of the indexed text of the file at `path`, and the generation of the manifest. The
    /// hash is [`NO_TEXT`] for a marked file whose text changes: the text index has its old text or
    /// its new one. A new file that is marked has no lines yet, and no size.
    pub(crate) fn hash_of(&self, path: &str) -> Result<Option<([u8; 32], u64)>, Fault> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(
            "SELECT hash, (SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?2)
             FROM files WHERE path = ?1 AND (lines > 0 OR size < 0)",
        )?;
        let found = statement.query_row([path, GENERATION], |row| {
            let generation: Option<i64> = row.get(1)?;
            Ok((row.get(0)?, generation.unwrap_or(0).cast_unsigned()))
        });
        Ok(found.optional()?)
    }

    /// How many lines the file at `path` has, if it is indexed.
    pub(crate) fn lines_of(&self, path: &str) -> Result<Option<u32>, Fault> {
        let connection = self.lock();
        let mut statement =
            connection.prepare_cached("SELECT lines FROM files WHERE path = ?1 AND lines > 0")?;
        Ok(statement.query_row([path], |row| row.get(0)).optional()?)
    }

    /// The files that were read and skipped.
    pub(crate) fn skipped_files(&self) -> Result<Vec<SkippedFile>, Fault> {
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
            Ok(SkippedFile { path, reason })
        })?;
        Ok(passed.collect::<rusqlite::Result<_>>()?)
    }
}

pub(crate) fn seconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.map_or(0, |it| it.as_secs())
}

/// The format of the manifest at `path`, which may be another one than ours, and the time of its
/// last write in seconds since 1970. Both unverified, and `None` if they cannot be read.
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
        what: "its manifest has an invalid id".to_owned(),
    })?;
    Ok(Some(id))
}

/// The seal over all rows and over the numbers stored with them.
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

/// The format, if it is ours; `None` in a new database. Another format is an error.
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
        changed: row.get(3)?,
        hash: row.get(4)?,
        parts: row.get(5)?,
        lines: row.get(6)?,
        is_generated: row.get(7)?,
    };
    let seal = row.get(8)?;
    if seal != file.seal(&path) {
        let what = format!("the entry of {path:?} does not match its checksum");
        return Err(Fault::Damaged { what });
    }
    Ok((path, file, seal))
}
