//! The vocabulary's facts: what constructors refuse, what the wire looks like, that it reads back.

mod checks;
mod wire;
