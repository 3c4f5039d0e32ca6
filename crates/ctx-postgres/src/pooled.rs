//! Whether a pooler stands between that gives each transaction another connection to the server.
//!
//! What is prepared is prepared on one connection, by a name that every process counts for itself. On another connection the
//! name is unknown, or that of a statement of another process, which would run in place of what was meant.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::Duration;

use deadpool_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::StoreError;
use crate::transaction::Waiting;

/// So often it is tried: whichever connection a pooler gives out, it has others by then.
const TRIES: usize = 3;

/// Sees to it that what is prepared on `client` stays there while a further connection, by `config`, has a transaction. Where
/// no further one can be had, that is not known, and no error.
///
/// # Errors
/// [`StoreError::Pooled`]; those of the database.
pub(crate) async fn check(
    client: &Client,
    config: &Config,
    tls: Option<MakeRustlsConnect>,
    limit: Duration,
) -> Result<(), StoreError> {
    let waiting = Waiting::new("look for a pooler", limit);
    let Ok(Ok(other)) = tokio::time::timeout(limit, connected(config, tls)).await else {
        return Ok(());
    };
    // No statement of another process says the same.
    let word = RandomState::new().build_hasher().finish().to_string();
    let sql = format!("SELECT '{word}'");
    let prepared = waiting.of(client.prepare(&sql)).await?;
    for _ in 0..TRIES {
        match tokio::time::timeout(limit, other.batch_execute("BEGIN")).await {
            Ok(Ok(())) => {}
            // One that gives each statement another connection has no transactions.
            Ok(Err(error)) if error.code() == Some(&SqlState::PROTOCOL_VIOLATION) => {
                return Err(StoreError::Pooled);
            }
            _ => return Ok(()),
        }
        let answer = waiting.until(client.query_one(&prepared, &[])).await?;
        match answer {
            Ok(row) if row.try_get::<_, &str>(0).is_ok_and(|it| it == word) => {}
            Err(error) if error.as_db_error().is_none() => return Err(waiting.failed(&error)),
            _ => return Err(StoreError::Pooled),
        }
        waiting.of(other.batch_execute("COMMIT")).await?;
    }
    Ok(())
}

/// A connection that nobody else has.
async fn connected(
    config: &Config,
    tls: Option<MakeRustlsConnect>,
) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
    match tls {
        None => {
            let (client, connection) = config.connect(NoTls).await?;
            tokio::spawn(connection);
            Ok(client)
        }
        Some(tls) => {
            let (client, connection) = config.connect(tls).await?;
            tokio::spawn(connection);
            Ok(client)
        }
    }
}
