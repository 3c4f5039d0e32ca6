//! The server, called over real sockets.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod accept;
mod auth;
mod client;
mod counters;
mod counts;
mod damage;
mod failing;
#[cfg(target_os = "linux")]
mod full_disk;
mod hostile;
mod late;
mod logs;
mod matrix;
mod measure;
mod nested;
mod only;
mod origins;
mod overload;
mod pins;
#[cfg(all(unix, feature = "postgres"))]
mod postgres;
mod priming;
mod recall;
mod required;
mod routes;
mod schema;
mod tenants;
mod turns;
mod unread;
