//! Format, then parse, is identity: in every format, with every option, whatever a block holds.

use ctx_format::{Block, DocumentWriter, FormatError, FormatOptions, Group, formatter, parse};
use ctx_model::{BuildOptions, Category, Chunk, ChunkKind, Format, GroupBy, Relevance};
use ctx_testkit::generate;
use ctx_testkit::laws::documents::{self, reads_back};
use proptest::prelude::*;

/// Options whose own texts do not themselves look like blocks: Markdown and plain text do not mark
/// them as what they are.
fn options() -> impl Strategy<Value = BuildOptions> {
    let separators = [
        "",
        "\n",
        "\n\n",
        "\n---\n\n",
        "---",
        "\r\n***\n",
        "  ",
        "\n/\n",
        "next",
    ];
    (
        generate::options(),
        proptest::option::of(generate::text()),
        proptest::option::of(generate::text()),
        proptest::sample::select(separators.map(str::to_owned).to_vec()),
    )
        .prop_map(
            |(options, header, footer, separator)| match options.format {
                Format::Xml | Format::Json => options,
                Format::Markdown | Format::Plain => {
                    let separator = options.chunk_separator.as_ref().map(|_| separator);
                    options
                        .with_header(header)
                        .with_footer(footer)
                        .with_chunk_separator(separator)
                }
            },
        )
}

proptest! {
    #[test]
    fn every_document_reads_back(options in options(), chunks in generate::chunks(0..5)) {
        reads_back(&options, &chunks);
    }

    /// Whatever the caller's own texts are, they take nothing from the blocks and add nothing to
    /// them where the format marks what is what.
    #[test]
    fn own_texts_are_kept_apart(
        options in generate::options(),
        chunks in generate::chunks(0..3),
        own in generate::hostile_text(),
    ) {
        for format in [Format::Xml, Format::Json] {
            let options = options
                .clone()
                .with_format(format)
                .with_header(Some(own.clone()))
                .with_footer(Some(own.clone()))
                .with_chunk_separator((format == Format::Xml).then(|| own.clone()));
            reads_back(&options, &chunks);
        }
    }
}

#[test]
fn a_document_of_nothing_is_one() {
    for format in Format::ALL {
        let formatter = formatter(format, &FormatOptions::default()).unwrap();
        let mut text = String::new();
        let writer = DocumentWriter::new(&*formatter, &mut text);
        writer.finish(None).unwrap();
        assert_eq!(
            parse(format, &text).unwrap(),
            ctx_format::Parsed::default(),
            "{text}"
        );
    }
}

#[test]
fn a_late_piece_is_not_written_and_reported() {
    let chunk = Chunk::new("a", "x", Relevance::ONE);
    let formatter = formatter(Format::Xml, &FormatOptions::default()).unwrap();
    let mut text = String::new();
    let mut writer = DocumentWriter::new(&*formatter, &mut text);
    writer.group(Some(Group::Category(Category::Other)));
    writer.block(&Block::full(&chunk));
    writer.notice(&documents::NOTICE);
    writer.block(&Block::full(&chunk));
    writer.header(Some("late"));
    let result = writer.finish(None);
    assert_eq!(result, Err(FormatError::TooLate { piece: "block" }));
    assert_eq!(parse(Format::Xml, &text).unwrap().blocks.len(), 1);
}

#[test]
fn a_group_without_blocks_is_not_written() {
    let chunk = Chunk::new("a", "x", Relevance::ONE);
    for format in Format::ALL {
        let formatter = formatter(format, &FormatOptions::default()).unwrap();
        let mut text = String::new();
        let mut writer = DocumentWriter::new(&*formatter, &mut text);
        writer.group(Some(Group::Category(Category::Code)));
        writer.group(Some(Group::Category(Category::Other)));
        writer.block(&Block::full(&chunk));
        writer.group(Some(Group::Category(Category::Documentation)));
        writer.finish(None).unwrap();
        assert!(!text.contains("Relevant Code"), "{text}");
        assert!(!text.contains("Related Documentation"), "{text}");
    }
}

