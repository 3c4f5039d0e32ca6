//! Creates and migrates the tables, step by step.

use std::time::Duration;

use deadpool_postgres::Client;
use tokio_postgres::Transaction;
use tokio_postgres::error::SqlState;
use tracing::{info, warn};

use crate::StoreError;
use crate::error::said;
use crate::transaction::Waiting;

/// The steps, in order. A released step is never changed: every change is a further step.
const STEPS: [&str; 21] = [
    include_str!("../migrations/0001_tables.sql"),
    include_str!("../migrations/0002_rights.sql"),
    include_str!("../migrations/0003_search.sql"),
    include_str!("../migrations/0004_together.sql"),
    include_str!("../migrations/0005_service.sql"),
    include_str!("../migrations/0006_places.sql"),
    include_str!("../migrations/0007_votes.sql"),
    include_str!("../migrations/0008_bytes.sql"),
    include_str!("../migrations/0009_said.sql"),
    include_str!("../migrations/0010_numbers.sql"),
    include_str!("../migrations/0011_outlines.sql"),
    include_str!("../migrations/0012_folders.sql"),
    include_str!("../migrations/0013_kept.sql"),
    include_str!("../migrations/0014_shown.sql"),
    include_str!("../migrations/0015_terms.sql"),
    include_str!("../migrations/0016_vectors.sql"),
    include_str!("../migrations/0017_threads.sql"),
    include_str!("../migrations/0018_usage.sql"),
    include_str!("../migrations/0019_activity.sql"),
    include_str!("../migrations/0020_contexts.sql"),
    include_str!("../migrations/0021_recall.sql"),
];

/// The version that this program needs.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "there are few"
)]
pub(crate) const VERSION: i32 = STEPS.len() as i32;

/// The advisory lock held while migrating: "ctx" in ASCII.
const LOCK: i64 = 0x63_74_78;

/// Creates the schema, the extensions and the table of versions, if they do not exist.
const GROUND: &str = "
    CREATE SCHEMA IF NOT EXISTS ctx;
    CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA ctx;
    CREATE EXTENSION IF NOT EXISTS btree_gin WITH SCHEMA ctx;
    CREATE TABLE IF NOT EXISTS ctx.version (version integer PRIMARY KEY, migrated_at timestamptz NOT NULL DEFAULT now());
    GRANT USAGE ON SCHEMA ctx TO PUBLIC;
    GRANT SELECT ON ctx.version TO PUBLIC;";

/// Files are stored by means of temporary tables, which some databases do not allow. Grants that
/// right, unless the role may not grant it.
const TEMPORARY: &str = "
    DO $$ BEGIN
        IF to_regrole('ctx_app') IS NOT NULL THEN
            IF NOT has_database_privilege('ctx_app', current_database(), 'TEMPORARY') THEN
                EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO ctx_app', current_database());
            END IF;
        END IF;
    EXCEPTION WHEN insufficient_privilege THEN
        NULL;
    END $$";

/// A step waits at most 2 s for a table in use, since all later users of the table wait behind it.
/// And a process stopped during a step loses its locks after 30 s.
const LOCKING: &str =
    "SET LOCAL lock_timeout = '2s'; SET LOCAL idle_in_transaction_session_timeout = '30s';";
/// How often a step that met a locked table is retried.
const TRIES: u32 = 30;
/// The pause before each retry.
const PAUSE: Duration = Duration::from_secs(1);

/// The `server_version_num` of the oldest supported server: its major version and four digits.
const OLDEST: u32 = 150_000;

/// Runs all steps that were not run yet, each in a transaction of its own.
pub(crate) async fn migrate(client: &mut Client, limit: Duration) -> Result<(), StoreError> {
    let server = "SELECT current_setting('server_version_num'), current_setting('server_version'),
                  current_setting('data_checksums', true) = 'off', current_setting('server_encoding')";
    let row = client.query_one(server, &[]).await;
    let row = row.map_err(|source| failed(0, &source))?;
    if is_too_old(row.get(0)) {
        let found = row.get(1);
        return Err(StoreError::TooOld { found });
    }
    let found: String = row.get(3);
    if found != "UTF8" {
        return Err(StoreError::Encoding { found });
    }
    let why = read_only(client).await;
    if let Some(why) = why.map_err(|source| failed(0, &source))? {
        return Err(StoreError::ReadOnly { why });
    }
    if row.get::<_, Option<bool>>(2) == Some(true) {
        warn!(
            "the server keeps no checksums of its pages: what a disk turns there is not noticed (`pg_checksums --enable`)"
        );
    }
    let mut tries = 0;
    loop {
        let transaction = client
            .transaction()
            .await
            .map_err(|error| StoreError::of("begin a migration", limit, &error))?;
        let found = prepared(&transaction)
            .await
            .map_err(|source| failed(0, &source))?;
        if found > VERSION {
            return Err(StoreError::TooNew {
                found,
                known: VERSION,
            });
        }
        if found == VERSION {
            let granted = transaction.batch_execute(TEMPORARY).await;
            granted.map_err(|it| failed(0, &it))?;
            transaction.commit().await.map_err(|it| failed(0, &it))?;
            return check_rights(client, Waiting::new("look at rights", limit)).await;
        }
        let next = found + 1;
        let stepped = step(&transaction, next).await;
        let is_locked =
            |it: &tokio_postgres::Error| it.code() == Some(&SqlState::LOCK_NOT_AVAILABLE);
        if tries < TRIES && stepped.as_ref().is_err_and(is_locked) {
            tries += 1;
            info!(version = next, "what is to be migrated is in use");
            drop(transaction);
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        stepped.map_err(|source| failed(next, &source))?;
        transaction
            .commit()
            .await
            .map_err(|source| failed(next, &source))?;
        info!(version = next, "migrated");
    }
}

/// Compares `server_version_num`. One that is no number comes from a server with its own scheme.
fn is_too_old(version: &str) -> bool {
    version.parse::<u32>().is_ok_and(|it| it < OLDEST)
}

fn failed(version: i32, source: &tokio_postgres::Error) -> StoreError {
    StoreError::Migration {
        version,
        why: said(source),
    }
}

/// Takes the lock until the end of the transaction, and returns the current version.
async fn prepared(transaction: &Transaction<'_>) -> Result<i32, tokio_postgres::Error> {
    transaction
        .execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])
        .await?;
    let found = version(transaction.client()).await?;
    if found.is_none() {
        transaction.batch_execute(GROUND).await?;
    }
    Ok(found.unwrap_or(0))
}

