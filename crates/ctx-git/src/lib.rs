#![doc = include_str!("../README.md")]

mod changes;
mod error;
mod heads;
mod past;
mod plain;
mod repository;

pub use changes::{GitChanges, PATIENCE, Progress, Updated};
pub use error::GitError;
