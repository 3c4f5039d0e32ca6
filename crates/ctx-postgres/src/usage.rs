//! Records of files shown, and votes on whether they were useful.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use ctx_model::UnixSeconds;
use ctx_retrieve::{Feedback, Generation, MOST_USES, PortResult, Usage, VOTE_MEMORY, Vote};
use deadpool_postgres::Client;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use tracing::debug;

use crate::StoreError;
use crate::opening::{Progress, progress};
use crate::store::{OwnedStore, check_name};
use crate::transaction::Mode;

/// The longest key or path of a vote, in bytes.
const LONGEST_KEY: usize = 1024;

/// Counts the votes with new keys, and stores these keys. Votes of an owner are counted one
/// transaction at a time, since their number identifies a state.
const VOTE: &str = "
    WITH turn AS (
        INSERT INTO ctx.votes AS v (owner, counted) VALUES ($1, 0)
        ON CONFLICT (owner) DO UPDATE SET counted = v.counted RETURNING 1
    )
    SELECT count(*) FROM turn";
const KEYS: &str = "
    INSERT INTO ctx.feedback (owner, context, is_useful, paths, given_at)
    SELECT $1, key, is_useful, ARRAY[path], given_at
    FROM unnest($2::text[], $3::text[], $4::boolean[], $5::bigint[]) AS it (key, path, is_useful, given_at)
    ON CONFLICT (owner, context) DO NOTHING RETURNING context";
const COUNTED: &str = "
    WITH moved AS (
        SELECT * FROM unnest($3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) AS it (path, step, low, high)
    ), counted AS (
        UPDATE ctx.votes SET counted = counted + $2 WHERE owner = $1
    )
    INSERT INTO ctx.usage AS u (owner, path, uses)
    SELECT $1, path, least(greatest(step, low), high) FROM moved ORDER BY path
    ON CONFLICT (owner, path) DO UPDATE SET uses = (
        SELECT least(greatest(u.uses + m.step, m.low), m.high) FROM moved m WHERE m.path = excluded.path
    )";
const FORGET: &str = "
    DELETE FROM ctx.feedback WHERE owner = $1 AND context IN (
        SELECT context FROM ctx.feedback WHERE owner = $1 AND given_at < $2 ORDER BY given_at LIMIT $3
    )";
/// Rows that others have locked stay as they are. A time that has not come yet is of a process
/// whose clock was ahead.
const SHOWN: &str = "
    WITH known AS MATERIALIZED (
        SELECT path FROM ctx.usage WHERE owner = $1 AND path = ANY ($2)
    ), free AS MATERIALIZED (
        SELECT path FROM ctx.usage WHERE owner = $1 AND path = ANY ($2) ORDER BY path FOR UPDATE SKIP LOCKED
    )
    INSERT INTO ctx.usage AS u (owner, path, shown_at)
    SELECT $1, path, $3::bigint FROM unnest($2::text[]) path
    WHERE path IN (SELECT path FROM free) OR path NOT IN (SELECT path FROM known) ORDER BY path
    ON CONFLICT (owner, path) DO UPDATE SET shown_at = excluded.shown_at
    WHERE u.shown_at < excluded.shown_at OR u.shown_at > extract(epoch FROM now())";
/// The combined effect of consecutive votes on the usage count of a file: a step, followed by
/// bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Move {
    step: i64,
    low: i64,
    high: i64,
}

impl Move {
    /// The effect of no votes.
    const NONE: Move = Move {
        step: 0,
        low: 0,
        high: MOST_USES.cast_signed(),
    };

    /// The effect followed by one more vote.
    fn and(self, is_useful: bool) -> Self {
        let by = if is_useful { 1 } else { -1 };
        let within = |it: i64| (it + by).clamp(Self::NONE.low, Self::NONE.high);
        Move {
            step: self.step + by,
            low: within(self.low),
            high: within(self.high),
        }
    }

