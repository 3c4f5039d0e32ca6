#![doc = include_str!("../README.md")]

mod amended;
mod keys;
mod kubernetes;
mod mask;
mod names;
mod rule;
mod rules;
mod runs;

pub use mask::{Secret, find, mask};
pub use names::is_secret_file;
