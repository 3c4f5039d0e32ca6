//! Stores a batch of files completely or not at all.
//!
//! A batch is checked against itself and against the stored files, and its files are staged beside
//! the owner's. The transaction that marks them as pending is the commit point; for removals it is
//! the one that marks files as leaving. All later steps can be repeated, and are repeated by the
//! next batch or the next opening after any interruption: files are moved to their places, indexed,
//! and marked as done. A file for which that fails stays as it is and keeps no other from being
//! done; to send it again, or to remove it, replaces what is there without reading it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};

use super::database::{Database, Result, at_most, read_failed, write_failed};
use super::files;
use super::kept::NOT_KNOWN;
use super::rows::FILES;
use super::store::{FILE_BYTES, Store};
use crate::backend::{BackendError, FileText, Ingested, IngestedFile, KeptFile, NewFile, Removed};
use crate::batch::{self, OF_FOLDER, THROUGH_FILE, above};
use crate::build::now;
use crate::cause::{Fact, cause, is_full};
use crate::paging::{FilePage, Listing};

/// The `pending` column of a file for which nothing is left to do.
const DONE: i64 = 0;
/// The `pending` column of a file that must be moved to its place and indexed.
const PENDING: i64 = 1;
/// The `pending` column of a file that must be removed and no longer counts as stored.
const LEAVING: i64 = 2;

/// A file to write, because it is new or differs.
pub(super) struct Changed<'f> {
    number: usize,
    file: &'f NewFile,
    hash: [u8; 32],
    /// The hash of the file in its place, if there is one.
    before: Option<[u8; 32]>,
}

/// Files of a batch for which something is still left to do, because it failed, with the failure.
pub(super) type Left = BTreeMap<String, BackendError>;

