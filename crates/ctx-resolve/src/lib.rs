#![doc = include_str!("../README.md")]

mod changed;
mod mask;
mod prose;
mod relate;
mod renditions;
mod resolve;

pub use mask::{mask, masked};
pub use prose::{excerpts, sentences};
pub use renditions::{Keywords, renditions};
pub use resolve::{Resolved, Resolver, resolve};
