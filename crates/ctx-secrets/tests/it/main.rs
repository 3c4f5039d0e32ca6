//! Laws of masking, and what it finds.

mod corpus;
mod laws;
