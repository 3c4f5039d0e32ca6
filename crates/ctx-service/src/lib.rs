#![doc = include_str!("../README.md")]

// Questions: what a search finds becomes a context.
mod messages;
mod missing;
mod prose;
mod service;
mod verbatim;
mod whole;

// Prime contexts: everything an owner has that matters to a message of a thread.
mod beside;
mod candidates;
mod compose;
mod context;
mod gather;
mod history;
mod label;
mod lookup;
pub mod mention;
mod options;
mod prime;
mod turns;

// What becomes of an answer.
mod cited;
mod feedback;

// Shared by both.
mod cache;
mod memory;
mod owner;
mod pace;
mod ports;

/// The attribute that implementations of [`Recall`] need.
pub use async_trait::async_trait;
pub use cache::{Cache, CacheMetrics, Key, Served};
pub use compose::Stats;
pub use context::{Item, Prime, PrimeContext, Recording};
pub use ctx_assemble::{Cancel, Clock, Control};
pub use ctx_model::BuildOptions;
pub use ctx_rank::Profile;
pub use ctx_retrieve::{Options as RetrieveOptions, Usefulness};
pub use feedback::FeedbackError;
pub use gather::{Failure, Required, Source, Unresolved};
pub use memory::Memory;
pub use missing::{FILES_NAMED, missing_files, missing_names, no_such_file, no_such_name};
pub use options::{PrimeOptions, PrimeStage, PrimeTimings};
pub use owner::{OwnerId, SigningKey};
pub use ports::{PartRef, Ports, Recall};
pub use service::{Answer, Material, Service, ServiceError, Timings};
pub use verbatim::{Raised, RaisedBy};
