//! Real code in every language: what is defined in it, and what each rendition shows.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod definitions;
mod headings;
mod hostile;
mod languages;
mod nesting;
mod packed;
mod pieces;
mod registry;
mod relations;
mod renditions;
mod truncation;

use ctx_testkit::laws::renditions::is_nested;
