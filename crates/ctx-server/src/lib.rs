#![doc = include_str!("../README.md")]

// The contract between the server and a store.
mod backend;
mod job;
mod owner;
mod paging;
mod quota;
mod reserve;

// The stores, and what they have in common.
mod batch;
mod build;
#[cfg(any(feature = "embedded", feature = "postgres"))]
mod checks;
#[cfg(feature = "embedded")]
mod embedded;
mod paths;
#[cfg(feature = "postgres")]
mod postgres;
mod random;
#[cfg(any(feature = "embedded", feature = "postgres"))]
mod recall;

// HTTP: who is admitted, what may be requested, and how it is answered.
mod auth;
mod error;
mod guard;
mod json;
mod nest;
mod openapi;
mod page;
mod problem;
mod readiness;
mod request;
mod routes;
mod schema;
mod sent_options;
mod server;
mod state;
mod unread_body;
mod wire;

// Scheduling: how much runs at once, and for how long.
mod admission;
mod answers;
mod bodies;
mod descriptors;
mod limits;
mod tasks;

// Telemetry: logs and metrics, which quote nothing.
mod cause;
mod meter;
mod tally;

/// For implementations of [`Backend`].
pub use async_trait::async_trait;
pub use auth::{Credentials, Identity, LiveCredentials, Refusal};
/// The version of axum whose types [`Routes`] returns.
pub use axum;
pub use backend::{
    Appended, Backend, BackendError, FileText, Ingested, IngestedFile, KeptFile, Message, NewFile,
    NewMessage, NewThread, Opened, Prime, PrimeRequest, Receipt, Removed, RemovedFile, Scored,
    Signal, Stats, Thread, ThreadInfo, Vote,
};
pub use build::{Priming, build, count};
pub use ctx_assemble::Cancel;
pub use ctx_hosts::{ANY_HOST, HostsError};
pub use ctx_model::BuildOptions;
#[cfg(feature = "postgres")]
pub use ctx_postgres::{Limits as DatabaseLimits, check_address as check_database_url};
pub use descriptors::raise_descriptors;
#[cfg(feature = "embedded")]
pub use embedded::{Embedded, Salvaged, SalvagedRows};
pub use error::ServerError;
pub use job::{Job, Stage, Timing};
pub use limits::Limits;
pub use nest::Routes;
pub use owner::Owner;
pub use paging::{
    FilePage, Listing, MessageOrder, MessagePage, PageLimit, ThreadOrder, ThreadPage,
};
#[cfg(feature = "postgres")]
pub use postgres::Postgres;
pub use problem::{Breakdown, Fault, Faults, Problem, Shortfall};
pub use quota::{Keeping, Quota};
pub use request::RequestInfo;
pub use reserve::Reserve;
pub use server::{Options, Server};
