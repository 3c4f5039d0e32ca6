#![cfg_attr(any(not(doctest), all(feature = "search", feature = "openai")), doc = include_str!("../README.md"))]

#[doc(inline)]
pub use ctx_assemble as assemble;
#[doc(inline)]
pub use ctx_budget as budget;
#[cfg(feature = "citations")]
#[doc(inline)]
pub use ctx_citations as citations;
#[doc(inline)]
pub use ctx_format as format;
#[cfg(feature = "git")]
#[doc(inline)]
pub use ctx_git as git;
#[cfg(feature = "search")]
#[doc(inline)]
pub use ctx_index as index;
#[doc(inline)]
pub use ctx_model as model;
#[cfg(feature = "rank")]
#[doc(inline)]
pub use ctx_rank as rank;
#[cfg(feature = "resolve")]
#[doc(inline)]
pub use ctx_resolve as resolve;
#[cfg(feature = "service")]
#[doc(inline)]
pub use ctx_retrieve as retrieve;
#[cfg(feature = "secrets")]
#[doc(inline)]
pub use ctx_secrets as secrets;
#[cfg(feature = "service")]
#[doc(inline)]
pub use ctx_service as service;
#[cfg(feature = "source")]
#[doc(inline)]
pub use ctx_source as source;
#[cfg(feature = "syntax")]
#[doc(inline)]
pub use ctx_syntax as syntax;
#[doc(inline)]
pub use ctx_tokens as tokens;

/// The front page of the repository: its examples are compiled too.
#[cfg(all(doctest, feature = "openai"))]
#[doc = include_str!("../../../README.md")]
struct FrontPage;
