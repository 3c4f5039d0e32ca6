//! The vocabulary of `ctx-model` as `OpenAPI` describes it. These types are never constructed:
//! `ctx-model` knows nothing of HTTP, and a test compares the fields of both.
#![allow(
    dead_code,
    clippy::large_enum_variant,
    clippy::struct_excessive_bools,
    clippy::struct_field_names,
    unused_qualifications,
    reason = "they are there to be described"
)]

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AllOfBuilder, Array, ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, Type,
};
use utoipa::{PartialSchema, ToSchema};

/// Something that may be shown to a model.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Chunk {
    /// Its id, unique among the chunks of the request.
    #[schema(min_length = 1)]
    id: String,
    /// Its text.
    content: String,
    /// How much it matters.
    #[schema(minimum = 0, maximum = 1)]
    relevance: f64,
    /// Its kind: `function`, `class`, `file`, `message`, … or a word of your own.
    kind: Option<String>,
    /// Where it came from.
    #[schema(nullable = false)]
    origin: Option<Origin>,
    /// A short name.
    name: Option<String>,
    /// The name with its enclosing scopes.
    qualified_name: Option<String>,
    /// The path of its file.
    #[schema(min_length = 1)]
    file_path: Option<String>,
    /// The first of its lines, from 1; requires `endLine`.
    #[schema(minimum = 1, maximum = 4_294_967_295u32)]
    start_line: Option<u64>,
    /// The last of its lines; not before the first.
    #[schema(minimum = 1, maximum = 4_294_967_295u32)]
    end_line: Option<u64>,
    /// The language of its text.
    language: Option<String>,
    /// A wider text to show instead. Its lines are known if those of `content` occur in it exactly
    /// once.
    expanded_context: Option<String>,
    /// A shorter text.
    summary: Option<String>,
    /// A hash of the source that the chunk was taken from: chunks of one path are merged only if it
    /// is equal. If `content` is empty and files are read, it is compared with the file to find out
    /// whether that has changed: it must then be the BLAKE3 of the lines, with or without the last
    /// line ending, or of the whole text of the file in UTF-8, in 64 hexadecimal digits. A value of
    /// any other form is not compared. In a file with masked secrets only a hash of the masked text
    /// or lines is compared; any other is a warning `unverified`, and the chunk is shown.
    content_hash: Option<String>,
    /// The imports of the file.
    #[schema(nullable = false)]
    imports: Option<Vec<String>>,
    /// What it relates to.
    #[schema(nullable = false)]
    relations: Option<Vec<Relation>>,
    /// Milliseconds since 1970.
    created_at: Option<i64>,
    /// The words of the question that it matched.
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
    /// The kind of the relation, a verb.
    kind: String,
    /// The other end.
    target: String,
}

/// One way to show a chunk.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Rendition {
    /// How much of the chunk is shown.
    rendition: RenditionKind,
    /// The text.
    text: String,
    /// The number of each line; null for a line that is not in the source.
    #[schema(schema_with = lines)]
    lines: Option<Vec<Option<u32>>>,
    /// The share of the chunk's information that is kept.
    #[schema(minimum = 0, maximum = 1)]
    information: f64,
}

/// A list of line numbers and nulls.
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