async fn step(transaction: &Transaction<'_>, next: i32) -> Result<(), tokio_postgres::Error> {
    // Extensions may already be installed in another schema.
    let schemas = transaction
        .query_one(
            "SELECT string_agg(DISTINCT quote_ident(n.nspname), ', ')
             FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
             WHERE e.extname IN ('pg_trgm', 'btree_gin')",
            &[],
        )
        .await?;
    let schemas: String = schemas.get(0);
    let index = usize::try_from(next - 1).unwrap_or_default();
    let sql = STEPS[index]
        .replace("{extensions}", &schemas)
        // Ranking in the server was removed by step 10.
        .replace("{score}", "0::float8")
        .replace("{presence}", "0::float8");
    // Parameters of pg_trgm can only be set by everyone once its library is loaded, which calling
    // one of its functions does.
    let path = format!(
        "SET LOCAL search_path = pg_catalog, {schemas}, pg_temp; SET LOCAL client_min_messages = warning; SELECT show_limit(); {LOCKING}"
    );
    transaction.batch_execute(&path).await?;
    transaction.batch_execute(&sql).await?;
    transaction
        .execute("INSERT INTO ctx.version (version) VALUES ($1)", &[&next])
        .await?;
    Ok(())
}

/// The version of the tables; `None` if there are none.
async fn version(client: &tokio_postgres::Client) -> Result<Option<i32>, tokio_postgres::Error> {
    let row = client
        .query_one("SELECT to_regclass('ctx.version') IS NOT NULL", &[])
        .await?;
    if !row.get::<_, bool>(0) {
        return Ok(None);
    }
    let row = client
        .query_one("SELECT coalesce(max(version), 0) FROM ctx.version", &[])
        .await?;
    Ok(Some(row.get(0)))
}

/// Why the database takes no writes, if so.
async fn read_only(
    client: &tokio_postgres::Client,
) -> Result<Option<&'static str>, tokio_postgres::Error> {
    let sql = "SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'";
    let row = client.query_one(sql, &[]).await?;
    Ok(match (row.get(0), row.get(1)) {
        (true, _) => Some("its server is a standby of another"),
        (false, true) => Some("its transactions only read (default_transaction_read_only)"),
        (false, false) => None,
    })
}

/// Checks that the user of `client` may use the role, and that the role has the rights it needs.
async fn check_rights(client: &Client, waiting: Waiting) -> Result<(), StoreError> {
    let sql = "SELECT set_config('role', 'ctx_app', true),
                   has_database_privilege('ctx_app', current_database(), 'TEMPORARY')";
    let lacking = match waiting.until(client.query_one(sql, &[])).await? {
        Ok(row) if row.get(1) => return Ok(()),
        Ok(_) => {
            "the role ctx_app may make no temporary tables there (GRANT TEMPORARY ON DATABASE … TO ctx_app)"
        }
        Err(error) => match error.code() {
            Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                "its user cannot take the role ctx_app (GRANT ctx_app TO …)"
            }
            Some(&SqlState::INVALID_PARAMETER_VALUE | &SqlState::UNDEFINED_OBJECT) => {
                "its server has no role ctx_app, which was made with the tables"
            }
            _ => return Err(waiting.failed(&error)),
        },
    };
    Err(StoreError::Rights { lacking })
}

/// Checks that the tables are of the version that this program needs, and can be written.
pub(crate) async fn check(client: &Client, limit: Duration) -> Result<(), StoreError> {
    let waiting = Waiting::new("read the version of the tables", limit);
    let found = waiting.of(version(client)).await?.unwrap_or(0);
    if let Some(why) = waiting.of(read_only(client)).await? {
        return Err(StoreError::ReadOnly { why });
    }
    match found.cmp(&VERSION) {
        std::cmp::Ordering::Less => Err(StoreError::NotMigrated {
            found,
            needed: VERSION,
        }),
        std::cmp::Ordering::Equal => check_rights(client, waiting).await,
        std::cmp::Ordering::Greater => Err(StoreError::TooNew {
            found,
            known: VERSION,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_before_15_is_too_old() {
        let of = |version: &str| is_too_old(version);
        assert_eq!(
            ["90624", "140012", "150000", "170002", "?"].map(of),
            [true, true, false, false, false]
        );
    }
}
