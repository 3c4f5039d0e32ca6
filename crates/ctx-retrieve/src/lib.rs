#![doc = include_str!("../README.md")]

mod call;
mod keys;
mod options;
mod paths;
mod pool;
mod ports;
mod retrieve;
mod scope;
mod strategies;
mod threads;

/// The attribute that implementations of the ports need.
pub use async_trait::async_trait;
pub use call::{PortCall, call_port};
pub use ctx_model::{LineSpan, ModelError, PartKind, SymbolKind, Tokens};
pub use ctx_rank::{Contribution, Profile, Query, Role};
pub use options::{DEFAULT_LIMIT, Options, Strategy, Weights};
pub use paths::{files_ending_with, is_same_path};
pub use ports::{
    Changes, Counting, Feedback, Field, FileSearch, Generation, History, Hit, MOST_USES, Message,
    Near, Part, PartQuery, PortError, PortResult, References, Relations, Semantic, TextQuery,
    Threads, Touched, Usage, Usefulness, VOTE_MEMORY, Vote,
};
pub use retrieve::{Found, Report, Retrieved, Retriever};
pub use scope::{ScopeGuard, TaskFailed, TaskScope, is_awaited};
pub use threads::indexing_threads;
