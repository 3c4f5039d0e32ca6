//! The program as its users see it: arguments and input in; output, messages and an exit code out.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod assemble;
mod bad_input;
mod cached;
mod completions;
#[cfg(target_os = "linux")]
mod hostile;
mod index;
mod mcp;
mod pack;
mod query;
mod run;
mod secrets;
mod serve;
mod shell;
mod syntax;
mod tokens;
mod verify;
