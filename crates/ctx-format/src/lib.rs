#![doc = include_str!("../README.md")]

mod block;
mod check;
mod commonmark;
mod document;
mod error;
mod fields;
mod formatter;
mod inline;
mod json;
mod markdown;
mod neutral;
mod options;
mod parse;
mod plain;
mod separator;
mod unseen;
mod xml;

pub use block::{Block, Group, Notice};
pub use check::{OwnText, check_text, joins_safely};
pub use ctx_model::{
    BuildOptions, Category, Chunk, ChunkKind, Format, GroupBy, LineSpan, Relation, Relevance,
    Rendition, RenditionKind, XmlContent,
};
pub use document::{DocumentWriter, file_within};
pub use error::{FormatError, ParseError};
pub use fields::SHOWN_NOTHING;
pub use formatter::{Formatter, formatter};
pub use inline::literal;
pub use neutral::{Slot, count_neutralised, neutralise};
pub use options::FormatOptions;
pub use parse::{Parsed, ParsedBlock, parse, parse_known};
