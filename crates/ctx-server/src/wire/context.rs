//! What is said of contexts.

use std::collections::BTreeMap;

use ctx_model::{
    BuiltContext, Certificate, Exactness, Format, Included, Omitted, Origin, Relevance,
    SharedPrefix, TokenSplit, Warning,
};
use ctx_service::{Cited, Metadata, Resolved, Verdict, format_citations};
use serde::Serialize;
use utoipa::ToSchema;

use crate::backend::{Prime, Receipt, Stats, Timing};
use crate::schema;

/// A context, and what went into it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContextData {
    pub(crate) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<String>,
    total_tokens: u32,
    items: Vec<Item>,
    citations: Vec<CitedSource>,
    stats: Stats,
    timings: Vec<Timing>,
    context: String,
    tokens: TokenSplit,
    exactness: Exactness,
    counter: String,
    included: Vec<Included>,
    omitted: Vec<Omitted>,
    files: Vec<String>,
    average_relevance: f64,
    was_truncated: bool,
    certificate: Certificate,
    format: Format,
    build_time: f64,
    digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared_prefix: Option<SharedPrefix>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
}

/// Something that is in the context.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Item {
    /// What the context calls it, and an answer cites it by, between brackets: `fil-9f2a1c`.
    id: String,
    /// `reference` for what was named, `chunk` for what was found, `file` for what was shown lately, `message`.
    #[serde(rename = "type")]
    #[schema(value_type = schema::Origin)]
    kind: Origin,
    /// What the context shows of it, with `…` on a line of its own where lines are left out; where `itemContent`
    /// asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    content: Option<String>,
    /// How it begins, on one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    excerpt: Option<String>,
    /// What a reader knows it by: path, name or id.
    source: String,
    /// How much it matters.
    #[schema(value_type = f64, minimum = 0, maximum = 1)]
    relevance: Relevance,
    /// What it costs.
    tokens: u32,
    /// What else is known of it.
    #[schema(value_type = schema::Metadata)]
    metadata: Metadata,
    /// What its receipt cites it by.
    citation: String,
    /// What feedback on it is given with, where it is of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    handle: Option<String>,
}

/// A source that an answer may cite.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CitedSource {
    /// What the context calls it, and an answer cites it by, between brackets: `fil-9f2a1c`.
    id: String,
    /// What a reader knows it by: path, name or id.
    source: String,
    /// Where it came from.
    #[serde(rename = "type")]
    #[schema(value_type = schema::Origin)]
    kind: Origin,
    /// The file it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    file_path: Option<String>,
    /// The first of its lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    start_line: Option<u32>,
    /// The last of its lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    end_line: Option<u32>,
    /// BLAKE3 of the text shown: 64 hexadecimal digits.
    content_hash: String,
    /// How it begins, on one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    excerpt: Option<String>,
    /// How much it matters.
    #[schema(value_type = f64, minimum = 0, maximum = 1)]
    relevance: Relevance,
    /// Whether an answer cites it: not before there is one.
    used_in_response: bool,
    /// What the receipt of the context cites it by.
    citation: String,
}

impl CitedSource {
    fn new(cited: &Cited, used_in_response: bool) -> Self {
        let citation = &cited.citation;
        CitedSource {
            id: cited.id.clone(),
            source: citation.source.clone(),
            kind: cited.origin,
            file_path: citation.file_path.clone(),
            start_line: citation.start_line,
            end_line: citation.end_line,
            content_hash: citation.content_hash.clone(),
            excerpt: cited.excerpt.clone(),
            relevance: cited.relevance,
            used_in_response,
            citation: citation.id.clone(),
        }
    }
}

/// What of `prime` is in its context, in the order shown.
fn items(prime: &Prime) -> Vec<Item> {
    let context = &prime.context;
    let cited: BTreeMap<&str, &Cited> = context
        .citations
        .iter()
        .map(|it| (it.id.as_str(), it))
        .collect();
    let item = |included: &Included| {
        let cited = cited.get(included.id.as_str())?;
        Some(Item {
            id: included.id.clone(),
            kind: cited.origin,
            content: prime.item_content.then(|| cited.shown().to_owned()),
            excerpt: cited.excerpt.clone(),
            source: cited.citation.source.clone(),
            relevance: cited.relevance,
            tokens: included.tokens.get(),
            metadata: cited.metadata.clone(),
            citation: included.citation.clone(),
            handle: cited.feedback.clone(),
        })
    };
    context.built.included.iter().filter_map(item).collect()
}

impl From<&Prime> for ContextData {
    fn from(prime: &Prime) -> Self {
        let citations = prime.context.citations.iter();
        // Its own citations are for who holds the receipt against the files.
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
        } = prime.built();
        ContextData {
            id: prime.id().to_owned(),
            handle: prime.context.feedback.clone(),
            total_tokens: tokens.total.get(),
            items: items(prime),
            citations: citations.map(|it| CitedSource::new(it, false)).collect(),
            stats: prime.stats(),
            timings: prime.timings(),
            context,
            tokens,
            exactness,
            counter,
            included,
            omitted,
            files,
            average_relevance,
            was_truncated,
            certificate,
            format,
            build_time,
            digest,
            shared_prefix,
            warnings,
        }
    }
}

/// What is to be known about a context.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContextMeta {
    /// The tokens of the context.
    pub(crate) token_usage: u32,
    /// What is in it.
    pub(crate) source_count: usize,
    /// What may be cited.
    pub(crate) citation_count: usize,
    /// Whether it was kept from before, or made for an equal request at the same time.
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

/// What an answer cites.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResolvedData {
    #[serde(flatten)]
    resolved: Resolved,
    sources: String,
    citations: Vec<CitedSource>,
}

impl ResolvedData {
    /// What `resolved`, an answer to a context with `citations`, uses of those.
    pub(crate) fn new(resolved: Resolved, citations: &[Cited]) -> Self {
        let of = |it: &Cited| CitedSource::new(it, resolved.used.contains(&it.id));
        ResolvedData {
            sources: format_citations(citations, &resolved.used),
            citations: citations.iter().map(of).collect(),
            resolved,
        }
    }
}

/// How an answer's citations fare.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResolvedMeta {
    /// Citations in the answer.
    pub(crate) citation_count: usize,
    /// Those of them with nothing wrong.
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
    pub(crate) receipt: BuiltContext,
}

impl From<Receipt> for ReceiptData {
    fn from(kept: Receipt) -> Self {
        ReceiptData {
            id: kept.id,
            created_at: kept.created_at,
            thread_id: kept.thread_id,
            stats: kept.stats,
            receipt: kept.receipt,
        }
    }
}
