#![doc = include_str!("../README.md")]

mod arrange;
mod assemble;
mod assembler;
mod candidates;
mod chunk_bound;
mod cite;
mod claims;
mod control;
mod duplicates;
mod emit;
mod entry;
mod error;
mod everything;
mod features;
mod fixed;
mod merge;
mod once;
mod parallel;
mod plan;
mod previous;
mod price;
mod receipt;
mod screen;
mod shared_prefix;
mod survey;
mod total;
mod unit;
mod variant;

pub use assemble::{assemble, assemble_with};
pub use assembler::{Assembler, ContextAssembler, FormattedChunk};
/// The macro that implementations of [`Assembler`] need.
pub use async_trait::async_trait;
pub use cite::{citation_id, is_citation_id};
pub use claims::Claims;
pub use control::{Cancel, CancelGuard, Clock, Control};
pub use ctx_budget::BudgetError;
pub use ctx_format::FormatError;
pub use ctx_model::{BuildOptions, BuiltContext, Chunk, CounterName, LineSpan, ModelError, Tokens};
pub use ctx_tokens::{TokenCounter, TokensError};
pub use error::AssembleError;
pub use once::assemble_each_line_once;
