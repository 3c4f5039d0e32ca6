//! What was shown, and what was of use.

use std::collections::BTreeMap;

use async_trait::async_trait;
use ctx_retrieve::{Answer, Usage};

use crate::StoreError;
use crate::store::{Mode, OwnedStore, check_name};

/// More uses than this make no difference.
const MOST_USES: i64 = 1_000;
/// No id of a context is longer, in bytes: it is in a key.
const LONGEST_CONTEXT: usize = 255;

/// What became of a vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vote {
    /// It counts.
    Counted,
    /// The owner has voted on this context before; that vote stands.
    Repeated,
}

impl OwnedStore {
    /// Notes whether the context of the id `context`, which showed `paths`, was of use: each of them then has one use
    /// more, or one less, within 0 and 1,000. Each context has one vote of an owner. Whether the owner was given
    /// this context at all is for the caller to know.
    ///
    /// Once this returns, the vote is on the disk of the server.
    pub async fn feedback(
        &self,
        context: &str,
        paths: &[String],
        is_useful: bool,
        now: i64,
    ) -> Result<Vote, StoreError> {
        check_name("the id of the context", context, LONGEST_CONTEXT)?;
        let paths = in_order(paths);
        self.retried(|| self.vote(context, &paths, is_useful, now))
            .await
    }

    async fn vote(
        &self,
        context: &str,
        paths: &[&str],
        is_useful: bool,
        now: i64,
    ) -> Result<Vote, StoreError> {
        let failed = |error| StoreError::of("store feedback", self.limits().writing, error);
        let mut client = self.client().await?;
        let transaction = self.begin(&mut client, Mode::Writes).await?;
        let vote = transaction
            .prepare_cached(
                "INSERT INTO ctx.feedback (owner, context, is_useful, paths, given_at)
                 VALUES ($1, $2, $3, $4, $5) ON CONFLICT (owner, context) DO NOTHING",
            )
            .await
            .map_err(failed)?;
        let voted = transaction
            .execute(&vote, &[&self.owner(), &context, &is_useful, &paths, &now])
            .await
            .map_err(failed)?;
        if voted == 0 {
            transaction.rollback().await.map_err(failed)?;
            return Ok(Vote::Repeated);
        }
        let count = transaction
            .prepare_cached(
                "INSERT INTO ctx.usage AS u (owner, path, uses)
                 SELECT $1, path, greatest($3::bigint, 0) FROM unnest($2::text[]) path ORDER BY path
                 ON CONFLICT (owner, path) DO UPDATE SET uses = least(greatest(u.uses + $3::bigint, 0), $4::bigint)",
            )
            .await
            .map_err(failed)?;
        let by = if is_useful { 1_i64 } else { -1 };
        transaction
            .execute(&count, &[&self.owner(), &paths, &by, &MOST_USES])
            .await
            .map_err(failed)?;
        transaction.commit().await.map_err(failed)?;
        Ok(Vote::Counted)
    }
}

/// Each once, those that could be a path, in the order that all writers have.
fn in_order(paths: &[String]) -> Vec<&str> {
    let fits = |it: &&str| !it.is_empty() && it.len() <= 1024 && !it.contains('\0');
    let mut paths: Vec<&str> = paths.iter().map(String::as_str).filter(fits).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

#[async_trait]
impl Usage for OwnedStore {
    async fn counts(&self, paths: &[String]) -> Answer<BTreeMap<String, u64>> {
        let sql = "SELECT path, uses FROM ctx.usage WHERE owner = $1 AND path = ANY ($2)";
        let rows = self
            .read("count uses", sql, &[&self.owner(), &in_order(paths)])
            .await?;
        let count = |row: &tokio_postgres::Row| (row.get(0), row.get::<_, i64>(1).cast_unsigned());
        Ok(rows.iter().map(count).collect())
    }

    async fn shown(&self, paths: &[String], now: i64) -> Answer<()> {
        let sql = "INSERT INTO ctx.usage AS u (owner, path, shown_at)
                   SELECT $1, path, $3::bigint FROM unnest($2::text[]) path ORDER BY path
                   ON CONFLICT (owner, path) DO UPDATE SET shown_at = greatest(u.shown_at, excluded.shown_at)";
        let paths = in_order(paths);
        self.write_one("note what was shown", sql, &[&paths, &now])
            .await?;
        Ok(())
    }

    async fn recent(&self, limit: usize) -> Answer<Vec<(String, i64)>> {
        let sql = "SELECT path, shown_at FROM ctx.usage WHERE owner = $1 AND shown_at > 0
                   ORDER BY shown_at DESC, path LIMIT $2::int";
        let limit = self.limits().rows(limit);
        let rows = self
            .read("list recent files", sql, &[&self.owner(), &limit])
            .await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }
}
