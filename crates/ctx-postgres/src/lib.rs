#![doc = include_str!("../README.md")]

mod error;
mod files;
mod ingest;
mod lexemes;
mod limits;
mod lookup;
mod migrate;
mod plan;
mod search;
mod snippets;
mod store;
mod threads;
mod usage;

pub use error::StoreError;
pub use files::{StoredFile, Totals};
pub use ingest::{FileText, Ingested};
pub use limits::Limits;
pub use snippets::Snippet;
pub use store::{OwnedStore, Store};
pub use usage::Vote;
