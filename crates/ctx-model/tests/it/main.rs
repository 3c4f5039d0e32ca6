//! Facts about the model: what constructors refuse, the form of the wire, and that it reads back.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod checks;
mod wire;
mod words;