#[test]
fn whatever_group_is_chosen_no_block_loses_its_file() {
    let of = |id: &str, path: Option<&str>| {
        let chunk = Chunk::new(id, id, Relevance::ONE);
        match path {
            Some(path) => chunk.with_path(path),
            None => chunk,
        }
    };
    let chunks = [
        of("1", Some("a.rs")),
        of("2", Some("b.rs")),
        of("3", Some("b.rs")),
        of("4", None),
        of("5", Some("a.rs")),
    ];
    let groups = [
        None,
        Some(Group::File("a.rs")),
        Some(Group::File("b.rs")),
        Some(Group::Category(Category::Code)),
    ];
    for format in Format::ALL {
        let formatter = formatter(format, &FormatOptions::default()).unwrap();
        for number in 0..groups.len().pow(5) {
            let mut text = String::new();
            let mut writer = DocumentWriter::new(&*formatter, &mut text);
            let mut rest = number;
            for chunk in &chunks {
                writer.group(groups[rest % groups.len()]);
                rest /= groups.len();
                writer.block(&Block::full(chunk));
            }
            writer.finish(None).unwrap();
            let parsed = parse(format, &text).unwrap();
            let titles = parsed.blocks.iter().map(|it| it.title.as_deref());
            let titles: Vec<_> = titles.collect();
            let expected = ["a.rs", "b.rs", "b.rs", "4", "a.rs"].map(Some);
            assert_eq!(titles, expected, "{text}");
        }
    }
}

#[test]
fn however_formatter_and_document_group_each_block_shows_its_file_once() {
    let of = |path: &str, kind: ChunkKind| {
        let chunk = Chunk::new("x", "x", Relevance::ONE);
        chunk.with_path(path).with_kind(kind)
    };
    let chunks = [
        of("a.rs", ChunkKind::Function),
        of("b.md", ChunkKind::Section),
        of("c.rs", ChunkKind::Class),
        of("c.rs", ChunkKind::Function),
        Chunk::new("d", "x", Relevance::ONE),
        of("a.rs", ChunkKind::Class),
    ];
    let titles = ["a.rs", "b.md", "c.rs", "c.rs", "d", "a.rs"];
    let groupings = [GroupBy::None, GroupBy::File, GroupBy::Kind];
    for format in Format::ALL {
        for number in 0..groupings.len().pow(2) {
            let (own, of_document) = (groupings[number / 3], groupings[number % 3]);
            let what = format!("{format} by {own}, and the document by {of_document}");
            let options = FormatOptions::default().with_group_by(own);
            let formatter = formatter(format, &options).unwrap();
            let mut text = String::new();
            let mut writer = DocumentWriter::new(&*formatter, &mut text);
            writer.group_by(of_document);
            for chunk in &chunks {
                writer.block(&Block::full(chunk));
            }
            writer.finish(None).unwrap();
            let parsed = parse(format, &text).unwrap();
            let parsed = parsed.blocks.iter().map(|it| it.title.as_deref());
            assert_eq!(
                parsed.collect::<Vec<_>>(),
                titles.map(Some),
                "{what}: {text}"
            );
            // One heading is enough for both of one file if both grouped by it.
            let is_hoisted =
                format == Format::Markdown && (own, of_document) == (GroupBy::File, GroupBy::File);
            let of_c = if is_hoisted { 1 } else { 2 };
            for (path, count) in [("a.rs", 2), ("b.md", 1), ("c.rs", of_c)] {
                assert_eq!(text.matches(path).count(), count, "{what}: {text}");
            }
        }
    }
}

#[test]
fn a_heading_of_a_file_stands_once_where_the_group_has_it() {
    let chunk = Chunk::new("a", "x", Relevance::ONE).with_path("a.rs");
    let formatter = formatter(Format::Markdown, &FormatOptions::default()).unwrap();
    let text_of = |groups: &[Option<Group<'_>>]| {
        let mut text = String::new();
        let mut writer = DocumentWriter::new(&*formatter, &mut text);
        for group in groups {
            writer.group(*group);
            writer.block(&Block::full(&chunk));
        }
        writer.finish(None).unwrap();
        text
    };
    let file = Some(Group::File("a.rs"));
    assert_eq!(text_of(&[file, file]).matches("### a.rs").count(), 1);
    assert_eq!(text_of(&[file, None]).matches("### a.rs").count(), 2);
}
