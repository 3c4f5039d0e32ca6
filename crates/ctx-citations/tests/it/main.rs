//! What an answer cites: found, marked, and held against what was shown.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod citing;
mod own_ids;
mod properties;
