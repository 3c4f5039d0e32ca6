//! Copies the readable rows of a database that is damaged, or of an earlier version.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension as _};

use super::rows::{ALL, Changes, KEPT, Table};
use super::{VOTES_COUNTED, text};
use crate::IndexError;
use crate::database::{Access, open_damaged};
use crate::error::Fault;
use crate::manifest::{APART, LAYOUT};

/// The database that rows are copied from.
pub(super) struct Source {
    kind: Kind,
    path: PathBuf,
}

enum Kind {
    /// There was none.
    Nothing,
    /// There was one, which is gone.
    Gone,
    /// A manifest of an earlier version.
    Manifest,
    /// A damaged database, with the fault.
    Damaged(String),
}

/// The result of copying.
#[derive(Debug, Default)]
pub(super) struct Taken {
    entries: u64,
    /// Whether rows were lost.
    pub(super) has_lost: bool,
}

impl Source {
    /// The database at `path`, which has this fault.
    pub(super) fn damaged(path: PathBuf, fault: String) -> Self {
        Source {
            kind: Kind::Damaged(fault),
            path,
        }
    }

    /// The manifest in `folder`, if it may contain remembered data, as in earlier versions.
    pub(super) fn of_manifest(folder: &Path) -> Self {
        let path = folder.join("manifest.db");
        let kind = if path.exists() {
            kind_of_manifest(folder, &path).unwrap_or_else(|error| Kind::Damaged(error.to_string()))
        } else {
            Kind::Nothing
        };
        Source { kind, path }
    }

    /// Whether the manifest in `folder` may contain remembered data that was not migrated.
    pub(super) fn is_in_manifest(folder: &Path) -> bool {
        let source = Source::of_manifest(folder);
        !folder.join("remembered.db").exists() && source.path().is_some()
    }

    /// The path of the database, if there is one to copy from.
    pub(super) fn path(&self) -> Option<&Path> {
        match self.kind {
            Kind::Nothing | Kind::Gone => None,
            Kind::Manifest | Kind::Damaged(_) => Some(&self.path),
        }
    }

    pub(super) fn is_damaged(&self) -> bool {
        matches!(self.kind, Kind::Damaged(_))
    }

    /// Copies all rows that can be read and are as they were written.
    ///
    /// # Errors
    /// Those of writing.
    pub(super) fn copy_to(&self, changes: &mut Changes<'_>) -> Result<Taken, Fault> {
        let mut taken = Taken::default();
        let Some(path) = self.path() else {
            return Ok(taken);
        };
        let Ok(connection) = open_damaged(path) else {
            taken.has_lost = true;
            return Ok(taken);
        };
        let has_seals = self.path.file_stem().is_some_and(|it| it != "manifest");
        for table in ALL {
            if has_table(&connection, table) {
                copy_table(&connection, has_seals, table, changes, &mut taken)?;
            }
        }
        if let Ok(Some(votes)) = votes_of_manifest(&connection) {
            changes.put(&KEPT, &[text(VOTES_COUNTED), text(&votes)])?;
        }
        Ok(taken)
    }

    /// The message about a loss, if there is one.
    pub(super) fn tell(&self, taken: &Taken, aside: Option<&Path>) -> Option<String> {
        let fault = match &self.kind {
            Kind::Nothing => return None,
            Kind::Manifest if !taken.has_lost => return None,
            Kind::Gone => return Some("the remembered data is gone".to_owned()),
            Kind::Manifest => "some of it cannot be read",
            Kind::Damaged(fault) => fault,
        };
        let aside = aside.unwrap_or(&self.path).display();
        Some(format!(
            "the remembered data is damaged: {fault}; {} entries were recovered, and the damaged file is kept as {aside}",
            taken.entries
        ))
    }
}

fn kind_of_manifest(folder: &Path, path: &Path) -> rusqlite::Result<Kind> {
    let (connection, _) = match crate::database::open(path, Access::Write) {
        Ok(opened) => opened,
        Err(error) => return Ok(Kind::Damaged(error.describe(folder))),
    };
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'usage')";
    if connection.query_row(sql, [], |row| row.get(0))? {
        return Ok(Kind::Manifest);
    }
    let layout: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(if (APART..=LAYOUT).contains(&layout) {
        Kind::Gone
    } else {
        Kind::Nothing
    })
}

/// Reads from the first row on and, where a row cannot be read, from the last row backwards too.
fn copy_table(
    from: &Connection,
    has_seals: bool,
    table: &Table,
    changes: &mut Changes<'_>,
    taken: &mut Taken,
) -> Result<(), Fault> {
    for direction in ["ASC", "DESC"] {
        let mut failed = Ok(());
        let read = table.read(from, has_seals, direction, &mut |row, seal| {
            let put = seal.map(|_| changes.put(table, &row));
            match put {
                Some(Ok(is_new)) => taken.entries += u64::from(is_new),
                Some(Err(error)) if !error.is_damage() => failed = Err(error),
                Some(Err(_)) | None => taken.has_lost = true,
            }
            match &failed {
                Ok(()) => Ok(()),
                Err(_) => Err(Fault::Public(IndexError::Cancelled)),
            }
        });
        failed?;
        match read {
            Ok(()) => return Ok(()),
            Err(_) => taken.has_lost = true,
        }
    }
    Ok(())
}

/// Whether the table exists: a missing one has nothing to lose.
fn has_table(connection: &Connection, table: &Table) -> bool {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = ?1)";
    connection
        .query_row(sql, [table.name()], |row| row.get(0))
        .unwrap_or(true)
}

/// The number of votes counted by an earlier version.
fn votes_of_manifest(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT value FROM meta WHERE key = 'votes'";
    connection.query_row(sql, [], |row| row.get(0)).optional()
}
