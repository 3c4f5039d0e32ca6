#![doc = include_str!("../README.md")]

mod service;

pub use service::{Answer, Service, ServiceError, Timings};
