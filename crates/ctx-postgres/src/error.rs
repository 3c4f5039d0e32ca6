//! Errors of the store.

use std::error::Error as _;
use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use ctx_retrieve::{PortError, TaskFailed};
use tokio_postgres::error::{DbError, Severity, SqlState};

/// Why a store could not be opened, written or queried. No message and no source contains a
/// password, a question or a text: the server's own words may quote what was sent to it, and are
/// dropped. `Display` is a fragment that follows "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The address of the database is malformed, contradictory or ambiguous. No part of it is
    /// repeated.
    #[error("read the address of the database: {0}")]
    BadAddress(&'static str),
    /// No connection is available: no server, no rights, or a pool whose connections are all in
    /// use.
    #[error("connect to the database: {why}")]
    Connect {
        /// The message of the pool or the server.
        why: String,
    },
    /// The database was not migrated, or not to the version needed.
    #[error(
        "use the database: its tables are of version {found}, this program needs {needed}; migrate it"
    )]
    NotMigrated {
        /// The version found; 0 if there are no tables.
        found: i32,
        /// The version needed.
        needed: i32,
    },
    /// The server is of an older version than needed.
    #[error("use the database: its server is PostgreSQL {found}, and 15 or later is needed")]
    TooOld {
        /// The version that it reports.
        found: String,
    },
    /// The database currently takes no writes: another server has replaced it, or is about to.
    #[error("use the database: {why}, so nothing can be written")]
    ReadOnly {
        /// The reason.
        why: &'static str,
    },
    /// The database role lacks a right.
    #[error("use the database: {lacking}")]
    Rights {
        /// Which right, and how it is granted.
        lacking: &'static str,
    },
    /// A pooler gives each transaction another connection to the server, on which the names of
    /// prepared statements are unknown or refer to other statements.
    #[error(
        "use the database: a pooler gives each transaction another connection to it, and does not know what was prepared (let PgBouncer have pool_mode = session, or go without one)"
    )]
    Pooled,
    /// The encoding of the database cannot represent every text.
    #[error(
        "use the database: its encoding is {found}, and UTF8 is needed (CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0)"
    )]
    Encoding {
        /// Its encoding.
        found: String,
    },
    /// The database is of a later version than this program.
    #[error(
        "use the database: its tables are of version {found}, this program knows no later than {known}"
    )]
    TooNew {
        /// The version found.
        found: i32,
        /// The latest version known.
        known: i32,
    },
    /// A step of the migration failed, and nothing was changed.
    #[error("migrate the database to version {version}: {why}")]
    Migration {
        /// The version that the step leads to.
        version: i32,
        /// The server's error, as in [`StoreError::Database`].
        why: String,
    },
    /// A value cannot be stored.
    #[error("store {what}: {why}")]
    Invalid {
        /// The kind of value, without its content.
        what: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The path of a file would lead through another file, or would be a folder of other files.
    /// Nothing was stored.
    #[error("store {path:?}: {}", if *.is_folder { "there are files below it" } else { "a folder of it is a file" })]
    Place {
        /// The path of the new file.
        path: String,
        /// Whether files exist below the new file, so that it would be a folder.
        is_folder: bool,
    },
    /// The owner would exceed its limit. Nothing was stored.
    #[error("store files: there would be more than {most} {what}")]
    Full {
        /// What is limited.
        what: &'static str,
        /// The limit.
        most: u64,
    },
    /// The server ended a statement that exceeded its time limit.
    #[error("{doing}: it took longer than {limit:?}")]
    Late {
        /// The operation.
        doing: &'static str,
        /// The limit.
        limit: Duration,
    },
    /// The server did not answer within the time limit of a statement. The connection is closed,
    /// and whether the operation took effect is unknown.
    #[error("{doing}: the server was silent for {waited:?}")]
    Silent {
        /// The operation.
        doing: &'static str,
        /// How long was waited.
        waited: Duration,
    },
    /// The connection was lost, or the server ended it. Whether the operation took effect is
    /// unknown.
    #[error("{doing}: the connection broke off: {why}")]
    Lost {
        /// The operation.
        doing: &'static str,
        /// The error of the server, the connection or the operating system.
        why: String,
    },
    /// The connection had ended before the operation began. Nothing was done.
    #[error("{doing}: the connection had ended: {why}")]
    Ended {
        /// The operation.
        doing: &'static str,
        /// The error of the server, the connection or the operating system.
        why: String,
    },
    /// The server refused the operation or failed.
    #[error("{doing}: {why}")]
    Database {
        /// The operation.
        doing: &'static str,
        /// The server's error without its texts: the severity, the code, and the names of the table
        /// and the constraint.
        why: String,
        /// The code, if the error came from the server.
        code: Option<SqlState>,
    },
    /// A worker thread ended before its work did.
    #[error("split files into parts")]
    Thread(#[from] TaskFailed),
}

impl StoreError {
    /// Adds the operation to `error`.
    pub(crate) fn of(doing: &'static str, limit: Duration, error: &tokio_postgres::Error) -> Self {
        let why = said(error);
        if error.is_closed() || is_final(error) || is_broken(error) {
            return StoreError::Lost { doing, why };
        }
        if error.code() == Some(&SqlState::QUERY_CANCELED) {
            return StoreError::Late { doing, limit };
        }
        StoreError::Database {
            doing,
            why,
            code: error.code().cloned(),
        }
    }

    /// The same error of an operation that had not begun.
    pub(crate) fn before_work(self) -> Self {
        match self {
            StoreError::Lost { doing, why } => StoreError::Ended { doing, why },
            other => other,
        }
    }

    /// Whether the connection on which this happened must not be used again.
    pub(crate) fn is_of_connection(&self) -> bool {
        matches!(
            self,
            StoreError::Silent { .. }
                | StoreError::Lost { .. }
                | StoreError::Ended { .. }
                | StoreError::Migration { .. }
        )
    }

    /// Whether the server is unavailable: it cannot be reached, is shutting down, ended the
    /// connection because this process was silent for too long, or takes no writes because another
    /// server has replaced it. The request is not at fault, and may succeed once the server is
    /// back.
    pub fn is_away(&self) -> bool {
        let ending = [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::READ_ONLY_SQL_TRANSACTION,
            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        ];
        match self {
            StoreError::Connect { .. }
            | StoreError::Silent { .. }
            | StoreError::Lost { .. }
            | StoreError::Ended { .. }
            | StoreError::ReadOnly { .. } => true,
            _ => self.code().is_some_and(|it| ending.contains(it)),
        }
    }

    /// Whether retrying soon may succeed: the server is unavailable, was too slow, or chose this
    /// transaction to give way to another.
    pub fn is_transient(&self) -> bool {
        self.is_away() || self.gave_way() || matches!(self, StoreError::Late { .. })
    }

    /// Whether the server's disk is full.
    pub fn is_full(&self) -> bool {
        self.code() == Some(&SqlState::DISK_FULL)
    }

    /// The error code of the server.
    fn code(&self) -> Option<&SqlState> {
        match self {
            StoreError::Database { code, .. } => code.as_ref(),
            _ => None,
        }
    }

    /// Whether nothing was done, and retrying at once may succeed: the transaction gave way to
    /// another, or the connection had ended before.
    pub(crate) fn has_done_nothing(&self) -> bool {
        self.gave_way() || matches!(self, StoreError::Ended { .. })
    }

    /// Whether retrying may succeed because the server chose this transaction to give way to
    /// another.
    pub(crate) fn gave_way(&self) -> bool {
        let gave_way = [
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ];
        self.code().is_some_and(|it| gave_way.contains(it))
    }
}

/// Whether it is the last that the server says on the connection: it has ended the session.
fn is_final(error: &tokio_postgres::Error) -> bool {
    let severity = error.as_db_error().and_then(DbError::parsed_severity);
    matches!(severity, Some(Severity::Fatal | Severity::Panic))
}

/// Whether the connection is at fault. Values that cannot be encoded are reported by the same error
/// type.
fn is_broken(error: &tokio_postgres::Error) -> bool {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, TimedOut, UnexpectedEof,
    };
    let broken = [
        BrokenPipe,
        ConnectionAborted,
        ConnectionReset,
        NotConnected,
        TimedOut,
        UnexpectedEof,
    ];
    let source = error.source().and_then(|it| it.downcast_ref::<io::Error>());
    source.is_some_and(|it| it.raw_os_error().is_some() || broken.contains(&it.kind()))
}

