//! Strings that have broken other programs, as contents and as names.

use ctx_format::{Block, FormatOptions, parse};
use ctx_model::{BuildOptions, Chunk, Format, GroupBy, Relation, Relevance, XmlContent};
use ctx_testkit::shared;
use serde_json::Value;

use crate::support;

/// A chunk that holds `text` wherever it can.
fn full_of(text: &str) -> Chunk {
    let mut chunk = Chunk::new(format!("#{text}"), text, Relevance::ONE)
        .with_kind(ctx_model::ChunkKind::Other(text.to_owned()))
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

#[track_caller]
fn survives(text: &str) {
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
            let formatter = support::formatter_of(&options).unwrap();
            let document = support::document(&*formatter, &options, &chunks);
            let parsed = parse(format, &document).unwrap_or_else(|e| panic!("{e}: {document}"));
            let expected = chunks
                .each_ref()
                .map(|c| support::expected(&options, &Block::full(c)));
            assert_eq!(parsed.blocks, expected, "{document}");
            let labels = chunks.each_ref().map(|c| {
                support::line(
                    &Block::full(c).source(options.include_metadata || options.include_ids),
                )
            });
            assert_eq!(parsed.sources, labels, "{document}");
            if format == Format::Xml {
                roxmltree::Document::parse(&document).unwrap();
            }
            if format == Format::Markdown {
                let outline = crate::well_formed::outline(&document);
                let shown = blocks_with_text(&chunks);
                assert_eq!(outline.code.len(), shown, "{document}");
                assert_eq!(outline.others, Vec::<String>::new(), "{document}");
            }
        }
    }
}

/// How many of them show something, which is what a fence is for.
fn blocks_with_text(chunks: &[Chunk]) -> usize {
    let bodies = chunks.iter().map(|it| support::block_of(it).body);
    bodies.filter(|it| !it.is_empty()).count()
}

#[test]
fn naughty_strings_survive() {
    let Some(Value::Array(strings)) = shared::json("data/hostile/blns.json") else {
        return;
    };
    assert!(strings.len() > 500);
    for text in &strings {
        survives(text.as_str().unwrap());
    }
}

#[test]
fn examples_of_markdown_survive() {
    let Some(Value::Array(examples)) = shared::json("data/hostile/commonmark.json") else {
        return;
    };
    assert!(examples.len() > 600);
    for example in &examples {
        survives(example["markdown"].as_str().unwrap());
        survives(example["html"].as_str().unwrap());
    }
}

#[test]
fn documents_survive_inside_documents() {
    let mut nested = full_of("the innermost");
    for round in 0..4 {
        let format = Format::ALL[round % 4];
        let options = FormatOptions::default()
            .with_metadata(true)
            .with_scores(true);
        nested = full_of(&support::document_of(format, &options, &nested));
        survives(&nested.content);
    }
}

#[test]
fn long_runs_survive() {
    for run in [
        "`", "~", "-", "]", "]]>", "\r", "\n", "- ", "<", "&", "\"", "\\", "\u{200d}", "{",
    ] {
        survives(&run.repeat(500));
    }
}
