//! The vocabulary as `OpenAPI` describes it. These types are never made: `ctx-model` knows nothing of HTTP, and a
//! test holds the fields of the two against each other.
#![allow(
    dead_code,
    clippy::large_enum_variant,
    clippy::struct_excessive_bools,
    clippy::struct_field_names,
    unused_qualifications,
    reason = "they are there to be described"
)]

use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Array, ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// Something that may be put before a model.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Chunk {
    /// Its name among the chunks of the request: unique.
    #[schema(min_length = 1)]
    id: String,
    /// Its text.
    content: String,
    /// How much it matters.
    #[schema(minimum = 0, maximum = 1)]
    relevance: f64,
    /// What it is: `function`, `class`, `file`, `message`, … or a word of the caller's.
    kind: Option<String>,
    /// Where it came from.
    #[schema(nullable = false)]
    origin: Option<Origin>,
    /// A short name.
    name: Option<String>,
    /// The name with its enclosing scopes.
    qualified_name: Option<String>,
    /// The file it is in.
    #[schema(min_length = 1)]
    file_path: Option<String>,
    /// The first of its lines, from 1; given together with the last.
    #[schema(minimum = 1, maximum = 4_294_967_295u32)]
    start_line: Option<u64>,
    /// The last of its lines; not before the first.
    #[schema(minimum = 1, maximum = 4_294_967_295u32)]
    end_line: Option<u64>,
    /// The language of its text.
    language: Option<String>,
    /// A wider text to show instead. Its lines are told where those of `content` stand in it exactly once.
    expanded_context: Option<String>,
    /// A shorter text.
    summary: Option<String>,
    /// A hash of the source it was taken from: chunks of one path are merged only where it is the same. Where `content` is
    /// empty and files are read, it is BLAKE3 of the lines, with or without what ends the last, or of the whole text of the file in UTF-8, in
    /// 64 hexadecimal digits, and tells whether they say the same still. What cannot be one is not held against a file, and
    /// against one in which secrets are masked only that of its masked text or lines.
    content_hash: Option<String>,
    /// What the file imports.
    #[schema(nullable = false)]
    imports: Option<Vec<String>>,
    /// What it relates to.
    #[schema(nullable = false)]
    relations: Option<Vec<Relation>>,
    /// Milliseconds since 1970.
    created_at: Option<i64>,
    /// The words of the question it matched.
    #[schema(nullable = false)]
    matched_keywords: Option<Vec<String>>,
    /// Whether it must appear, in some rendition.
    #[schema(nullable = false)]
    pinned: Option<bool>,
    /// Other ways to show it.
    #[schema(nullable = false)]
    renditions: Option<Vec<Rendition>>,
}

/// Where a chunk came from.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Origin {
    Reference,
    File,
    Chunk,
    Message,
}

/// How a chunk relates to something else.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Relation {
    /// The verb.
    kind: String,
    /// The other end.
    target: String,
}

/// One way to show a chunk.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Rendition {
    /// How much of it is shown.
    rendition: RenditionKind,
    /// The text.
    text: String,
    /// The number of each line; null for a line that is not the source's.
    #[schema(schema_with = lines)]
    lines: Option<Vec<Option<u32>>>,
    /// How much of what the chunk says is kept.
    #[schema(minimum = 0, maximum = 1)]
    information: f64,
}

/// Numbers of lines, and nulls between them.
fn lines() -> Array {
    let number = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(0))
        .maximum(Some(u32::MAX));
    let nothing = ObjectBuilder::new().schema_type(Type::Null);
    ArrayBuilder::new()
        .items(OneOfBuilder::new().item(number).item(nothing))
        .build()
}

/// A path within the owner's files, of at most 1,024 bytes in UTF-8.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(min_length = 1, max_length = 1024)]
pub(crate) struct FilePath(String);

