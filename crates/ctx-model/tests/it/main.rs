//! The vocabulary's facts: what constructors refuse, what the wire looks like, that it reads back.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod checks;
mod wire;
mod words;
