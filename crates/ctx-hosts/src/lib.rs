#![doc = include_str!("../README.md")]

mod age;
mod door;
mod error;
mod hosts;
#[cfg(feature = "listen")]
mod linger;
#[cfg(feature = "listen")]
mod listen;
mod peers;
mod sites;

pub use age::{Age, end_unread};
pub use door::{Admitted, Door, NoToken, Refused, bearer};
pub use error::HostsError;
pub use hosts::{ANY_HOST, Foreign, Hosts};
pub use http;
#[cfg(feature = "listen")]
pub use linger::Lingering;
#[cfg(feature = "listen")]
pub use listen::{Connection, ConnectionLimits, ConnectionPermit, Counted, Listener, connection};
pub use peers::{Peer, Peers};
pub use sites::{Cors, Sites};
