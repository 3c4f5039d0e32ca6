//! Sources that an answer may cite.

use std::collections::{BTreeMap, BTreeSet};

use ctx_format::{Slot, neutralise};
use ctx_model::{BuiltContext, Chunk, Citation, LineSpan, OmittedReason, Origin, Relevance};
use serde::{Deserialize, Serialize};

use crate::shown::Shown;

/// The number of characters of an excerpt in a list of sources.
const EXCERPT: usize = 50;

/// A source that an answer may cite.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Cited {
    /// Its id in the context, which an answer cites between brackets: `fil-9f2a1c`.
    pub id: String,
    /// Where it came from.
    #[serde(rename = "type")]
    pub origin: Origin,
    /// Its citation in the receipt: source, lines, hash of the shown text.
    pub citation: Citation,
    /// Its beginning, on one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// Its relevance.
    pub relevance: Relevance,
    /// Further facts about it.
    pub metadata: Metadata,
    /// The handle for feedback on it, if feedback is possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// Further ids of it: those of parts that were removed because it contains them.
    #[serde(skip)]
    pub also: Vec<String>,
    /// What the context shows of it; lines and quotations are checked against that.
    #[serde(skip)]
    pub(crate) shown: Shown,
}

/// Further facts about a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Metadata {
    /// The file it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// When the message was sent, when the file last changed or, for a recently shown file, when it
    /// was shown: milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    /// The words of the question that its chunk matched, as the chunk has them
    /// ([`Chunk::matched_keywords`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched_keywords: Vec<String>,
    /// Its rank among the search results, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search_rank: Option<u32>,
    /// The ids of the messages that it consists of, in the order of the thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub message_ids: Vec<String>,
}

impl Metadata {
    fn of(chunk: &Chunk) -> Self {
        Metadata {
            path: chunk.path.clone(),
            created_at: chunk.created_at,
            matched_keywords: chunk.matched_keywords.to_vec(),
            search_rank: None,
            message_ids: Vec::new(),
        }
    }
}

impl Cited {
    /// The sources of a context that was assembled from `chunks` without a service, in the order
    /// shown, each under the id of its citation. The context does not show those ids: the caller
    /// must tell them to the model. O(bytes).
    pub fn of(built: &BuiltContext, chunks: &[Chunk]) -> Vec<Cited> {
        Cited::named(built, chunks, |it| it.id.clone())
    }

    /// The same, each under the id of its chunk, which a context [built with
    /// ids](ctx_model::BuildOptions::with_ids) shows: the model knows it, and the budget includes
    /// it. It is cited as it is, or with lines after a colon. An id that contains a bracket, a
    /// comma, a semicolon or a line end, or has more than 400 bytes, cannot be cited.
    pub fn by_chunk_id(built: &BuiltContext, chunks: &[Chunk]) -> Vec<Cited> {
        Cited::named(built, chunks, |it| it.chunk_id.clone())
    }

    /// The same, each under the id that `name` returns for its citation. A caller that knows the
    /// rank sets it in the [`metadata`](Cited::metadata).
    pub fn named(
        built: &BuiltContext,
        chunks: &[Chunk],
        name: impl Fn(&Citation) -> String,
    ) -> Vec<Cited> {
        let by_id = by_id(chunks);
        let merged = merged(built, &by_id);
        let mut seen = BTreeSet::new();
        let first = built
            .citations
            .iter()
            .filter(|it| seen.insert(it.chunk_id.as_str()));
        let merged_into = |id: &str| merged.get(id).map_or(&[][..], Vec::as_slice);
        let cited = |citation: &Citation| {
            let chunk = by_id.get(citation.chunk_id.as_str())?;
            let shown = Shown::of(citation, chunk, merged_into(&chunk.id));
            Some(Cited::new(name(citation), citation.clone(), chunk, shown))
        };
        first.filter_map(cited).collect()
    }

    /// `chunk` as a source whose whole text the model was shown under its id, by other means than a
    /// [`BuiltContext`]. It is cited by that id, if that can be cited ([`Cited::by_chunk_id`]); its
    /// lines are those of its span. O(bytes).
    pub fn whole(chunk: &Chunk) -> Cited {
        let (text, span) = (chunk.full_text(), chunk.full_span());
        let citation = Citation {
            id: chunk.id.clone(),
            chunk_id: chunk.id.clone(),
            source: chunk.title().to_owned(),
            file_path: chunk.path.clone(),
            start_line: span.map(LineSpan::start),
            end_line: span.map(LineSpan::end),
            content_hash: blake3::hash(text.as_bytes()).to_hex().to_string(),
        };
        let shown = Shown::whole(text, span);
        Cited::new(chunk.id.clone(), citation, chunk, shown)
    }

    fn new(id: String, citation: Citation, chunk: &Chunk, shown: Shown) -> Self {
        Cited {
            id,
            origin: chunk.origin,
            citation,
            excerpt: excerpt(chunk.full_text()),
            relevance: chunk.relevance,
            metadata: Metadata::of(chunk),
            feedback: None,
            also: Vec::new(),
            shown,
        }
    }

    /// What the context shows of it, with `…` on a line of its own for omitted lines. It is also
    /// empty if no text of the chunks has the hash in the receipt: then they are not those of the
    /// context, and citations of it are [`Unchecked`](crate::Verdict::Unchecked).
    pub fn shown(&self) -> &str {
        &self.shown.text
    }
}

fn by_id(chunks: &[Chunk]) -> BTreeMap<&str, &Chunk> {
    chunks.iter().map(|it| (it.id.as_str(), it)).collect()
}

/// The chunks that the receipt says were merged into another, by the id of that one.
fn merged<'c>(
    built: &'c BuiltContext,
    by_id: &BTreeMap<&str, &'c Chunk>,
) -> BTreeMap<&'c str, Vec<&'c Chunk>> {
    let mut merged: BTreeMap<&str, Vec<&Chunk>> = BTreeMap::new();
    for it in &built.omitted {
        if it.reason == OmittedReason::MergedInto
            && let Some(speaker) = it.other.as_deref()
            && let Some(part) = by_id.get(it.id.as_str())
        {
            merged.entry(speaker).or_default().push(part);
        }
    }
    merged
}

/// The first words of `text`, on one line that no terminator or escape ends.
fn excerpt(text: &str) -> Option<String> {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.chars().count() >= EXCERPT {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let line = neutralise(&line, Slot::Line);
    let cut: String = line.chars().take(EXCERPT).collect();
    (!cut.is_empty()).then_some(cut)
}
