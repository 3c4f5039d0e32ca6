#![doc = include_str!("../README.md")]

mod counter;

pub use counter::{Additivity, Capacity, Exactness, TokenCounter};
