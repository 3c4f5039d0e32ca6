//! Documents are well-formed, by parsers that are independent of this crate.

use ctx_format::{Block, FormatOptions, formatter};
use ctx_model::{BuildOptions, Chunk, Format, Relevance, XmlContent};
use ctx_testkit::laws::{documents, well_formed};
use ctx_testkit::{few, generate};
use proptest::prelude::*;

proptest! {
    #[test]
    fn markdown_blocks_are_code_blocks(options in generate::options(), chunks in generate::chunks(0..4)) {
        well_formed::document(&options.with_format(Format::Markdown), &chunks);
    }

    #[test]
    fn xml_is_a_document(options in generate::options(), chunks in generate::chunks(0..4)) {
        well_formed::document(&options.with_format(Format::Xml), &chunks);
    }

    #[test]
    fn json_is_a_value(options in generate::options(), chunks in generate::chunks(0..4)) {
        well_formed::document(&options.with_format(Format::Json), &chunks);
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
        let cdata = BuildOptions::default()
            .with_format(Format::Xml)
            .with_xml_content(XmlContent::Cdata);
        well_formed::document(&cdata, chunks);
        for format in Format::ALL {
            let options = BuildOptions::default().with_format(format);
            well_formed::document(&options, chunks);
            documents::reads_back(&options, chunks);
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
