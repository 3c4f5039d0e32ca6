//! The wire form of contexts.

use std::collections::BTreeMap;
use std::sync::Arc;

use ctx_citations::{Cited, Metadata, Resolved, Verdict, format_citations};
use ctx_model::{
    BuiltContext, Certificate, Exactness, Format, Included, Omitted, Origin, Relevance,
    SharedPrefix, TokenSplit, Warning,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::backend::{Prime, Receipt, Scored, Signal, Stats};
use crate::job::Timing;
use crate::schema;

/// A context, and what went into it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContextData<'p> {
    id: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<&'p str>,
    total_tokens: u32,
    items: Vec<Item<'p>>,
    citations: Vec<CitedSource<'p>>,
    stats: Stats,
    timings: Vec<Timing>,
    context: &'p str,
    tokens: &'p TokenSplit,
    exactness: Exactness,
    counter: &'p str,
    included: &'p [Included],
    omitted: &'p [Omitted],
    files: &'p [String],
    average_relevance: f64,
    was_truncated: bool,
    certificate: &'p Certificate,
    format: Format,
    build_time: f64,
    digest: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared_prefix: Option<&'p SharedPrefix>,
    #[serde(skip_serializing_if = "<[Warning]>::is_empty")]
    warnings: &'p [Warning],
}

/// An item of the context.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Item<'p> {
    /// Its id in the context, by which an answer cites it in brackets: `fil-9f2a1c`.
    id: &'p str,
    /// `reference` for a named item, `chunk` for a search hit, `file` for a recently shown file, or
    /// `message`.
    #[serde(rename = "type")]
    #[schema(value_type = schema::Origin)]
    kind: Origin,
    /// What the context shows of it, with `…` on a line of its own in place of omitted lines; only
    /// if `itemContent` requests it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    content: Option<&'p str>,
    /// Its beginning, on one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    excerpt: Option<&'p str>,
    /// What a reader knows it by: path, name or id.
    source: &'p str,
    /// How much it matters.
    #[schema(value_type = f64, minimum = 0, maximum = 1)]
    relevance: Relevance,
    /// The five signals of its score, if `explain` requests them. A named item has relevance 1
    /// whatever its signals, and one that contains what the message quotes may have a higher
    /// relevance than they give.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    signals: Option<Vec<Signal>>,
    /// Its cost in tokens.
    tokens: u32,
    /// Further data of it.
    #[schema(value_type = schema::Metadata)]
    metadata: &'p Metadata,
    /// The id by which its receipt cites it.
    citation: &'p str,
    /// The handle for feedback on it, if it belongs to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    handle: Option<&'p str>,
}

/// A source that an answer may cite.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CitedSource<'p> {
    /// Its id in the context, by which an answer cites it in brackets: `fil-9f2a1c`.
    id: &'p str,
    /// What a reader knows it by: path, name or id.
    source: &'p str,
    /// Where it came from.
    #[serde(rename = "type")]
    #[schema(value_type = schema::Origin)]
    kind: Origin,
    /// The path of its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    file_path: Option<&'p str>,
    /// The first of its lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    start_line: Option<u32>,
    /// The last of its lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    end_line: Option<u32>,
    /// BLAKE3 of the text shown: 64 hexadecimal digits.
    content_hash: &'p str,
    /// Its beginning, on one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    excerpt: Option<&'p str>,
    /// How much it matters.
    #[schema(value_type = f64, minimum = 0, maximum = 1)]
    relevance: Relevance,
    /// Whether an answer cites it; false as long as there is no answer.
    used_in_response: bool,
    /// The id by which the receipt of the context cites it.
    citation: &'p str,
}

impl<'p> CitedSource<'p> {
    fn new(cited: &'p Cited, used_in_response: bool) -> Self {
        let citation = &cited.citation;
        CitedSource {
            id: &cited.id,
            source: &citation.source,
            kind: cited.origin,
            file_path: citation.file_path.as_deref(),
            start_line: citation.start_line,
            end_line: citation.end_line,
            content_hash: &citation.content_hash,
            excerpt: cited.excerpt.as_deref(),
            relevance: cited.relevance,
            used_in_response,
            citation: &citation.id,
        }
    }
}

