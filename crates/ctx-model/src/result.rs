//! What comes out: the context and its receipt.

use serde::{Deserialize, Serialize};

use crate::{Format, Omitted, RenditionKind, Tokens, Warning};

/// How a count relates to what the consumer's tokenizer will find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Exactness {
    /// It is that number.
    Exact,
    /// It is never below that number.
    UpperBound,
    /// It is near that number.
    Estimate,
}

/// Where the tokens went. `header + chunks + notices + footer == total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenSplit {
    /// The whole context, counted on its final bytes.
    pub total: Tokens,
    /// What comes before the first chunk.
    pub header: Tokens,
    /// The chunks: their text, titles, fences, separators and group headings.
    pub chunks: Tokens,
    /// The list of sources and the notice of what was left out.
    pub notices: Tokens,
    /// What comes after them.
    pub footer: Tokens,
    /// What the budget had left: `max_tokens - reserve - total`.
    pub left: Tokens,
}

/// A chunk that was let in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Included {
    /// The chunk's id.
    pub id: String,
    /// How much of it is shown.
    pub rendition: RenditionKind,
    /// What its block costs.
    pub tokens: Tokens,
    /// What it adds to the value of the selection: what those before it tell already does not count again where
    /// [diversity](crate::BuildOptions::diversity) does.
    pub value: f64,
    /// Why it was let in, for people.
    pub why: String,
    /// The file it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_path: Option<String>,
    /// The first of its lines, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u32>,
    /// The last of its lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// The id of its [`Citation`].
    pub citation: String,
}

impl Included {
    /// What is known of every chunk that was let in. It is worth nothing, and of no file, until that is set.
    pub fn new(
        id: impl Into<String>,
        rendition: RenditionKind,
        tokens: Tokens,
        citation: impl Into<String>,
    ) -> Self {
        Included {
            id: id.into(),
            rendition,
            tokens,
            value: 0.0,
            why: String::new(),
            file_path: None,
            start_line: None,
            end_line: None,
            citation: citation.into(),
        }
    }
}

/// What an answer may cite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Citation {
    /// Stable: the same source, lines and text have the same id; unique in one context.
    pub id: String,
    /// The chunk it stands for.
    pub chunk_id: String,
    /// What a reader knows it by: path, name or id.
    pub source: String,
    /// The file it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_path: Option<String>,
    /// The first line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u32>,
    /// The last line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// BLAKE3 of the text that was shown, before escaping: 64 hexadecimal digits.
    pub content_hash: String,
}

/// How good the selection is: `value <= optimum <= upper_bound`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Certificate {
    /// The value selected: the sum of relevance × information kept, blended with what is new where
    /// [diversity](crate::BuildOptions::diversity) counts; the sum of [`Included::value`].
    pub value: f64,
    /// No selection within the budget has a larger value; with a counter that does not promise that counts add up, none whose pieces, counted
    /// one by one, are within it.
    pub upper_bound: f64,
    /// `(upper_bound - value) / upper_bound`, and 0 when both are 0.
    pub gap: f64,
    /// The price of the next token: value per token at the margin.
    pub lambda: f64,
}

/// How much of the previous context is repeated at the beginning of this one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedPrefix {
    /// Leading tokens that a prompt cache can keep: those of the equal bytes at the beginning.
    pub tokens: Tokens,
    /// How many bytes are equal at the beginning.
    pub bytes: usize,
    /// The first chunk that is not repeated whole, in or before which the first difference lies; none where all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<String>,
}

/// One prompt-ready context, and its receipt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BuiltContext {
    /// The text to put before the model.
    pub context: String,
    /// Where the tokens went.
    pub tokens: TokenSplit,
    /// How the counts relate to the consumer's tokenizer.
    pub exactness: Exactness,
    /// Who counted: the counter's own name.
    pub counter: String,
    /// What was let in, in the order shown.
    pub included: Vec<Included>,
    /// What was left out, and why, in the order it would have been shown.
    pub omitted: Vec<Omitted>,
    /// The files shown, in order, each once.
    pub files: Vec<String>,
    /// The mean relevance of what was let in; 0 when nothing was.
    pub average_relevance: f64,
    /// Whether something was left out for want of room.
    pub was_truncated: bool,
    /// What an answer may cite, in the order shown.
    pub citations: Vec<Citation>,
    /// How good the selection is.
    pub certificate: Certificate,
    /// The form of the context.
    pub format: Format,
    /// How long it took: milliseconds.
    pub build_time: f64,
    /// BLAKE3 of the context's bytes: 64 hexadecimal digits.
    pub digest: String,
    /// What is shared with the previous context, where that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_prefix: Option<SharedPrefix>,
    /// What the caller should know besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl BuiltContext {
    /// A context and how it was counted. Nothing is in it, and nothing left out, until that is set.
    pub fn new(
        context: impl Into<String>,
        digest: impl Into<String>,
        format: Format,
        counter: impl Into<String>,
        exactness: Exactness,
        tokens: TokenSplit,
    ) -> Self {
        BuiltContext {
            context: context.into(),
            tokens,
            exactness,
            counter: counter.into(),
            included: Vec::new(),
            omitted: Vec::new(),
            files: Vec::new(),
            average_relevance: 0.0,
            was_truncated: false,
            citations: Vec::new(),
            certificate: Certificate::default(),
            format,
            build_time: 0.0,
            digest: digest.into(),
            shared_prefix: None,
            warnings: Vec::new(),
        }
    }
}