/// Options of a context; each has a default.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BuildOptions {
    /// The most tokens of the context and the reserve together.
    #[schema(nullable = false, maximum = 1_000_000)]
    max_tokens: Option<u64>,
    /// The most chunks in the context.
    #[schema(maximum = 9_007_199_254_740_991u64)]
    max_chunks: Option<u64>,
    /// Tokens reserved for the answer.
    #[schema(nullable = false, maximum = 4_294_967_295u32)]
    reserve: Option<u64>,
    /// The format of the context.
    #[schema(nullable = false)]
    format: Option<Format>,
    /// How chunks are grouped.
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
    /// Whether a chunk's line numbers are shown.
    #[schema(nullable = false)]
    include_line_numbers: Option<bool>,
    /// Whether a chunk's relevance is shown.
    #[schema(nullable = false)]
    include_scores: Option<bool>,
    /// Whether the context ends with a list of its sources.
    #[schema(nullable = false)]
    include_sources: Option<bool>,
    /// Whether a chunk's text is shown. If not, its summary is shown, or its location if it has
    /// none.
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
    /// Whether a chunk's id is shown, so that it can be cited: in Markdown and plain text as a line
    /// `[id]`, in XML and JSON as `id`. Metadata has it in any case.
    #[schema(nullable = false)]
    include_ids: Option<bool>,
    /// Whether a chunk has its id, kind and name for programs: in Markdown and plain text as one
    /// line of JSON, in XML as attributes, in JSON as keys.
    #[schema(nullable = false)]
    include_metadata: Option<bool>,
    /// How text is separated from markup in XML.
    #[schema(nullable = false)]
    xml_content: Option<XmlContent>,
    /// Text between two chunks; not allowed with JSON.
    #[schema(max_length = 1024)]
    chunk_separator: Option<String>,
    /// Text before the first chunk.
    context_header: Option<String>,
    /// Text after the last chunk.
    context_footer: Option<String>,
    /// The token counter: `characterBased`, `wordBased`, an encoding or a model.
    #[schema(nullable = false)]
    token_estimation: Option<String>,
    /// Chunks below it are left out, except pinned ones and messages of the thread.
    #[schema(minimum = 0, maximum = 1)]
    min_relevance: Option<f64>,
    /// Whether chunks with overlapping or adjacent lines are merged.
    #[schema(nullable = false)]
    merge: Option<bool>,
    /// A chunk is worth its relevance to this power.
    #[schema(nullable = false, minimum = 0, maximum = 255)]
    relevance_power: Option<u32>,
    /// How much new information counts against relevance.
    #[schema(minimum = 0, maximum = 1)]
    diversity: Option<f64>,
    /// Whether the selection goes on until it is proved optimal.
    #[schema(nullable = false)]
    exact: Option<bool>,
    /// Whether each chunk is limited to its share of the budget by relevance, and by the usual size
    /// of its kind. A chunk that cannot be shown that small is left out as `over_budget`, and most
    /// of the budget may stay unused.
    #[schema(nullable = false)]
    caps: Option<bool>,
    /// The previous context.
    previous: Option<Previous>,
    /// Whether the receipt states the budget at which each omitted chunk would enter.
    #[schema(nullable = false)]
    explain: Option<bool>,
}

/// The options of a context for a message, which have other defaults.
pub(crate) struct PrimeOptions;

/// The description of `explain` for a message.
const EXPLAIN: &str = "Whether each item, and the receipt, tells the signals that it was scored by, and whether the receipt looks for the \
     budget at which each chunk would enter.";

impl PartialSchema for PrimeOptions {
    fn schema() -> RefOr<Schema> {
        let mut schema = BuildOptions::schema();
        if let RefOr::T(Schema::Object(object)) = &mut schema
            && let Some(RefOr::T(Schema::Object(explain))) = object.properties.get_mut("explain")
        {
            explain.description = Some(EXPLAIN.to_owned());
        }
        schema
    }
}

/// The options of a context for a message that have no default, or none that can be named: the
/// field that contains these options describes them.
const WITHOUT_DEFAULT: [&str; 4] = ["reserve", "groupBy", "order", "includeIds"];

/// Adds the default of each option to the schemas of options, as it is in `ctx-model` and
/// `ctx-service`.
pub(crate) fn add_defaults(schemas: &mut BTreeMap<String, RefOr<Schema>>) {
    let of_message = ctx_service::PrimeOptions::default().build;
    for (name, options, without) in [
        ("BuildOptions", ctx_model::BuildOptions::default(), &[][..]),
        ("PrimeOptions", of_message, &WITHOUT_DEFAULT),
    ] {
        let defaults = serde_json::to_value(options).unwrap_or_default();
        let Some(RefOr::T(Schema::Object(schema))) = schemas.get_mut(name) else {
            continue;
        };
        let properties = schema.properties.iter_mut();
        for (field, property) in properties.filter(|it| !without.contains(&it.0.as_str())) {
            // An option that is not written is off.
            set_default(property, defaults.get(field).cloned().unwrap_or_default());
        }
    }
}

