//! `ctx serve` as its users see it: a separate process that is called over sockets.

mod client;
mod keeps;
mod process;

pub(crate) use client::{Client, Reply, Request, get, post, put};
pub(crate) use keeps::{Keeps, Kind, Store};
pub(crate) use process::{Owner, Served, Usage, build, machine_busy, own_usage, owners};
