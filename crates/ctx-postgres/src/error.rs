//! What can go wrong between here and the database.

use std::error::Error as _;
use std::time::Duration;

use ctx_retrieve::PortError;
use tokio_postgres::error::SqlState;

/// Why a store could not be opened, written or asked. No message holds a password, a question or a text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The address of the database is not one.
    #[error("read the address of the database")]
    Address(#[source] tokio_postgres::Error),
    /// There is no connection to be had: no server, no rights, or a pool whose connections are all in use.
    #[error("connect to the database: {why}")]
    Connect {
        /// What the pool or the server says.
        why: String,
    },
    /// The database was not migrated, or not far enough.
    #[error(
        "use the database: its tables are of version {found}, this program needs {needed}; migrate it"
    )]
    NotMigrated {
        /// What it has; 0 where there is nothing.
        found: i32,
        /// What is needed.
        needed: i32,
    },
    /// The database is of a later version than this program.
    #[error(
        "use the database: its tables are of version {found}, this program knows no later than {known}"
    )]
    TooNew {
        /// What it has.
        found: i32,
        /// The latest that is known.
        known: i32,
    },
    /// A step of the migration failed, and nothing was changed.
    #[error("migrate the database to version {version}: {why}")]
    Migration {
        /// Which step.
        version: i32,
        /// What the server says.
        why: String,
        /// All of it.
        #[source]
        source: tokio_postgres::Error,
    },
    /// What was given cannot be stored.
    #[error("store {what}: {why}")]
    Invalid {
        /// What, as far as it may be shown.
        what: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A file would be in a folder that is a file, or the other way round. Nothing was stored.
    #[error("store {path:?}: {}", if *.is_folder { "there are files below it" } else { "a folder of it is a file" })]
    Place {
        /// The new file.
        path: String,
        /// Whether it is the new file that would be a folder.
        is_folder: bool,
    },
    /// The owner would have more than may be. Nothing was stored.
    #[error("store files: there would be more than {most} {what}")]
    Full {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        most: u64,
    },
    /// The server ended a statement that took too long.
    #[error("{doing}: it took longer than {limit:?}")]
    Late {
        /// What was being done.
        doing: &'static str,
        /// The limit.
        limit: Duration,
    },
    /// The server refused or failed.
    #[error("{doing}: {why}")]
    Database {
        /// What was being done.
        doing: &'static str,
        /// What the server says, without what was sent to it.
        why: String,
        /// All of it.
        #[source]
        source: tokio_postgres::Error,
    },
    /// A thread ended before its work did.
    #[error("take files apart: {0}")]
    Thread(#[from] tokio::task::JoinError),
}

impl StoreError {
    /// Gives `error` the context that it happened in.
    pub(crate) fn of(doing: &'static str, limit: Duration, error: tokio_postgres::Error) -> Self {
        if error.code() == Some(&SqlState::QUERY_CANCELED) {
            return StoreError::Late { doing, limit };
        }
        StoreError::Database {
            doing,
            why: said(&error),
            source: error,
        }
    }

    /// Whether doing the same again may succeed: the server chose this transaction to give way to another.
    pub(crate) fn gave_way(&self) -> bool {
        let StoreError::Database { source, .. } = self else {
            return false;
        };
        let code = source.code();
        code == Some(&SqlState::T_R_SERIALIZATION_FAILURE)
            || code == Some(&SqlState::T_R_DEADLOCK_DETECTED)
    }
}

/// What the server says in one line; its details may quote what was sent, and are left out.
pub(crate) fn said(error: &tokio_postgres::Error) -> String {
    if let Some(its) = error.as_db_error() {
        return format!("{} ({})", its.message(), its.code().code());
    }
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

impl From<StoreError> for PortError {
    fn from(error: StoreError) -> Self {
        PortError(format!("failed to {error}"))
    }
}
