//! The result: the context and its receipt.

use serde::{Deserialize, Serialize};

use crate::{Format, Omitted, OmittedReason, RenditionKind, Tokens, Warning};

/// How a count relates to the number of tokens that the consumer's tokenizer finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Exactness {
    /// The count is that number.
    Exact,
    /// The count is never below that number.
    UpperBound,
    /// The count is near that number.
    Estimate,
}

/// Where the tokens went. `header + chunks + notices + footer == total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenSplit {
    /// The whole context, counted on its final bytes.
    pub total: Tokens,
    /// The text before the first chunk.
    pub header: Tokens,
    /// The chunks: their text, titles, fences, separators and group headings.
    pub chunks: Tokens,
    /// The list of sources and the notice of what was left out.
    pub notices: Tokens,
    /// The text after the list of sources and the notice.
    pub footer: Tokens,
    /// The unspent budget: `max_tokens - reserve - total`.
    pub left: Tokens,
}

/// A chunk that was included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Included {
    /// The chunk's id.
    pub id: String,
    /// How much of it is shown.
    pub rendition: RenditionKind,
    /// The tokens of its block.
    pub tokens: Tokens,
    /// What it adds to the value of the selection. Where
    /// [diversity](crate::BuildOptions::diversity) counts, information that earlier chunks already
    /// show is not counted again.
    pub value: f64,
    /// Why it was included, in words for people.
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
    /// Makes an entry with the facts that every included chunk has. Its value is 0, and it belongs
    /// to no file, until that is set.
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

/// A source that an answer may cite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Citation {
    /// A stable id: the same source, lines and text have the same id. Unique within a context.
    pub id: String,
    /// The chunk it stands for.
    pub chunk_id: String,
    /// The name shown to readers: path, name or id.
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

/// The quality of the selection: `value <= optimum <= upper_bound`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Certificate {
    /// The value selected: the sum of [`Included::value`]. That is the sum of relevance ×
    /// information kept, blended with new information where
    /// [diversity](crate::BuildOptions::diversity) counts.
    pub value: f64,
    /// No selection within the budget has a larger value. With a counter whose counts do not add
    /// up, that holds for selections whose pieces, counted one by one, are within the budget. A
    /// selection shows each chunk in full, by one of its renditions, or not at all; chunks that
    /// were merged are shown by the sets of them that are offered, which are some of all sets.
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
    /// Leading tokens that a prompt cache can keep: those of the bytes that are equal from the
    /// beginning.
    pub tokens: Tokens,
    /// How many bytes are equal at the beginning.
    pub bytes: usize,
    /// The first chunk that is not repeated in full: the first difference lies in or before it.
    /// `None` if all are.
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
    /// The name of the counter that counted.
    pub counter: String,
    /// The included chunks, in the order shown.
    pub included: Vec<Included>,
    /// The omitted chunks with the reasons: those that competed for the budget first, the most
    /// relevant first.
    pub omitted: Vec<Omitted>,
    /// The files shown, in order, each once.
    pub files: Vec<String>,
    /// The mean relevance of the blocks: one of several chunks counts once, with the relevance of
    /// the chunk whose id it has. 0 if there are none.
    pub average_relevance: f64,
    /// Whether a chunk was left out for lack of room, or is shown in part.
    pub was_truncated: bool,
    /// The sources that an answer may cite, in the order shown.
    pub citations: Vec<Citation>,
    /// The quality of the selection.
    pub certificate: Certificate,
    /// The form of the context.
    pub format: Format,
    /// The time it took, in milliseconds.
    pub build_time: f64,
    /// BLAKE3 of the context's bytes: 64 hexadecimal digits.
    pub digest: String,
    /// The part that is shared with the previous context, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_prefix: Option<SharedPrefix>,
    /// What else the caller should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl BuiltContext {
    /// Makes a result of a context and its counts. Nothing is listed as included or omitted until
    /// that is set.
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

    /// The number of omitted chunks that are not merged into a shown one. O(omitted chunks).
    ///
    /// ```
    /// use ctx_model::{BuiltContext, Exactness, Format, Omitted, OmittedReason, TokenSplit};
    ///
    /// let split = TokenSplit::default();
    /// let mut built = BuiltContext::new("", "0", Format::Xml, "words", Exactness::Exact, split);
    /// built.omitted.push(Omitted::new("a", OmittedReason::MergedInto).with_other("b"));
    /// built.omitted.push(Omitted::new("c", OmittedReason::OverBudget));
    /// assert_eq!(built.left_out_count(), 1);
    /// ```
    pub fn left_out_count(&self) -> usize {
        let is_out = |it: &&Omitted| it.reason != OmittedReason::MergedInto;
        self.omitted.iter().filter(is_out).count()
    }
}
