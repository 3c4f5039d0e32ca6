//! `ctx serve` as its users meet it: a process of its own, asked over sockets.

mod client;
mod process;

pub(crate) use client::{Client, Reply, Request, get, post};
pub(crate) use process::{Owner, Served, Store, Usage, build, machine_busy, own_usage, owners};
