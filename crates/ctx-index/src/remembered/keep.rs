//! Opening the remembered data. It is never removed: a damaged database is kept under another name,
//! and reported.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use ctx_source::open_no_link;
use rusqlite::Connection;

use super::rows::{self, Changes};
use super::salvage::{Source, Taken};
use super::{DatabaseFile, Opened, Remembered};
use crate::IndexError;
use crate::database::{self, Access, check_pages};
use crate::error::Fault;
use crate::lock::{Lock, REMEMBERED, lock_patiently};
use crate::own::{REMEMBERED_DB as NAME, REMEMBERED_NEW as NEW};
use crate::store::file_id;

/// How long to wait for another process that is creating the database.
const PATIENCE: Duration = Duration::from_secs(5);

enum Found {
    Whole(Remembered),
    /// There is none, or it is empty.
    Nothing,
    /// It was written by a later version, and is left alone.
    Later,
}

impl Remembered {
    /// Opens the remembered data in `folder`, or creates the database. Data that earlier versions
    /// kept in the manifest is migrated. If the database is damaged, its readable rows are copied
    /// to a new one and all of it is kept under another name; the second value says so. If it
    /// cannot be used it is left alone, which is also said, and nothing is recorded meanwhile.
    /// O(bytes).
    ///
    /// # Errors
    /// Data of an earlier version cannot be migrated, for want of space or of permission to write.
    pub(crate) fn open(folder: &Path) -> Result<(Self, Option<String>), Fault> {
        match find(folder, Access::Write) {
            Ok(Found::Whole(remembered)) => return Ok((remembered, None)),
            Err(error) if !error.is_damage() && !error.is_refusal() => return Err(error),
            _ => {}
        }
        // What seems damaged may be another process's work in progress, and one process is enough
        // to repair it.
        let wait = &mut |_: Option<u32>| ControlFlow::Continue(());
        let opened = lock_patiently(folder, REMEMBERED, PATIENCE, wait)
            .map_err(Fault::from)
            .and_then(|lock| open_alone(folder, &lock));
        match opened {
            // The index answers without it, unless data still in the manifest would be lost.
            Err(error) if error.is_refusal() && !Source::is_in_manifest(folder) => {
                let is_there = folder.join(NAME).exists();
                Ok((nothing()?, is_there.then(|| unusable(error, folder))))
            }
            opened => opened,
        }
    }

    /// Opens the remembered data in `folder` without changing anything. What cannot be read is
    /// reported in the second value.
    ///
    /// # Errors
    /// The database in memory that stands in for an unusable one cannot be created.
    pub(crate) fn look(folder: &Path) -> Result<(Self, Option<String>), Fault> {
        match find(folder, Access::Look) {
            Ok(Found::Whole(remembered)) => Ok((remembered, None)),
            Ok(Found::Nothing) => Ok((nothing()?, None)),
            Ok(Found::Later) => Ok((nothing()?, Some(unusable(later(), folder)))),
            Err(error) => Ok((nothing()?, Some(unusable(error, folder)))),
        }
    }
}

fn later() -> Fault {
    Fault::Damaged {
        what: "it was written by a later version".to_owned(),
    }
}

fn find(folder: &Path, access: Access) -> Result<Found, Fault> {
    let path = folder.join(NAME);
    if !path.exists() {
        return Ok(Found::Nothing);
    }
    // Taken before the file is opened, so that a later replacement is noticed.
    let file = file_id(&path);
    let (mut connection, is_writable) = database::open(&path, access)?;
    {
        // A transaction, so that all of it is read in one state.
        let transaction = connection.transaction()?;
        if !database::has_tables(&transaction)? {
            return Ok(Found::Nothing);
        }
        check_pages(&transaction, "what is remembered")?;
        if !rows::is_ours(&transaction)? {
            return Ok(Found::Later);
        }
        rows::check(&transaction)?;
    }
    let folder = folder.to_owned();
    let is_followed = access == Access::Write;
    Ok(Found::Whole(Remembered(Mutex::new(Opened {
        connection,
        is_writable,
        place: is_followed.then_some(DatabaseFile { folder, file }),
    }))))
}

