//! Prices add up: every piece joins its neighbours without changing the number of tokens.

use ctx_format::{FormatOptions, Formatter, formatter, joins_safely};
use ctx_model::{Format, GroupBy};
use ctx_testkit::{generate, laws};
use proptest::prelude::*;

fn every_kind_of_options() -> [FormatOptions; 3] {
    let plain = FormatOptions::default();
    let rich = plain
        .clone()
        .with_group_by(GroupBy::None)
        .with_scores(true)
        .with_imports(true)
        .with_relations(true)
        .with_metadata(true);
    let bare = plain
        .clone()
        .with_group_by(GroupBy::Kind)
        .with_file_headers(false)
        .with_line_numbers(false);
    [plain, rich, bare]
}

#[test]
fn every_formatter_keeps_the_law() {
    for options in every_kind_of_options() {
        for format in Format::ALL {
            let formatter = formatter(format, &options).unwrap();
            laws::format::formatter(&*formatter);
        }
    }
}

#[test]
fn a_piece_that_begins_with_an_end_of_line_does_not_join_safely() {
    for piece in ["", "a\n", "  a\n", "\ta\r\n"] {
        assert!(joins_safely(piece), "{piece:?}");
    }
    for piece in ["a", "\na\n", "\ra\n", " \r a\n", "/a\n", " \n"] {
        assert!(!joins_safely(piece), "{piece:?}");
    }
}

#[track_caller]
fn cuts(format: Format, separator: &str, tail: &str, piece: &str) {
    let options = FormatOptions::default().with_separator(Some(separator.to_owned()));
    let formatter = formatter(format, &options).unwrap();
    let mut written = String::new();
    formatter.separator(&mut written);
    assert_eq!(written, piece, "the piece of {separator:?}");
    let chunk = ctx_model::Chunk::new("a", "x", ctx_model::Relevance::ONE);
    written.clear();
    formatter.block(&ctx_format::Block::full(&chunk), &mut written);
    assert!(written.ends_with(tail), "{written:?} after {separator:?}");
}

#[test]
fn a_separator_is_cut_after_its_first_newlines() {
    cuts(Format::Markdown, "", "\n```\n", "");
    cuts(Format::Markdown, "\n", "\n```\n\n", "");
    cuts(Format::Markdown, "\n---\n", "\n```\n\n", "---\n");
    cuts(Format::Markdown, "---", "\n```\n", "---\n");
    cuts(
        Format::Markdown,
        "\r\n \n  next",
        "\n```\n\r\n \n",
        "  next\n",
    );
    cuts(Format::Markdown, "\n   ", "\n```\n\n", "");
    cuts(Format::Xml, "", "</code-context>\n", "");
    cuts(
        Format::Xml,
        "\n<next/>",
        "</code-context>\n",
        "&lt;next/&gt;\n",
    );
    cuts(Format::Json, " \n ", "}\n", ",\n");
    cuts(Format::Plain, "\n\n***", "---\n\n\n", "***\n");
}

#[test]
fn a_slash_is_told() {
    for format in [Format::Markdown, Format::Xml, Format::Plain] {
        let options = FormatOptions::default().with_separator(Some("\n/\n".to_owned()));
        assert!(!formatter(format, &options).unwrap().joins_safely(None));
    }
    let formatter = formatter(Format::Markdown, &FormatOptions::default()).unwrap();
    assert!(formatter.joins_safely(Some("footer")));
    assert!(!formatter.joins_safely(Some("\n/footer")));
    assert!(joins_safely("") && joins_safely("a\n") && joins_safely(" a\n"));
    assert!(!joins_safely("a") && !joins_safely(" \na\n") && !joins_safely("/\n"));
}

proptest! {
    #[test]
    fn every_separator_and_footer_joins_safely_or_is_told(
        options in generate::options(),
        separator in generate::hostile_text(),
        footer in generate::hostile_text(),
    ) {
        let options = FormatOptions::from(&options).with_separator(Some(separator));
        for format in Format::ALL {
            let Ok(formatter) = formatter(format, &options) else { continue };
            let mut pieces = [String::new(), String::new()];
            formatter.separator(&mut pieces[0]);
            formatter.close(Some(&footer), &mut pieces[1]);
            let is_safe = pieces.iter().all(|piece| joins_safely(piece));
            prop_assert_eq!(formatter.joins_safely(Some(&footer)), is_safe);
            // Nothing but a slash is ever the reason.
            prop_assert!(is_safe || pieces.iter().any(|piece| piece.starts_with('/')));
        }
    }
}
