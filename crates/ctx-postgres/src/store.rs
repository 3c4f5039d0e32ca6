//! Connections, and transactions that belong to one owner.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    Client, Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime, Transaction,
};
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, NoTls, Row};
use tracing::debug;

use crate::error::said;
use crate::{Limits, StoreError, migrate};

/// No owner's name is longer, in bytes: it is in every key.
const LONGEST_OWNER: usize = 255;
/// The first wait before a transaction is tried again; each next is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(4);

/// What holds until the end of a transaction: the owner is whose rows there are, and the role is bound by that.
const SETTINGS: &str = "
    SELECT set_config('ctx.owner', $1, true), set_config('statement_timeout', $2, true),
        set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true),
        set_config('role', 'ctx_app', true)";

/// A database that many processes share, with the data of many owners. Clones share their connections.
#[derive(Clone)]
pub struct Store {
    pool: Pool,
    limits: Arc<Limits>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// What one owner has in a [`Store`], and nothing else. All ports of `ctx-retrieve` are here.
#[derive(Clone, Debug)]
pub struct OwnedStore {
    store: Store,
    owner: Arc<str>,
}

impl Store {
    /// Opens the database at `url`: `postgres://user:password@host/name`, or `host=/run/postgresql user=ctx`.
    /// The connection itself is not encrypted: go over a socket, a private network or a proxy that is.
    ///
    /// # Errors
    /// [`StoreError::Address`], and [`StoreError::Connect`] where one connection cannot be made.
    pub async fn connect(url: &str, limits: Limits) -> Result<Store, StoreError> {
        let mut config: Config = url.parse().map_err(StoreError::Address)?;
        if config.get_application_name().is_none() {
            config.application_name("ctx");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(limits.wait);
        }
        let recycling = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = Manager::from_config(config, NoTls, recycling);
        let pool = Pool::builder(manager)
            .max_size(limits.connections.max(1))
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(limits.wait))
            .create_timeout(Some(limits.wait))
            .recycle_timeout(Some(limits.wait))
            .build()
            .map_err(|error| StoreError::Connect {
                why: error.to_string(),
            })?;
        let store = Store {
            pool,
            limits: Arc::new(limits),
        };
        drop(store.client().await?);
        Ok(store)
    }

    /// Makes the tables, or brings them to the version that this program needs. Does nothing where that is done;
    /// processes that do it at once wait for each other. The role that does it needs the right to create roles
    /// and extensions; later, roles that are members of `ctx_app` suffice.
    ///
    /// # Errors
    /// [`StoreError::Migration`], [`StoreError::TooNew`].
    pub async fn migrate(&self) -> Result<(), StoreError> {
        let mut client = self.client().await?;
        migrate::migrate(&mut client, self.limits.writing).await
    }

    /// Whether the database answers, and has the tables that this program needs.
    ///
    /// # Errors
    /// [`StoreError::Connect`], [`StoreError::NotMigrated`], [`StoreError::TooNew`].
    pub async fn ready(&self) -> Result<(), StoreError> {
        let client = self.client().await?;
        migrate::check(&client, self.limits.reading).await
    }

    /// What `owner` has.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a name that is empty, longer than 255 bytes or holds a NUL.
    pub fn owner(&self, owner: &str) -> Result<OwnedStore, StoreError> {
        check_name("the name of the owner", owner, LONGEST_OWNER)?;
        Ok(OwnedStore {
            store: self.clone(),
            owner: Arc::from(owner),
        })
    }

    /// What all processes of this database sign with: made when it was migrated, and never another.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn secret(&self) -> Result<[u8; 32], StoreError> {
        let limit = self.limits.reading;
        let client = self.client().await?;
        let rows = client.query_one("SELECT secret FROM ctx.secret", &[]).await;
        let row = rows.map_err(|error| not_migrated("read the secret", error, limit))?;
        // The table holds nothing of another length.
        Ok(row.get::<_, &[u8]>(0).try_into().unwrap_or_default())
    }

    async fn client(&self) -> Result<Client, StoreError> {
        self.pool
            .get()
            .await
            .map_err(|error| StoreError::Connect { why: why(&error) })
    }
}

/// Where the database at `url` is, as far as that may be told: hosts and ports, and no user, password or name.
pub fn host(url: &str) -> String {
    let Ok(config) = url.parse::<Config>() else {
        return "an address that is none".to_owned();
    };
    let ports = config.get_ports();
    let place = |(at, host): (usize, &Host)| match (host, ports.get(at).or(ports.first())) {
        (Host::Tcp(name), Some(port)) => format!("{name}:{port}"),
        (Host::Tcp(name), None) => name.clone(),
        #[cfg(unix)]
        (Host::Unix(folder), _) => folder.display().to_string(),
    };
    let places: Vec<String> = config.get_hosts().iter().enumerate().map(place).collect();
    if places.is_empty() {
        return "no host".to_owned();
    }
    places.join(", ")
}

