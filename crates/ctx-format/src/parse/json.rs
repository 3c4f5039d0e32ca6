//! Reads JSON back.

use ctx_model::{Category, Format, LineSpan, Relation, RenditionKind};
use serde::Deserialize;

use super::{Parsed, ParsedBlock};
use crate::{Notice, ParseError, fields};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    header: Option<String>,
    chunks: Vec<Object>,
    #[serde(default)]
    sources: Vec<String>,
    notice: Option<String>,
    footer: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Object {
    file: Option<String>,
    name: Option<String>,
    id: Option<String>,
    kind: Option<String>,
    group: Option<Category>,
    start_line: Option<u32>,
    end_line: Option<u32>,
    language: Option<String>,
    relevance: Option<f64>,
    summary: Option<String>,
    #[serde(default)]
    imports: Vec<String>,
    #[serde(default)]
    relations: Vec<Relation>,
    #[serde(default)]
    shown: RenditionKind,
    #[serde(default)]
    content: String,
}

pub(super) fn parse(text: &str) -> Result<Parsed, ParseError> {
    let document: Document = serde_json::from_str(text).map_err(malformed)?;
    let blocks = document.chunks.into_iter().map(block);
    Ok(Parsed {
        header: document.header,
        blocks: blocks.collect::<Result<_, _>>()?,
        sources: document.sources,
        notice: document.notice.as_deref().map(notice).transpose()?,
        footer: document.footer,
    })
}

fn block(object: Object) -> Result<ParsedBlock, ParseError> {
    let span = match (object.start_line, object.end_line) {
        (Some(start), Some(end)) => Some(LineSpan::new(start, end).map_err(malformed)?),
        _ => None,
    };
    let mut block = ParsedBlock {
        group: object.group,
        title: None,
        id: object.id,
        has_own_id: false,
        kind: object.kind,
        path: object.file,
        name: object.name,
        span,
        language: object.language,
        relevance: object.relevance,
        summary: object.summary,
        imports: object.imports,
        relations: object.relations,
        rendition: object.shown,
        body: object.content,
    };
    block.settle_title();
    Ok(block)
}

fn notice(line: &str) -> Result<Notice, ParseError> {
    fields::read_notice(line).ok_or_else(|| malformed(format!("not a notice: {line}")))
}

fn malformed(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ParseError {
    ParseError::Malformed {
        format: Format::Json,
        source: source.into(),
    }
}
