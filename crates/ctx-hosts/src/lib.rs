#![doc = include_str!("../README.md")]

mod error;
mod hosts;
mod sites;

pub use error::HostsError;
pub use hosts::{ANY_HOST, Foreign, Hosts};
pub use sites::{Cors, Sites};
