//! The options for the server's store, and the database that is started if none is named.

use anyhow::{Context as _, Result, ensure};
use clap::{Args, ValueEnum};
use ctx_testkit::postgres;

/// The store of the server.
#[derive(Clone, Debug, Args)]
pub(crate) struct Keeps {
    /// The store of the server
    #[arg(long = "store", value_enum, default_value_t = Kind::Embedded)]
    pub(crate) kind: Kind,
    /// The database of --store postgres; without it, one is started for the run
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// The data folder.
    Embedded,
    /// A PostgreSQL database.
    Postgres,
}

impl Kind {
    /// The name of the store in titles.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Kind::Embedded => "embedded store",
            Kind::Postgres => "PostgreSQL",
        }
    }
}

/// A store, with the database that was started for it, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Store {
    /// The URL of the database, if it is in one.
    pub(crate) url: Option<String>,
    /// The database that was started for the run.
    pub(crate) database: Option<postgres::Server>,
}

impl Keeps {
    /// These options as command line arguments; empty for the defaults.
    pub(crate) fn flags(&self) -> String {
        let mut flags = String::new();
        if self.kind == Kind::Postgres {
            flags += " --store postgres";
        }
        if self.database_url.is_some() {
            flags += " --database-url URL";
        }
        flags
    }

    /// Whether a database is started for the run.
    pub(crate) fn is_started(&self) -> bool {
        self.kind == Kind::Postgres && !self.is_named()
    }

    /// Whether an existing database is used.
    pub(crate) fn is_named(&self) -> bool {
        self.database_url.is_some()
    }

    /// The store, in a database with these `settings` if one is to be started.
    ///
    /// # Errors
    /// A database is named for a store that has none, or there is no PostgreSQL to start.
    pub(crate) async fn store(&self, settings: &[&str]) -> Result<Store> {
        match (self.kind, &self.database_url) {
            (Kind::Embedded, url) => {
                ensure!(url.is_none(), "--database-url is for --store postgres");
                Ok(Store::embedded())
            }
            (Kind::Postgres, Some(url)) => Ok(Store {
                url: Some(url.clone()),
                database: None,
            }),
            (Kind::Postgres, None) => {
                let database = postgres::Server::start(settings);
                let database = database.context("there is no PostgreSQL to start")?;
                Ok(Store {
                    url: Some(database.database().await),
                    database: Some(database),
                })
            }
        }
    }
}

impl Store {
    /// The store in the server's data folder.
    pub(crate) fn embedded() -> Self {
        Store {
            url: None,
            database: None,
        }
    }
}
