#![doc = include_str!("../README.md")]

#[cfg(feature = "http")]
mod connected;
mod fault;
#[cfg(feature = "http")]
mod http;
mod install;
mod listing;
mod members;
mod message;
mod pages;
mod pending;
mod progress;
mod query;
mod read;
mod reply;
mod resources;
mod roots;
mod sent;
mod server;
mod stdio;
mod tools;
mod turns;
mod workspace;

#[cfg(feature = "http")]
pub use ctx_hosts::{ANY_HOST, HostsError};
pub use ctx_index::Options as IndexOptions;
pub use fault::{Fault, FaultKind, InstallAction};
#[cfg(feature = "http")]
pub use http::{Access, Http, Token};
pub use install::{Client, Installation};
/// The version of the protocol crate whose types [`Server::connection`] and [`tools`] return.
pub use rmcp;
pub use roots::{IndexLocation, IndexSettings};
pub use server::{Options, Server, serve_stdio};
#[cfg(feature = "http")]
pub use tokio_util::sync::CancellationToken;
pub use tools::tools;
