//! When files were shown: beside the contexts that showed them.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension as _, Row, Transaction};

use super::database::{Database, Result, at_most, write_failed};
use super::receipts::of_contexts;
use super::rows::SHOWN;
use crate::backend::{BackendError, Prime};

/// When each file of `contexts` was shown last, in seconds since 1970.
pub(super) fn shown_by<'p>(contexts: impl Iterator<Item = &'p Prime>) -> BTreeMap<&'p str, i64> {
    let mut shown = BTreeMap::new();
    for prime in contexts {
        let at = prime.answered_at.div_euclid(1_000);
        for path in &prime.context.built.files {
            let last = shown.entry(&**path).or_insert(at);
            *last = at.max(*last);
        }
    }
    shown
}

/// Notes when files were shown, in seconds since 1970.
pub(super) fn note<'p>(
    transaction: &Transaction<'_>,
    shown: impl Iterator<Item = (&'p str, i64)>,
) -> Result<()> {
    for (path, at) in shown {
        let get = SHOWN.select("WHERE path = ?1");
        let mut get = transaction.prepare_cached(&get).map_err(of_contexts)?;
        let last = get.query_row([path], |row| SHOWN.whole(row)?.get::<_, i64>(1));
        let last = match last.optional().map_err(of_contexts) {
            // One that is damaged is written anew.
            Err(BackendError::Damaged { .. }) => None,
            last => last?,
        };
        // Times are in seconds, and what fits one question fits others.
        if last.is_none_or(|it| it < at) {
            SHOWN.put(transaction, &[path.to_owned().into(), at.into()])?;
        }
    }
    Ok(())
}

impl Database {
    /// Notes that files were shown.
    pub(super) fn note_shown(&self, paths: &[String], at: i64) -> Result<()> {
        let mut contexts = self.contexts();
        let transaction = contexts.transaction().map_err(write_failed)?;
        note(&transaction, paths.iter().map(|it| (&**it, at)))?;
        transaction.commit().map_err(write_failed)
    }

    /// The files that were shown last, the latest first, and when: by contexts that are not written yet, too.
    pub(super) fn shown_last(&self, limit: usize) -> Result<Vec<(String, i64)>> {
        // First these: what is written meanwhile is found below.
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

    fn shown_last_of_written(&self, limit: usize) -> Result<Vec<(String, i64)>> {
        let contexts = self.contexts_reader();
        // Which they are is told by the index alone, read from its end: many are shown at once.
        let get = SHOWN.select(
            "WHERE path IN (SELECT path FROM shown ORDER BY shown_at DESC, path DESC LIMIT ?1)
             ORDER BY shown_at DESC, path DESC",
        );
        let mut get = contexts.prepare_cached(&get).map_err(of_contexts)?;
        let shown = |row: &Row<'_>| {
            let row = SHOWN.whole(row)?;
            Ok((row.get(0)?, row.get(1)?))
        };
        let rows = get.query_map([at_most(limit)], shown);
        rows.and_then(Iterator::collect).map_err(of_contexts)
    }
}
