//! Laws of masking, and which secrets are found.

#[path = "../../src/amended.rs"]
mod amended;
mod corpus;
mod examples;
mod kubernetes;
mod laws;
mod runs;
mod words;