/// The client's message if the server asks for a password and the address has none.
const NO_PASSWORD: &str = "password missing";

/// The meaning of codes for which no connection, or no write, is possible.
static MEANINGS: [(SqlState, &str); 7] = [
    (
        SqlState::INVALID_PASSWORD,
        "the user or the password is wrong",
    ),
    (
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        "there is no such user, or it is not let in from here",
    ),
    (
        SqlState::INVALID_CATALOG_NAME,
        "there is no such database: CREATE DATABASE makes it",
    ),
    (
        SqlState::INSUFFICIENT_PRIVILEGE,
        "the user lacks a right for it",
    ),
    (
        SqlState::TOO_MANY_CONNECTIONS,
        "it has as many connections as it takes",
    ),
    (
        SqlState::READ_ONLY_SQL_TRANSACTION,
        "it takes no writes for now",
    ),
    (
        SqlState::LOCK_NOT_AVAILABLE,
        "others use what it needs for itself",
    ),
];

/// The server's error on one line, without message, detail and hint, which may quote what was sent.
pub(crate) fn said(error: &tokio_postgres::Error) -> String {
    let Some(its) = error.as_db_error() else {
        // The source is shown only if the connection is at fault; errors about values may quote
        // these.
        let source = error.source();
        let is_told = |it: &&(dyn std::error::Error + 'static)| {
            it.is::<io::Error>() || it.to_string() == NO_PASSWORD
        };
        return match source.filter(is_told) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        };
    };
    let mut said = format!("{} {}", its.severity(), its.code().code());
    if let Some((_, meaning)) = MEANINGS.iter().find(|it| it.0 == *its.code()) {
        // Writing to a string cannot fail.
        let _ = write!(said, ", {meaning}");
    }
    let names = [("table", its.table()), ("constraint", its.constraint())];
    for (what, name) in names {
        if let Some(name) = name {
            let _ = write!(said, ", {what} {name}");
        }
    }
    said
}

impl From<StoreError> for PortError {
    fn from(error: StoreError) -> Self {
        // No port stores files, so these errors name none.
        tracing::warn!(cause = %error, "a port failed");
        let is_transient = error.is_transient();
        let failed = PortError::with_source("the store failed", error);
        if is_transient {
            failed.transient()
        } else {
            failed
        }
    }
}
