#![doc = include_str!("../README.md")]

mod cited;
mod label;
mod lines;
mod resolve;
mod shown;

pub use cited::{Cited, Metadata, StoredSource};
pub use label::{LABEL_DIGITS, is_label, label_origin};
pub use lines::cited_lines;
pub use resolve::{CITING, Mark, Resolved, Verdict, format_citations, resolve, resolve_while};