/// A path, `path:10-20`, or a name, of at most 1,024 bytes in UTF-8.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(min_length = 1, max_length = 1024, pattern = r"[^ \t\r\n]")]
pub(crate) struct Reference(String);

/// How much of a chunk is shown.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RenditionKind {
    Full,
    Excerpt,
    Skeleton,
    Signature,
    Mention,
}

/// What the caller may choose; everything has a default.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BuildOptions {
    /// The context and the reserve together never need more.
    #[schema(nullable = false, default = 8000, maximum = 4_294_967_295u32)]
    max_tokens: Option<u64>,
    /// At most so many chunks.
    #[schema(maximum = 9_007_199_254_740_991u64)]
    max_chunks: Option<u64>,
    /// Tokens kept for the answer.
    #[schema(nullable = false, default = 0, maximum = 4_294_967_295u32)]
    reserve: Option<u64>,
    /// The form of the context.
    #[schema(nullable = false)]
    format: Option<Format>,
    /// Which chunks stand together.
    group_by: Option<GroupBy>,
    /// True for `groupBy: "file"`, false for `"none"`.
    group_by_file: Option<bool>,
    /// The order of groups and chunks.
    #[schema(nullable = false)]
    order: Option<Order>,
    /// How chunks are chosen when not all of them fit.
    #[schema(nullable = false)]
    selection: Option<Selection>,
    /// Whether a chunk is headed by its path.
    #[schema(nullable = false)]
    include_file_headers: Option<bool>,
    /// Whether a chunk's lines are told.
    #[schema(nullable = false)]
    include_line_numbers: Option<bool>,
    /// Whether a chunk's relevance is told.
    #[schema(nullable = false)]
    include_scores: Option<bool>,
    /// Whether the context ends with a list of its sources.
    #[schema(nullable = false)]
    include_sources: Option<bool>,
    /// Whether a chunk's text is shown; without it, its summary is, and of one without a summary, where it is.
    #[schema(nullable = false)]
    include_content: Option<bool>,
    /// Whether a chunk's imports are shown.
    #[schema(nullable = false)]
    include_imports: Option<bool>,
    /// Whether a chunk's relations are shown.
    #[schema(nullable = false)]
    include_relations: Option<bool>,
    /// Whether the context says that something was left out.
    #[schema(nullable = false)]
    include_notice: Option<bool>,
    /// Whether a Markdown block carries its metadata as one JSON line.
    #[schema(nullable = false)]
    include_metadata: Option<bool>,
    /// How text is kept apart from markup in XML.
    #[schema(nullable = false)]
    xml_content: Option<XmlContent>,
    /// Text between two chunks. JSON takes none.
    chunk_separator: Option<String>,
    /// Text before the first chunk.
    context_header: Option<String>,
    /// Text after the last chunk.
    context_footer: Option<String>,
    /// Who counts: `characterBased`, `wordBased`, an encoding or a model.
    #[schema(nullable = false, default = "o200k_base")]
    token_estimation: Option<String>,
    /// Chunks below it are left out.
    #[schema(minimum = 0, maximum = 1)]
    min_relevance: Option<f64>,
    /// Whether chunks whose lines meet become one.
    #[schema(nullable = false)]
    merge: Option<bool>,
    /// A chunk is worth its relevance to this power: 8 for a message where nothing is said, 1 for chunks of one's own.
    #[schema(nullable = false, minimum = 0, maximum = 255)]
    relevance_power: Option<u32>,
    /// How much new information counts against relevance.
    #[schema(minimum = 0, maximum = 1)]
    diversity: Option<f64>,
    /// Whether the selection goes on until it is proved the best.
    #[schema(nullable = false)]
    exact: Option<bool>,
    /// Whether each chunk is kept to its share of the budget by relevance, and to what is usual for its kind. One that cannot be shown so
    /// small is left out as `over_budget`, and most of the budget may stay empty.
    #[schema(nullable = false)]
    caps: Option<bool>,
    /// The context that went before.
    previous: Option<Previous>,
    /// Whether the receipt looks for the budget at which each chunk would enter.
    #[schema(nullable = false)]
    explain: Option<bool>,
}

