//! Facts and laws of the assembler.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
mod budget;
mod claims;
mod concurrency;
mod everything;
mod merging;
mod notices;
mod ordering;
mod own;
mod policies;
mod previous;
mod properties;
mod receipt;
mod support;