/// The items of `prime` that are in its context, in the order shown.
fn items<'p>(prime: &'p Prime) -> Vec<Item<'p>> {
    let context = &prime.context;
    let cited: BTreeMap<&str, &Cited> = context
        .citations
        .iter()
        .map(|it| (it.id.as_str(), it))
        .collect();
    let scored = prime.scored().into_iter().map(|it| (it.id, it.signals));
    let mut scored: BTreeMap<String, Vec<Signal>> = scored.collect();
    let item = |included: &'p Included| {
        let cited = cited.get(included.id.as_str())?;
        Some(Item {
            id: &included.id,
            kind: cited.origin,
            content: prime.item_content.then(|| cited.shown()),
            excerpt: cited.excerpt.as_deref(),
            source: &cited.citation.source,
            relevance: cited.relevance,
            signals: scored.remove(&included.id),
            tokens: included.tokens.get(),
            metadata: &cited.metadata,
            citation: &included.citation,
            handle: cited.feedback.as_deref(),
        })
    };
    context.built.included.iter().filter_map(item).collect()
}

impl<'p> ContextData<'p> {
    /// The wire form of `prime`, whose receipt for the caller is `built`: [`Prime::built`].
    pub(crate) fn new(prime: &'p Prime, built: &'p BuiltContext) -> Self {
        let citations = prime.context.citations.iter();
        // The citations of `built` are for checking a receipt against the files.
        let BuiltContext {
            context,
            tokens,
            exactness,
            counter,
            included,
            omitted,
            files,
            average_relevance,
            was_truncated,
            citations: _,
            certificate,
            format,
            build_time,
            digest,
            shared_prefix,
            warnings,
            ..
        } = built;
        ContextData {
            id: prime.id(),
            handle: prime.context.feedback.as_deref(),
            total_tokens: tokens.total.get(),
            items: items(prime),
            citations: citations.map(|it| CitedSource::new(it, false)).collect(),
            stats: prime.stats(),
            timings: prime.timings(),
            context,
            tokens,
            exactness: *exactness,
            counter,
            included,
            omitted,
            files,
            average_relevance: *average_relevance,
            was_truncated: *was_truncated,
            certificate,
            format: *format,
            build_time: *build_time,
            digest,
            shared_prefix: shared_prefix.as_ref(),
            warnings,
        }
    }
}

/// Facts about a context.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContextMeta {
    /// The tokens of the context.
    pub(crate) token_usage: u32,
    /// The number of items in it.
    pub(crate) source_count: usize,
    /// The number of sources that may be cited.
    pub(crate) citation_count: usize,
    /// Whether it came from the cache, or from an equal request that was running.
    pub(crate) cached: bool,
}

impl ContextMeta {
    pub(crate) fn of(built: &BuiltContext) -> Self {
        ContextMeta {
            token_usage: built.tokens.total.get(),
            source_count: built.included.len(),
            citation_count: built.citations.len(),
            cached: false,
        }
    }

    pub(crate) fn of_prime(prime: &Prime) -> Self {
        ContextMeta {
            cached: prime.is_cached(),
            citation_count: prime.context.citations.len(),
            ..ContextMeta::of(&prime.context.built)
        }
    }
}

/// The citations of an answer.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResolvedData<'c> {
    #[serde(flatten)]
    resolved: Resolved,
    sources: String,
    citations: Vec<CitedSource<'c>>,
}

impl<'c> ResolvedData<'c> {
    /// The wire form of `resolved`, the result for an answer to a context with `citations`.
    pub(crate) fn new(resolved: Resolved, citations: &'c [Cited]) -> Self {
        let of = |it: &'c Cited| CitedSource::new(it, resolved.used.contains(&it.id));
        ResolvedData {
            sources: format_citations(citations, &resolved.used),
            citations: citations.iter().map(of).collect(),
            resolved,
        }
    }
}

/// Counts of an answer's citations.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResolvedMeta {
    /// Citations in the answer.
    pub(crate) citation_count: usize,
    /// Sound citations in the answer.
    pub(crate) sound_count: usize,
}

impl ResolvedMeta {
    pub(crate) fn of(resolved: &Resolved) -> Self {
        ResolvedMeta {
            citation_count: resolved.marks.len(),
            sound_count: resolved.with(Verdict::Sound).count(),
        }
    }
}

/// A context that was built before.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReceiptData {
    pub(crate) id: String,
    pub(crate) created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) thread_id: Option<String>,
    pub(crate) stats: Stats,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) items: Vec<Scored>,
    pub(crate) receipt: Arc<BuiltContext>,
}

impl From<Receipt> for ReceiptData {
    fn from(kept: Receipt) -> Self {
        ReceiptData {
            id: kept.id,
            created_at: kept.created_at,
            thread_id: kept.thread_id,
            stats: kept.stats,
            items: kept.items,
            receipt: kept.receipt,
        }
    }
}