    /// The effect on each file of those of `votes` whose key is in `keys`: the first with each key.
    fn of_each<'v>(votes: &'v [Vote], mut keys: BTreeSet<&str>) -> BTreeMap<&'v str, Move> {
        let mut moves: BTreeMap<&str, Move> = BTreeMap::new();
        for vote in votes.iter().filter(|it| keys.remove(&*it.key)) {
            let its = moves.entry(&vote.path).or_insert(Self::NONE);
            *its = its.and(vote.is_useful());
        }
        moves
    }
}

/// The number of old votes removed beyond those counted in the same transaction, if there are as
/// many.
const FORGOTTEN: i64 = 32;

impl OwnedStore {
    /// Counts votes, and removes some that need not be remembered any more.
    async fn count_votes(&self, votes: &[Vote]) -> Result<usize, StoreError> {
        let mut client = self.client().await?;
        let counted = self.count_votes_on(&mut client, votes).await;
        client.given_back(counted)
    }

    async fn count_votes_on(
        &self,
        client: &mut Client,
        votes: &[Vote],
    ) -> Result<usize, StoreError> {
        let waiting = self.waiting("store feedback", Mode::Writes);
        let keys: Vec<&str> = votes.iter().map(|it| it.key.as_str()).collect();
        let paths: Vec<&str> = votes.iter().map(|it| it.path.as_str()).collect();
        let useful: Vec<bool> = votes.iter().map(Vote::is_useful).collect();
        let at: Vec<i64> = votes.iter().map(|it| it.at.get()).collect();
        let transaction = self.begin(client, Mode::Writes).await?;
        let turn = waiting.of(transaction.prepare_cached(VOTE)).await?;
        let owner = self.owner();
        waiting.of(transaction.query_one(&turn, &[&owner])).await?;
        let count = waiting.of(transaction.prepare_cached(KEYS)).await?;
        let values: [&(dyn ToSql + Sync); 5] = [&owner, &keys, &paths, &useful, &at];
        let rows = waiting.of(transaction.query(&count, &values)).await?;
        if rows.is_empty() {
            waiting.of(transaction.rollback()).await?;
            return Ok(0);
        }
        let counted = i64::try_from(rows.len()).unwrap_or(i64::MAX);
        let moves = Move::of_each(votes, rows.iter().map(|it| it.get(0)).collect());
        let paths: Vec<&str> = moves.keys().copied().collect();
        let all = |of: fn(&Move) -> i64| moves.values().map(of).collect::<Vec<i64>>();
        let (steps, lows, highs) = (all(|it| it.step), all(|it| it.low), all(|it| it.high));
        let add = waiting.of(transaction.prepare_cached(COUNTED)).await?;
        let values: [&(dyn ToSql + Sync); 6] = [&owner, &counted, &paths, &steps, &lows, &highs];
        waiting.of(transaction.execute(&add, &values)).await?;
        let now = votes.iter().map(|it| it.at).max().unwrap_or_default();
        let forget = waiting.of(transaction.prepare_cached(FORGET)).await?;
        let (until, most) = (now.saturating_sub(VOTE_MEMORY).get(), FORGOTTEN + counted);
        waiting
            .of(transaction.execute(&forget, &[&owner, &until, &most]))
            .await?;
        waiting.of(transaction.commit()).await?;
        Ok(usize::try_from(counted).unwrap_or(0))
    }
}

#[async_trait]
impl Feedback for OwnedStore {
    async fn vote(&self, vote: &Vote) -> PortResult<bool> {
        Ok(self.votes(std::slice::from_ref(vote)).await? > 0)
    }

    async fn votes(&self, votes: &[Vote]) -> PortResult<usize> {
        for vote in votes {
            check_name("the key of the vote", &vote.key, LONGEST_KEY)?;
            check_name("the path of the vote", &vote.path, LONGEST_KEY)?;
        }
        Ok(self.retried(|| self.count_votes(votes)).await?)
    }
}

