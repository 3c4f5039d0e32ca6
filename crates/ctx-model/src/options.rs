//! The options of a build. `BuildOptions::default()` suits most requests.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{ModelError, Relevance, Tokens};

/// The form of the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Headings and fenced code blocks.
    #[default]
    Markdown,
    /// One well-formed document with a `<context>` root.
    Xml,
    /// One JSON object.
    Json,
    /// Titles and rules.
    Plain,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 4] = [Format::Markdown, Format::Xml, Format::Json, Format::Plain];
}

/// How chunks are grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupBy {
    /// No groups: one list, in [`Order`].
    None,
    /// By file: the chunks of a file in the order of their lines, files by their most relevant
    /// chunk.
    #[default]
    File,
    /// By category (code, documentation, conversation, other), in each by relevance.
    Kind,
}

/// The order of groups, and of the chunks in a group whose grouping does not already order them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Most relevant first.
    #[default]
    Relevance,
    /// Pinned first, then by path and line, then what has no path by its name or id: a prefix that
    /// a prompt cache can keep.
    Stable,
    /// Most relevant first and last.
    Edges,
}

/// How chunks are chosen when not all of them fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Selection {
    /// First fit in the order of relevance, whatever the order of display; a chunk that does not
    /// fit is skipped.
    #[default]
    InOrder,
    /// Greedy by value per token.
    Density,
    /// Near the best selection possible, with a proof of how near.
    Optimal,
}

/// How text is escaped in [`Format::Xml`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum XmlContent {
    /// `&lt;` for `<`.
    #[default]
    Escaped,
    /// A CDATA section, split where the text contains `]]>`.
    Cdata,
}

/// The name of a token counter: `characterBased`, `wordBased`, an encoding such as `o200k_base`,
/// or a model such as `gpt-4o`. By default `o200k_base`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum CounterName {
    /// About four characters per token.
    CharacterBased,
    /// About three quarters of a word per token.
    WordBased,
    /// An encoding or a model.
    Named(String),
}

impl CounterName {
    /// The name on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            CounterName::CharacterBased => "characterBased",
            CounterName::WordBased => "wordBased",
            CounterName::Named(name) => name,
        }
    }
}

impl Default for CounterName {
    fn default() -> Self {
        CounterName::Named("o200k_base".to_owned())
    }
}

impl From<String> for CounterName {
    fn from(name: String) -> Self {
        match name.as_str() {
            "characterBased" => CounterName::CharacterBased,
            "wordBased" => CounterName::WordBased,
            _ => CounterName::Named(name),
        }
    }
}

impl From<&str> for CounterName {
    fn from(name: &str) -> Self {
        CounterName::from(name.to_owned())
    }
}

impl From<CounterName> for String {
    fn from(name: CounterName) -> String {
        match name {
            CounterName::Named(name) => name,
            other => other.as_str().to_owned(),
        }
    }
}

impl FromStr for CounterName {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        Ok(CounterName::from(name))
    }
}

