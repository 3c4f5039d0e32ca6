//! Fragments, byte for byte as the first design wrote them.

use ctx_format::{Block, FormatOptions, formatter};
use ctx_model::{BuildOptions, Chunk, Format, LineSpan, Relevance, Rendition, RenditionKind};
use ctx_testkit::shared;
use serde_json::Value;

#[test]
fn every_fragment_is_the_expected_one() {
    let Some(vectors) = shared::json("vectors/core.json") else {
        return;
    };
    let cases = vectors["fragments"].as_array().unwrap();
    assert_eq!(cases.len(), 120);
    for case in cases {
        let chunk: Chunk = serde_json::from_value(case["chunk"].clone()).unwrap();
        let options: BuildOptions = serde_json::from_value(case["options"].clone()).unwrap();
        let formatter = formatter(options.format, &FormatOptions::from(&options)).unwrap();
        let mut fragment = String::new();
        // The first design heads expanded context with the lines of the content.
        let block = Block {
            span: chunk.span,
            ..Block::full(&chunk)
        };
        formatter.fragment(&block, &mut fragment);
        match options.format {
            Format::Json => {
                let value: Value = serde_json::from_str(&fragment).unwrap();
                assert_eq!(value, case["expected"], "{case}");
            }
            _ => assert_eq!(fragment, case["expected"].as_str().unwrap(), "{case}"),
        }
    }
}

#[track_caller]
fn fragment(format: Format, chunk: &Chunk, expected: &str) {
    let options = FormatOptions::default().with_scores(true);
    let mut text = String::new();
    let formatter = formatter(format, &options).unwrap();
    formatter.fragment(&Block::full(chunk), &mut text);
    assert_eq!(text, expected);
}

#[test]
fn a_fragment_in_each_format() {
    let chunk = Chunk::new("a", "let a = b && 'c';", Relevance::new(0.855).unwrap())
        .with_path("src/a.rs")
        .with_language("rust")
        .with_span(LineSpan::new(3, 3).unwrap());
    fragment(
        Format::Markdown,
        &chunk,
        "### src/a.rs\nLines 3-3\nRelevance: 86%\n\n```rust\nlet a = b && 'c';\n```\n",
    );
    fragment(
        Format::Xml,
        &chunk,
        "<code-context file=\"src/a.rs\" lines=\"3-3\" language=\"rust\" relevance=\"0.86\">\n\
         let a = b &amp;&amp; &apos;c&apos;;\n</code-context>",
    );
    fragment(
        Format::Json,
        &chunk,
        "{\"file\":\"src/a.rs\",\"startLine\":3,\"endLine\":3,\"language\":\"rust\",\
         \"relevance\":0.855,\"content\":\"let a = b && 'c';\"}",
    );
    fragment(
        Format::Plain,
        &chunk,
        "File: src/a.rs (lines 3-3)\n----------------------------------------\nlet a = b && 'c';\n",
    );
}

#[test]
fn a_fragment_without_a_path_is_headed_by_its_name_or_id() {
    let unnamed = Chunk::new("a-1", "x", Relevance::ZERO);
    let named = unnamed.clone().with_name("A thought");
    fragment(
        Format::Markdown,
        &named,
        "### A thought\nRelevance: 0%\n\n```text\nx\n```\n",
    );
    fragment(
        Format::Xml,
        &unnamed,
        "<code-context id=\"a-1\" relevance=\"0.00\">\nx\n</code-context>",
    );
    fragment(
        Format::Json,
        &named,
        "{\"name\":\"A thought\",\"relevance\":0.0,\"content\":\"x\"}",
    );
    fragment(
        Format::Plain,
        &unnamed,
        "Id: a-1\n----------------------------------------\nx\n",
    );
}

#[test]
fn a_fragment_of_expanded_context_is_headed_by_the_lines_that_it_shows() {
    let mut chunk = Chunk::new("a", "b", Relevance::ONE)
        .with_path("a.rs")
        .with_span(LineSpan::new(2, 2).unwrap());
    chunk.summary = Some("what it is".to_owned());
    let wider = |text: &str| {
        let mut wider = chunk.clone();
        wider.expanded_context = Some(text.to_owned());
        wider
    };
    let around = wider("a\nb\nc");
    fragment(
        Format::Plain,
        &around,
        "File: a.rs (lines 1-3)\n----------------------------------------\na\nb\nc\n",
    );
    let lines = |block: Block<'_>| block.span.map(|it| (it.start(), it.end()));
    let rendition = Rendition::new(RenditionKind::Signature, "b", 0.5).unwrap();
    assert_eq!(lines(Block::of(&around, &rendition)), Some((1, 3)));
    assert_eq!(lines(Block::summary_only(&around)), Some((2, 2)));
    // Which of the two it is, nobody knows.
    assert_eq!(lines(Block::full(&wider("b\nb"))), None);
    assert_eq!(lines(Block::full(&chunk)), Some((2, 2)));
}
