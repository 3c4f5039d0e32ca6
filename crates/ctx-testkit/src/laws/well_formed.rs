//! Laws of documents by independent parsers: they see what was put in, and nothing beside it.

use ctx_format::parse;
use ctx_model::{BuildOptions, Chunk, Format, GroupBy};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};

use super::documents;

/// Checks a document of `chunks` by a parser of its format that shares no code with
/// `ctx_format::parse`, without the caller's own texts where these might look like blocks:
///
/// * in Markdown each block that shows something is one fenced code block, and nothing else comes
///   of what a chunk holds: no link, no HTML, no block;
/// * XML is well-formed, and has as many blocks as there are chunks, with the same text;
/// * JSON is one value, and has them, too.
///
/// There is no other parser of plain text.
///
/// # Panics
/// If it does not hold.
#[track_caller]
pub fn document(options: &BuildOptions, chunks: &[Chunk]) {
    match options.format {
        Format::Markdown => is_markdown(options, chunks),
        Format::Xml => is_xml(options, chunks),
        Format::Json => is_json(options, chunks),
        Format::Plain => {}
    }
}

/// What a CommonMark parser sees in a document.
#[derive(Debug, Default)]
pub struct Outline {
    /// How many headings stand at the top level.
    pub titles: usize,
    /// The text of each heading of a block.
    pub headings: Vec<String>,
    /// What is markup inside a line.
    pub inline: Vec<String>,
    /// The info string and the text of each code block.
    pub code: Vec<(String, String)>,
    /// Whatever else is a block.
    pub others: Vec<String>,
}

/// Reads `markdown` by a CommonMark parser.
pub fn outline(markdown: &str) -> Outline {
    let mut outline = Outline::default();
    let mut depth = 0;
    let (mut is_code, mut is_heading) = (false, false);
    for event in Parser::new(markdown) {
        match event {
            Event::Start(tag) => {
                match &tag {
                    Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                        is_code = true;
                        outline.code.push((info.to_string(), String::new()));
                        if depth > 0 {
                            outline.others.push("a nested code block".to_owned());
                        }
                    }
                    Tag::Heading { level, .. } if depth == 0 => {
                        outline.titles += 1;
                        is_heading = *level == HeadingLevel::H3;
                        outline.headings.extend(is_heading.then(String::new));
                    }
                    Tag::Link { .. } | Tag::Image { .. } => {
                        outline.inline.push(format!("{tag:?}"));
                    }
                    Tag::Emphasis
                    | Tag::Strong
                    | Tag::Paragraph
                    | Tag::List(None)
                    | Tag::BlockQuote(_)
                    | Tag::Item => {}
                    tag if depth == 0 => outline.others.push(format!("{tag:?}")),
                    _ => {}
                }
                depth += 1;
            }
            Event::End(tag) => {
                depth -= 1;
                is_code &= tag != TagEnd::CodeBlock;
                is_heading &= !matches!(tag, TagEnd::Heading(_));
            }
            Event::Text(text) if is_code => {
                let code = outline.code.last_mut().expect("it has begun");
                code.1.push_str(&text);
            }
            Event::Text(text) if is_heading => {
                let heading = outline.headings.last_mut().expect("it has begun");
                heading.push_str(&text);
            }
            Event::Code(_) | Event::InlineHtml(_) | Event::Html(_) => {
                outline.inline.push(format!("{event:?}"));
            }
            _ => {}
        }
    }
    outline
}

/// `text` without marks of emphasis, which a parser takes for itself.
fn without_emphasis(text: &str) -> String {
    text.replace(['*', '_'], "")
}

#[track_caller]
fn written(options: &BuildOptions, chunks: &[Chunk]) -> String {
    let formatter = documents::formatter_of(options).expect("the format takes the separator");
    documents::document(&*formatter, options, chunks)
}

#[track_caller]
fn is_markdown(options: &BuildOptions, chunks: &[Chunk]) {
    let options = options
        .clone()
        .with_header(None)
        .with_footer(None)
        .with_chunk_separator(None);
    let text = written(&options, chunks);
    let outline = outline(&text);
    let bodies: Vec<String> = outline.code.into_iter().map(|(_, body)| body).collect();
    let shown = chunks.iter().map(|chunk| documents::block_of(chunk).body);
    let expected: Vec<String> = shown
        .filter(|body| !body.is_empty())
        .map(|body| documents::text(body).replace("\r\n", "\n") + "\n")
        .collect();
    assert_eq!(bodies, expected, "{text}");
    assert_eq!(outline.others, Vec::<String>::new(), "{text}");
    assert_eq!(outline.inline, Vec::<String>::new(), "{text}");
    if options.group_by == GroupBy::None {
        let titles = if options.include_file_headers {
            chunks.len()
        } else {
            0
        };
        assert_eq!(outline.titles, titles, "{text}");
        let given = chunks.iter().take(titles);
        let given = given.map(|chunk| documents::line(documents::block_of(chunk).title()));
        let given: Vec<String> = given
            .map(|title| without_emphasis(title.trim_matches(' ')))
            .collect();
        let headings = outline.headings.iter().map(|it| without_emphasis(it));
        let headings: Vec<String> = headings.collect();
        assert_eq!(headings, given, "{text}");
    }
}

#[track_caller]
fn is_xml(options: &BuildOptions, chunks: &[Chunk]) {
    let text = written(options, chunks);
    let tree = roxmltree::Document::parse(&text);
    let tree = tree.unwrap_or_else(|error| panic!("{error}: {text}"));
    let root = tree.root_element();
    assert!(root.has_tag_name("context"), "{text}");
    let bodies: Vec<String> = root
        .descendants()
        .filter(|node| node.has_tag_name("code-context"))
        .map(|node| {
            let children = node.children();
            assert!(children.clone().all(|child| child.is_text()), "{text}");
            children.filter_map(|child| child.text()).collect()
        })
        .collect();
    let expected: Vec<String> = chunks
        .iter()
        .map(|chunk| match documents::block_of(chunk).body {
            "" => String::new(),
            body => format!("\n{}\n", documents::text(body)),
        })
        .collect();
    assert_eq!(bodies, expected, "{text}");
    parse(Format::Xml, &text).unwrap_or_else(|error| panic!("{error}: {text}"));
}

#[track_caller]
fn is_json(options: &BuildOptions, chunks: &[Chunk]) {
    let options = options.clone().with_chunk_separator(None);
    let text = written(&options, chunks);
    let value: serde_json::Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let objects = value["chunks"].as_array().expect("there is an array");
    assert_eq!(objects.len(), chunks.len(), "{text}");
    for (object, chunk) in objects.iter().zip(chunks) {
        let expected = documents::text(documents::block_of(chunk).body);
        let expected = (!expected.is_empty()).then_some(&*expected);
        let content = object.get("content").and_then(|it| it.as_str());
        assert_eq!(content, expected, "{text}");
    }
}