impl fmt::Display for CounterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The options of a build. Fields that are not set, in code or on the wire, have their values from
/// [`BuildOptions::default`]. What may be absent is set with or without `Some`:
///
/// ```
/// # use ctx_model::BuildOptions;
/// let options = BuildOptions::default().with_max_chunks(3);
/// assert_eq!(options, BuildOptions::default().with_max_chunks(Some(3)));
/// assert_eq!(options.with_max_chunks(None), BuildOptions::default());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each shows or hides one thing, alone"
)]
#[serde(try_from = "UncheckedOptions", into = "UncheckedOptions")]
#[non_exhaustive]
pub struct BuildOptions {
    /// The budget: the context and the reserve together never exceed it.
    pub max_tokens: Tokens,
    /// The largest number of chunks to show; `Some(0)` shows none.
    pub max_chunks: Option<usize>,
    /// Tokens of the budget that are kept for the answer.
    pub reserve: Tokens,
    /// The form of the context.
    pub format: Format,
    /// How chunks are grouped.
    pub group_by: GroupBy,
    /// The order of groups and chunks.
    pub order: Order,
    /// How chunks are chosen when not all of them fit.
    pub selection: Selection,
    /// Whether a chunk's path is shown above it.
    pub include_file_headers: bool,
    /// Whether a chunk's line numbers are shown.
    pub include_line_numbers: bool,
    /// Whether a chunk's relevance is shown.
    pub include_scores: bool,
    /// Whether the context ends with a list of its sources.
    pub include_sources: bool,
    /// Whether a chunk's text is shown. If not, its summary is shown instead, or its location if it
    /// has no summary.
    pub include_content: bool,
    /// Whether a chunk's imports are shown.
    pub include_imports: bool,
    /// Whether a chunk's relations are shown.
    pub include_relations: bool,
    /// Whether the context states, in one line, how much was left out.
    pub include_notice: bool,
    /// Whether a chunk's id is shown, so that it can be cited: in Markdown and plain text as a line
    /// `[id]`, in XML and JSON as `id`. Metadata has it in any case.
    pub include_ids: bool,
    /// Whether a chunk has its id, kind and name for programs: in Markdown and plain text as one
    /// line of JSON, in XML as attributes, in JSON as keys.
    pub include_metadata: bool,
    /// How text is escaped in XML.
    pub xml_content: XmlContent,
    /// Text between two chunks, instead of the format's own, of at most
    /// [`LONGEST_SEPARATOR`](BuildOptions::LONGEST_SEPARATOR) characters, since it is written many
    /// times. JSON has no such separator.
    pub chunk_separator: Option<String>,
    /// Text before the first chunk.
    pub header: Option<String>,
    /// Text after the last chunk.
    pub footer: Option<String>,
    /// The counter that measures tokens.
    pub counter: CounterName,
    /// The least relevance: chunks below it are left out, except pinned ones and those with a first
    /// claim, as the messages of a thread have.
    pub min_relevance: Option<Relevance>,
    /// Whether adjacent or overlapping chunks of one file are merged, and duplicate texts are shown
    /// once. Chunks with renditions stay separate, unless `assemble_each_line_once` merges them.
    pub merge: bool,
    /// The power to which relevance is raised to give a chunk's value. 1 takes relevance as a
    /// value, as suits probabilities. Scores that fall more slowly than usefulness need a higher
    /// power. 0 gives all chunks the same value.
    pub relevance_power: u8,
    /// How much new information counts against relevance, from 0 to 1. On the wire 0 may be absent
    /// or null, any other number is refused, and NaN and infinity are written as null.
    pub diversity: f64,
    /// Whether [`Selection::Optimal`] continues until it has proved its answer the best within the
    /// weight that fits for certain. With a counter whose weights round, as `characterBased` does,
    /// half a token more may fit, which is tried only for all chunks together and for what is
    /// pinned: then the gap may stay above 0.
    pub exact: bool,
    /// Whether each chunk is capped: at its share by relevance of four fifths of the budget, and at
    /// four times the usual size of its kind, but never below 25 tokens. The part of a share that a
    /// chunk does not need, or its kind does not allow, is given to other chunks. A chunk that has
    /// no rendition below its cap is omitted as
    /// [`OmittedReason::OverBudget`](crate::OmittedReason::OverBudget), and the tokens that it
    /// leaves are not given to others, so much of the budget may stay unspent if it is split among
    /// many chunks.
    pub caps: bool,
    /// The previous context, whose beginning is to be repeated so that prompt caches keep it.
    pub previous: Option<Previous>,
    /// Whether the receipt computes for every omitted chunk the budget at which it would be
    /// included, however many there are.
    pub explain: bool,
}

/// A context that was sent before, as described by its receipt. Chunks that are in both contexts
/// keep their place, so that a prompt cache keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Previous {
    /// The digest of that context.
    pub digest: String,
    /// The ids of the chunks it showed, one per block, in order.
    pub ids: Vec<String>,
    /// The text of that context, if the caller still has it. Then the receipt reports how much of
    /// it is repeated, and its blocks are known, so that chunks whose lines touch them are not
    /// merged into them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

impl BuildOptions {
    /// The most characters of a [`chunk_separator`](BuildOptions::chunk_separator). Formatters
    /// refuse a longer one.
    pub const LONGEST_SEPARATOR: usize = 1024;
}

