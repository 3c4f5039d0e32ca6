//! The ports of a store.
//!
//! There are two contracts: `search` is what a question needs; `conversation` and `usage` are what
//! a service keeps for later ones.

mod conversation;
mod error;
mod search;
mod usage;

use async_trait::async_trait;

pub use self::conversation::{History, Message, References, Threads};
pub use self::error::{PortError, PortResult};
pub(crate) use self::search::nearest_of;
pub use self::search::{
    Changes, Counting, Field, FileSearch, Hit, Near, Part, PartQuery, Relations, Semantic,
    TextQuery, Touched,
};
pub use self::usage::{Feedback, MOST_USES, Usage, Usefulness, VOTE_MEMORY, Vote};

/// Detects changes of a store.
#[async_trait]
pub trait Generation: Send + Sync {
    /// A number that changes whenever files are indexed or a vote is counted. Messages, pins, and
    /// times when files were shown do not change it.
    async fn generation(&self) -> PortResult<u64>;
}
