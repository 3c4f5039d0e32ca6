#![doc = include_str!("../README.md")]

mod brackets;
mod cited;
mod compare;
mod known;
mod label;
mod lines;
mod mark;
mod prose;
mod quote;
mod resolve;
mod script;
mod shown;
mod sources;
mod stored;

pub use brackets::{cited_labels, label_list};
pub use cited::{Cited, Metadata};
pub use label::{LABEL_DIGITS, is_label, label_origin};
pub use lines::{cited_lines, path_and_lines};
pub use mark::{Mark, Resolved, Verdict};
pub use resolve::{CITING, resolve, resolve_while};
pub use sources::format_citations;
pub use stored::StoredSource;
