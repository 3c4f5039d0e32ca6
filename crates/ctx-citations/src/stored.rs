//! Sources as they are stored.

use std::sync::Arc;

use ctx_model::{Citation, LineSpan, Origin, Relevance};
use serde::{Deserialize, Serialize};

use crate::cited::{Cited, Metadata};
use crate::lines::ends;
use crate::shown::{Shown, span_of};

/// A source with its text, as it is stored for an answer that is checked later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StoredSource {
    /// Its id in the context.
    pub id: String,
    /// Its origin; `origin` in older stored JSON.
    #[serde(rename = "type", alias = "origin")]
    pub origin: Origin,
    /// Its citation in the receipt.
    pub citation: Citation,
    /// Its beginning, on one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// Its relevance.
    pub relevance: Relevance,
    /// Further facts about it.
    #[serde(default)]
    pub metadata: Metadata,
    /// The handle for feedback on it, if feedback is possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// Further ids of it: those of parts that were removed because it contains them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// What the context shows of it.
    pub text: String,
    /// The first and the last line of each run of shown lines; all lines of the source if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<(u32, u32)>>,
    /// The number in the source of each line of the text, if it has one. Empty if the text is all
    /// of the lines, or if it was stored before there were numbers: then quotations are checked
    /// against the whole text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<Option<u32>>,
    /// Whether the shown text is unknown: then text and lines are empty, and nothing is checked
    /// against them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unknown: bool,
}

impl From<&Cited> for StoredSource {
    fn from(cited: &Cited) -> Self {
        StoredSource {
            id: cited.id.clone(),
            origin: cited.origin,
            citation: cited.citation.clone(),
            excerpt: cited.excerpt.clone(),
            relevance: cited.relevance,
            metadata: cited.metadata.clone(),
            feedback: cited.feedback.clone(),
            also: cited.also.clone(),
            text: cited.shown.text.to_string(),
            lines: Some(cited.shown.lines.iter().copied().map(ends).collect()),
            numbers: cited.shown.numbers.clone(),
            is_unknown: cited.shown.is_unknown,
        }
    }
}

impl From<&StoredSource> for Cited {
    fn from(stored: &StoredSource) -> Self {
        let span = |(start, end): &(u32, u32)| LineSpan::new(*start, *end).ok();
        let lines = match &stored.lines {
            Some(lines) => lines.iter().filter_map(span).collect(),
            None => span_of(&stored.citation).into_iter().collect(),
        };
        let shown = Shown {
            text: Arc::from(stored.text.as_str()),
            lines,
            numbers: stored.numbers.clone(),
            is_unknown: stored.is_unknown,
        };
        Cited {
            shown,
            id: stored.id.clone(),
            origin: stored.origin,
            citation: stored.citation.clone(),
            excerpt: stored.excerpt.clone(),
            relevance: stored.relevance,
            metadata: stored.metadata.clone(),
            feedback: stored.feedback.clone(),
            also: stored.also.clone(),
        }
    }
}
