//! Formatters of a caller's own.

use std::fmt::Write as _;
use std::sync::Arc;

use ctx_format::{Block, DocumentWriter, Formatter, Group, Notice, Slot, neutralise};
use ctx_model::{Chunk, Format, GroupBy, Relevance};
use ctx_testkit::laws;

/// Writes blocks, and leaves the rest to the trait.
#[derive(Debug)]
struct Bars;

impl Formatter for Bars {
    fn block(&self, block: &Block<'_>, out: &mut String) {
        for line in neutralise(block.body, Slot::Text).lines() {
            out.extend(["| ", line, "\n"]);
        }
    }
}

#[test]
fn one_method_makes_a_formatter() {
    laws::formatter(&Bars);
    let chunk = Chunk::new("a", "one\ntwo", Relevance::ONE).with_path("- a.md");
    let block = Block::full(&chunk);
    let mut text = String::new();
    let mut document = DocumentWriter::new(&Bars, &mut text);
    document.group_by(GroupBy::File);
    document.header(Some("Head"));
    document.block(&block);
    document.sources(&mut [block].into_iter());
    document.notice(&Notice {
        omitted: 3,
        total: 4,
    });
    document.finish(Some("Foot")).unwrap();
    assert_eq!(
        text,
        "Head\n\n| one\n| two\nSources:\n- \"- a.md\"\nLeft out: 3 of 4 chunks.\nFoot\n"
    );
    let mut fragment = String::new();
    Bars.fragment(&block, &mut fragment);
    assert_eq!(fragment, "| one\n| two\n");
}

/// Writes the name of each piece.
#[derive(Debug)]
struct Names;

impl Formatter for Names {
    fn format(&self) -> Format {
        Format::Xml
    }

    fn group_of<'b>(&self, block: &Block<'b>) -> Option<Group<'b>> {
        block.path.map(Group::File)
    }

    fn fragment(&self, _: &Block<'_>, out: &mut String) {
        out.push_str("fragment ");
    }

    fn open(&self, _: Option<&str>, out: &mut String) {
        out.push_str("open ");
    }

    fn open_group(&self, _: &Group<'_>, out: &mut String) {
        out.push_str("open_group ");
    }

    fn block(&self, _: &Block<'_>, out: &mut String) {
        out.push_str("block ");
    }

    fn separator(&self, out: &mut String) {
        out.push_str("separator ");
    }

    fn close_group(&self, _: &Group<'_>, out: &mut String) {
        out.push_str("close_group ");
    }

    fn close_chunks(&self, out: &mut String) {
        out.push_str("close_chunks ");
    }

    fn open_sources(&self, out: &mut String) {
        out.push_str("open_sources ");
    }

    fn source(&self, _: &Block<'_>, out: &mut String) {
        out.push_str("source ");
    }

    fn source_separator(&self, out: &mut String) {
        out.push_str("source_separator ");
    }

    fn close_sources(&self, out: &mut String) {
        out.push_str("close_sources ");
    }

    fn notice(&self, notice: &Notice, out: &mut String) {
        let _ = write!(out, "notice of {} ", notice.total);
    }

    fn close(&self, _: Option<&str>, out: &mut String) {
        out.push_str("close");
    }

    fn joins_safely(&self, _: Option<&str>) -> bool {
        true
    }
}

#[test]
fn pointers_write_as_what_they_point_to() {
    says_its_names(&Names);
    says_its_names(&&Names);
    says_its_names(&Box::new(Names));
    says_its_names(&Arc::new(Names));
}

#[track_caller]
fn says_its_names<F: Formatter>(formatter: &F) {
    let chunk = Chunk::new("a", "one", Relevance::ONE).with_path("a.md");
    let block = Block::full(&chunk);
    let mut text = String::new();
    formatter.fragment(&block, &mut text);
    let mut document = DocumentWriter::new(formatter, &mut text);
    document.block(&block);
    document.block(&block);
    document.sources(&mut [block, block].into_iter());
    document.notice(&Notice {
        omitted: 3,
        total: 4,
    });
    document.finish(None).unwrap();
    assert_eq!(
        text,
        "fragment open open_group block separator block close_group close_chunks open_sources \
         source source_separator source close_sources notice of 4 close"
    );
    assert_eq!(formatter.format(), Format::Xml);
    assert!(formatter.joins_safely(None));
}
