//! What the counters promise.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fixture;