impl Default for BuildOptions {
    /// 8,000 tokens by `o200k_base`, none of them reserved; Markdown with paths, line numbers and
    /// the notice; grouped by file, most relevant first. Chunks are selected in that order,
    /// adjacent lines are merged, and every other option is off.
    ///
    /// ```
    /// use ctx_model::{BuildOptions, Format, GroupBy, Order, Selection, Tokens};
    ///
    /// let options = BuildOptions::default();
    /// assert_eq!((options.max_tokens, options.reserve), (Tokens::new(8_000), Tokens::ZERO));
    /// assert_eq!(options.counter.as_str(), "o200k_base");
    /// assert_eq!((options.format, options.group_by), (Format::Markdown, GroupBy::File));
    /// assert_eq!((options.order, options.selection), (Order::Relevance, Selection::InOrder));
    /// ```
    fn default() -> Self {
        BuildOptions {
            max_tokens: Tokens::new(8_000),
            max_chunks: None,
            reserve: Tokens::ZERO,
            format: Format::default(),
            group_by: GroupBy::default(),
            order: Order::default(),
            selection: Selection::default(),
            include_file_headers: true,
            include_line_numbers: true,
            include_scores: false,
            include_sources: false,
            include_content: true,
            include_imports: false,
            include_relations: false,
            include_notice: true,
            include_ids: false,
            include_metadata: false,
            xml_content: XmlContent::default(),
            chunk_separator: None,
            header: None,
            footer: None,
            counter: CounterName::default(),
            min_relevance: None,
            merge: true,
            relevance_power: 1,
            diversity: 0.0,
            exact: false,
            caps: false,
            previous: None,
            explain: false,
        }
    }
}

crate::setters! {
    for BuildOptions;
    /// Sets the budget.
    with_max_tokens: max_tokens: Tokens;
    /// Sets the most chunks to show.
    with_max_chunks: max_chunks: Option<usize>;
    /// Sets the tokens kept for the answer.
    with_reserve: reserve: Tokens;
    /// Sets the output format.
    with_format: format: Format;
    /// Sets the grouping.
    with_group_by: group_by: GroupBy;
    /// Sets the order.
    with_order: order: Order;
    /// Sets the selection policy.
    with_selection: selection: Selection;
    /// Shows or hides paths.
    with_file_headers: include_file_headers: bool;
    /// Shows or hides line numbers.
    with_line_numbers: include_line_numbers: bool;
    /// Shows or hides relevance.
    with_scores: include_scores: bool;
    /// Shows or hides the list of sources.
    with_sources: include_sources: bool;
    /// Shows content, or only summaries.
    with_content: include_content: bool;
    /// Shows or hides imports.
    with_imports: include_imports: bool;
    /// Shows or hides relations.
    with_relations: include_relations: bool;
    /// Shows or hides the notice that something was left out.
    with_notice: include_notice: bool;
    /// Shows or hides ids.
    with_ids: include_ids: bool;
    /// Adds or leaves out id, kind and name for programs.
    with_metadata: include_metadata: bool;
    /// Sets how XML escapes text.
    with_xml_content: xml_content: XmlContent;
    /// Sets the text between two chunks.
    with_chunk_separator: chunk_separator: Option<String>;
    /// Sets the text before the first chunk.
    with_header: header: Option<String>;
    /// Sets the text after the last chunk.
    with_footer: footer: Option<String>;
    /// Sets the token counter.
    with_counter: counter: CounterName;
    /// Sets the least relevance.
    with_min_relevance: min_relevance: Option<Relevance>;
    /// Merges adjacent chunks and drops duplicates, or leaves all as they are.
    with_merge: merge: bool;
    /// Sets the power to which relevance is raised.
    with_relevance_power: relevance_power: u8;
    /// Sets how much new information counts against relevance.
    with_diversity: diversity: f64;
    /// Sets whether the optimum must be proved.
    with_exact: exact: bool;
    /// Sets whether chunks are capped at their shares.
    with_caps: caps: bool;
    /// Sets the previous context.
    with_previous: previous: Option<Previous>;
    /// Sets whether the receipt computes the entry budget of every omitted chunk.
    with_explain: explain: bool;
}

/// The options as they are written on the wire, where every field is optional. The values are not
/// checked. To learn which option is at fault, read these first and convert them to
/// [`BuildOptions`] by `try_from`, which returns a [`ModelError`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a field of the wire format"
)]
pub struct UncheckedOptions {
    max_tokens: Tokens,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_chunks: Option<usize>,
    reserve: Tokens,
    format: Format,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_by: Option<GroupBy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_by_file: Option<bool>,
    order: Order,
    selection: Selection,
    include_file_headers: bool,
    include_line_numbers: bool,
    include_scores: bool,
    include_sources: bool,
    include_content: bool,
    include_imports: bool,
    include_relations: bool,
    include_notice: bool,
    include_ids: bool,
    include_metadata: bool,
    xml_content: XmlContent,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk_separator: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_header: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_footer: Option<String>,
    token_estimation: CounterName,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_relevance: Option<f64>,
    merge: bool,
    relevance_power: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    diversity: Option<f64>,
    exact: bool,
    caps: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<Previous>,
    explain: bool,
}

