//! Detects a pooler that gives each transaction another connection to the server.
//!
//! A statement is prepared on one connection, under a name that each process numbers for itself. On
//! another connection that name is unknown, or belongs to a statement of another process, which
//! would run instead.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::Duration;

use deadpool_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::StoreError;
use crate::transaction::Waiting;

/// How often it is tried: the pooler may give out the same connection by chance.
const TRIES: usize = 3;

/// Checks that a statement prepared on `client` stays available while another connection, made by
/// `config`, is in a transaction. If no other connection can be made, the result is unknown, which
/// is no error.
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
    // No other process has a statement with this text.
    let word = RandomState::new().build_hasher().finish().to_string();
    let sql = format!("SELECT '{word}'");
    let prepared = waiting.of(client.prepare(&sql)).await?;
    for _ in 0..TRIES {
        match tokio::time::timeout(limit, other.batch_execute("BEGIN")).await {
            Ok(Ok(())) => {}
            // A pooler that gives each statement another connection allows no transactions.
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

/// A connection of its own, outside the pool.
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