fn set_default(property: &mut RefOr<Schema>, value: Value) {
    match property {
        RefOr::T(Schema::Object(it)) => it.default = Some(value),
        RefOr::T(Schema::OneOf(it)) => it.default = Some(value),
        RefOr::T(_) => {}
        // A reference has no place for a default.
        RefOr::Ref(to) => {
            let description = std::mem::take(&mut to.description);
            let with_default = AllOfBuilder::new()
                .item(to.clone())
                .description(Some(description))
                .default(Some(value));
            *property = with_default.into();
        }
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
    /// The chunks that it showed, one for each block, in their order.
    ids: Vec<String>,
    /// Its text. With it, the receipt states how much of it is repeated, and lines next to its
    /// blocks are not merged into them.
    context: Option<String>,
}

/// The format of a context.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Markdown,
    Xml,
    Json,
    Plain,
}

/// In which order threads are listed.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ThreadOrder {
    Created,
    Active,
}

/// In which order messages are listed.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MessageOrder {
    Oldest,
    Latest,
}

/// How chunks are grouped.
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

/// How text is separated from markup.
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
    /// The text for the model.
    context: String,
    /// How the tokens are divided.
    tokens: TokenSplit,
    /// How the counts relate to the consumer's tokenizer.
    exactness: Exactness,
    /// The token counter.
    counter: String,
    /// The included chunks, in the order shown.
    included: Vec<Included>,
    /// The omitted chunks, and why each was omitted.
    omitted: Vec<Omitted>,
    /// The files shown.
    files: Vec<String>,
    /// The mean relevance of the included chunks.
    average_relevance: f64,
    /// Whether something was omitted for lack of room, or is shown in part.
    was_truncated: bool,
    /// What an answer may cite.
    citations: Vec<Citation>,
    /// How good the selection is.
    certificate: Certificate,
    /// The format of the context.
    format: Format,
    /// How long selecting the chunks and writing the context took, in milliseconds.
    build_time: f64,
    /// BLAKE3 of the context: 64 hexadecimal digits.
    digest: String,
    /// What is shared with the previous context.
    #[schema(nullable = false)]
    shared_prefix: Option<SharedPrefix>,
    /// Warnings for the caller.
    #[schema(nullable = false)]
    warnings: Option<Vec<Warning>>,
}

/// A context for a message.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContextData {
    /// Its id, by which its receipt can be requested.
    id: String,
    /// The handle for feedback on all its files, if it shows any.
    #[schema(nullable = false)]
    handle: Option<String>,
    /// The tokens of the context.
    total_tokens: u32,
    /// The items in the context, in the order shown.
    items: Vec<crate::wire::Item<'static>>,
    /// How many items were found, by kind.
    stats: crate::backend::Stats,
    /// How long each stage took; empty if the context was cached.
    timings: Vec<crate::job::Timing>,
    /// What an answer may cite.
    citations: Vec<crate::wire::CitedSource<'static>>,
    /// The text for the model.
    context: String,
    /// How the tokens are divided.
    tokens: TokenSplit,
    /// How the counts relate to the consumer's tokenizer.
    exactness: Exactness,
    /// The token counter.
    counter: String,
    /// The included chunks, in the order shown.
    included: Vec<Included>,
    /// The omitted chunks, and why each was omitted.
    omitted: Vec<Omitted>,
    /// The files shown.
    files: Vec<String>,
    /// The mean relevance of the included chunks.
    average_relevance: f64,
    /// Whether something was omitted for lack of room, or is shown in part.
    was_truncated: bool,
    /// How good the selection is.
    certificate: Certificate,
    /// The format of the context.
    format: Format,
    /// How long selecting the chunks and writing the context took, in milliseconds.
    build_time: f64,
    /// BLAKE3 of the context: 64 hexadecimal digits.
    digest: String,
    /// What is shared with the previous context.
    #[schema(nullable = false)]
    shared_prefix: Option<SharedPrefix>,
    /// Warnings for the caller.
    #[schema(nullable = false)]
    warnings: Option<Vec<Warning>>,
}

