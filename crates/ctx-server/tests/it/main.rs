//! The server, asked over real sockets.

mod auth;
mod client;
mod hostile;
mod overload;
mod routes;
mod schema;
mod tenants;
