#![doc = include_str!("../README.md")]

// Entry points, and what a caller controls.
mod assemble;
#[cfg(feature = "async")]
mod assembler;
mod control;
mod error;
mod extras;
mod once;

// What may be shown: chunks are screened and merged into units.
mod duplicates;
mod merge;
mod previous;
mod screen;
mod survey;
mod unit;

// The ways to show a unit, each with its price.
mod arrange;
mod candidates;
mod features;
mod fixed;
mod parallel;
mod price;
mod stretches;
mod total;
mod variant;

// Selection within the budget.
mod chunk_bound;
mod claims;
mod entry;
mod everything;
mod plan;

// Output: the document, its citations and its receipt.
mod cite;
mod emit;
mod receipt;
mod shared_prefix;

pub use assemble::{assemble, assemble_with};
#[cfg(feature = "async")]
pub use assembler::{Assembler, ContextAssembler, FormattedChunk};
/// The macro that implementations of [`Assembler`] need.
#[cfg(feature = "async")]
pub use async_trait::async_trait;
pub use cite::{citation_id, is_citation_id};
pub use claims::Claims;
pub use control::{Cancel, CancelGuard, Clock, Control};
pub use ctx_budget::{BudgetError, Poll, Problem};
pub use ctx_format::{FormatError, Formatter, OwnText};
pub use ctx_model::{BuildOptions, BuiltContext, Chunk, CounterName, LineSpan, ModelError, Tokens};
pub use ctx_tokens::{TokenCounter, TokensError};
pub use error::AssembleError;
pub use extras::{Extras, Policy};
pub use once::assemble_each_line_once;
