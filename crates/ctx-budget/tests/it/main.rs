//! What `ctx-budget` promises, seen from outside.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bounds;
mod optimal;
