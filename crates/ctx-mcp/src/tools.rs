//! The tools as clients see them, and their arguments.

use std::collections::BTreeSet;
use std::sync::Arc;

use ctx_model::{Format, RenditionKind, Wire, json_error};
use ctx_retrieve::{PartKind, Strategy};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::fault::{Fault, echo};
use crate::reply::{DEFAULT_TOKENS, LEAST_TOKENS, MOST_TOKENS};

pub(crate) const QUERY: &str = "context_query";
pub(crate) const ASSEMBLE: &str = "context_assemble";
pub(crate) const READ: &str = "context_read";
pub(crate) const OUTLINE: &str = "context_outline";

/// The most parts that a query looks for.
pub(crate) const MOST_FOUND: u64 = 500;
/// The bytes of a query; a longer one is refused.
pub(crate) const LONGEST_QUERY: usize = 100_000;
/// The bytes of the name of a session; a longer one is refused.
pub(crate) const LONGEST_SESSION: usize = 200;
/// The most hits; more are refused.
pub(crate) const MOST_CHUNKS: usize = 5_000;

/// The arguments of [`QUERY`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueryArguments {
    pub(crate) query: Option<String>,
    pub(crate) strategies: Option<Vec<String>>,
    pub(crate) limit: Option<u64>,
    pub(crate) include_types: Option<Vec<String>>,
    pub(crate) min_score: Option<f64>,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) format: Option<Format>,
    pub(crate) imports: Option<bool>,
    pub(crate) relations: Option<bool>,
    pub(crate) session: Option<String>,
    pub(crate) cursor: Option<String>,
}

/// The arguments of [`ASSEMBLE`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AssembleArguments {
    pub(crate) chunks: Option<Vec<Value>>,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) format: Option<Format>,
    pub(crate) imports: Option<bool>,
    pub(crate) relations: Option<bool>,
    pub(crate) session: Option<String>,
    pub(crate) cursor: Option<String>,
}

/// The arguments of [`READ`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadArguments {
    pub(crate) path: String,
    pub(crate) lines: Option<String>,
    pub(crate) symbol: Option<String>,
    pub(crate) rendition: Option<RenditionKind>,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) cursor: Option<String>,
}

/// The arguments of [`OUTLINE`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutlineArguments {
    pub(crate) path: Option<String>,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) cursor: Option<String>,
}

/// Parses the arguments of `tool`.
///
/// # Errors
/// They do not match its schema; the error names the field.
pub(crate) fn arguments<T: DeserializeOwned>(
    tool: &str,
    given: Option<JsonObject>,
) -> Result<T, Fault> {
    let given = Value::Object(given.unwrap_or_default());
    value(given).map_err(|why| {
        Fault::refused(
            format!("read the arguments of {tool}: {why}"),
            "arguments that match the schema of the tool",
        )
    })
}

/// Parses `given`; the error names the field and says what is wrong with it.
pub(crate) fn value<T: DeserializeOwned>(given: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(Wire(given)).map_err(|error| {
        let why = error.inner().to_string();
        let why = json_error(&why);
        match &*error.path().to_string() {
            "" | "." | "?" => plain(&why),
            path => plain(&format!("{path}: {why}")),
        }
    })
}

/// The most characters of an error message that has the caller's own words.
const LONGEST_ERROR: usize = 200;

/// An error message in which the caller's own words are shortened and neutralised.
pub(crate) fn plain(error: &str) -> String {
    let end = error.char_indices().nth(LONGEST_ERROR).map(|it| it.0);
    let text = match end {
        Some(end) => format!("{}…", &error[..end]),
        None => error.to_owned(),
    };
    ctx_format::neutralise(&text, ctx_format::Slot::Line).into_owned()
}

/// The strategies with these names; all if there are none.
///
/// # Errors
/// A name is not that of a strategy.
pub(crate) fn strategies(words: Option<Vec<String>>) -> Result<Vec<Strategy>, Fault> {
    let Some(words) = words.filter(|it| !it.is_empty()) else {
        return Ok(offered().collect());
    };
    let of = |word: &String| {
        let strategy = offered().find(|it| it.as_str() == word);
        strategy.ok_or_else(|| {
            Fault::refused(
                format!("search by {}: there is no such strategy", echo(word)),
                format!("some of {}, or none for all", names().join(", ")),
            )
        })
    };
    let strategies = words.iter().take(Strategy::ALL.len() * 2).map(of);
    let strategies = strategies.collect::<Result<Vec<_>, _>>()?;
    if strategies.iter().all(|it| *it == Strategy::Relations) {
        return Err(Fault::refused(
            "search by relations alone: it only extends what other strategies find",
            format!("one more of {}, or none for all", names().join(", ")),
        ));
    }
    Ok(strategies)
}

/// The kinds that a part of a file can have.
fn kinds() -> Vec<&'static str> {
    let kinds = PartKind::WITHIN_FILES.iter();
    kinds.map(|it| it.as_str()).collect()
}

