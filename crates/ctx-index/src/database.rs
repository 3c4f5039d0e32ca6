//! `SQLite` databases whose rows are sealed, each by itself and all together, so that changed and
//! missing rows are detected.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ctx_source::open_no_link;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::Fault;
use crate::own::is_no_file;

/// How long a process waits for another one that is writing.
const PATIENCE: Duration = Duration::from_secs(5);

/// How a database, or an index, is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// For reading, and for writing where possible.
    Write,
    /// For reading only; nothing on the disk is changed, whatever its state.
    Look,
}

/// Opens the database at `path`. With [`Access::Write`] it is created if it does not exist, and
/// opened read-only if it cannot be written. The second value is whether it is writable.
pub(crate) fn open(path: &Path, access: Access) -> Result<(Connection, bool), Fault> {
    if is_no_file(path) {
        let what = format!("{} is no file", name_of(path));
        return Err(Fault::Damaged { what });
    }
    let path = &resolved(path);
    if access == Access::Look {
        return Ok((open_unwritable(path)?, false));
    }
    match open_with(path, OpenFlags::default()) {
        Err(error) if is_read_only(&error) && path.exists() => {
            let connection = open_unwritable(path)?;
            refuse_writable(path)?;
            Ok((connection, false))
        }
        connection => {
            let connection = connection?;
            let is_writable = !connection.is_readonly("main")?;
            if !is_writable {
                refuse_writable(path)?;
            }
            Ok((connection, is_writable))
        }
    }
}

/// Opens the database and reads a little, since only that shows whether it can be read.
fn open_with(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = connect(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    has_tables(&connection)?;
    Ok(connection)
}

/// Opens a connection. All databases are opened here, and never through a link.
fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NOFOLLOW)
}

/// Opens the database at `path` read-only, whatever its state. Nothing is read yet.
pub(crate) fn open_damaged(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    connect(&resolved(path), flags)
}

/// Resolves links in the folder above `path`, as `SQLite` refuses those too. Links there are the
/// choice of whoever named the folder.
fn resolved(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|_| cfg!(unix));
    let folder = folder.and_then(|it| it.canonicalize().ok());
    match folder.zip(path.file_name()) {
        Some((folder, name)) => folder.join(name),
        None => path.to_owned(),
    }
}

/// Opens a database that cannot be written, where the rollback of a crashed transaction is
/// impossible too. The file is then read as it is, and its seals show whether it is whole.
fn open_unwritable(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let result = open_with(path, flags);
    match (&result, path.to_str()) {
        (Err(error), Some(name)) if is_read_only(error) => {
            let escaped = name
                .replace('%', "%25")
                .replace('?', "%3f")
                .replace('#', "%23");
            let uri = format!("file:{escaped}?immutable=1");
            open_with(Path::new(&uri), flags | OpenFlags::SQLITE_OPEN_URI)
        }
        _ => result,
    }
}

/// Refuses a database that claims to be read-only though the file is writable: a flipped bit in its
/// first page can cause that.
fn refuse_writable(path: &Path) -> Result<(), Fault> {
    if open_no_link(path, File::options().append(true)).is_err() {
        return Ok(());
    }
    let what = format!("{} is marked as read-only", name_of(path));
    Err(Fault::Damaged { what })
}

fn is_read_only(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    matches!(
        error.sqlite_error_code(),
        Some(ReadOnly | PermissionDenied | CannotOpen)
    )
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Whether the database has any table.
pub(crate) fn has_tables(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master)";
    connection.query_row(sql, [], |row| row.get(0))
}

/// Whether the pages and indexes of the database are consistent. O(bytes).
pub(crate) fn check_pages(connection: &Connection, name: &str) -> Result<(), Fault> {
    let said: String = connection.pragma_query_value(None, "integrity_check", |row| row.get(0))?;
    if said != "ok" {
        let what = format!("{name} is damaged: {said}");
        return Err(Fault::Damaged { what });
    }
    Ok(())
}

/// A short hash that detects a changed row.
pub(crate) type Seal = [u8; 8];

/// The first bytes of the hash.
pub(crate) fn short(hasher: &blake3::Hasher) -> Seal {
    let mut seal = [0; 8];
    hasher.finalize_xof().fill(&mut seal);
    seal
}

/// A sum over all rows that does not depend on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    pub(crate) seals: u64,
}

impl Sum {
    pub(crate) fn add(&mut self, seal: Seal) {
        self.count = self.count.wrapping_add(1);
        self.seals ^= u64::from_le_bytes(seal);
    }

    pub(crate) fn remove(&mut self, seal: Seal) {
        self.count = self.count.wrapping_sub(1);
        self.seals ^= u64::from_le_bytes(seal);
    }

    /// A seal over the rows, `numbers` and the table definitions.
    pub(crate) fn seal(
        &self,
        connection: &Connection,
        numbers: &[u64],
    ) -> rusqlite::Result<String> {
        let tables: String = connection.query_row(
            "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_master ORDER BY name)",
            [],
            |row| row.get(0),
        )?;
        let mut hasher = blake3::Hasher::new();
        for number in numbers {
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(&self.count.to_le_bytes());
        hasher.update(&self.seals.to_le_bytes());
        hasher.update(tables.as_bytes());
        Ok(hasher.finalize().to_hex().to_string())
    }
}
