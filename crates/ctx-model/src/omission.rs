//! Omitted chunks, and why they were omitted.

use serde::{Deserialize, Serialize};

use crate::Tokens;

/// Why a chunk was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OmittedReason {
    /// It did not fit, or its tokens have more value when spent on others.
    OverBudget,
    /// The largest number of chunks was reached.
    MaxChunks,
    /// There was room for it, but the caller's own policy did not choose it.
    NotChosen,
    /// Its relevance is below `minRelevance`.
    BelowMinRelevance,
    /// It is a passage in which no sentence is likely enough to be part of the answer.
    BelowMinChance,
    /// Another chunk has the same lines, besides blank ones and white space at their ends.
    DuplicateOf,
    /// Another chunk has nearly the same lines: at least nine tenths of those of either.
    NearDuplicateOf,
    /// It was merged into another chunk, which has its lines.
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
    /// A `maxTokens` at which it would be included, all else being equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enters_at: Option<Tokens>,
    /// The id of the chunk that replaces it, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
}

impl Omitted {
    /// States that the chunk called `id` was left out, and nothing more.
    pub fn new(id: impl Into<String>, reason: OmittedReason) -> Self {
        Omitted {
            id: id.into(),
            reason,
            enters_at: None,
            other: None,
        }
    }

    /// Names the chunk that replaces it.
    #[must_use]
    pub fn with_other(mut self, other: impl Into<String>) -> Self {
        self.other = Some(other.into());
        self
    }
}
