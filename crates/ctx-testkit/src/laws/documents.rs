//! Laws of whole documents: what is put in is read back, whatever it is; no text of a chunk leaves
//! its slot.

use std::borrow::Cow;

use ctx_format::{
    Block, DocumentWriter, FormatOptions, Formatter, Notice, ParsedBlock, Slot, formatter,
    neutralise, parse,
};
use ctx_model::{BuildOptions, Chunk, ChunkKind, Format, GroupBy, Relation, Relevance, XmlContent};

use super::well_formed;

/// Checks that a document of `chunks` reads back: the blocks recovered are those put in, and so are
/// the labels of sources, the notice, the header and the footer. Nothing is checked of a separator
/// that the format refuses.
///
/// In Markdown and plain text a header, a footer or a separator of `options` must not look like a
/// block: these formats do not mark what is the caller's own.
///
/// # Panics
/// If it does not.
#[track_caller]
pub fn reads_back(options: &BuildOptions, chunks: &[Chunk]) {
    let Some(formatter) = formatter_of(options) else {
        return;
    };
    let text = document(&*formatter, options, chunks);
    let parsed = parse(options.format, &text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let expected: Vec<_> = chunks
        .iter()
        .map(|chunk| expected(options, &block_of(chunk)))
        .collect();
    assert_eq!(parsed.blocks, expected, "{text}");
    if options.include_sources {
        let has_id = options.include_metadata || options.include_ids;
        let labels: Vec<String> = chunks
            .iter()
            .map(|chunk| line(&block_of(chunk).source(has_id)))
            .collect();
        assert_eq!(parsed.sources, labels, "{text}");
    }
    assert_eq!(parsed.notice.is_some(), options.include_notice);
    let is_marked = matches!(options.format, Format::Xml | Format::Json);
    let has_structure = !chunks.is_empty() || options.include_notice;
    if is_marked || has_structure {
        let own = |given: &Option<String>| own_text(options.format, given.as_deref());
        assert_eq!(parsed.header, own(&options.header), "{text}");
        assert_eq!(parsed.footer, own(&options.footer), "{text}");
    }
}

/// Checks that `text` survives in every slot of a chunk at once, in every format: the documents
/// read back, and independent parsers see the same blocks.
///
/// # Panics
/// If it does not.
#[track_caller]
pub fn survives(text: &str) {
    let full = full_of(text);
    let mut pathless = full.clone();
    pathless.path = None;
    let chunks = [full, pathless];
    for format in Format::ALL {
        for group_by in [GroupBy::None, GroupBy::File, GroupBy::Kind] {
            let options = BuildOptions::default()
                .with_format(format)
                .with_group_by(group_by)
                .with_sources(true)
                .with_scores(true)
                .with_imports(true)
                .with_relations(true)
                .with_metadata(group_by == GroupBy::Kind)
                .with_xml_content(match group_by {
                    GroupBy::File => XmlContent::Cdata,
                    _ => XmlContent::Escaped,
                });
            reads_back(&options, &chunks);
            well_formed::document(&options, &chunks);
        }
    }
}

/// A chunk that holds `text` wherever it can.
pub fn full_of(text: &str) -> Chunk {
    let mut chunk = Chunk::new(format!("#{text}"), text, Relevance::ONE)
        .with_kind(ChunkKind::Other(text.to_owned()))
        .with_name(text)
        .with_language(text);
    if !text.is_empty() {
        chunk = chunk.with_path(text);
    }
    chunk.summary = Some(text.to_owned());
    chunk.imports = vec![text.to_owned(), text.to_owned()];
    chunk.relations = vec![Relation {
        kind: text.to_owned(),
        target: text.to_owned(),
    }];
    chunk
}

/// Checks that reading `text`, which need be no document, as one of each format is an error or
/// gives no more than went in.
///
/// # Panics
/// If it does not.
#[track_caller]
pub fn is_bounded(text: &str) {
    for format in Format::ALL {
        if let Ok(parsed) = parse(format, text) {
            let read: usize = parsed.blocks.iter().map(|block| block.body.len()).sum();
            assert!(read <= text.len(), "{format:?} of {text:?}");
            let count = parsed.blocks.len() + parsed.sources.len();
            assert!(count <= text.len(), "{format:?} of {text:?}");
        }
    }
}

/// A notice that no test chooses by itself.
pub const NOTICE: Notice = Notice {
    omitted: 37,
    total: 40,
};

/// The formatter of `options`, or `None` when it refuses the separator.
pub fn formatter_of(options: &BuildOptions) -> Option<Box<dyn Formatter>> {
    formatter(options.format, &FormatOptions::from(options)).ok()
}

/// A block of the chunk in the first of its renditions, or in full.
pub fn block_of(chunk: &Chunk) -> Block<'_> {
    match chunk.renditions.first() {
        Some(rendition) => Block::of(chunk, rendition),
        None => Block::full(chunk),
    }
}

/// A whole document of `chunks`, in their order.
pub fn document(formatter: &dyn Formatter, options: &BuildOptions, chunks: &[Chunk]) -> String {
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
    let finished = writer.finish(options.footer.as_deref());
    finished.expect("its pieces come in their order");
    text
}

/// A document of one block and nothing else.
///
/// # Panics
/// If the format refuses the separator of `options`.
pub fn document_of(format: Format, options: &FormatOptions, chunk: &Chunk) -> String {
    let formatter = formatter(format, options).expect("the format takes the separator");
    let mut text = String::new();
    let mut writer = DocumentWriter::new(&*formatter, &mut text);
    writer.block(&Block::full(chunk));
    writer.finish(None).expect("its pieces come in their order");
    text
}

/// `text` as a body shows it.
pub fn text(text: &str) -> String {
    neutralise(text, Slot::Text).into_owned()
}

/// `text` as a slot of one line shows it.
pub fn line(text: &str) -> String {
    neutralise(text, Slot::Line).into_owned()
}

/// What a document of `options` says of `block`.
pub fn expected(options: &BuildOptions, block: &Block<'_>) -> ParsedBlock {
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
pub fn own_text(format: Format, given: Option<&str>) -> Option<String> {
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
