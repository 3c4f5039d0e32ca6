//! Files that are kept, a batch of them whole or not at all.
//!
//! A batch is checked against itself and against what is kept, and its files are staged beside the owner's. The
//! transaction that notes them as pending decides that they are kept. Files that are removed are noted as leaving, which decides that. What comes after it can be done again, and
//! is, by the next batch or the next opening, whatever stopped it: files are put in their places, made findable,
//! and noted as done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::PoisonError;

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};

use super::database::{Database, Result, at_most, read_failed, write_failed};
use super::files;
use super::kept::NOT_KNOWN;
use super::rows::FILES;
use super::store::Store;
use crate::backend::{
    BackendError, FilePage, Ingested, IngestedFile, KeptFile, Listing, NewFile, Removed,
};
use crate::batch::{self, OF_FOLDER, THROUGH_FILE, above};
use crate::build::now;
use crate::cause::{Fact, cause};

/// What is left to do for a file, as its row has it: nothing,
const DONE: i64 = 0;
/// it is to be put in its place and found,
const PENDING: i64 = 1;
/// it is to be removed, and is there no more.
const LEAVING: i64 = 2;

/// A file to be written: it is not there, or is another.
pub(super) struct Changed<'f> {
    number: usize,
    file: &'f NewFile,
    hash: [u8; 32],
    /// That of what is in its place.
    before: Option<[u8; 32]>,
}

impl Store {
    /// Keeps files, with their secrets masked, and makes them findable; they are on the disk when this returns.
    pub(super) fn ingest(&self, mut new: Vec<NewFile>) -> Result<Ingested> {
        let masked_secrets = batch::mask(&mut new);
        let ingested = self.ingest_masked(&new)?;
        Ok(Ingested {
            masked_secrets,
            ..ingested
        })
    }

    fn ingest_masked(&self, new: &[NewFile]) -> Result<Ingested> {
        let _held = self
            .ingesting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // What was begun comes first: else a file could be said to be unchanged that nobody finds.
        self.finish()?;
        let (ingested, changed) = self.compare(new)?;
        if changed.is_empty() {
            return Ok(ingested);
        }
        if let Err(error) = self.note(&changed) {
            self.clear_unless_noted();
            return Err(error);
        }
        self.finish()?;
        Ok(ingested)
    }

    /// Stages files and notes that they are kept.
    fn note(&self, changed: &[Changed<'_>]) -> Result<()> {
        self.stage(changed)?;
        let replaced = changed.iter();
        let replaced = replaced.filter_map(|it| Some((it.file.path.clone(), it.before?)));
        self.kept.replace(replaced.collect());
        self.database.note_pending(changed)
    }

    /// Forgets what is staged where no file is pending: it came to nothing, and a disk may be full of it.
    fn clear_unless_noted(&self) {
        if self.database.pending().is_ok_and(|it| it.is_empty()) {
            self.kept.replace(BTreeMap::new());
            // If not now, it is tried again before the next batch or removal.
            let _ = files::clear(&self.staged);
        }
    }

    /// Removes files. They are gone from the disk and the index when this returns, and shown no more from before that on.
    pub(super) fn remove_files(&self, paths: Vec<String>) -> Result<Removed> {
        let _held = self
            .ingesting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.finish()?;
        let mut there = BTreeSet::new();
        for path in &paths {
            if self.database.file(path)?.is_some() {
                there.insert(path.clone());
            }
        }
        if !there.is_empty() {
            self.database.note_leaving(&there)?;
            self.finish()?;
        }
        Ok(Removed::of(paths, |path| there.contains(path)))
    }

    /// What becomes of each file, and which are to be written. Nothing is, where one of them cannot be kept.
    pub(super) fn compare<'f>(&self, new: &'f [NewFile]) -> Result<(Ingested, Vec<Changed<'f>>)> {
        batch::check(new)?;
        let mut ingested = Ingested::default();
        let mut changed = Vec::new();
        let (mut count, mut bytes) = self.database.totals()?;
        for (number, file) in new.iter().enumerate() {
            let known = self.database.file(&file.path)?;
            if known.is_none() {
                self.database.check_place(number, &file.path)?;
                count += 1;
            }
            bytes = bytes - known.map_or(0, |it| it.1) + file.content.len() as u64;
            let hash = *blake3::hash(file.content.as_bytes()).as_bytes();
            let status = match known {
                // One that is damaged is not.
                Some((before, bytes))
                    if before == hash && files::holds(&self.files, &file.path, bytes, hash) =>
                {
                    "unchanged"
                }
                Some(_) => "updated",
                None => "created",
            };
            if status != "unchanged" {
                let before = known.map(|it| it.0);
                changed.push(Changed {
                    number,
                    file,
                    hash,
                    before,
                });
            }
            ingested.files.push(IngestedFile {
                path: file.path.clone(),
                status: status.to_owned(),
                bytes: file.content.len(),
            });
        }
        self.check(count, bytes)?;
        Ok((ingested, changed))
    }

