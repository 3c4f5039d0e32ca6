//! Laws of masking, and what it finds.

mod corpus;
mod examples;
mod laws;
mod runs;
mod words;