impl Store {
    /// Stores files, with their secrets masked, and indexes them; they are on the disk when this
    /// returns.
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
        // Unfinished work comes first: otherwise a file could be reported as unchanged that no
        // search finds.
        let left = self.finish()?;
        let (ingested, changed) = self.compare_beside(new, &left)?;
        if changed.is_empty() {
            return Ok(ingested);
        }
        if let Err(error) = self.note(&changed) {
            self.clear_unless_noted();
            return Err(error);
        }
        let paths = changed.iter().map(|it| it.file.path.as_str());
        all_of(self.finish()?, paths)?;
        Ok(ingested)
    }

    /// Stages files and marks them as pending.
    fn note(&self, changed: &[Changed<'_>]) -> Result<()> {
        self.stage(changed)?;
        let replaced = changed.iter();
        let replaced = replaced.filter_map(|it| Some((it.file.path.clone(), it.before?)));
        self.kept.replace(replaced);
        self.database.note_pending(changed)
    }

    /// Removes staged files that are not pending: the batch failed, possibly because the disk is
    /// full.
    fn clear_unless_noted(&self) {
        if let Ok(pending) = self.database.pending() {
            self.kept
                .forget(|path| pending.iter().any(|it| it.0 == path));
            // If this fails, the next batch or removal tries again.
            let _ = files::clear(&self.staged, &pending);
        }
    }

    /// The file at `path`, as it was stored last.
    ///
    /// # Errors
    /// [`BackendError::NotFound`], and [`BackendError::Damaged`] if its text is no longer the one
    /// that was stored.
    pub(super) fn file(&self, path: &str) -> Result<FileText> {
        let mut looked_for = None;
        loop {
            let known = self.database.file(path)?;
            let (hash, _) = known.ok_or_else(|| FileText::not_found(path))?;
            let content = files::content(&self.staged, &self.files, path, hash)
                .map_err(|error| BackendError::failed("read a file", error))?;
            let is_again = looked_for.replace(hash) == Some(hash);
            // A text that is not there was replaced or removed meanwhile, or is damaged.
            if content.is_some() || is_again {
                let content = String::from_utf8(content.unwrap_or_default()).unwrap_or_default();
                return FileText::checked(path, content, hash);
            }
        }
    }

    /// Removes files. They are gone from the disk and the index when this returns, and are shown no
    /// more even before that.
    pub(super) fn remove_files(&self, paths: Vec<String>) -> Result<Removed> {
        let _held = self
            .ingesting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut there = BTreeSet::new();
        for path in &paths {
            if self.database.file(path)?.is_some() {
                there.insert(path.clone());
            }
        }
        if !there.is_empty() {
            self.note_leaving(&there)?;
        }
        // Also those whose removal was recorded and not finished by an earlier call.
        all_of(self.finish()?, paths.iter().map(String::as_str))?;
        Ok(Removed::of(paths, |path| there.contains(path)))
    }

    /// Marks files as leaving. On a full disk they are removed before, as that may make the room
    /// that the mark needs; if it still does not suffice, they are missing until the next removal.
    fn note_leaving(&self, paths: &BTreeSet<String>) -> Result<()> {
        match self.database.note_leaving(paths) {
            Err(error) if is_full(&error) => {}
            noted => return noted,
        }
        // What is staged in vain may take the room.
        if let Ok(pending) = self.database.pending() {
            let _ = files::clear(&self.staged, &pending);
        }
        let leaving: Vec<String> = paths.iter().cloned().collect();
        files::remove(&self.files, &leaving)
            .map_err(|error| BackendError::failed("remove a file", error))?;
        self.database.note_leaving(paths)
    }

    /// Determines the result for each file, and which are to be written. If one of them cannot be
    /// stored, none is.
    #[cfg(test)]
    pub(super) fn compare<'f>(&self, new: &'f [NewFile]) -> Result<(Ingested, Vec<Changed<'f>>)> {
        self.compare_beside(new, &Left::new())
    }

    /// Determines the result for each file, and which are to be written; those in `left` are. If
    /// one of them cannot be stored, none is.
    fn compare_beside<'f>(
        &self,
        new: &'f [NewFile],
        left: &Left,
    ) -> Result<(Ingested, Vec<Changed<'f>>)> {
        batch::check(new, FILE_BYTES)?;
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
                // A damaged file is written again.
                Some((before, bytes))
                    if before == hash
                        && !left.contains_key(&file.path)
                        && files::holds(&self.files, &file.path, bytes, hash) =>
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

    /// Writes files beside their later places.
    pub(super) fn stage(&self, changed: &[Changed<'_>]) -> Result<()> {
        let failed = |error| BackendError::failed("write a file", error);
        for Changed {
            number, file, hash, ..
        } in changed
        {
            let way = files::make_way(&self.files, &file.path);
            way.map_err(|error| match error {
                BackendError::Invalid { detail, .. } => batch::refused(*number, &detail),
                other => other,
            })?;
            let staged = files::stage(&self.staged, &file.path, *hash, file.content.as_bytes());
            staged.map_err(failed)?;
        }
        files::sync(&self.staged).map_err(failed)
    }

    /// Finishes what an earlier process left. Which texts of pending files are indexed is unknown.
    pub(super) fn resume(&self) -> Result<()> {
        let pending = self.database.pending()?.into_iter();
        self.kept.replace(pending.map(|it| (it.0, NOT_KNOWN)));
        self.finish()?;
        Ok(())
    }

    /// Finishes pending and leaving files. Returns those that cannot be read, removed, or moved to
    /// their places: they stay as they are, and the next batch or opening tries again.
    pub(super) fn finish(&self) -> Result<Left> {
        let (pending, leaving) = (self.database.pending()?, self.database.leaving()?);
        let _ = files::clear(&self.staged, &pending);
        if pending.is_empty() && leaving.is_empty() {
            return Ok(Left::new());
        }
        let mut left = self.remove(&leaving);
        if !leaving.is_empty() {
            // Otherwise a context that shows them and is not yet written would record them again.
            self.database.write(&self.quota);
            if let Err(error) = self.database.forget_shown(&leaving) {
                tracing::error!(
                    cause = cause(&error),
                    "when files were shown cannot be forgotten"
                );
            }
        }
        left.extend(self.place(&pending)?);
        let pending = pending.iter().map(|it| it.0.as_str());
        let paths = pending.chain(leaving.iter().map(String::as_str));
        // A file that cannot be read was not found in its place either: this is the reason.
        left.extend(unread(&self.update()?, paths));
        if !left.is_empty() {
            tracing::error!(
                files = left.len(),
                cause = left.values().next().map(|it| cause(it)),
                "files of a batch cannot be read or written; others are not affected"
            );
        }
        self.kept.forget(|path| left.contains_key(path));
        self.database.note_done(&left)?;
        Ok(left)
    }

    /// Removes files from their places. Returns those for which that failed.
    fn remove(&self, leaving: &[String]) -> Left {
        let mut left = Left::new();
        if files::remove(&self.files, leaving).is_ok() {
            return left;
        }
        // Each by itself, so that one that cannot be removed keeps no other.
        for path in leaving {
            if let Err(error) = files::remove(&self.files, std::slice::from_ref(path)) {
                left.insert(path.clone(), BackendError::failed("remove a file", error));
            }
        }
        left
    }

    /// Moves files to their places. Returns those for which that failed.
    pub(super) fn place(&self, pending: &[(String, [u8; 32])]) -> Result<Left> {
        let failed = |error| BackendError::failed("write a file", error);
        let place = |path: &str, hash| {
            // A crash may have undone the folders created and removed for it.
            files::clear_way(&self.files, path)?;
            files::place(&self.staged, &self.files, path, hash)
        };
        let mut left = Left::new();
        for (path, hash) in pending {
            if let Err(error) = place(path, *hash) {
                left.insert(path.clone(), failed(error));
            }
        }
        let placed = pending.iter().map(|it| it.0.as_str());
        let placed = placed.filter(|it| !left.contains_key(*it));
        files::sync_names(&self.files, placed).map_err(failed)?;
        Ok(left)
    }
}

/// Those of `paths` that are in `unread`, or in a folder that is: searches may still find their
/// earlier texts.
fn unread<'p>(unread: &[PathBuf], paths: impl Iterator<Item = &'p str>) -> Left {
    let is_unread = |path: &&str| unread.iter().any(|it| Path::new(path).starts_with(it));
    let failed = || BackendError::Unavailable {
        what: "index files",
        source: Fact("a file, or a folder that it is in, cannot be read").into(),
    };
    let paths = paths.filter(is_unread);
    paths.map(|it| (it.to_owned(), failed())).collect()
}

