#![cfg_attr(any(not(doctest), feature = "openai"), doc = include_str!("../README.md"))]

mod counter;
mod joint;
mod tally;

#[cfg(feature = "openai")]
mod bpe;
mod calibrated;
mod estimate;
#[cfg(feature = "tokenizer-json")]
mod tokenizer_json;

mod counters;
mod error;
mod models;
mod names;

#[cfg(feature = "cache")]
mod cache;
#[cfg(feature = "cache")]
mod keys;

mod class;
mod class_bits;

#[cfg(feature = "openai")]
pub use bpe::{Bpe, cl100k_base, o200k_base};
#[cfg(feature = "cache")]
pub use cache::CachedCounter;
pub use calibrated::Calibrated;
pub use counter::{Additivity, Exactness, TokenCounter, WeightBounds};
pub use counters::{Counters, Identity, SharedCounter};
pub use ctx_model::{CounterName, Tokens};
pub use error::TokensError;
pub use estimate::{Characters, Words};
pub use joint::is_safe_joint;
#[cfg(feature = "cache")]
pub use keys::TextKeys;
pub use names::{counter, known_names};
pub use tally::Tally;
#[cfg(feature = "tokenizer-json")]
pub use tokenizer_json::TokenizerJson;