    fn check(&self, files: u64, bytes: u64) -> Result<()> {
        let (most, what) = match &*self.quota {
            quota if files > quota.files => (quota.files, "files"),
            quota if bytes > quota.bytes => (quota.bytes, "bytes of files"),
            _ => return Ok(()),
        };
        let detail = format!("with these there would be more than {most} {what}");
        Err(BackendError::Quota {
            field: "files",
            detail,
        })
    }

    /// Writes files beside where they will be.
    pub(super) fn stage(&self, changed: &[Changed<'_>]) -> Result<()> {
        let failed = |error| BackendError::failed("write a file", error);
        for Changed { number, file, .. } in changed {
            let way = files::make_way(&self.files, &file.path);
            way.map_err(|error| match error {
                BackendError::Invalid { detail, .. } => batch::refused(*number, &detail),
                other => other,
            })?;
            let staged = files::stage(&self.staged, &file.path, file.content.as_bytes());
            staged.map_err(failed)?;
        }
        files::sync(&self.staged).map_err(failed)
    }

    /// Does what a process that ended has left to do. Which text the index has of files that are pending is not known.
    pub(super) fn resume(&self) -> Result<()> {
        let pending = self.database.pending()?.into_iter();
        self.kept
            .replace(pending.map(|it| (it.0, NOT_KNOWN)).collect());
        self.finish()
    }

    /// Does what is left to do for files that are pending.
    pub(super) fn finish(&self) -> Result<()> {
        let (pending, leaving) = (self.database.pending()?, self.database.leaving()?);
        if pending.is_empty() {
            let _ = files::clear(&self.staged);
        }
        if pending.is_empty() && leaving.is_empty() {
            return Ok(());
        }
        files::remove(&self.files, &leaving)
            .map_err(|error| BackendError::failed("remove a file", error))?;
        if !leaving.is_empty() {
            // What shows them and is not written yet would note them again.
            self.database.write(&self.quota);
            if let Err(error) = self.database.forget_shown(&leaving) {
                tracing::error!(
                    cause = cause(&error),
                    "when files were shown cannot be forgotten"
                );
            }
        }
        self.place(&pending)?;
        let pending = pending.iter().map(|it| it.0.as_str());
        self.index_those(pending.chain(leaving.iter().map(String::as_str)))?;
        self.kept.replace(BTreeMap::new());
        self.database.note_done()
    }

    /// Makes what lies in the folder findable, as it is.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`] where one of `paths`, or a folder that it is in, cannot be read for now: what is found of it may be
    /// of before.
    pub(super) fn index_those<'p>(&self, mut paths: impl Iterator<Item = &'p str>) -> Result<()> {
        let unread = self.update()?;
        let is_unread = |path: &str| unread.iter().any(|it| Path::new(path).starts_with(it));
        if paths.any(is_unread) {
            return Err(BackendError::Unavailable {
                what: "index files",
                source: Fact("a file, or a folder that it is in, cannot be read").into(),
            });
        }
        Ok(())
    }

    /// Puts files in their places.
    pub(super) fn place(&self, pending: &[(String, [u8; 32])]) -> Result<()> {
        let failed = |error| BackendError::failed("write a file", error);
        for (path, hash) in pending {
            // A crash may have taken back what was made, and removed, for it.
            files::clear_way(&self.files, path).map_err(failed)?;
            files::place(&self.staged, &self.files, path, *hash).map_err(failed)?;
        }
        let paths = pending.iter().map(|it| it.0.as_str());
        files::sync_names(&self.files, paths).map_err(failed)
    }
}

/// A row of a file.
struct Kept {
    path: String,
    bytes: i64,
    hash: [u8; 32],
    created_at: i64,
    /// What is left to do for it.
    pending: i64,
}

impl Kept {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let row = FILES.whole(row)?;
        Ok(Kept {
            path: row.get(0)?,
            bytes: row.get(1)?,
            hash: row.get(2)?,
            created_at: row.get(3)?,
            pending: row.get(4)?,
        })
    }

    /// The file at `path`, unless it is leaving.
    fn find(state: &Connection, path: &str) -> Result<Option<Self>> {
        let get = FILES.select("WHERE path = ?1");
        let mut get = state.prepare_cached(&get).map_err(read_failed)?;
        let row = get.query_row([path], Kept::read);
        let row = row.optional().map_err(read_failed)?;
        Ok(row.filter(|it| it.pending != LEAVING))
    }

    /// Those for which anything is left to do.
    fn pending(state: &Connection) -> Result<Vec<Self>> {
        let get = FILES.select("WHERE pending ORDER BY path");
        let mut get = state.prepare_cached(&get).map_err(read_failed)?;
        let rows = get.query_map([], Kept::read).and_then(Iterator::collect);
        rows.map_err(read_failed)
    }

    fn put(self, transaction: &Transaction<'_>, pending: i64) -> Result<()> {
        let row = [
            self.path.into(),
            self.bytes.into(),
            self.hash.to_vec().into(),
            self.created_at.into(),
            pending.into(),
        ];
        FILES.put(transaction, &row)
    }
}

