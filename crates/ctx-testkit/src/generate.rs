//! Generators of chunks, options and text, ordinary and hostile.
