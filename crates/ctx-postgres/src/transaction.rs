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

/// So much longer than the server may take over a statement its answer is waited for: it ends the statement by itself, and
/// that it did so has to come here.
pub(crate) const SLACK: Duration = Duration::from_secs(2);

/// The server takes no longer time for a statement, in milliseconds: some 25 days.
const LONGEST: u128 = i32::MAX as u128;

/// What holds until the end of a transaction: the owner is whose rows there are, and the role is bound by that. A process that is
/// stopped in the middle of one keeps what it has locked no longer than a statement may take. Whatever a
/// statement that reads is asked for, it goes by the same indexes: to plan it anew each time takes longer than some answers.
const SETTINGS: &str = "
    SELECT set_config('ctx.owner', $1, true), set_config('statement_timeout', $2, true),
        set_config('idle_in_transaction_session_timeout', $2, true),
        set_config('jit', 'off', true), set_config('role', 'ctx_app', true),
        CASE WHEN $3 THEN set_config('synchronous_commit', 'off', true) END,
        CASE WHEN $4 THEN set_config('plan_cache_mode', 'force_generic_plan', true) END";

/// What [`SETTINGS`] are set to.
struct Settings<'s> {
    owner: &'s str,
    /// In milliseconds.
    timeout: String,
    is_note: bool,
    reads: bool,
}

impl<'s> Settings<'s> {
    /// Those of a transaction of `owner` whose statements may take so long.
    fn of(owner: &'s str, mode: Mode, limit: Duration) -> Self {
        Settings {
            owner,
            timeout: limit.as_millis().clamp(1, LONGEST).to_string(),
            is_note: mode == Mode::Notes,
            reads: mode == Mode::Reads,
        }
    }

    fn values(&self) -> [&(dyn ToSql + Sync); 4] {
        [&self.owner, &self.timeout, &self.is_note, &self.reads]
    }
}

/// What a transaction may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Reads,
    Writes,
    /// Writes what a crash may take along: nobody waits for the disk.
    Notes,
}

/// Who waits for answers of the server, and for how long. A server that is stopped, or to which nothing leads any more,
/// does not end its statements by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    doing: &'static str,
    limit: Duration,
}

impl Waiting {
    /// `limit` is what the server may take over a statement.
    pub(crate) fn new(doing: &'static str, limit: Duration) -> Self {
        Waiting { doing, limit }
    }

    /// What one statement came to.
    pub(crate) async fn of<T>(
        self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, StoreError> {
        self.until(answer).await?.map_err(|it| self.failed(&it))
    }

    /// The same, where a failure may be that there are no tables.
    pub(crate) async fn of_tables<T>(
        self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, StoreError> {
        let answer = self.until(answer).await?;
        answer.map_err(|it| not_migrated(self.doing, &it, self.limit))
    }

    /// What `answer` is, where it comes in time.
    pub(crate) async fn until<T>(self, answer: impl Future<Output = T>) -> Result<T, StoreError> {
        let waited = self.limit.saturating_add(SLACK);
        let answer = tokio::time::timeout(waited, answer).await;
        answer.map_err(|_| StoreError::Silent {
            doing: self.doing,
            waited,
        })
    }

    pub(crate) fn failed(self, error: &tokio_postgres::Error) -> StoreError {
        StoreError::of(self.doing, self.limit, error)
    }
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

    /// Waits as long as for statements of this mode.
    pub(crate) fn waiting(&self, doing: &'static str, mode: Mode) -> Waiting {
        Waiting::new(doing, self.limit_of(mode))
    }

    /// Begins a transaction of this owner: every setting ends with it, so that the next user of the connection
    /// finds none of them.
    pub(crate) async fn begin<'c>(
        &self,
        client: &'c mut Client,
        mode: Mode,
    ) -> Result<Transaction<'c>, StoreError> {
        let waiting = self.waiting("begin a transaction", mode);
        let set = Settings::of(self.owner(), mode, waiting.limit);
        // One that writes does not say so: where the database is to take no writes, none of them is to pass that over.
        let builder = client.build_transaction();
        let builder = if set.reads {
            builder.read_only(true)
        } else {
            builder
        };
        let transaction = waiting.of(builder.start()).await?;
        let settings = waiting.of(transaction.prepare_cached(SETTINGS)).await?;
        waiting
            .of_tables(transaction.query_one(&settings, &set.values()))
            .await?;
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
    /// caller that goes away leaves no transaction behind: it is done as a whole, or ended.
    async fn at_once(
        &self,
        doing: &'static str,
        mode: Mode,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
        wanted: Wanted,
    ) -> Result<Done, StoreError> {
        let client = self.client().await?;
        let done = self.at_once_on(
            &client,
            self.waiting(doing, mode),
            mode,
            sql,
            values,
            wanted,
        );
        let done = done.await;
        client.given_back(done)
    }

    /// The same, on this connection.
    async fn at_once_on(
        &self,
        client: &Client,
        waiting: Waiting,
        mode: Mode,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
        wanted: Wanted,
    ) -> Result<Done, StoreError> {
        let settings = waiting.of(client.prepare_cached(SETTINGS)).await?;
        let statement = waiting.of_tables(client.prepare_cached(sql)).await?;
        let chosen = Settings::of(self.owner(), mode, waiting.limit);
        let set = chosen.values();
        let opening = if chosen.reads {
            "BEGIN READ ONLY"
        } else {
            "BEGIN"
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
        let together = async {
            tokio::join!(
                biased;
                client.batch_execute(opening),
                client.query_one(&settings, &set),
                run,
                client.batch_execute("COMMIT"),
            )
        };
        let (begun, set, done, ended) = waiting.until(together).await?;
        let failed = |error| waiting.failed(&error);
        begun.map_err(failed)?;
        set.map_err(|error| not_migrated(waiting.doing, &error, waiting.limit))?;
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
fn not_migrated(doing: &'static str, error: &tokio_postgres::Error, limit: Duration) -> StoreError {
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
