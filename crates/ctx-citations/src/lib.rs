#![doc = include_str!("../README.md")]

mod cited;
mod cites;
mod compare;
mod ids;
mod known;
mod label;
mod lines;
mod lists;
mod mark;
mod names;
mod prose;
mod quote;
mod resolve;
mod script;
mod shown;
mod sources;
mod stored;

pub use cited::{Cited, Metadata};
pub use cites::{cited_labels, label_list};
pub use label::{LABEL_DIGITS, is_label, label_origin};
pub use lines::{cited_lines, path_and_lines};
pub use mark::{Mark, Resolved, Verdict};
pub use resolve::{ResolveOptions, citing, resolve, resolve_with};
pub use sources::format_citations;
pub use stored::StoredSource;
