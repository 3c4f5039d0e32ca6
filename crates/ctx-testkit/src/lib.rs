#![doc = include_str!("../README.md")]

pub mod generate;
pub mod laws;
pub mod shared;
