#![doc = include_str!("../README.md")]

#[cfg(feature = "disk")]
pub mod disk;
pub mod generate;
pub mod hostile;
pub mod laws;
#[cfg(all(unix, feature = "postgres"))]
pub mod postgres;
pub mod shared;
