//! The laws of each contract trait, one call per implementation.

#[cfg(feature = "assemble")]
pub mod assemble;
#[cfg(feature = "budget")]
pub mod budget;
#[cfg(feature = "format")]
pub mod format;
#[cfg(feature = "store")]
pub mod store;
#[cfg(feature = "tokens")]
pub mod tokens;

#[cfg(feature = "tokens")]
pub use tokens::token_counter;
