//! The connection pool, and handles for owners.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    Client, ClientWrapper, Hook, HookError, Manager, ManagerConfig, Pool, PoolError,
    RecyclingMethod, Runtime, TimeoutType,
};
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::{Address, Encryption};
use crate::documents::SharedCache;
use crate::error::said;
use crate::indexed::Indexed;
use crate::lent::Lent;
use crate::notes::Notes;
use crate::opening::Opening;
use crate::transaction::Waiting;
use crate::{Limits, StoreError, migrate, pooled, tls};

/// The longest name of an owner in bytes, as it is in every key.
const LONGEST_OWNER: usize = 255;
/// How errors name the reading of the signing secret.
const READING_SECRET: &str = "read the secret";
/// After this long a dead connection is noticed, even if it is idle.
const QUIET: Duration = Duration::from_secs(30);

/// A database shared by many processes, with the data of many owners. Clones share the pool and the
/// cache.
#[derive(Clone)]
pub struct Store {
    pool: Pool,
    tls: Option<MakeRustlsConnect>,
    limits: Arc<Limits>,
    kept: Arc<SharedCache>,
    notes: Arc<Notes>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// An owner in the keys of the cache: the BLAKE3 hash of the name, which is collision resistant.
/// Thousands of keys are made and compared for a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnerKey([u8; 32]);

impl OwnerKey {
    fn of(owner: &str) -> Self {
        OwnerKey(*blake3::hash(owner.as_bytes()).as_bytes())
    }
}

impl Hash for OwnerKey {
    /// The value is a hash itself, so some of its bits suffice.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0[..8]);
    }
}

/// The data of one owner in a [`Store`]. Implements the ports of `ctx-retrieve` except `Changes`
/// and `Semantic`.
#[derive(Clone, Debug)]
pub struct OwnedStore {
    store: Store,
    owner: Arc<str>,
    owner_key: OwnerKey,
    opening: Option<Arc<Opening>>,
    indexed: Option<Arc<Indexed>>,
}

