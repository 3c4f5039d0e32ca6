//! Transactions, which belong to one owner.

use std::future::Future;
use std::time::Duration;

use deadpool_postgres::{Client, Transaction};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tracing::debug;

use crate::store::OwnedStore;
use crate::{StoreError, migrate};

/// The first wait before a transaction is tried again; each next is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(4);

/// What holds until the end of a transaction: the owner is whose rows there are, and the role is bound by that.
const SETTINGS: &str = "
    SELECT set_config('ctx.owner', $1, true), set_config('statement_timeout', $2, true),
        set_config('jit', 'off', true), set_config('role', 'ctx_app', true),
        CASE WHEN $3 THEN set_config('synchronous_commit', 'off', true) END";

/// What a transaction may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Reads,
    Writes,
    /// Writes what a crash may take along: nobody waits for the disk.
    Notes,
}

/// What is wanted of a statement.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Rows,
    Count,
}

/// What a statement came to, of what was wanted.
#[derive(Debug, Default)]
struct Done {
    rows: Vec<Row>,
    /// Rows that were written.
    count: u64,
}

impl OwnedStore {
    pub(crate) fn limit_of(&self, mode: Mode) -> Duration {
        match mode {
            Mode::Reads => self.limits().reading,
            Mode::Writes | Mode::Notes => self.limits().writing,
        }
    }

    /// Begins a transaction of this owner: every setting ends with it, so that the next user of the connection
    /// finds none of them.
    pub(crate) async fn begin<'c>(
        &self,
        client: &'c mut Client,
        mode: Mode,
    ) -> Result<Transaction<'c>, StoreError> {
        let limit = self.limit_of(mode);
        let failed = |error| StoreError::of("begin a transaction", limit, &error);
        let transaction = client
            .build_transaction()
            .read_only(mode == Mode::Reads)
            .start()
            .await
            .map_err(failed)?;
        let settings = transaction.prepare_cached(SETTINGS).await.map_err(failed)?;
        let timeout = limit.as_millis().max(1).to_string();
        transaction
            .query_one(
                &settings,
                &[&self.owner(), &timeout, &(mode == Mode::Notes)],
            )
            .await
            .map_err(|error| not_migrated("begin a transaction", &error, limit))?;
        Ok(transaction)
    }

    /// The rows of one statement, in a transaction that reads.
    pub(crate) async fn read(
        &self,
        doing: &'static str,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        let done = self.at_once(doing, Mode::Reads, sql, values, Wanted::Rows);
        Ok(done.await?.rows)
    }

    /// One statement in a transaction of its own. All of it is sent together, so it takes one round trip, and a
    /// caller that goes away leaves no transaction behind.
    async fn at_once(
        &self,
        doing: &'static str,
        mode: Mode,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
        wanted: Wanted,
    ) -> Result<Done, StoreError> {
        let limit = self.limit_of(mode);
        let failed = |error| StoreError::of(doing, limit, &error);
        let unknown = |error| not_migrated(doing, &error, limit);
        let client = self.client().await?;
        let settings = client.prepare_cached(SETTINGS).await.map_err(failed)?;
        let statement = client.prepare_cached(sql).await.map_err(unknown)?;
        let (owner, timeout) = (self.owner(), limit.as_millis().max(1).to_string());
        let is_note = mode == Mode::Notes;
        let set: [&(dyn ToSql + Sync); 3] = [&owner, &timeout, &is_note];
        let opening = match mode {
            Mode::Reads => "BEGIN READ ONLY",
            Mode::Writes | Mode::Notes => "BEGIN",
        };
        let run = async {
            let mut done = Done::default();
            match wanted {
                Wanted::Rows => done.rows = client.query(&statement, values).await?,
                Wanted::Count => done.count = client.execute(&statement, values).await?,
            }
            Ok(done)
        };
        // The server answers in this order, and after a failure refuses the rest.
        let (begun, set, done, ended) = tokio::join!(
            biased;
            client.batch_execute(opening),
            client.query_one(&settings, &set),
            run,
            client.batch_execute("COMMIT"),
        );
        begun.map_err(failed)?;
        set.map_err(unknown)?;
        let done = done.map_err(failed)?;
        ended.map_err(failed)?;
        Ok(done)
    }

    /// One statement that writes, whose first value is the owner. Returns how many rows it wrote.
    pub(crate) async fn write_one(
        &self,
        doing: &'static str,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, StoreError> {
        self.write_in(doing, Mode::Writes, sql, values).await
    }

    /// The same, in this mode.
    pub(crate) async fn write_in(
        &self,
        doing: &'static str,
        mode: Mode,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, StoreError> {
        let owner = self.owner();
        let all = with_owner(&owner, values);
        let once = || self.at_once(doing, mode, sql, &all, Wanted::Count);
        Ok(self.retried(once).await?.count)
    }

    /// One statement that writes, whose first value is the owner, and the one row that it has for an answer.
    pub(crate) async fn write_row(
        &self,
        doing: &'static str,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, StoreError> {
        let owner = self.owner();
        let all = with_owner(&owner, values);
        let once = || self.at_once(doing, Mode::Writes, sql, &all, Wanted::Rows);
        let mut rows = self.retried(once).await?.rows;
        Ok(rows.pop().expect("each of these statements has one row"))
    }

    /// Does `work` again, after a wait, as long as it gave way to another transaction.
    pub(crate) async fn retried<T, F>(&self, mut work: impl FnMut() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut wait = FIRST_WAIT;
        for attempt in 0..self.limits().retries {
            match work().await {
                Err(error) if error.gave_way() => {
                    debug!(attempt, %error, "a transaction gave way");
                    tokio::time::sleep(wait).await;
                    wait *= 2;
                }
                done => return done,
            }
        }
        work().await
    }
}

/// The values of a statement, the owner before all others.
fn with_owner<'v>(
    owner: &'v &str,
    values: &[&'v (dyn ToSql + Sync)],
) -> Vec<&'v (dyn ToSql + Sync)> {
    let mut all: Vec<&(dyn ToSql + Sync)> = vec![owner];
    all.extend(values);
    all
}

/// Without the role there are no tables either, nor the other way round.
pub(crate) fn not_migrated(
    doing: &'static str,
    error: &tokio_postgres::Error,
    limit: Duration,
) -> StoreError {
    let unknown = [
        SqlState::INVALID_PARAMETER_VALUE,
        SqlState::UNDEFINED_OBJECT,
        SqlState::INVALID_SCHEMA_NAME,
        SqlState::UNDEFINED_TABLE,
    ];
    if error.code().is_some_and(|it| unknown.contains(it)) {
        return StoreError::NotMigrated {
            found: 0,
            needed: migrate::VERSION,
        };
    }
    StoreError::of(doing, limit, error)
}