/// The same for a message, with the defaults of that.
pub(crate) struct PrimeOptions;

/// What a message asks for by `explain`.
const EXPLAIN: &str = "Whether each item, and the receipt, tells the signals that it was scored by, and whether the receipt looks for the \
     budget at which each chunk would enter.";

impl PartialSchema for PrimeOptions {
    fn schema() -> RefOr<Schema> {
        let mut schema = BuildOptions::schema();
        if let RefOr::T(Schema::Object(object)) = &mut schema {
            let budget = ctx_service::PrimeOptions::default().build.max_tokens;
            let properties = &mut object.properties;
            // How much is reserved where nothing is said is told by the field that has these.
            for (name, default) in [("maxTokens", Some(budget.get().into())), ("reserve", None)] {
                if let Some(RefOr::T(Schema::Object(property))) = properties.get_mut(name) {
                    property.default = default;
                }
            }
            if let Some(RefOr::T(Schema::Object(explain))) = properties.get_mut("explain") {
                explain.description = Some(EXPLAIN.to_owned());
            }
        }
        schema
    }
}

impl ToSchema for PrimeOptions {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        BuildOptions::schemas(schemas);
    }
}

/// A context that was sent before.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Previous {
    /// Its digest.
    digest: String,
    /// The chunks it showed, one for each block, in their order.
    ids: Vec<String>,
    /// Its text: then it is told how much of it is shared, and lines that meet its blocks are not merged into them.
    context: Option<String>,
}

/// The form of a context.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Markdown,
    Xml,
    Json,
    Plain,
}

/// Which chunks stand together.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GroupBy {
    None,
    File,
    Kind,
}

/// The order of groups and chunks.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    Relevance,
    Stable,
    Edges,
}

/// How chunks are chosen.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Selection {
    InOrder,
    Density,
    Optimal,
}

/// How text is kept apart from markup.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum XmlContent {
    Escaped,
    Cdata,
}

/// One prompt-ready context, and its receipt.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BuiltContext {
    /// The text to put before the model.
    context: String,
    /// Where the tokens went.
    tokens: TokenSplit,
    /// How the counts relate to the consumer's tokenizer.
    exactness: Exactness,
    /// Who counted.
    counter: String,
    /// What was let in, in the order shown.
    included: Vec<Included>,
    /// What was left out, and why.
    omitted: Vec<Omitted>,
    /// The files shown.
    files: Vec<String>,
    /// The mean relevance of what was let in.
    average_relevance: f64,
    /// Whether something was left out for want of room.
    was_truncated: bool,
    /// What an answer may cite.
    citations: Vec<Citation>,
    /// How good the selection is.
    certificate: Certificate,
    /// The form of the context.
    format: Format,
    /// Milliseconds.
    build_time: f64,
    /// BLAKE3 of the context: 64 hexadecimal digits.
    digest: String,
    /// What is shared with the previous context.
    #[schema(nullable = false)]
    shared_prefix: Option<SharedPrefix>,
    /// What the caller should know besides.
    #[schema(nullable = false)]
    warnings: Option<Vec<Warning>>,
}