/// Further data of an item.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    /// The path of its file.
    #[schema(nullable = false)]
    path: Option<String>,
    /// When the message was sent, when the file last changed or, for a recently shown file, when it
    /// was shown, rounded down to whole seconds: milliseconds since 1970.
    #[schema(nullable = false)]
    created_at: Option<i64>,
    /// The words of the question that it contains, as written in the question; in the item they may
    /// have other endings.
    #[schema(nullable = false)]
    matched_keywords: Option<Vec<String>>,
    /// Its rank in the search, from 1.
    #[schema(nullable = false)]
    search_rank: Option<u32>,
    /// The ids of the messages that it consists of, in the order of the thread.
    #[schema(nullable = false)]
    message_ids: Option<Vec<String>>,
}

/// A context that was built before.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Receipt {
    /// Its id.
    id: String,
    /// When it was created, in milliseconds since 1970.
    created_at: i64,
    /// The thread it was built for.
    #[schema(nullable = false)]
    thread_id: Option<String>,
    /// How many items were found, by kind.
    stats: crate::backend::Stats,
    /// The signals of each item, if the build that is stored requested them by `explain`.
    #[schema(nullable = false)]
    items: Option<Vec<crate::backend::Scored>>,
    /// The context with its receipt.
    receipt: BuiltContext,
}

/// The citations of an answer.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Resolved {
    /// The answer. Sound citations are unchanged; the others state what is wrong with them:
    /// `[fil-000000: unknown]`.
    text: String,
    /// The ids of the cited items, each once, in the order in which they are first cited.
    used: Vec<String>,
    /// Every citation, in order.
    marks: Vec<Mark>,
    /// The list of sources that the answer uses, to be appended to it; empty if it uses none.
    sources: String,
    /// Everything that may be cited of the context, and whether the answer does.
    citations: Vec<crate::wire::CitedSource<'static>>,
}

/// One citation of an answer.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Mark {
    /// The position of its id and its lines in the answer, without brackets and other words between
    /// them.
    range: ByteRange,
    /// The id, as written.
    id: String,
    /// The first and the last line, if lines are cited.
    #[schema(nullable = false)]
    lines: Option<Vec<u32>>,
    /// The words quoted right before it, if any.
    #[schema(nullable = false)]
    quote: Option<String>,
    /// Whether it is sound, or what is wrong with it.
    verdict: Verdict,
}

/// A range of bytes of a text in UTF-8, from 0.
#[derive(Serialize, ToSchema)]
pub(crate) struct ByteRange {
    /// The first byte.
    start: u64,
    /// The byte after the last.
    end: u64,
}

/// The result of checking a citation: sound; the context has no item with that id; not an id; the
/// item has no such lines; the quoted words are not the item's; they are the item's, but not in the
/// cited lines; or unchecked, because too much is quoted, or because it is not known what the
/// context shows of the item.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Verdict {
    Sound,
    Unknown,
    Malformed,
    OutOfRange,
    Misquoted,
    OtherLines,
    Unchecked,
}

/// How the tokens are divided: the parts add up to the total.
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

/// How a count relates to that of the consumer's tokenizer.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Exactness {
    Exact,
    UpperBound,
    Estimate,
}

/// An included chunk.
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

/// An omitted chunk.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Omitted {
    id: String,
    /// `over_budget`: it did not fit, or its tokens are worth more when spent on others.
    /// `max_chunks`: there was no place left. `not_chosen`: there was room, but the policy of the
    /// program that serves this did not choose it. `below_min_relevance`: its relevance is below
    /// `minRelevance`. `below_min_chance`: no sentence of it is likely enough to be part of the
    /// answer. `duplicate_of`: `other` has the same lines, apart from blank ones and white space at
    /// their ends. `near_duplicate_of`: `other` has nearly the same lines; where its own
    /// differ, the context lacks them. `merged_into`: its lines are in the block of `other`.
    /// `unreadable`: its source could not be read. `stale`: its source has changed since it was
    /// stored. More may be added.
    reason: String,
    /// A `maxTokens` at which it would be included, everything else being equal; left out if none
    /// is known. For a message, only budgets at which the search finds nothing more are considered,
    /// since with more candidates the chunk may be omitted again: those up to 3,279 tokens or, if
    /// that is larger, up to the next multiple of 80 above its own budget, less one.
    #[schema(nullable = false)]
    enters_at: Option<u32>,
    /// The chunk that represents it.
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