impl Default for UncheckedOptions {
    fn default() -> Self {
        let mut wire = UncheckedOptions::from(BuildOptions::default());
        // Absent, so that `groupByFile` decides if it alone is given.
        wire.group_by = None;
        wire
    }
}

impl TryFrom<UncheckedOptions> for BuildOptions {
    type Error = ModelError;

    fn try_from(wire: UncheckedOptions) -> Result<Self, ModelError> {
        let share = |field, value: f64| {
            Relevance::new(value).map_err(|_| ModelError::ShareOutOfRange { field, value })
        };
        let min_relevance = wire
            .min_relevance
            .map(|value| share("minRelevance", value))
            .transpose()?;
        let diversity = share("diversity", wire.diversity.unwrap_or_default())?.get();
        Ok(BuildOptions {
            max_tokens: wire.max_tokens,
            max_chunks: wire.max_chunks,
            reserve: wire.reserve,
            format: wire.format,
            group_by: grouping_of(wire.group_by, wire.group_by_file)?,
            order: wire.order,
            selection: wire.selection,
            include_file_headers: wire.include_file_headers,
            include_line_numbers: wire.include_line_numbers,
            include_scores: wire.include_scores,
            include_sources: wire.include_sources,
            include_content: wire.include_content,
            include_imports: wire.include_imports,
            include_relations: wire.include_relations,
            include_notice: wire.include_notice,
            include_ids: wire.include_ids,
            include_metadata: wire.include_metadata,
            xml_content: wire.xml_content,
            chunk_separator: wire.chunk_separator,
            header: wire.context_header,
            footer: wire.context_footer,
            counter: wire.token_estimation,
            min_relevance,
            merge: wire.merge,
            relevance_power: wire.relevance_power,
            diversity,
            exact: wire.exact,
            caps: wire.caps,
            previous: wire.previous,
            explain: wire.explain,
        })
    }
}

impl From<BuildOptions> for UncheckedOptions {
    fn from(options: BuildOptions) -> Self {
        UncheckedOptions {
            max_tokens: options.max_tokens,
            max_chunks: options.max_chunks,
            reserve: options.reserve,
            format: options.format,
            group_by: Some(options.group_by),
            group_by_file: None,
            order: options.order,
            selection: options.selection,
            include_file_headers: options.include_file_headers,
            include_line_numbers: options.include_line_numbers,
            include_scores: options.include_scores,
            include_sources: options.include_sources,
            include_content: options.include_content,
            include_imports: options.include_imports,
            include_relations: options.include_relations,
            include_notice: options.include_notice,
            include_ids: options.include_ids,
            include_metadata: options.include_metadata,
            xml_content: options.xml_content,
            chunk_separator: options.chunk_separator,
            context_header: options.header,
            context_footer: options.footer,
            token_estimation: options.counter,
            min_relevance: options.min_relevance.map(Relevance::get),
            merge: options.merge,
            relevance_power: options.relevance_power,
            diversity: Some(options.diversity).filter(|&share| share != 0.0),
            exact: options.exact,
            caps: options.caps,
            previous: options.previous,
            explain: options.explain,
        }
    }
}

/// Resolves the alias: `groupByFile: true` is `groupBy: "file"`, and `false` is `"none"`. Both may
/// be given if they agree.
fn grouping_of(
    group_by: Option<GroupBy>,
    group_by_file: Option<bool>,
) -> Result<GroupBy, ModelError> {
    let by_alias = group_by_file.map(|on| if on { GroupBy::File } else { GroupBy::None });
    match (group_by, by_alias) {
        (Some(by), Some(alias)) if (by == GroupBy::File) != (alias == GroupBy::File) => {
            Err(ModelError::GroupingConflict {
                group_by: by,
                group_by_file: alias == GroupBy::File,
            })
        }
        (Some(by), _) | (None, Some(by)) => Ok(by),
        (None, None) => Ok(GroupBy::default()),
    }
}
