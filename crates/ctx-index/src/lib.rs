#![doc = include_str!("../README.md")]

mod documents;
mod error;
mod index;
mod manifest;
mod scan;
mod schema;
mod search;

pub use error::IndexError;
pub use index::{Index, Options, Progress, Status, Updated};