impl Store {
    /// Opens the database at `url`: `postgres://user:password@host/name`, or `host=/run/postgresql
    /// user=ctx`. With `sslmode=require` the connection is encrypted; with `sslmode=verify-full`
    /// the server must also prove its name, by the certificates in the file `sslrootcert` or those
    /// of the system. Otherwise use a socket or a private network.
    ///
    /// # Errors
    /// [`StoreError::BadAddress`]; [`StoreError::Connect`] if no connection can be made;
    /// [`StoreError::Pooled`].
    pub async fn connect(url: &str, limits: Limits) -> Result<Store, StoreError> {
        let Address {
            mut config,
            encryption,
        } = Address::of(url)?;
        if config.get_application_name().is_none() {
            config.application_name("ctx");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(limits.wait);
        }
        notice_silence(&mut config);
        let recycling = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let tls = match encryption {
            Encryption::None => None,
            Encryption::Unverified => Some(tls::unverified()?),
            Encryption::Verified(roots) => Some(tls::verified(roots.as_deref())?),
        };
        let further = config.clone();
        let manager = match tls.clone() {
            None => Manager::from_config(config, NoTls, recycling),
            Some(tls) => Manager::from_config(config, tls, recycling),
        };
        let wait = limits.wait;
        let begun = Hook::async_fn(move |client, _| Box::pin(noticed(client, wait)));
        let pool = Pool::builder(manager)
            .post_create(begun)
            .pre_recycle(Hook::async_fn(|client, metrics| {
                Box::pin(still_there(client, metrics.age(), metrics.last_used()))
            }))
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
            tls,
            kept: Arc::new(SharedCache::new(limits.kept_bytes)),
            notes: Arc::new(Notes::new(limits.connections)),
            limits: Arc::new(limits),
        };
        let client = store.client().await?;
        let kept = pooled::check(&client, &further, store.tls.clone(), store.limits.wait).await;
        client.given_back(kept.map(|()| store))
    }

    /// Creates the tables, or migrates them to the version that this program needs. Does nothing if
    /// that is done; processes that call it at once wait for each other. The role that calls it
    /// needs the right to create roles and extensions; afterwards, roles that are members of
    /// `ctx_app` suffice.
    ///
    /// # Errors
    /// [`StoreError::Migration`], [`StoreError::TooNew`], [`StoreError::TooOld`],
    /// [`StoreError::ReadOnly`], [`StoreError::Encoding`], [`StoreError::Rights`].
    pub async fn migrate(&self) -> Result<(), StoreError> {
        let mut client = self.client().await?;
        let migrated = migrate::migrate(&mut client, self.limits.writing).await;
        client.given_back(migrated)
    }

    /// Checks that the database answers, takes writes, has the tables that this program needs, and
    /// grants the rights to use them.
    ///
    /// # Errors
    /// [`StoreError::Connect`], [`StoreError::ReadOnly`], [`StoreError::NotMigrated`],
    /// [`StoreError::TooNew`], [`StoreError::Rights`].
    pub async fn ready(&self) -> Result<(), StoreError> {
        let client = self.client().await?;
        let ready = migrate::check(&client, self.limits.reading).await;
        client.given_back(ready)
    }

    /// The data of `owner`.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a name that is empty, longer than 255 bytes or holds a NUL.
    pub fn owner(&self, owner: &str) -> Result<OwnedStore, StoreError> {
        check_name("the name of the owner", owner, LONGEST_OWNER)?;
        Ok(OwnedStore {
            store: self.clone(),
            owner: Arc::from(owner),
            owner_key: OwnerKey::of(owner),
            opening: None,
            indexed: None,
        })
    }

    /// The secret with which all processes of this database sign. It is created by the migration
    /// and never changes.
    ///
    /// # Errors
    /// Those of the database, and [`StoreError::Database`] if the stored value is not a secret.
    pub async fn secret(&self) -> Result<[u8; 32], StoreError> {
        let mut client = self.client().await?;
        let secret = self.secret_on(&mut client).await;
        client.given_back(secret)
    }

    /// Reads the secret as the role that may read it, whose rights its members need not inherit.
    async fn secret_on(&self, client: &mut Client) -> Result<[u8; 32], StoreError> {
        let waiting = Waiting::new(READING_SECRET, self.limits.reading);
        let transaction = waiting.of(client.transaction()).await?;
        let role = transaction.batch_execute("SET LOCAL ROLE ctx_app");
        waiting.of_tables(role).await?;
        let row = transaction.query_one("SELECT secret FROM ctx.secret", &[]);
        let row = waiting.of_tables(row).await?;
        waiting.of(transaction.commit()).await?;
        secret_of(row.get(0))
    }

    async fn client(&self) -> Result<Lent, StoreError> {
        let client = self.pool.get().await;
        let client = client.map_err(|error| StoreError::Connect { why: why(&error) })?;
        Ok(Lent::new(client, self.tls.clone()))
    }
}

/// `bytes` if they are a valid secret: anybody could sign with the known value of all zeros.
fn secret_of(bytes: &[u8]) -> Result<[u8; 32], StoreError> {
    let secret = bytes.try_into().ok().filter(|it| *it != [0; 32]);
    secret.ok_or_else(|| StoreError::Database {
        doing: READING_SECRET,
        why: "what the table holds is no secret of 32 bytes".to_owned(),
        code: None,
    })
}

/// Makes the operating system close dead connections, if it can and the address does not configure
/// this itself.
fn notice_silence(config: &mut Config) {
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(QUIET);
    }
    if config.get_keepalives_idle() == Config::new().get_keepalives_idle() {
        config.keepalives_idle(QUIET / 2);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(QUIET / 6);
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(3);
    }
}