/// The kinds with these names; an empty list means all.
///
/// # Errors
/// A name is not that of a kind.
pub(crate) fn include_types(words: Option<Vec<String>>) -> Result<Vec<PartKind>, Fault> {
    let of = |word: String| {
        // Whole files are searched, but only their parts are found.
        let kind = word.parse::<PartKind>().ok();
        let kind = kind.filter(|it| *it != PartKind::File);
        kind.ok_or_else(|| {
            Fault::refused(
                format!("find parts of type {}: there is no such type", echo(&word)),
                format!("some of {}, or none for all", kinds().join(", ")),
            )
        })
    };
    let words = words.unwrap_or_default().into_iter();
    let kinds: BTreeSet<PartKind> = words.map(of).collect::<Result<_, _>>()?;
    Ok(kinds.into_iter().collect())
}

/// All strategies except the custom semantic search, which does not exist here.
fn offered() -> impl Iterator<Item = Strategy> {
    let all = Strategy::ALL.iter().copied();
    all.filter(|it| *it != Strategy::Semantic)
}

fn names() -> Vec<&'static str> {
    offered().map(Strategy::as_str).collect()
}

/// All tools, in the order in which they are listed. Together they take fewer than 1,500 tokens of
/// `o200k_base`.
pub fn tools() -> Vec<Tool> {
    vec![query(), assemble(), read(), outline()]
}

fn query() -> Tool {
    tool(
        QUERY,
        "Find code and docs",
        "Searches the project and returns the parts that answer a question or issue text, as source with paths \
         and line numbers, best first, within max_tokens. Name identifiers or files, or paste a stack trace, \
         where you can.",
        &json!({
            "query": text(&format!("What to find: a question, identifiers, an error; at most {LONGEST_QUERY} bytes. Not needed with cursor.")),
            "strategies": list(&json!({"enum": names()}), "Search strategies; default all."),
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST_FOUND, "description": "The most parts to return; default one per 80 tokens, but at least 100."},
            "include_types": list(&json!({"enum": kinds()}), "Only parts of these kinds; default all."),
            "min_score": {"type": "number", "minimum": 0, "maximum": 1, "description": "Leave out parts below this share of the best score."},
            "max_tokens": max_tokens(),
            "format": format(),
            "imports": flag("Show the imports of each part's file."),
            "relations": flag("Show what parts call, use or extend in each other's files."),
            "session": session(),
            "cursor": cursor(),
        }),
        &[],
    )
}

fn assemble() -> Tool {
    tool(
        ASSEMBLE,
        "Assemble your own hits",
        "Builds one context from your own hits, for example of grep or another search: reads their lines, merges \
         and orders them, and fits them into max_tokens.",
        &json!({
            "chunks": {
                "type": "array",
                "maxItems": MOST_CHUNKS,
                "description": "Each with content, or with filePath, startLine and endLine to read it from a file. Not needed with cursor.",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "relevance": {"type": "number", "minimum": 0, "maximum": 1},
                        "filePath": {"type": "string"},
                        "startLine": {"type": "integer"},
                        "endLine": {"type": "integer"},
                        "content": {"type": "string"},
                    },
                    "required": ["id", "relevance"],
                },
            },
            "max_tokens": max_tokens(),
            "format": format(),
            "imports": flag("Show the imports of each part's file."),
            "relations": flag("Show what parts call, use or extend in each other's files."),
            "session": session(),
            "cursor": cursor(),
        }),
        &[],
    )
}

fn read() -> Tool {
    let kinds: Vec<&str> = RenditionKind::ALL
        .into_iter()
        .map(RenditionKind::as_str)
        .collect();
    tool(
        READ,
        "Read a file",
        "Reads a file, lines of it, or a symbol it defines, in full or shortened (a skeleton leaves out bodies).",
        &json!({
            "path": text("Relative to the root; of several roots, begins with the name of one, as replies show it."),
            "lines": text("\"12-40\" or \"12\"."),
            "symbol": text("A name the file defines, instead of lines."),
            "rendition": {"enum": kinds, "default": "full"},
            "max_tokens": max_tokens(),
            "cursor": cursor(),
        }),
        &["path"],
    )
}

fn outline() -> Tool {
    tool(
        OUTLINE,
        "Outline files",
        "Lists what a file defines, with lines; or the files of a folder and their outermost definitions.",
        &json!({
            "path": text("A file or folder; default all roots."),
            "max_tokens": max_tokens(),
            "cursor": cursor(),
        }),
        &[],
    )
}

fn tool(
    name: &'static str,
    title: &str,
    about: &'static str,
    properties: &Value,
    required: &[&str],
) -> Tool {
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.clone());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    let hints = ToolAnnotations::with_title(title)
        .read_only(true)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    Tool::new(name, about, Arc::new(schema)).with_annotations(hints)
}

fn text(about: &str) -> Value {
    json!({"type": "string", "description": about})
}

fn list(items: &Value, about: &str) -> Value {
    json!({"type": "array", "items": items, "description": about})
}

fn max_tokens() -> Value {
    json!({
        "type": "integer", "minimum": LEAST_TOKENS, "maximum": MOST_TOKENS, "default": DEFAULT_TOKENS,
        "description": "Limit of the whole reply.",
    })
}

fn format() -> Value {
    json!({"enum": ["markdown", "xml", "json", "plain"], "default": "markdown"})
}

fn flag(about: &str) -> Value {
    json!({"type": "boolean", "default": false, "description": about})
}

fn session() -> Value {
    text(&format!(
        "A name of your choice, of 1 to {LONGEST_SESSION} bytes. Calls with the same name do not repeat what was sent, unless it changed."
    ))
}

fn cursor() -> Value {
    text("From the last reply, to get what did not fit.")
}