fn open_alone(folder: &Path, _lock: &Lock) -> Result<(Remembered, Option<String>), Fault> {
    let source = match find(folder, Access::Write) {
        Ok(Found::Whole(remembered)) => return Ok((remembered, None)),
        Ok(Found::Later) => return Ok((nothing()?, Some(unusable(later(), folder)))),
        Ok(Found::Nothing) => Source::of_manifest(folder),
        Err(error) if error.is_damage() => {
            Source::damaged(folder.join(NAME), error.describe(folder))
        }
        Err(error) => return Err(error),
    };
    let taken = begin(folder, &source).map_err(|it| it.while_writing(folder))?;
    let aside = match source
        .path()
        .filter(|_| source.is_damaged() || taken.has_lost)
    {
        Some(path) => Some(set_aside(folder, path)?),
        None => None,
    };
    put_in_place(folder)?;
    match find(folder, Access::Write)? {
        Found::Whole(remembered) => Ok((remembered, source.tell(&taken, aside.as_deref()))),
        _ => Err(Fault::Damaged {
            what: "the remembered data was removed meanwhile".to_owned(),
        }),
    }
}

/// Creates a new database beside the old one, with what can be read of `source`.
fn begin(folder: &Path, source: &Source) -> Result<Taken, Fault> {
    let new = folder.join(NEW);
    remove(folder, &new)?;
    let (mut connection, _) = database::open(&new, Access::Write)?;
    let mut changes = Changes::first(&mut connection)?;
    let taken = source.copy_to(&mut changes)?;
    changes.commit()?;
    Ok(taken)
}

fn put_in_place(folder: &Path) -> Result<(), Fault> {
    let path = folder.join(NAME);
    // The old journal would be taken for that of the new database.
    remove_file(folder, &journal(&path))?;
    fs::rename(folder.join(NEW), path).map_err(|source| IndexError::folder(folder, source).into())
}

/// Gives the file at `path` a second name, so that nothing is lost whatever happens to the first.
fn set_aside(folder: &Path, path: &Path) -> Result<PathBuf, Fault> {
    let io = |source| IndexError::folder(folder, source);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut number = 1;
    // A dangling link occupies a name, too.
    let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
    let aside = loop {
        let aside = folder.join(format!("{stem}.damaged-{number}.db"));
        if !is_there(&aside) && !is_there(&journal(&aside)) {
            break aside;
        }
        number += 1;
    };
    for (from, to) in [
        (path.to_owned(), aside.clone()),
        (journal(path), journal(&aside)),
    ] {
        if is_there(&from) && fs::hard_link(&from, &to).is_err() {
            copy(&from, &to).map_err(io)?;
        }
    }
    Ok(aside)
}

/// Copies a file to a new one. Neither may be a link.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = open_no_link(from, File::options().read(true))?;
    io::copy(&mut from, &mut File::create_new(to)?).map(drop)
}

fn remove(folder: &Path, path: &Path) -> Result<(), Fault> {
    remove_file(folder, &journal(path))?;
    remove_file(folder, path)
}

fn remove_file(folder: &Path, path: &Path) -> Result<(), Fault> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(IndexError::folder(folder, error).into())
        }
        _ => Ok(()),
    }
}

fn journal(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push("-journal");
    PathBuf::from(name)
}

fn unusable(error: Fault, folder: &Path) -> String {
    format!(
        "the remembered data cannot be used: failed to {}",
        error.describe(folder)
    )
}

/// A database in memory, for use when nothing can be stored.
fn nothing() -> Result<Remembered, Fault> {
    let mut connection = Connection::open_in_memory()?;
    Changes::first(&mut connection)?.commit()?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(Remembered(Mutex::new(Opened {
        connection,
        is_writable: false,
        place: None,
    })))
}
