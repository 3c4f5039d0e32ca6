//! When files were shown, stored beside the contexts that showed them.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction};

use super::database::{Database, Result, at_most, write_failed};
use super::receipts::{Answered, of_contexts};
use super::rows::SHOWN;
use crate::backend::BackendError;
use crate::build::now;
use crate::cause::cause;

/// When each file was last shown, in seconds since 1970, by path.
type Shown<'p> = BTreeMap<&'p str, i64>;

/// When each file of `contexts` was last shown.
pub(super) fn shown_by<'p>(contexts: impl Iterator<Item = &'p Answered>) -> Shown<'p> {
    let mut shown = BTreeMap::new();
    for answered in contexts {
        let at = answered.last.div_euclid(1_000);
        for path in &answered.prime.context.built.files {
            let last = shown.entry(&**path).or_insert(at);
            *last = at.max(*last);
        }
    }
    shown
}

/// Records when files were shown, all or none; the rest of the transaction is not affected. Damaged
/// rows are repaired.
pub(super) fn note_beside(transaction: &mut Transaction<'_>, shown: &Shown<'_>) -> Result<()> {
    match by_itself(transaction, |it| note(it, shown)) {
        Err(BackendError::Damaged { .. }) => by_itself(transaction, |it| {
            mend(it)?;
            note(it, shown)
        }),
        noted => noted,
    }
}

/// Runs `work` in a savepoint: all of it takes effect or none, without affecting the rest of the
/// transaction.
fn by_itself(
    transaction: &mut Transaction<'_>,
    work: impl FnOnce(&Connection) -> Result<()>,
) -> Result<()> {
    let savepoint = transaction.savepoint().map_err(write_failed)?;
    work(&savepoint)?;
    savepoint.commit().map_err(write_failed)
}

fn note(transaction: &Connection, shown: &Shown<'_>) -> Result<()> {
    let now = now().div_euclid(1_000);
    for (&path, &at) in shown {
        let get = SHOWN.select("WHERE path = ?1");
        let mut get = transaction.prepare_cached(&get).map_err(of_contexts)?;
        let last = get.query_row([path], |row| SHOWN.whole(row)?.get::<_, i64>(1));
        let last = match last.optional().map_err(of_contexts) {
            // A damaged row is written again.
            Err(BackendError::Damaged { .. }) => None,
            last => last?,
        };
        // Times are in seconds: contexts answered within the same second need no further write. One
        // that has not come yet is of a clock that was ahead.
        if last.is_none_or(|it| it < at || it > now) {
            SHOWN.put(transaction, &[path.to_owned().into(), at.into()])?;
        }
    }
    Ok(())
}

/// Rewrites every intact row and deletes the others. O(rows).
fn mend(transaction: &Connection) -> Result<()> {
    let all = SHOWN.select("NOT INDEXED");
    let mut all = transaction.prepare(&all).map_err(of_contexts)?;
    let row = |row: &Row<'_>| SHOWN.whole(row).ok().map(|it| SHOWN.values(it)).transpose();
    let rows = all.query_map([], row).map_err(of_contexts)?;
    let rows: rusqlite::Result<Vec<Option<Vec<Value>>>> = rows.collect();
    let rows = rows.map_err(of_contexts)?;
    // The index is dropped first: a row missing from it cannot be deleted.
    transaction
        .execute_batch("REINDEX shown; DELETE FROM shown")
        .map_err(write_failed)?;
    for row in rows.iter().flatten() {
        SHOWN.put(transaction, row)?;
    }
    let forgotten = rows.iter().filter(|it| it.is_none()).count();
    tracing::error!(forgotten, "when some files were shown was damaged");
    Ok(())
}

impl Database {
    /// Records that files were shown.
    pub(super) fn note_shown(&self, paths: &[String], at: i64) -> Result<()> {
        let mut contexts = self.contexts();
        let mut transaction = contexts.transaction().map_err(write_failed)?;
        let shown = paths.iter().map(|it| (&**it, at)).collect();
        note_beside(&mut transaction, &shown)?;
        transaction.commit().map_err(write_failed)
    }

    /// Deletes when files were shown.
    pub(super) fn forget_shown(&self, paths: &[String]) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut contexts = self.contexts();
        let transaction = contexts.transaction().map_err(write_failed)?;
        for path in paths {
            let forget = "DELETE FROM shown WHERE path = ?1";
            transaction.execute(forget, [path]).map_err(write_failed)?;
        }
        transaction.commit().map_err(write_failed)
    }

    /// The most recently shown files, latest first, and when; contexts that are not written yet
    /// count, too.
    pub(super) fn shown_last(&self, limit: usize) -> Result<Vec<(String, i64)>> {
        // Read first: what is written meanwhile is found below.
        let mut shown: BTreeMap<String, i64> = {
            let unwritten = self.unwritten();
            let shown = shown_by(unwritten.iter()).into_iter();
            shown.map(|(path, at)| (path.to_owned(), at)).collect()
        };
        for (path, at) in self.shown_last_of_written(limit)? {
            let last = shown.entry(path).or_insert(at);
            *last = at.max(*last);
        }
        let mut shown: Vec<(String, i64)> = shown.into_iter().collect();
        shown.sort_unstable_by(|(a, a_at), (b, b_at)| (b_at, b).cmp(&(a_at, a)));
        shown.truncate(limit);
        Ok(shown)
    }

    /// The most recently shown files of written contexts, without damaged rows.
    fn shown_last_of_written(&self, limit: usize) -> Result<Vec<(String, i64)>> {
        let contexts = self.contexts_reader();
        // The index alone selects the paths, read from its end: many files are shown at once.
        let get = SHOWN.select(
            "WHERE path IN (SELECT path FROM shown ORDER BY shown_at DESC, path DESC LIMIT ?1)
             ORDER BY shown_at DESC, path DESC",
        );
        let mut get = contexts.prepare_cached(&get).map_err(of_contexts)?;
        let shown = |row: &Row<'_>| match SHOWN.whole(row) {
            Ok(row) => Ok(Some((row.get(0)?, row.get(1)?))),
            Err(_) => Ok(None),
        };
        let rows = get.query_map([at_most(limit)], shown);
        let rows: rusqlite::Result<Vec<Option<(String, i64)>>> = rows.and_then(Iterator::collect);
        let rows = rows.map_err(of_contexts)?;
        drop(get);
        drop(contexts);
        if rows.iter().any(Option::is_none) {
            self.mend_shown();
        }
        Ok(rows.into_iter().flatten().collect())
    }

    /// Deletes damaged rows of when files were shown, unless a writer is active: then the next
    /// reader does.
    fn mend_shown(&self) {
        let Some(mut contexts) = self.contexts_unless_held() else {
            return;
        };
        let transaction = contexts.transaction().map_err(write_failed);
        let mended = transaction.and_then(|it| {
            mend(&it)?;
            it.commit().map_err(write_failed)
        });
        if let Err(error) = mended {
            tracing::error!(cause = cause(&error), "when files were shown is damaged");
        }
    }
}