/// The quality of the selection: no selection within the budget is worth more than the bound.
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
    /// The first chunk that is not repeated whole; left out if all are.
    #[schema(nullable = false)]
    first_difference: Option<String>,
}

/// Something the caller should know.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Warning {
    /// The chunk concerned, if there is one.
    #[schema(nullable = false)]
    id: Option<String>,
    /// The kind of warning; more may be added.
    ///
    /// About a chunk: `neutralised`: invisible or control characters are shown as escapes.
    /// `masked`: secrets are shown as `****`. `decoded`: its file was not UTF-8, and was converted.
    /// `moved`: its lines are elsewhere in the file now, and are shown with their present numbers.
    /// `stale`: its file has changed, and it is shown as it was stored, or left out.
    /// `moved_or_deleted`: its file does not exist any more, and it is shown as it was stored.
    /// `unverified`: whether its file has changed is unknown, as the file has masked secrets.
    /// `unreadable`: its file cannot be read. `span_mismatch`: it does not have as many lines as
    /// `startLine` and `endLine` say, or they do not occur exactly once in `expandedContext`.
    /// `overlap_conflict`: other chunks claim the same lines with different texts.
    ///
    /// About what is asked for: `unknown_reference`: a reference names nothing, or was not looked
    /// up. `no_such_file`, `no_such_line`, `no_such_name`, `no_such_call`: there is no file, line,
    /// name or call of a trace such as the message has. `nothing_found`: the search found nothing.
    /// `source_failed`: a source was late or failed. `file_not_searched`: a file that the message
    /// names is not searched. `generated_not_searched`: generated or vendored files, which are not
    /// searched, may have an answer. `pattern_limited`: more files may match a pattern than were
    /// looked at. `users_limited`: more parts use a name than were taken. `unsafe_joint`: some of
    /// the budget may stay unspent, because a separator or footer begins with `/`.
    ///
    /// About a file that was passed over: `secret`: its name is that of a file of keys or settings.
    /// `too_large`, `binary` (not text), `empty`, `link`, `special` (a device, a pipe or a socket).
    /// `limit`: files, or parts of them, were passed over because a limit was reached.
    code: String,
    /// A description for people.
    detail: String,
}

/// Why there is no answer (RFC 9457).
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Problem {
    /// The kind of problem: a reference to its description.
    #[serde(rename = "type")]
    kind: String,
    /// The kind, in words.
    title: String,
    /// The status of the response.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What is wrong in this case.
    detail: String,
    /// The field at fault, if there is one: `options.maxTokens`, `files[3].path`.
    #[schema(nullable = false)]
    field: Option<String>,
    /// The id of the request, as in the header `X-Request-Id` and in the server's log.
    #[schema(nullable = false)]
    request_id: Option<String>,
    /// If the budget is too small (`/docs#problem-budget`), as are the next three fields: the
    /// tokens that the context must have.
    #[schema(nullable = false)]
    needed: Option<u32>,
    /// The tokens that are available: `maxTokens` less its reserve.
    #[schema(nullable = false)]
    available: Option<u32>,
    /// The smallest `maxTokens` that works, everything else being equal; left out if none does, or
    /// only one that is larger than a request may have, as `detail` then says.
    #[schema(nullable = false)]
    smallest_max_tokens: Option<u32>,
    /// The parts of `needed`.
    #[schema(nullable = false)]
    breakdown: Option<crate::problem::Breakdown>,
    /// The first 100 fields at fault, where there are several: `field`, `detail` and `status` are
    /// those of one of them.
    #[schema(nullable = false)]
    errors: Option<Vec<crate::problem::Fault>>,
}

/// An event of a build: its name, and its `data` as JSON on one line.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase", tag = "event", content = "data")]
pub(crate) enum BuildEvent {
    /// A stage begins.
    Progress(crate::wire::Progress),
    /// The answer; no event follows it.
    Result(crate::wire::Reply<ContextData, crate::wire::ContextMeta>),
    /// Why there is no answer; no event follows it.
    Problem(crate::problem::Problem),
}