/// A context for a message.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContextData {
    /// Its id, for its receipt.
    id: String,
    /// What feedback on all its files is given with, where it shows any.
    #[schema(nullable = false)]
    handle: Option<String>,
    /// The tokens of the context.
    total_tokens: u32,
    /// What is in it, in the order shown.
    items: Vec<crate::wire::Item<'static>>,
    /// How many of what were found.
    stats: crate::backend::Stats,
    /// How long each stage took; nothing where the context was kept.
    timings: Vec<crate::backend::Timing>,
    /// What an answer may cite.
    citations: Vec<crate::wire::CitedSource<'static>>,
    /// The text to put before the model.
    context: String,
    /// Where the tokens went.
    tokens: TokenSplit,
    /// How the counts relate to the consumer's tokenizer.
    exactness: Exactness,
    /// Who counted.
    counter: String,
    /// What was let in, in the order shown.
    included: Vec<Included>,
    /// What was left out, and why.
    omitted: Vec<Omitted>,
    /// The files shown.
    files: Vec<String>,
    /// The mean relevance of what was let in.
    average_relevance: f64,
    /// Whether something was left out for want of room.
    was_truncated: bool,
    /// How good the selection is.
    certificate: Certificate,
    /// The form of the context.
    format: Format,
    /// Milliseconds.
    build_time: f64,
    /// BLAKE3 of the context: 64 hexadecimal digits.
    digest: String,
    /// What is shared with the previous context.
    #[schema(nullable = false)]
    shared_prefix: Option<SharedPrefix>,
    /// What the caller should know besides.
    #[schema(nullable = false)]
    warnings: Option<Vec<Warning>>,
}

/// What else is known of an item.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    /// The file it is in.
    #[schema(nullable = false)]
    path: Option<String>,
    /// When it was said, its file last changed or, of a file that was shown lately, when that was: milliseconds
    /// since 1970.
    #[schema(nullable = false)]
    created_at: Option<i64>,
    /// The words of the question that are in it, as the question has them; in it they may have another ending.
    #[schema(nullable = false)]
    matched_keywords: Option<Vec<String>>,
    /// Its place among what the search found, from 1.
    #[schema(nullable = false)]
    search_rank: Option<u32>,
}

/// A context that was built before.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Receipt {
    /// Its id.
    id: String,
    /// Milliseconds since 1970.
    created_at: i64,
    /// The thread it was built for.
    #[schema(nullable = false)]
    thread_id: Option<String>,
    /// How many of what were found.
    stats: crate::backend::Stats,
    /// What each item was scored by, where the build that it is kept of asked for that by `explain`.
    #[schema(nullable = false)]
    items: Option<Vec<crate::backend::Scored>>,
    /// The context, and why it is what it is.
    receipt: BuiltContext,
}

/// What an answer cites.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Resolved {
    /// The answer. Sound citations stand as they stood; the others say what is wrong with them:
    /// `[fil-000000: unknown]`.
    text: String,
    /// The ids of the items cited, each once, in the order they are first cited.
    used: Vec<String>,
    /// Every citation, in order.
    marks: Vec<Mark>,
    /// The list of the sources that the answer uses, to be put after it; empty where it uses none.
    sources: String,
    /// All that may be cited of the context, and whether the answer does.
    citations: Vec<crate::wire::CitedSource<'static>>,
}

/// One citation of an answer.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Mark {
    /// Where it stands in the answer, without its brackets.
    range: ByteRange,
    /// The id, as it is written.
    id: String,
    /// The first and the last line, where lines are cited.
    #[schema(nullable = false)]
    lines: Option<Vec<u32>>,
    /// The words quoted right before it, where there are any.
    #[schema(nullable = false)]
    quote: Option<String>,
    /// What is wrong with it.
    verdict: Verdict,
}

/// Bytes of a text in UTF-8, from 0.
#[derive(Serialize, ToSchema)]
pub(crate) struct ByteRange {
    /// The first.
    start: u64,
    /// The one after the last.
    end: u64,
}

/// What is wrong with a citation: nothing; the context has no item of that id; it is no id; the item has no
/// such lines; the words quoted are not the item's; so much is quoted that these were not looked for, or it is not known
/// what the context shows of the item.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Verdict {
    Sound,
    Unknown,
    Malformed,
    OutOfRange,
    Misquoted,
    Unchecked,
}

/// Where the tokens went: the parts add up to the total.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TokenSplit {
    total: u32,
    header: u32,
    chunks: u32,
    notices: u32,
    footer: u32,
    left: u32,
}

