//! Transactions, each of one owner.

use std::future::Future;
use std::time::Duration;

use deadpool_postgres::{Client, Transaction};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tracing::debug;

use crate::store::OwnedStore;
use crate::{StoreError, migrate};

/// The wait before the first retry of a transaction; it doubles each time.
const FIRST_WAIT: Duration = Duration::from_millis(4);

/// How much longer than the server's time limit of a statement its answer is awaited: the server
/// ends the statement itself, and its report has to arrive.
pub(crate) const SLACK: Duration = Duration::from_secs(2);

/// The longest time limit of a statement that the server accepts, in milliseconds: some 25 days.
const LONGEST: u128 = i32::MAX as u128;

/// Settings for the duration of a transaction: the owner whose rows are visible, and the role that
/// is bound by that. A process stopped during a transaction keeps its locks for at most the time
/// limit of a statement, and not for the longer one of those that store files. Statements that read
/// use a generic plan, so they use the same indexes whatever the parameters: planning anew each
/// time takes longer than some answers. Where the server, the database or the role does not wait
/// for the disk, a transaction that writes does.
const SETTINGS: &str = "
    SELECT set_config('ctx.owner', $1, true), set_config('statement_timeout', $2, true),
        set_config('idle_in_transaction_session_timeout', $5, true),
        set_config('jit', 'off', true), set_config('role', 'ctx_app', true),
        CASE WHEN $3 THEN set_config('synchronous_commit', 'off', true)
            WHEN NOT $4 AND current_setting('synchronous_commit') = 'off'
            THEN set_config('synchronous_commit', 'local', true) END,
        CASE WHEN $4 THEN set_config('plan_cache_mode', 'force_generic_plan', true) END";

/// The values of [`SETTINGS`].
struct Settings<'s> {
    owner: &'s str,
    /// In milliseconds, as is the next.
    timeout: String,
    /// How long the transaction may be idle.
    idle: String,
    is_note: bool,
    reads: bool,
}

impl<'s> Settings<'s> {
    /// The settings of a transaction of `store` whose statements have this time limit.
    fn of(store: &'s OwnedStore, mode: Mode, limit: Duration) -> Self {
        let millis = |it: Duration| it.as_millis().clamp(1, LONGEST).to_string();
        Settings {
            owner: store.owner(),
            timeout: millis(limit),
            idle: millis(limit.min(store.limits().writing)),
            is_note: mode == Mode::Notes,
            reads: mode == Mode::Reads,
        }
    }

    fn values(&self) -> [&(dyn ToSql + Sync); 5] {
        [
            &self.owner,
            &self.timeout,
            &self.is_note,
            &self.reads,
            &self.idle,
        ]
    }
}

/// What a transaction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Reads,
    Writes,
    /// Writes files, each statement as many rows as a batch has.
    Stores,
    /// Writes data that a crash may lose: the commit does not wait for the disk.
    Notes,
}

/// Waits for answers of the server with a time limit. A server that is stopped or unreachable does
/// not end its statements itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    doing: &'static str,
    limit: Duration,
}

impl Waiting {
    /// `limit` is the server's time limit of a statement.
    pub(crate) fn new(doing: &'static str, limit: Duration) -> Self {
        Waiting { doing, limit }
    }

    /// The result of one statement.
    pub(crate) async fn of<T>(
        self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, StoreError> {
        self.until(answer).await?.map_err(|it| self.failed(&it))
    }

    /// The result of one statement, where a failure may be due to missing tables.
    pub(crate) async fn of_tables<T>(
        self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, StoreError> {
        let answer = self.until(answer).await?;
        answer.map_err(|it| not_migrated(self.doing, &it, self.limit))
    }

    /// The result of `answer`, if it arrives in time.
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

/// The kind of result expected of a statement.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Rows,
    Count,
}

/// The result of a statement.
#[derive(Debug, Default)]
struct Done {
    rows: Vec<Row>,
    /// The number of rows written.
    count: u64,
}

impl OwnedStore {
    pub(crate) fn limit_of(&self, mode: Mode) -> Duration {
        match mode {
            Mode::Reads => self.limits().reading,
            Mode::Writes | Mode::Notes => self.limits().writing,
            Mode::Stores => self.limits().storing,
        }
    }

    /// The time limit for statements of this mode.
    pub(crate) fn waiting(&self, doing: &'static str, mode: Mode) -> Waiting {
        Waiting::new(doing, self.limit_of(mode))
    }

    /// Begins a transaction of this owner. Every setting ends with it, so that the next user of the
    /// connection finds none of them.
    ///
    /// # Errors
    /// [`StoreError::Ended`] if the connection is lost before this returns.
    pub(crate) async fn begin<'c>(
        &self,
        client: &'c mut Client,
        mode: Mode,
    ) -> Result<Transaction<'c>, StoreError> {
        let begun = self.begin_on(client, mode).await;
        begun.map_err(StoreError::before_work)
    }

