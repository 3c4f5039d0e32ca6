#![doc = include_str!("../README.md")]

#[cfg(feature = "openai")]
mod bpe;
mod calibrated;
mod class;
mod class_bits;
mod counter;
mod error;
mod estimate;
mod joint;
mod models;
mod names;
mod tally;

#[cfg(feature = "openai")]
pub use bpe::{Bpe, cl100k_base, o200k_base};
pub use calibrated::Calibrated;
pub use counter::{Additivity, Capacity, Exactness, TokenCounter};
pub use ctx_model::{CounterName, Tokens};
pub use error::TokensError;
pub use estimate::{Characters, Words};
pub use joint::is_safe_joint;
pub use names::{counter, known_names};
pub use tally::Tally;
