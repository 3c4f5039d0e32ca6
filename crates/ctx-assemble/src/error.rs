//! Errors of an assembly.

use ctx_budget::BudgetError;
use ctx_format::FormatError;
use ctx_model::ModelError;
use ctx_tokens::TokensError;

/// Why no context could be assembled. `Display` follows a statement of what failed: "failed to
/// assemble: …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// A chunk breaks a rule of the model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Two chunks have the same id, so the receipt could not distinguish them.
    #[error("two chunks have the id {id:?}")]
    DuplicateId {
        /// The id.
        id: String,
    },
    /// The budget cannot be kept.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The context would have more bytes than any may have, whatever its tokens: a counter may
    /// count a long text as few.
    #[error("the context would have {bytes} bytes, more than {most}: {option} is too large")]
    TooLong {
        /// About how many bytes it would have.
        bytes: usize,
        /// How many it may have.
        most: usize,
        /// The name on the wire of the option that makes it so long: `chunkSeparator`, if the
        /// separators are most of it, or `maxTokens`.
        option: &'static str,
    },
    /// The format cannot carry the header, footer or separator.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The counter that the options name is not available.
    #[error(transparent)]
    Tokens(#[from] TokensError),
    /// The previous context does not have the digest that was given with it.
    #[error("the text of the previous context does not have the digest {digest}")]
    PreviousDigest {
        /// The digest given.
        digest: String,
    },
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The thread that did the work ended without a result: a counter panicked, or the runtime was
    /// shut down.
    #[error("the assembling thread ended without an answer")]
    Lost {
        /// How the thread ended.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
