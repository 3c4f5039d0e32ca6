#![doc = include_str!("../README.md")]

mod decode;
mod error;
mod lines;
mod locate;
mod root;
mod sources;
mod text;

pub use decode::{Decoded, decode};
pub use error::{PathFault, SourceError};
pub use lines::LineIndex;
pub use locate::{Located, Wanted, locate};
pub use root::{Root, read_up_to};
pub use sources::{Files, Hashes, Limits, Metrics, Sources};
pub use text::{Conversion, Text};
