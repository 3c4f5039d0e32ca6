//! What can go wrong between here and the database.

use std::error::Error as _;
use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use ctx_retrieve::{Ended, PortError};
use tokio_postgres::error::SqlState;

/// Why a store could not be opened, written or asked. No message holds a password, a question or a text, and neither does
/// any source: what the server says in words may quote what was sent to it, and is not kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The address of the database is not one, says what cannot be, or cannot be told apart. No word of it is repeated.
    #[error("read the address of the database: {0}")]
    BadAddress(&'static str),
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
    /// The server is of an earlier version than is needed.
    #[error("use the database: its server is PostgreSQL {found}, and 15 or later is needed")]
    TooOld {
        /// Its version, as it says.
        found: String,
    },
    /// The database takes no writes for now: another server has taken its place, or is about to.
    #[error("use the database: {why}, so nothing can be written")]
    ReadOnly {
        /// Why not.
        why: &'static str,
    },
    /// Whoever works there lacks a right to do so.
    #[error("use the database: {lacking}")]
    Rights {
        /// Which, and how it is granted.
        lacking: &'static str,
    },
    /// What stands between gives each transaction another connection to the server, on which other statements have the names of
    /// those that were prepared here.
    #[error(
        "use the database: a pooler gives each transaction another connection to it, and does not know what was prepared (let PgBouncer have pool_mode = session, or go without one)"
    )]
    Pooled,
    /// The database cannot hold every text.
    #[error(
        "use the database: its encoding is {found}, and UTF8 is needed (CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0)"
    )]
    Encoding {
        /// What it is.
        found: String,
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
        /// What the server says: as in [`StoreError::Database`].
        why: String,
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
    /// The server said nothing for longer than it may take over a statement. The connection is given up, and whether what
    /// was asked for was done is not known.
    #[error("{doing}: the server was silent for {waited:?}")]
    Silent {
        /// What was being done.
        doing: &'static str,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The connection broke off. Whether what was asked for was done is not known.
    #[error("{doing}: the connection broke off: {why}")]
    Lost {
        /// What was being done.
        doing: &'static str,
        /// What the connection or the system says.
        why: String,
    },
    /// The server refused or failed.
    #[error("{doing}: {why}")]
    Database {
        /// What was being done.
        doing: &'static str,
        /// What the server says, without a word of its own: the severity, the code, and what table and constraint are
        /// called.
        why: String,
        /// The code, where it was the server that said something.
        code: Option<SqlState>,
    },
    /// A thread ended before its work did.
    #[error("take files apart")]
    Thread(#[from] Ended),
}

impl StoreError {
    /// Gives `error` the context that it happened in.
    pub(crate) fn of(doing: &'static str, limit: Duration, error: &tokio_postgres::Error) -> Self {
        if error.code() == Some(&SqlState::QUERY_CANCELED) {
            return StoreError::Late { doing, limit };
        }
        let why = said(error);
        if error.is_closed() || is_broken(error) {
            return StoreError::Lost { doing, why };
        }
        StoreError::Database {
            doing,
            why,
            code: error.code().cloned(),
        }
    }

    /// Whether there was no way to the server, it was ending, ended the connection, as this process said nothing on it for too long, or takes
    /// no writes, as one that others have taken the place of: it is not what was asked for that is at fault, and the same may succeed once the server is back.
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
            | StoreError::ReadOnly { .. } => true,
            _ => self.code().is_some_and(|it| ending.contains(it)),
        }
    }

    /// Whether the same may succeed soon: the server is away, was late, or had this give way to something else.
    pub fn is_transient(&self) -> bool {
        self.is_away() || self.gave_way() || matches!(self, StoreError::Late { .. })
    }

    /// Whether the disk of the server has no room for what was to be written.
    pub fn is_full(&self) -> bool {
        self.code() == Some(&SqlState::DISK_FULL)
    }

    /// What the server called it.
    fn code(&self) -> Option<&SqlState> {
        match self {
            StoreError::Database { code, .. } => code.as_ref(),
            _ => None,
        }
    }

    /// Whether doing the same again may succeed: the server chose this transaction to give way to another.
    pub(crate) fn gave_way(&self) -> bool {
        let gave_way = [
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ];
        self.code().is_some_and(|it| gave_way.contains(it))
    }
}

/// Whether it is the connection that is at fault. A value that cannot be sent is told by an error of the same type.
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

/// What the client says where the server asks for a password and the address has none.
const NO_PASSWORD: &str = "password missing";

/// What the codes mean for which nobody can have a connection, or write.
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

/// What the server says in one line, but for its words: message, detail and hint may quote what was sent.
pub(crate) fn said(error: &tokio_postgres::Error) -> String {
    let Some(its) = error.as_db_error() else {
        // Of what the connection is at fault for; values that cannot be read or written may be quoted.
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
        // No port stores files, so these name none.
        tracing::warn!(cause = %error, "a port failed");
        let is_for_now = error.is_transient();
        let failed = PortError::with_source("the store failed", error);
        if is_for_now { failed.for_now() } else { failed }
    }
}
