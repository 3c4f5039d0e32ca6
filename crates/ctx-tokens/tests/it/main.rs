//! The promises of the counters.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod counters;
#[cfg(feature = "openai")]
mod encodings;
mod estimates;
mod joints;
mod laws;
mod names;
mod tally;
#[cfg(feature = "tokenizer-json")]
mod tokenizer_json;
