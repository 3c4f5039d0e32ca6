#![doc = include_str!("../README.md")]

mod address;
mod conversations;
mod documents;
mod error;
mod files;
mod indexed;
mod ingest;
mod lent;
mod lexemes;
mod limits;
mod lookup;
mod migrate;
mod notes;
mod opening;
mod plan;
mod pooled;
mod ranking;
mod search;
mod store;
mod threads;
mod tls;
mod transaction;
mod usage;

pub use address::{check_address, host};
pub use conversations::{Added, BegunThread, Retention, StoredMessage, StoredThread};
pub use error::StoreError;
pub use files::{StoredFile, StoredText, Totals};
pub use ingest::{Bounds, FileText, Stored};
pub use limits::Limits;
pub use store::{OwnedStore, Store};