/// How a count relates to what the consumer's tokenizer finds.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Exactness {
    Exact,
    UpperBound,
    Estimate,
}

/// A chunk that was let in.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Included {
    id: String,
    rendition: RenditionKind,
    tokens: u32,
    value: f64,
    why: String,
    #[schema(nullable = false)]
    file_path: Option<String>,
    #[schema(nullable = false)]
    start_line: Option<u32>,
    #[schema(nullable = false)]
    end_line: Option<u32>,
    citation: String,
}

/// A chunk that was left out.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Omitted {
    id: String,
    /// `over_budget`, `max_chunks`, `below_min_relevance`, `below_min_chance`, `duplicate_of`, `merged_into`,
    /// `unreadable`, `stale`.
    reason: String,
    /// A `maxTokens` at which it would be let in, with all else as it is. Left out where none is known. Of a build that is so of larger
    /// budgets than it searched for, 3,279 tokens or the next multiple of 80 from its own on less one: beyond that more is found, and
    /// what is chosen from more may leave it out again.
    #[schema(nullable = false)]
    enters_at: Option<u32>,
    /// The chunk that stands for it.
    #[schema(nullable = false)]
    other: Option<String>,
}

/// What an answer may cite.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Citation {
    id: String,
    chunk_id: String,
    source: String,
    #[schema(nullable = false)]
    file_path: Option<String>,
    #[schema(nullable = false)]
    start_line: Option<u32>,
    #[schema(nullable = false)]
    end_line: Option<u32>,
    content_hash: String,
}

/// How good the selection is: no selection within the budget is worth more than the bound.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Certificate {
    value: f64,
    upper_bound: f64,
    gap: f64,
    lambda: f64,
}

/// How much of the previous context is repeated at the beginning.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SharedPrefix {
    tokens: u32,
    bytes: u64,
    /// The first chunk that is not repeated whole; left out where all are.
    #[schema(nullable = false)]
    first_difference: Option<String>,
}

/// Something the caller should know.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Warning {
    #[schema(nullable = false)]
    id: Option<String>,
    code: String,
    detail: String,
}

/// Why there is no answer (RFC 9457).
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Problem {
    /// Which kind of problem it is: a reference to its description.
    #[serde(rename = "type")]
    kind: String,
    /// The kind, in words.
    title: String,
    /// The status of the response.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What is the matter this time.
    detail: String,
    /// The field at fault, where one is: `options.maxTokens`, `files[3].path`.
    #[schema(nullable = false)]
    field: Option<String>,
    /// What the server calls the request, as in the header `X-Request-Id` and in its log.
    #[schema(nullable = false)]
    request_id: Option<String>,
    /// Of a budget that is too small (`/docs#problem-budget`), as the next three: the tokens that must be there.
    #[schema(nullable = false)]
    needed: Option<u32>,
    /// The tokens there are: `maxTokens` less what is reserved of it.
    #[schema(nullable = false)]
    available: Option<u32>,
    /// The smallest `maxTokens` that works, all else being equal. Left out where none does.
    #[schema(nullable = false)]
    smallest_max_tokens: Option<u32>,
    /// What `needed` is the sum of.
    #[schema(nullable = false)]
    breakdown: Option<crate::problem::Breakdown>,
    /// All fields at fault, where there are several: `field`, `detail` and `status` are those of one of them.
    #[schema(nullable = false, min_items = 2, max_items = 100)]
    errors: Option<Vec<crate::problem::Fault>>,
}

/// An event of a build: its name, and what its `data` is as JSON on one line.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase", tag = "event", content = "data")]
pub(crate) enum BuildEvent {
    /// A stage begins.
    Progress(crate::wire::Progress),
    /// The answer; nothing comes after it.
    Result(crate::wire::Reply<ContextData, crate::wire::ContextMeta>),
    /// Why there is none; nothing comes after it.
    Problem(crate::problem::Problem),
}
