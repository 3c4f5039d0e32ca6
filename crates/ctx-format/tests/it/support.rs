//! Documents, and the results expected from reading them back.

use std::borrow::Cow;

use ctx_format::{
    Block, DocumentWriter, FormatOptions, Formatter, Notice, ParsedBlock, Slot, formatter,
    neutralise,
};
use ctx_model::{BuildOptions, Chunk, Format, GroupBy, Relation};

/// A notice that no test chooses by itself.
pub(crate) const NOTICE: Notice = Notice {
    omitted: 37,
    total: 40,
};

/// The formatter of `options`, or `None` when it refuses the separator.
pub(crate) fn formatter_of(options: &BuildOptions) -> Option<Box<dyn Formatter>> {
    formatter(options.format, &FormatOptions::from(options)).ok()
}

/// A block of the chunk in the first of its renditions, or in full.
pub(crate) fn block_of(chunk: &Chunk) -> Block<'_> {
    match chunk.renditions.first() {
        Some(rendition) => Block::of(chunk, rendition),
        None => Block::full(chunk),
    }
}

/// A whole document of `chunks`, in their order.
pub(crate) fn document(
    formatter: &dyn Formatter,
    options: &BuildOptions,
    chunks: &[Chunk],
) -> String {
    let mut text = String::new();
    let mut writer = DocumentWriter::new(formatter, &mut text);
    writer.header(options.header.as_deref());
    for chunk in chunks {
        let block = block_of(chunk);
        writer.block(&block);
    }
    if options.include_sources {
        writer.sources(&mut chunks.iter().map(block_of));
    }
    if options.include_notice {
        writer.notice(&NOTICE);
    }
    writer.finish(options.footer.as_deref()).unwrap();
    text
}

/// A document of one block and nothing else.
pub(crate) fn document_of(format: Format, options: &FormatOptions, chunk: &Chunk) -> String {
    let formatter = formatter(format, options).unwrap();
    let mut text = String::new();
    let mut writer = DocumentWriter::new(&*formatter, &mut text);
    writer.block(&Block::full(chunk));
    writer.finish(None).unwrap();
    text
}

pub(crate) fn text(text: &str) -> String {
    neutralise(text, Slot::Text).into_owned()
}

pub(crate) fn line(text: &str) -> String {
    neutralise(text, Slot::Line).into_owned()
}

/// What a document of `options` says of `block`.
pub(crate) fn expected(options: &BuildOptions, block: &Block<'_>) -> ParsedBlock {
    let format = options.format;
    let is_structured = matches!(format, Format::Xml | Format::Json);
    let has_place = is_structured || options.include_file_headers;
    let has_all = options.include_metadata;
    let is_nameless = block.path.is_none() && block.name.is_none();
    let names_itself = format != Format::Markdown && has_place;

    let mut parsed = ParsedBlock::default();
    if options.group_by == GroupBy::Kind {
        parsed.group = Some(block.kind.category());
    }
    parsed.title = (has_place || has_all).then(|| line(block.title()));
    if has_all || names_itself {
        parsed.path = block.path.map(line);
        parsed.name = block
            .name
            .filter(|_| has_all || block.path.is_none())
            .map(line);
        parsed.id = is_nameless.then(|| line(block.id));
    }
    if has_all || options.include_ids {
        parsed.id = Some(line(block.id));
        parsed.has_own_id = !is_structured;
    }
    parsed.kind = has_all.then(|| line(block.kind.as_str()));
    parsed.span = block
        .span
        .filter(|_| has_place && options.include_line_numbers);
    parsed.language = match format {
        Format::Plain => None,
        // It is told by the fence.
        Format::Markdown if block.body.is_empty() => None,
        Format::Markdown => Some(language(block).unwrap_or("text").to_owned()),
        Format::Xml | Format::Json => language(block).map(str::to_owned),
    };
    parsed.relevance = (has_place && options.include_scores).then(|| match format {
        Format::Json => block.relevance.get(),
        _ => (block.relevance.get() * 100.0).round() / 100.0,
    });
    parsed.summary = block
        .summary
        .map(|summary| match format {
            Format::Json => text(summary),
            _ => line(&folded(summary)),
        })
        .filter(|summary| !summary.is_empty());
    if options.include_imports {
        parsed.imports = block.imports.iter().map(|import| line(import)).collect();
    }
    if options.include_relations {
        parsed.relations = block
            .relations
            .iter()
            .map(|relation| Relation {
                kind: line(&relation.kind),
                target: line(&relation.target),
            })
            .collect();
    }
    parsed.rendition = block.rendition;
    parsed.body = text(block.body);
    parsed
}

fn language<'a>(block: &Block<'a>) -> Option<&'a str> {
    block.language.filter(|language| {
        !language.is_empty()
            && language.len() <= 32
            && language
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-#._".contains(c))
    })
}

fn folded(summary: &str) -> String {
    let lines: Vec<&str> = summary
        .trim()
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines.join(" ")
}

/// The caller's own text as a document says it: structured formats keep its blank lines.
pub(crate) fn own_text(format: Format, given: Option<&str>) -> Option<String> {
    let given = given.filter(|given| !given.trim().is_empty())?;
    let given = neutralise(given, Slot::Text);
    match format {
        Format::Xml | Format::Json => Some(given.into_owned()),
        Format::Markdown | Format::Plain => Some(without_blank_lines(&given).into_owned()),
    }
}

fn without_blank_lines(text: &str) -> Cow<'_, str> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    while lines.first().is_some_and(|line| line.trim().is_empty()) {
        lines.remove(0);
    }
    Cow::Owned(lines.join("\n").trim_end_matches(['\r', '\n']).to_owned())
}
