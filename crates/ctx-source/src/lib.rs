#![doc = include_str!("../README.md")]

mod decode;
mod error;
mod folder;
mod lines;
mod locate;
mod lock;
mod root;
mod sources;
mod text;
#[cfg(feature = "walk")]
mod walk;

pub use decode::{Decoded, decode};
pub use error::{PathFault, SourceError};
pub use folder::{
    begin_private, check_no_link, ignore_in_git, make_private, open_no_link, write_private,
};
pub use lines::LineIndex;
pub use locate::{Located, Wanted, around, is_hash, locate};
pub use lock::{Lock, holder, lock};
pub use root::{Root, Stamp, read_up_to};
pub use sources::{Files, Hashes, Limits, Metrics, Sources};
pub use text::{Conversion, Secrets, Text};
#[cfg(feature = "walk")]
pub use walk::{
    Entry, EntryKind, Ignoring, LeftOut, Mark, Step, WalkFault, WalkLimit, WalkOptions,
};