impl Database {
    /// The hash and size of the file at `path`, where it is kept.
    pub(super) fn file(&self, path: &str) -> Result<Option<([u8; 32], u64)>> {
        let kept = Kept::find(&self.reader(), path)?;
        Ok(kept.map(|it| (it.hash, it.bytes.cast_unsigned())))
    }

    /// Sees to it that no file that is kept is a folder of `path`, nor `path` one of such a file.
    fn check_place(&self, number: usize, path: &str) -> Result<()> {
        for folder in above(path) {
            if self.file(folder)?.is_some() {
                return Err(batch::refused(number, THROUGH_FILE));
            }
        }
        let state = self.reader();
        // What comes after a slash comes before a zero.
        let get = "SELECT EXISTS (SELECT 1 FROM files WHERE path > ?1 || '/' AND path < ?1 || '0')";
        let mut get = state.prepare_cached(get).map_err(read_failed)?;
        match get.query_row([path], |row| row.get(0)) {
            Ok(false) => Ok(()),
            Ok(true) => Err(batch::refused(number, OF_FOLDER)),
            Err(error) => Err(read_failed(error)),
        }
    }

    /// Notes files that are staged: from now on they are kept.
    pub(super) fn note_pending(&self, changed: &[Changed<'_>]) -> Result<()> {
        self.change(|transaction| {
            for Changed { file, hash, .. } in changed {
                let before = Kept::find(transaction, &file.path)?;
                let kept = Kept {
                    path: file.path.clone(),
                    bytes: i64::try_from(file.content.len()).unwrap_or(i64::MAX),
                    hash: *hash,
                    created_at: before.map_or_else(now, |it| it.created_at),
                    pending: PENDING,
                };
                kept.put(transaction, PENDING)?;
            }
            Ok(())
        })
    }

    /// Files that are not in their places or not to be found yet, and their hashes.
    pub(super) fn pending(&self) -> Result<Vec<(String, [u8; 32])>> {
        let pending = Kept::pending(&self.reader())?.into_iter();
        let pending = pending.filter(|it| it.pending == PENDING);
        Ok(pending.map(|it| (it.path, it.hash)).collect())
    }

    /// Notes that files are to be removed: from now on they are not kept.
    pub(super) fn note_leaving(&self, paths: &BTreeSet<String>) -> Result<()> {
        self.change(|transaction| {
            for path in paths {
                if let Some(kept) = Kept::find(transaction, path)? {
                    kept.put(transaction, LEAVING)?;
                }
            }
            Ok(())
        })
    }

    /// Files that are not kept any more and may be in their places or found yet.
    fn leaving(&self) -> Result<Vec<String>> {
        let pending = Kept::pending(&self.reader())?.into_iter();
        let leaving = pending.filter(|it| it.pending == LEAVING);
        Ok(leaving.map(|it| it.path).collect())
    }

    /// The files that are kept, in the order of their paths.
    pub(super) fn files(&self, page: &FilePage) -> Result<Listing<KeptFile, String>> {
        let state = self.reader();
        let get = format!("WHERE path > ?1 AND pending <> {LEAVING} ORDER BY path LIMIT ?2");
        let mut get = state
            .prepare_cached(&FILES.select(&get))
            .map_err(read_failed)?;
        let after = page.after.as_deref().unwrap_or_default();
        let rows = params![after, at_most(page.limit.get() + 1)];
        let file = |row: &Row<'_>| {
            let Kept {
                path, bytes, hash, ..
            } = Kept::read(row)?;
            let hash = blake3::Hash::from_bytes(hash).to_hex().to_string();
            let bytes = bytes.cast_unsigned();
            Ok((path.clone(), KeptFile { path, hash, bytes }))
        };
        let rows = get.query_map(rows, file).and_then(Iterator::collect);
        Ok(Listing::within(rows.map_err(read_failed)?, page.limit))
    }

    /// How many files are in their places and found.
    pub(super) fn done(&self) -> Result<u64> {
        let get = "SELECT count(*) FROM files WHERE NOT pending";
        let done = self.reader().query_row(get, [], |row| row.get::<_, i64>(0));
        Ok(done.map_err(read_failed)?.cast_unsigned())
    }

    /// Notes that all files are in their places and found, or gone.
    fn note_done(&self) -> Result<()> {
        self.change(|transaction| {
            for kept in Kept::pending(transaction)? {
                if kept.pending == LEAVING {
                    let forget = "DELETE FROM files WHERE path = ?1";
                    transaction
                        .execute(forget, [kept.path])
                        .map_err(write_failed)?;
                } else {
                    kept.put(transaction, DONE)?;
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
#[path = "ingest_tests.rs"]
mod tests;
