#![cfg_attr(any(not(doctest), feature = "rust"), doc = include_str!("../README.md"))]

mod captures;
mod grammar;
mod header;
mod headings;
mod language;
mod limits;
mod lines;
mod macros;
mod matcher;
mod names;
mod outline;
mod packed;
mod pattern_parser;
mod patterns;
mod pieces;
mod places;
mod qualified;
mod relations;
mod rendition;
mod runs;
mod scanner;
mod sentences;
mod table;
mod truncate;
mod work;

pub use ctx_model::{LineSpan, ModelError, PartKind, Rendition, RenditionKind, SymbolKind, Tokens};
pub use ctx_tokens::TokenCounter;
pub use language::Language;
pub use limits::Limits;
pub use lines::{Line, Lines, beginning, is_mark};
pub use names::{
    is_encoded, is_headed_table, is_log, is_prose, is_table, language_name, without_encoded,
};
pub use outline::{Fallback, Import, Outline, Reference, ReferenceKind, Symbol};
pub use packed::Outlines;
pub use pieces::{Piece, lines, pieces};
pub use relations::{Direction, Edge, EdgeKind, Graph, Node};
pub use rendition::{CONTEXT_LINES, Source};
pub use sentences::sentences;
pub use truncate::{Bookend, Head, OutlineFirst, SignatureFirst, Truncate, strategies};