/// The same settings as in [`notice_silence`], for the server's side of the connection, unless they
/// are configured there: so the locks of a process that vanished are released. Has no effect over a
/// socket.
const NOTICED: &str = "
    SELECT set_config(s.name, it.value, false)
    FROM (VALUES ('tcp_user_timeout', '30000'), ('tcp_keepalives_idle', '15'), ('tcp_keepalives_interval', '5'),
        ('tcp_keepalives_count', '3')) AS it (name, value)
    JOIN pg_settings s ON s.name = it.name WHERE s.source = 'default'";

/// Makes the server notice when a new connection is dead.
async fn noticed(client: &ClientWrapper, wait: Duration) -> Result<(), HookError> {
    match tokio::time::timeout(wait, client.batch_execute(NOTICED)).await {
        Ok(done) => done.map_err(HookError::Backend),
        Err(_) => Err(HookError::message(LATE)),
    }
}

/// A connection that was lent so short a time ago is lent again without a test.
const TRUSTED: Duration = Duration::from_millis(500);
/// How long the answer to the test is awaited.
const TEST: Duration = Duration::from_millis(200);

/// The greatest age of a connection: each has temporary tables, whose transaction ids the server
/// can reuse only once it has ended.
const OLDEST: Duration = Duration::from_hours(1);

/// Checks that a connection of this `age` that was lent `last` ago has not ended since: the server,
/// or something between, may end idle connections, and of what is then written it is unknown
/// whether it was done. Takes one round trip. Whether a server is silent is for the statement to
/// say.
async fn still_there(
    client: &ClientWrapper,
    age: Duration,
    last: Duration,
) -> Result<(), HookError> {
    if age > OLDEST {
        return Err(HookError::message("it is old"));
    }
    if last < TRUSTED {
        return Ok(());
    }
    let answer = tokio::time::timeout(TEST, client.batch_execute("")).await;
    answer.unwrap_or(Ok(())).map_err(HookError::Backend)
}

/// The reason given if the server does not answer while a connection is opened.
const LATE: &str = "the server did not answer in time";

fn why(error: &PoolError) -> String {
    match error {
        PoolError::PostCreateHook(HookError::Message(why)) => why.clone().into_owned(),
        PoolError::Timeout(TimeoutType::Wait) => "no connection became free in time".to_owned(),
        PoolError::Timeout(_) => LATE.to_owned(),
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
            said(error)
        }
        other => other.to_string(),
    }
}

impl OwnedStore {
    /// The name of the owner.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// A handle for one request, which records [the texts that its results refer
    /// to](Self::indexed). Not to be kept longer than the request.
    #[must_use]
    pub fn for_request(&self) -> OwnedStore {
        OwnedStore {
            indexed: Some(Arc::default()),
            ..self.clone()
        }
    }

    /// A handle for a request that began with this state.
    pub(crate) fn begun(&self, opening: Opening) -> Self {
        OwnedStore {
            opening: Some(Arc::new(opening)),
            ..self.for_request()
        }
    }

    /// The state at the beginning of the request, if this is a handle for one.
    pub(crate) fn opening(&self) -> Option<&Opening> {
        self.opening.as_deref()
    }

    /// The record of the texts that results refer to, if this is a handle for a request.
    pub(crate) fn indexed_texts(&self) -> Option<&Indexed> {
        self.indexed.as_deref()
    }

    /// The owner as in keys of the cache.
    pub(crate) fn owner_key(&self) -> OwnerKey {
        self.owner_key
    }

    pub(crate) fn kept(&self) -> &SharedCache {
        &self.store.kept
    }

    pub(crate) fn notes(&self) -> &Notes {
        &self.store.notes
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.store.limits
    }

    pub(crate) async fn client(&self) -> Result<Lent, StoreError> {
        self.store.client().await
    }
}

/// Checks that `name` can be in a key.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_of_another_length_is_refused() {
        assert!(secret_of(&[7; 32]).is_ok_and(|it| it == [7; 32]));
        for bytes in [&[][..], &[7; 31], &[7; 33], &[0; 32]] {
            let error = secret_of(bytes).expect_err("it is none").to_string();
            assert!(error.starts_with("read the secret: "), "{error}");
        }
    }
}
