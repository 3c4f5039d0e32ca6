#![doc = include_str!("../README.md")]

mod relate;
mod renditions;
mod resolve;

pub use renditions::renditions;
pub use resolve::{Resolved, Resolver, resolve};