fn why(error: &PoolError) -> String {
    match error {
        PoolError::Timeout(_) => "no connection became free in time".to_owned(),
        PoolError::Backend(error) => said(error),
        other => other.to_string(),
    }
}

/// Whether `name` can be in a key.
pub(crate) fn check_name(what: &'static str, name: &str, longest: usize) -> Result<(), StoreError> {
    let invalid = |why| Err(StoreError::Invalid { what, why });
    if name.is_empty() {
        invalid("it is empty")
    } else if name.len() > longest {
        invalid("it is too long")
    } else if name.contains('\0') {
        invalid("it holds a NUL character")
    } else {
        Ok(())
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

impl OwnedStore {
    /// Whose it is.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.store.limits
    }

    pub(crate) async fn client(&self) -> Result<Client, StoreError> {
        self.store.client().await
    }

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
        let failed = |error| StoreError::of("begin a transaction", limit, error);
        let transaction = client
            .build_transaction()
            .read_only(mode == Mode::Reads)
            .start()
            .await
            .map_err(failed)?;
        let settings = transaction.prepare_cached(SETTINGS).await.map_err(failed)?;
        let timeout = limit.as_millis().max(1).to_string();
        transaction
            .query_one(&settings, &[&&*self.owner, &timeout])
            .await
            .map_err(|error| not_migrated("begin a transaction", error, limit))?;
        if mode == Mode::Notes {
            let sql = "SET LOCAL synchronous_commit = off";
            transaction.batch_execute(sql).await.map_err(failed)?;
        }
        Ok(transaction)
    }

    /// The rows of one statement, in a transaction that reads. All of it is sent together, so it takes one
    /// round trip, and a caller that goes away leaves no transaction behind.
    pub(crate) async fn read(
        &self,
        doing: &'static str,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        let limit = self.limits().reading;
        let failed = |error| StoreError::of(doing, limit, error);
        let unknown = |error| not_migrated(doing, error, limit);
        let client = self.client().await?;
        let settings = client.prepare_cached(SETTINGS).await.map_err(failed)?;
        let statement = client.prepare_cached(sql).await.map_err(unknown)?;
        let (owner, timeout) = (self.owner(), limit.as_millis().max(1).to_string());
        let set: [&(dyn ToSql + Sync); 2] = [&owner, &timeout];
        // The server answers in this order, and after a failure refuses the rest.
        let (begun, set, rows, ended) = tokio::join!(
            biased;
            client.batch_execute("BEGIN READ ONLY"),
            client.query_one(&settings, &set),
            client.query(&statement, values),
            client.batch_execute("COMMIT"),
        );
        begun.map_err(failed)?;
        set.map_err(unknown)?;
        let rows = rows.map_err(failed)?;
        ended.map_err(failed)?;
        Ok(rows)
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
        let once = || async {
            let failed = |error| StoreError::of(doing, self.limits().writing, error);
            let mut client = self.client().await?;
            let transaction = self.begin(&mut client, mode).await?;
            let statement = transaction.prepare_cached(sql).await.map_err(failed)?;
            let owner = self.owner();
            let all = with_owner(&owner, values);
            let count = transaction.execute(&statement, &all).await;
            let count = count.map_err(failed)?;
            transaction.commit().await.map_err(failed)?;
            Ok(count)
        };
        self.retried(once).await
    }

    /// One statement that writes, whose first value is the owner, and the one row that it has for an answer.
    pub(crate) async fn write_row(
        &self,
        doing: &'static str,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, StoreError> {
        let once = || async {
            let failed = |error| StoreError::of(doing, self.limits().writing, error);
            let mut client = self.client().await?;
            let transaction = self.begin(&mut client, Mode::Writes).await?;
            let statement = transaction.prepare_cached(sql).await.map_err(failed)?;
            let owner = self.owner();
            let all = with_owner(&owner, values);
            let row = transaction.query_one(&statement, &all).await;
            let row = row.map_err(failed)?;
            transaction.commit().await.map_err(failed)?;
            Ok(row)
        };
        self.retried(once).await
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
fn not_migrated(doing: &'static str, error: tokio_postgres::Error, limit: Duration) -> StoreError {
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