/// Checks that nothing is left to do for any of `paths`.
///
/// # Errors
/// The failure of the first one for which something is.
fn all_of<'p>(mut left: Left, mut paths: impl Iterator<Item = &'p str>) -> Result<()> {
    match paths.find_map(|it| left.remove(it)) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// A row of the table of files.
struct FileRow {
    path: String,
    bytes: i64,
    hash: [u8; 32],
    created_at: i64,
    /// What is left to do for the file: `DONE`, `PENDING` or `LEAVING`.
    pending: i64,
}

impl FileRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let row = FILES.whole(row)?;
        Ok(FileRow {
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
        let row = get.query_row([path], FileRow::read);
        let row = row.optional().map_err(read_failed)?;
        Ok(row.filter(|it| it.pending != LEAVING))
    }

    /// The files for which something is left to do.
    fn pending(state: &Connection) -> Result<Vec<Self>> {
        let get = FILES.select("WHERE pending ORDER BY path");
        let mut get = state.prepare_cached(&get).map_err(read_failed)?;
        let rows = get.query_map([], FileRow::read).and_then(Iterator::collect);
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
    /// The hash and size of the stored file at `path`.
    pub(super) fn file(&self, path: &str) -> Result<Option<([u8; 32], u64)>> {
        let kept = FileRow::find(&self.reader(), path)?;
        Ok(kept.map(|it| (it.hash, it.bytes.cast_unsigned())))
    }

    /// Checks that no stored file is a folder of `path`, and that `path` is not a folder of a
    /// stored file.
    fn check_place(&self, number: usize, path: &str) -> Result<()> {
        for folder in above(path) {
            if self.file(folder)?.is_some() {
                return Err(batch::refused(number, THROUGH_FILE));
            }
        }
        let state = self.reader();
        // `0` is the character after `/`.
        let get = "SELECT EXISTS (SELECT 1 FROM files WHERE path > ?1 || '/' AND path < ?1 || '0')";
        let mut get = state.prepare_cached(get).map_err(read_failed)?;
        match get.query_row([path], |row| row.get(0)) {
            Ok(false) => Ok(()),
            Ok(true) => Err(batch::refused(number, OF_FOLDER)),
            Err(error) => Err(read_failed(error)),
        }
    }

    /// Marks staged files as pending: from now on they are stored.
    pub(super) fn note_pending(&self, changed: &[Changed<'_>]) -> Result<()> {
        self.change(|transaction| {
            for Changed { file, hash, .. } in changed {
                let before = FileRow::find(transaction, &file.path)?;
                let kept = FileRow {
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

    /// Files that are not yet in their places or not yet indexed, and their hashes.
    pub(super) fn pending(&self) -> Result<Vec<(String, [u8; 32])>> {
        let pending = FileRow::pending(&self.reader())?.into_iter();
        let pending = pending.filter(|it| it.pending == PENDING);
        Ok(pending.map(|it| (it.path, it.hash)).collect())
    }

    /// Marks files as leaving: from now on they are not stored.
    pub(super) fn note_leaving(&self, paths: &BTreeSet<String>) -> Result<()> {
        self.change(|transaction| {
            for path in paths {
                if let Some(kept) = FileRow::find(transaction, path)? {
                    kept.put(transaction, LEAVING)?;
                }
            }
            Ok(())
        })
    }

    /// Files that are no longer stored, but may still be in their places or in the index.
    fn leaving(&self) -> Result<Vec<String>> {
        let pending = FileRow::pending(&self.reader())?.into_iter();
        let leaving = pending.filter(|it| it.pending == LEAVING);
        Ok(leaving.map(|it| it.path).collect())
    }

    /// The stored files, in the order of their paths.
    pub(super) fn files(&self, page: &FilePage) -> Result<Listing<KeptFile, String>> {
        let state = self.reader();
        let get = format!("WHERE path > ?1 AND pending <> {LEAVING} ORDER BY path LIMIT ?2");
        let mut get = state
            .prepare_cached(&FILES.select(&get))
            .map_err(read_failed)?;
        let after = page.after.as_deref().unwrap_or_default();
        let rows = params![after, at_most(page.limit.get() + 1)];
        let file = |row: &Row<'_>| {
            let FileRow {
                path, bytes, hash, ..
            } = FileRow::read(row)?;
            let hash = blake3::Hash::from_bytes(hash).to_hex().to_string();
            let bytes = bytes.cast_unsigned();
            Ok((path.clone(), KeptFile { path, hash, bytes }))
        };
        let rows = get.query_map(rows, file).and_then(Iterator::collect);
        Ok(Listing::within(rows.map_err(read_failed)?, page.limit))
    }

    /// How many files are in their places and indexed.
    pub(super) fn done(&self) -> Result<u64> {
        let get = "SELECT count(*) FROM files WHERE NOT pending";
        let done = self.reader().query_row(get, [], |row| row.get::<_, i64>(0));
        Ok(done.map_err(read_failed)?.cast_unsigned())
    }

    /// Marks all pending files as done, and deletes the rows of leaving ones, except for those in
    /// `left`.
    fn note_done(&self, left: &Left) -> Result<()> {
        self.change(|transaction| {
            let all = FileRow::pending(transaction)?.into_iter();
            for kept in all.filter(|it| !left.contains_key(&it.path)) {
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
