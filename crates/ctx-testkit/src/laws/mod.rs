//! The laws of each contract trait, with one call per implementation, and laws for any work.

#[cfg(feature = "assemble")]
pub mod assemble;
#[cfg(feature = "budget")]
pub mod budget;
#[cfg(feature = "store")]
pub mod changes;
#[cfg(feature = "format")]
pub mod format;
pub mod growth;
#[cfg(feature = "assemble")]
pub mod policy;
#[cfg(feature = "service")]
pub mod recall;
#[cfg(feature = "tokens")]
mod run;
#[cfg(feature = "store")]
pub mod search;
#[cfg(feature = "store")]
pub mod semantic;
#[cfg(feature = "store")]
pub mod store;
#[cfg(feature = "tokens")]
pub mod tokens;
#[cfg(feature = "syntax")]
pub mod truncate;

#[cfg(feature = "assemble")]
pub use assemble::assembler;
#[cfg(feature = "store")]
pub use changes::changes;
#[cfg(feature = "format")]
pub use format::formatter;
pub use growth::linear;
#[cfg(feature = "assemble")]
pub use policy::policy;
#[cfg(feature = "service")]
pub use recall::recall;
#[cfg(feature = "store")]
pub use search::file_search;
#[cfg(feature = "store")]
pub use semantic::semantic;
#[cfg(feature = "tokens")]
pub use tokens::token_counter;
#[cfg(feature = "syntax")]
pub use truncate::truncate;
