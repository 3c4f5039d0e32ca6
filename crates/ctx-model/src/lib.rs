#![doc = include_str!("../README.md")]

mod chunk;
mod error;
mod kind;
mod lines;
pub mod merging;
mod omission;
mod options;
mod relevance;
mod rendition;
mod result;
mod setters;
mod span;
mod time;
mod tokens;
mod warning;
mod wire;
mod wording;
mod words;

pub use chunk::{Chunk, Origin, Relation, UncheckedChunk};
pub use error::ModelError;
pub use kind::{Category, ChunkKind, PartKind, SymbolKind};
pub use lines::{decoded, has_returns_alone, lines, widened, without_line_end};
pub use omission::{Omitted, OmittedReason};
pub use options::{
    BuildOptions, CounterName, Format, GroupBy, Order, Previous, Selection, UncheckedOptions,
    XmlContent,
};
pub use relevance::Relevance;
pub use rendition::{ELISION, Rendition, RenditionKind};
pub use result::{
    BuiltContext, Certificate, Citation, Exactness, Included, SharedPrefix, TokenSplit,
};
pub use span::LineSpan;
pub use time::UnixSeconds;
pub use tokens::Tokens;
pub use warning::{Warning, WarningCode};
pub use wire::Wire;
pub use wording::{error_chain, join_first, json_error};
