#![doc = include_str!("../README.md")]

pub mod generate;
pub mod laws;
#[cfg(all(unix, feature = "postgres"))]
pub mod postgres;
pub mod shared;
