//! Prime contexts over a store in memory, and once over a real index; citations, the cache, and
//! feedback.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod caching;
mod citing;
mod code_points;
mod end_to_end;
mod feedback;
mod isolation;
mod missing;
mod priming;
mod properties;
mod prose;
mod recall;
mod required;
mod support;