impl OwnedStore {
    async fn progress(&self) -> Result<Progress, StoreError> {
        let sql = "SELECT coalesce((SELECT generation FROM ctx.owners WHERE owner = $1), 0),
                       coalesce((SELECT counted FROM ctx.votes WHERE owner = $1), 0)";
        let rows = self.read("tell the state", sql, &[&self.owner()]).await?;
        Ok(rows.first().map(|row| progress(row, 0)).unwrap_or_default())
    }
}

#[async_trait]
impl Generation for OwnedStore {
    async fn generation(&self) -> PortResult<u64> {
        let Progress { generation, votes } = match self.opening() {
            Some(opening) => opening.progress,
            None => self.progress().await?,
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(&generation.to_le_bytes());
        hasher.update(&votes.to_le_bytes());
        let mut hash = [0; 8];
        hasher.finalize_xof().fill(&mut hash);
        Ok(u64::from_le_bytes(hash))
    }
}

/// The distinct paths that are valid, in the order that all writers use.
fn in_order(paths: &[String]) -> Vec<&str> {
    let fits = |it: &&str| !it.is_empty() && it.len() <= 1024 && !it.contains('\0');
    let mut paths: Vec<&str> = paths.iter().map(String::as_str).filter(fits).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

#[async_trait]
impl Usage for OwnedStore {
    async fn counts(&self, paths: &[String]) -> PortResult<BTreeMap<String, u64>> {
        let progress = self.opening().map(|it| it.progress);
        let paths = in_order(paths);
        let (mut uses, paths) = match progress {
            Some(progress) => self.used(progress, &paths),
            None => (BTreeMap::new(), paths),
        };
        if !paths.is_empty() {
            let sql = "SELECT it.path, u.uses FROM unnest($2::text[]) AS it (path)
                       LEFT JOIN ctx.usage u ON u.owner = $1 AND u.path = it.path";
            let values: [&(dyn ToSql + Sync); 2] = [&self.owner(), &paths];
            let rows = self.read("count uses", sql, &values).await?;
            let count = |row: &Row| {
                let uses: Option<i64> = row.get(1);
                (row.get(0), uses.map(i64::cast_unsigned))
            };
            let read: BTreeMap<String, Option<u64>> = rows.iter().map(count).collect();
            if let Some(progress) = progress {
                self.keep_used(progress, &read);
            }
            uses.extend(read);
        }
        let known = uses.into_iter().filter_map(|(path, it)| Some((path, it?)));
        Ok(known.collect())
    }

    /// Recorded if that delays nobody: not for files that others are writing, and not at all while
    /// too many such records wait for a connection.
    async fn shown(&self, paths: &[String], now: UnixSeconds) -> PortResult<()> {
        let (paths, now) = (in_order(paths), now.get());
        let values: [&(dyn ToSql + Sync); 2] = [&paths, &now];
        // On the heap, since the future is large.
        let note = Box::pin(self.write_in("note what was shown", Mode::Notes, SHOWN, &values));
        if let Some(noted) = self.notes().in_turn(note).await {
            noted?;
        } else {
            debug!("what was shown is not noted: too many notes wait");
        }
        Ok(())
    }

    async fn recent(&self, limit: usize) -> PortResult<Vec<(String, UnixSeconds)>> {
        let sql = "SELECT path, shown_at FROM ctx.usage WHERE owner = $1 AND shown_at > 0
                   ORDER BY shown_at DESC, path DESC LIMIT $2::int";
        if let Some(known) = self.opening().and_then(|it| it.recent(limit)) {
            return Ok(known);
        }
        let limit = self.limits().rows(limit);
        let rows = self
            .read("list recent files", sql, &[&self.owner(), &limit])
            .await?;
        Ok(rows
            .iter()
            .map(|row| (row.get(0), UnixSeconds::new(row.get(1))))
            .collect())
    }
}