    async fn begin_on<'c>(
        &self,
        client: &'c mut Client,
        mode: Mode,
    ) -> Result<Transaction<'c>, StoreError> {
        let waiting = self.waiting("begin a transaction", mode);
        let set = Settings::of(self, mode, waiting.limit);
        // A writing transaction does not set the access mode: that would override a database set to
        // read-only.
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

    /// The rows of one statement in a transaction that reads.
    pub(crate) async fn read(
        &self,
        doing: &'static str,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        let once = || self.at_once(doing, Mode::Reads, sql, values, Wanted::Rows);
        Ok(self.retried(once).await?.rows)
    }

    /// Runs one statement in a transaction of its own. Everything is sent together, so it takes one
    /// round trip, and a caller that is dropped leaves no transaction open: it is either completed
    /// or ended.
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

    /// Runs one statement in a transaction of its own on this connection.
    async fn at_once_on(
        &self,
        client: &Client,
        waiting: Waiting,
        mode: Mode,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
        wanted: Wanted,
    ) -> Result<Done, StoreError> {
        let settings = waiting.of(client.prepare_cached(SETTINGS)).await;
        let settings = settings.map_err(StoreError::before_work)?;
        let statement = waiting.of_tables(client.prepare_cached(sql)).await;
        let statement = statement.map_err(StoreError::before_work)?;
        let chosen = Settings::of(self, mode, waiting.limit);
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
        begun.map_err(|error| {
            // Without an answer of the server, all that was sent may have been done.
            let has_done_nothing = mode == Mode::Reads || error.as_db_error().is_some();
            let failed = failed(error);
            if has_done_nothing {
                failed.before_work()
            } else {
                failed
            }
        })?;
        set.map_err(|error| not_migrated(waiting.doing, &error, waiting.limit))?;
        let done = done.map_err(failed)?;
        ended.map_err(failed)?;
        Ok(done)
    }

    /// Runs one statement that writes, whose first parameter is the owner. Returns the number of
    /// rows written.
    pub(crate) async fn write_one(
        &self,
        doing: &'static str,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, StoreError> {
        self.write_in(doing, Mode::Writes, sql, values).await
    }

    /// Runs one statement that writes in this mode, whose first parameter is the owner. Returns the
    /// number of rows written.
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

    /// Runs one statement that writes, whose first parameter is the owner, and returns the one row
    /// of its result.
    pub(crate) async fn write_row(
        &self,
        doing: &'static str,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, StoreError> {
        let mut rows = self.write_rows(doing, Mode::Writes, sql, values).await?;
        Ok(rows.pop().expect("each of these statements has one row"))
    }

    /// Runs one statement that writes in this mode, whose first parameter is the owner, and returns
    /// the rows of its result.
    pub(crate) async fn write_rows(
        &self,
        doing: &'static str,
        mode: Mode,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        let owner = self.owner();
        let all = with_owner(&owner, values);
        let once = || self.at_once(doing, mode, sql, &all, Wanted::Rows);
        Ok(self.retried(once).await?.rows)
    }

    /// Repeats `work`, each time after a wait, while it gives way to another transaction or gets a
    /// connection that had ended.
    pub(crate) async fn retried<T, F>(&self, mut work: impl FnMut() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut wait = FIRST_WAIT;
        for attempt in 0..self.limits().retries {
            match work().await {
                Err(error) if error.has_done_nothing() => {
                    debug!(attempt, %error, "a transaction is tried again");
                    tokio::time::sleep(wait).await;
                    wait *= 2;
                }
                done => return done,
            }
        }
        work().await
    }
}

/// The parameters of a statement, preceded by the owner.
fn with_owner<'v>(
    owner: &'v &str,
    values: &[&'v (dyn ToSql + Sync)],
) -> Vec<&'v (dyn ToSql + Sync)> {
    let mut all: Vec<&(dyn ToSql + Sync)> = vec![owner];
    all.extend(values);
    all
}

/// If the role is missing the tables are missing too, and vice versa.
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
