//! Contexts that were built, and when their files were shown.

use rusqlite::{OptionalExtension as _, params};

use super::Quota;
use super::database::{Database, Result, read_failed, write_failed};
use crate::backend::{BackendError, Prime, Receipt};

impl Database {
    /// Keeps a context, and lets the oldest go. One that is kept already, and is about to go, is made the
    /// latest.
    pub(super) fn keep(&self, prime: &Prime, quota: &Quota) -> Result<()> {
        let most = i64::try_from(quota.contexts).unwrap_or(i64::MAX);
        let mut get = "SELECT seq, (SELECT max(seq) FROM contexts) FROM contexts WHERE id = ?1";
        let contexts = self.contexts();
        let mut known = contexts.prepare_cached(get).map_err(read_failed)?;
        let row = known.query_row([prime.id()], |row| Ok((row.get(0)?, row.get(1)?)));
        let row: Option<(i64, i64)> = row.optional().map_err(read_failed)?;
        if let Some((seq, last)) = row {
            if seq <= last - most / 2 {
                let put = "UPDATE contexts SET seq = ?2 WHERE id = ?1";
                let row = params![prime.id(), last + 1];
                contexts.execute(put, row).map_err(write_failed)?;
            }
            return Ok(());
        }
        let text = serde_json::to_string(&prime.receipt())
            .map_err(|error| BackendError::failed("write a context", error))?;
        get = "INSERT INTO contexts (id, receipt) VALUES (?1, ?2)";
        let mut put = contexts.prepare_cached(get).map_err(write_failed)?;
        put.execute(params![prime.id(), text])
            .map_err(write_failed)?;
        let last = contexts.last_insert_rowid();
        contexts
            .execute("DELETE FROM contexts WHERE seq <= ?1", [last - most])
            .map_err(write_failed)?;
        Ok(())
    }

    /// The context of this id, where it is kept.
    pub(super) fn receipt(&self, id: &str) -> Result<Option<Receipt>> {
        let contexts = self.contexts();
        let text: Option<String> = contexts
            .query_row("SELECT receipt FROM contexts WHERE id = ?1", [id], |row| {
                row.get(0)
            })
            .optional()
            .map_err(read_failed)?;
        text.map(|it| serde_json::from_str(&it))
            .transpose()
            .map_err(|error| BackendError::failed("read a context", error))
    }
}
