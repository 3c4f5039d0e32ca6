//! Why something was left out.

use serde::{Deserialize, Serialize};

use crate::Tokens;

/// Why a chunk was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OmittedReason {
    /// It did not fit, or what it costs buys more elsewhere.
    OverBudget,
    /// There were enough chunks already.
    MaxChunks,
    /// It matters less than `minRelevance`.
    BelowMinRelevance,
    /// It is a passage without a sentence that is likely enough part of the answer.
    BelowMinChance,
    /// Another chunk says the same.
    DuplicateOf,
    /// Its lines are part of another chunk.
    MergedInto,
    /// Its source could not be read.
    Unreadable,
    /// Its source has changed since it was indexed.
    Stale,
}

/// A chunk that was left out, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Omitted {
    /// The chunk's id.
    pub id: String,
    /// Why it was left out.
    pub reason: OmittedReason,
    /// A `maxTokens` at which it would be let in, all else being equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enters_at: Option<Tokens>,
    /// The id of the chunk that stands for it, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
}

impl Omitted {
    /// The bare statement that the chunk called `id` was left out.
    pub fn new(id: impl Into<String>, reason: OmittedReason) -> Self {
        Omitted {
            id: id.into(),
            reason,
            enters_at: None,
            other: None,
        }
    }

    /// Names the chunk that stands for it.
    #[must_use]
    pub fn with_other(mut self, other: impl Into<String>) -> Self {
        self.other = Some(other.into());
        self
    }
}
