#![doc = include_str!("../README.md")]

mod ahead;
mod best;
mod by_segment;
mod database;
mod documents;
mod error;
mod index;
mod lock;
mod manifest;
mod moves;
mod options;
mod outlines;
mod own;
mod parts;
mod remembered;
mod scan;
mod schema;
mod scores;
mod sealed;
mod search;
mod statistics;
mod store;
mod stored;
mod update;
mod watch;
mod writer;

pub use ctx_retrieve::FileSearch;
pub use ctx_source::{Ignoring, Root};
pub use ctx_syntax::Limits;
pub use error::IndexError;
pub use index::{Index, Inspected};
pub use options::{
    Options, Pending, Progress, Reason, SkippedFile, Status, StoredOptions, Updated,
};
pub use own::{begin_in, has_index};
pub use stored::Stored;
