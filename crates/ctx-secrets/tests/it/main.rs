//! Laws of masking, and which secrets are found.

mod corpus;
mod examples;
mod laws;
mod runs;
mod words;
