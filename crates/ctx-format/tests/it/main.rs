//! The promises of formatters, checked by `parse` and by independent parsers.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod arbitrary;
mod defects;
mod draining;
mod fragments;
mod hostile;
mod joints;
mod linear;
mod neutral;
mod own;
mod own_text;
mod reads_back;
mod unseen;
mod well_formed;
