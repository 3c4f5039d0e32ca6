//! Tests with a real PostgreSQL: what many owners store and find, and what survives.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a skipped test says so, and a measurement its figures"
)]

mod candidates;
mod conformance;
mod conversations;
mod counts;
mod crash;
mod encryption;
mod ended;
mod files;
mod folders;
mod fuzz;
mod hostile;
mod indexed;
mod kept;
mod large;
mod left;
mod measure;
mod migrations;
mod owners;
mod pooled;
mod questions;
mod ranking;
mod server;
mod silent;
mod stopped;
mod together;
mod usage;

use std::error::Error as _;

use ctx_postgres::{FileText, StoreError};
use ctx_retrieve::PortError;

/// Files as they are stored.
fn texts<P: Into<String>, T: Into<String>>(
    files: impl IntoIterator<Item = (P, T)>,
) -> Vec<FileText> {
    let texts = files.into_iter();
    texts
        .map(|(path, text)| FileText::new(path, text))
        .collect()
}

/// The error of the store that a port failed with.
#[track_caller]
fn of_store(error: &PortError) -> &StoreError {
    error.source().unwrap().downcast_ref().unwrap()
}

/// The store of a new database, or the end of the test where there is no PostgreSQL.
macro_rules! fresh {
    () => {
        match $crate::server::Fresh::new().await {
            Some(fresh) => fresh,
            None => return,
        }
    };
}
use fresh;

/// Contexts are kept for so many seconds, as far as they come to so many bytes.
fn keeping(seconds: u64, bytes: u64) -> ctx_postgres::Retention {
    ctx_postgres::Retention::new(std::time::Duration::from_secs(seconds), bytes)
}
