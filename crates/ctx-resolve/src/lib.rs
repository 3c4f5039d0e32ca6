#![doc = include_str!("../README.md")]

mod changed;
mod front;
mod long_lines;
mod mask;
mod pieces;
mod prose;
mod relate;
mod renditions;
mod resolve;
mod stored;

pub use ctx_model::{
    Chunk, ChunkKind, LineSpan, Omitted, Relation, Rendition, RenditionKind, Warning,
};
pub use ctx_source::Sources;
pub use ctx_syntax::Limits;
pub use front::lines_of_pictures;
pub use long_lines::LONGEST_LINE;
pub use mask::{mask, masked};
pub use prose::{excerpts, file_kind, sentences};
pub use renditions::{Keywords, NamedLines, renditions};
pub use resolve::{Overlaps, Resolved, Resolver, resolve};
