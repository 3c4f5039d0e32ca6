//! The laws of each contract trait, with one call per implementation, and laws for any work.

#[cfg(feature = "assemble")]
pub mod assemble;
#[cfg(feature = "budget")]
pub mod budget;
#[cfg(feature = "format")]
pub mod format;
pub mod growth;
#[cfg(feature = "tokens")]
mod run;
#[cfg(feature = "store")]
pub mod search;
#[cfg(feature = "store")]
pub mod store;
#[cfg(feature = "tokens")]
pub mod tokens;
#[cfg(feature = "syntax")]
pub mod truncate;

#[cfg(feature = "assemble")]
pub use assemble::assembler;
#[cfg(feature = "format")]
pub use format::formatter;
pub use growth::linear;
#[cfg(feature = "store")]
pub use search::file_search;
#[cfg(feature = "tokens")]
pub use tokens::token_counter;
#[cfg(feature = "syntax")]
pub use truncate::truncate;
