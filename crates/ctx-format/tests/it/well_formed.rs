//! Documents are well-formed, by parsers that are independent of this crate.

use ctx_format::{Block, FormatOptions, formatter, parse};
use ctx_model::{BuildOptions, Chunk, Format, GroupBy, Relevance, XmlContent};
use ctx_testkit::{few, generate};
use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};

use crate::support;

/// Blocks of a Markdown document at its top level, and the text of its code blocks.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) titles: usize,
    /// The text of each heading of a block.
    pub(crate) headings: Vec<String>,
    /// What is markup inside a line.
    pub(crate) inline: Vec<String>,
    pub(crate) code: Vec<(String, String)>,
    pub(crate) others: Vec<String>,
}

/// What a CommonMark parser sees.
pub(crate) fn outline(markdown: &str) -> Outline {
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
            Event::Text(text) if is_code => outline.code.last_mut().unwrap().1.push_str(&text),
            Event::Text(text) if is_heading => outline.headings.last_mut().unwrap().push_str(&text),
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

/// Each block that shows something is one fenced code block; nothing else comes of what a chunk
/// holds.
fn markdown_is_what_it_says(options: &BuildOptions, chunks: &[Chunk]) -> Result<(), TestCaseError> {
    let options = options
        .clone()
        .with_format(Format::Markdown)
        .with_header(None)
        .with_footer(None)
        .with_chunk_separator(None);
    let formatter = support::formatter_of(&options).unwrap();
    let text = support::document(&*formatter, &options, chunks);
    let outline = outline(&text);
    let bodies: Vec<String> = outline.code.into_iter().map(|(_, body)| body).collect();
    let shown = chunks.iter().map(|chunk| support::block_of(chunk).body);
    let expected: Vec<String> = shown
        .filter(|body| !body.is_empty())
        .map(|body| support::text(body).replace("\r\n", "\n") + "\n")
        .collect();
    prop_assert_eq!(bodies, expected, "{}", text);
    prop_assert_eq!(outline.others, Vec::<String>::new(), "{}", text);
    prop_assert_eq!(outline.inline, Vec::<String>::new(), "{}", text);
    if options.group_by == GroupBy::None {
        let titles = if options.include_file_headers {
            chunks.len()
        } else {
            0
        };
        prop_assert_eq!(outline.titles, titles, "{}", text);
        let given = chunks.iter().take(titles);
        let given = given.map(|chunk| support::line(support::block_of(chunk).title()));
        let given: Vec<String> = given
            .map(|title| without_emphasis(title.trim_matches(' ')))
            .collect();
        let headings = outline.headings.iter().map(|it| without_emphasis(it));
        let headings: Vec<String> = headings.collect();
        prop_assert_eq!(headings, given, "{}", text);
    }
    Ok(())
}

/// Both parsers take it, and see as many blocks as there are chunks, with the same text.
fn xml_is_well_formed(options: &BuildOptions, chunks: &[Chunk]) -> Result<(), TestCaseError> {
    let options = options.clone().with_format(Format::Xml);
    let formatter = support::formatter_of(&options).unwrap();
    let text = support::document(&*formatter, &options, chunks);
    let fail = |error: &dyn std::fmt::Display| TestCaseError::fail(format!("{error}: {text}"));
    let tree = roxmltree::Document::parse(&text).map_err(|error| fail(&error))?;
    let root = tree.root_element();
    prop_assert!(root.has_tag_name("context"));
    let bodies: Vec<String> = root
        .descendants()
        .filter(|node| node.has_tag_name("code-context"))
        .map(|node| {
            let children = node.children();
            assert!(children.clone().all(|child| child.is_text()));
            children.filter_map(|child| child.text()).collect()
        })
        .collect();
    let expected: Vec<String> = chunks
        .iter()
        .map(|chunk| match support::block_of(chunk).body {
            "" => String::new(),
            body => format!("\n{}\n", support::text(body)),
        })
        .collect();
    prop_assert_eq!(bodies, expected, "{}", text);
    parse(Format::Xml, &text).map_err(|error| fail(&error))?;
    Ok(())
}

fn json_is_one_value(options: &BuildOptions, chunks: &[Chunk]) -> Result<(), TestCaseError> {
    let options = options
        .clone()
        .with_format(Format::Json)
        .with_chunk_separator(None);
    let formatter = support::formatter_of(&options).unwrap();
    let text = support::document(&*formatter, &options, chunks);
    let value: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?;
    let objects = value["chunks"].as_array().unwrap();
    prop_assert_eq!(objects.len(), chunks.len());
    for (object, chunk) in objects.iter().zip(chunks) {
        let expected = support::text(support::block_of(chunk).body);
        let expected = (!expected.is_empty()).then_some(&*expected);
        prop_assert_eq!(object.get("content").and_then(|it| it.as_str()), expected);
    }
    Ok(())
}

proptest! {
    #[test]
    fn markdown_blocks_are_code_blocks(options in generate::options(), chunks in generate::chunks(0..4)) {
        markdown_is_what_it_says(&options, &chunks)?;
    }

    #[test]
    fn xml_is_a_document(options in generate::options(), chunks in generate::chunks(0..4)) {
        xml_is_well_formed(&options, &chunks)?;
    }

    #[test]
    fn json_is_a_value(options in generate::options(), chunks in generate::chunks(0..4)) {
        json_is_one_value(&options, &chunks)?;
    }
}

/// Every Unicode scalar value in the body, and all but the planes that nobody uses in a path. Of
/// planes with only ideographs, private and unassigned characters it is one in sixteen, and all of
/// them with `CTX_THOROUGH=1`.
#[test]
fn every_character_passes_through_every_format() {
    let one_in = few::thorough(1, 16);
    let is_tried = |it: &char| {
        let (plane, offset) = (*it as usize >> 16, *it as usize & 0xffff);
        matches!(plane, 0 | 1 | 14) || offset.is_multiple_of(one_in) || offset >= 0xfff0
    };
    let all: Vec<char> = ('\0'..=char::MAX).filter(is_tried).collect();
    for characters in all.chunks(4_096) {
        let text: String = characters.iter().collect();
        let is_in_use = |it: &char| !matches!(it, '\u{30000}'..='\u{dffff}' | '\u{f0000}'..);
        let is_in_use = characters.iter().any(is_in_use);
        let path = if is_in_use { &text } else { "path" };
        let chunk = Chunk::new("a", &text, Relevance::ONE).with_path(path);
        let chunks = std::slice::from_ref(&chunk);
        let options = BuildOptions::default();
        xml_is_well_formed(&options.clone().with_xml_content(XmlContent::Cdata), chunks).unwrap();
        xml_is_well_formed(&options, chunks).unwrap();
        markdown_is_what_it_says(&options, chunks).unwrap();
        json_is_one_value(&options, chunks).unwrap();
        for format in Format::ALL {
            let options = options.clone().with_format(format);
            let formatter = support::formatter_of(&options).unwrap();
            let document = support::document(&*formatter, &options, chunks);
            let expected = support::expected(&options, &support::block_of(&chunk));
            assert_eq!(parse(format, &document).unwrap().blocks, [expected]);
        }
    }
}

/// A fragment is well-formed by itself too.
#[test]
fn fragments_are_well_formed() {
    let text: String = ('\0'..='\u{2fff}').collect();
    let chunk = Chunk::new("a", &text, Relevance::ONE).with_path(&text);
    let mut fragment = String::new();
    for xml_content in [XmlContent::Escaped, XmlContent::Cdata] {
        let options = FormatOptions::default().with_xml_content(xml_content);
        let formatter = formatter(Format::Xml, &options).unwrap();
        fragment.clear();
        formatter.fragment(&Block::full(&chunk), &mut fragment);
        roxmltree::Document::parse(&fragment).unwrap();
    }
}
