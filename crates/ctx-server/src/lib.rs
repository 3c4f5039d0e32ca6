#![doc = include_str!("../README.md")]

mod admission;
mod auth;
mod backend;
mod batch;
mod bodies;
mod build;
mod cause;
#[cfg(any(feature = "embedded", feature = "postgres"))]
mod checks;
mod descriptors;
#[cfg(feature = "embedded")]
mod embedded;
mod error;
mod guard;
mod job;
mod json;
mod limits;
mod meter;
mod nest;
mod openapi;
mod owner;
mod page;
mod paths;
#[cfg(feature = "postgres")]
mod postgres;
mod problem;
mod quota;
mod random;
mod readiness;
#[cfg(any(feature = "embedded", feature = "postgres"))]
mod recall;
mod request;
mod reserve;
mod routes;
mod schema;
mod server;
mod state;
mod tally;
mod unique_fields;
mod unread_body;
mod wire;

/// For implementations of [`Backend`].
pub use async_trait::async_trait;
pub use auth::{Credentials, Identity, LiveCredentials, Refusal};
/// The version of axum whose types [`Routes`] returns.
pub use axum;
pub use backend::{
    Appended, Backend, BackendError, FilePage, Ingested, IngestedFile, Job, KeptFile, Listing,
    Message, NewFile, NewMessage, NewThread, Opened, Page, PageLimit, Prime, PrimeRequest, Receipt,
    Removed, RemovedFile, Scored, Signal, Stage, Stats, Thread, ThreadInfo, Timing, Vote,
};
pub use build::{Priming, build, count};
pub use ctx_assemble::Cancel;
pub use ctx_hosts::{ANY_HOST, HostsError};
pub use ctx_model::BuildOptions;
#[cfg(feature = "postgres")]
pub use ctx_postgres::{Limits as DatabaseLimits, check_address as check_database_url};
pub use descriptors::raise_descriptors;
#[cfg(feature = "embedded")]
pub use embedded::Embedded;
pub use error::ServerError;
pub use limits::Limits;
pub use nest::Routes;
pub use owner::Owner;
#[cfg(feature = "postgres")]
pub use postgres::Postgres;
pub use problem::{Breakdown, Fault, Faults, Problem, Shortfall};
pub use quota::{Keeping, Quota};
pub use request::RequestInfo;
pub use reserve::Reserve;
pub use server::{Options, Server};
