//! The caller's own text: what is refused, and that accepted text does not swallow the text after
//! it.

use ctx_format::{
    Block, DocumentWriter, FormatError, FormatOptions, OwnText, check_text, formatter,
};
use ctx_model::{Chunk, Format, Relevance};
use ctx_testkit::generate;
use ctx_testkit::laws::well_formed;
use proptest::prelude::*;

/// The code blocks that a CommonMark parser sees in a document of two blocks with these texts, less
/// those that the texts themselves hold.
fn blocks_seen(header: &str, separator: &str, footer: &str) -> Option<usize> {
    for (part, text) in [(OwnText::Header, header), (OwnText::Footer, footer)] {
        check_text(Format::Markdown, part, text).ok()?;
    }
    let options = FormatOptions::default().with_separator(Some(separator.to_owned()));
    let formatter = formatter(Format::Markdown, &options).ok()?;
    let chunk = Chunk::new("a", "this is the body", Relevance::ONE);
    let mut text = String::new();
    let mut writer = DocumentWriter::new(&*formatter, &mut text);
    writer.header(Some(header));
    writer.block(&Block::full(&chunk));
    writer.block(&Block::full(&chunk));
    writer.finish(Some(footer)).unwrap();
    let outline = well_formed::outline(&text);
    let ours = |code: &&(String, String)| code.1 == "this is the body\n";
    Some(outline.code.iter().filter(ours).count())
}

fn own_text() -> impl Strategy<Value = String> {
    let lines = [
        "```",
        "````rust",
        "~~~",
        "```` `",
        "    ```",
        "  ```",
        "- ```",
        "  text",
        "- item",
        "1. ```",
        "   ```",
        "2. item",
        "> ```",
        ">",
        "<!--",
        "-->",
        "<!-- a -->",
        "<div>",
        "</div>",
        "<script>",
        "</script>",
        "<pre",
        "<?",
        "?>",
        "<!A",
        "<![CDATA[",
        "]]>",
        "<a>",
        "<b",
        "text",
        "",
        "***",
        "- - -",
        "-",
        "-   ",
        "*\ta",
        "\t```",
        "===",
        "[a]: b",
        "# head",
        "a | b",
        "--|--",
        "<hr>",
        " <div>",
        "\\```",
        "`` ` ``",
        "&",
        "+     code",
        "10) ```",
        "<textarea>",
        "<x-y z='",
        "<!-->",
    ];
    let line = prop_oneof![
        8 => proptest::sample::select(lines.map(str::to_owned).to_vec()),
        1 => generate::hostile_text(),
    ];
    proptest::collection::vec(line, 0..7).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases * 4, ..ProptestConfig::default() })]
    #[test]
    fn accepted_headers_and_separators_swallow_no_block(
        header in own_text(),
        separator in own_text(),
        footer in own_text(),
    ) {
        for [header, separator, footer] in
            [[&*header, "\n", ""], ["", &separator, ""], ["", "\n", &footer], [&header, &separator, &footer]]
        {
            if let Some(seen) = blocks_seen(header, separator, footer) {
                prop_assert!(seen >= 2, "{:?}", [header, separator, footer]);
            }
        }
    }
}

#[track_caller]
fn refused(part: OwnText, text: &str, line_number: usize, construct: &str) {
    match check_text(Format::Markdown, part, text) {
        Err(FormatError::LeavesOpen {
            part: p,
            line_number: n,
            construct: c,
        }) => {
            assert_eq!((p, n), (part, line_number), "{text:?}");
            assert!(c.contains(construct), "{c:?}");
        }
        other => panic!("{text:?}: {other:?}"),
    }
}

#[track_caller]
fn accepted(text: &str) {
    for part in OwnText::ALL {
        assert_eq!(
            check_text(Format::Markdown, *part, text),
            Ok(()),
            "{text:?}"
        );
    }
}

#[test]
fn unclosed_markup_is_refused_with_its_line() {
    refused(OwnText::Header, "Use this:\n\n```rust\nfn a()", 3, "fence");
    refused(OwnText::Header, "~~~~\n~~~", 1, "fence");
    refused(OwnText::Footer, "a\n<!-- never closed\n\nb", 2, "comment");
    refused(OwnText::Header, "<script>\n\n", 1, "HTML");
    refused(OwnText::Separator, "\n<hr>\n", 2, "blank line");
    refused(OwnText::Separator, "```", 1, "fence");
    refused(OwnText::Header, "- - -\n <div>\n\n<!--", 4, "comment");
    refused(OwnText::Footer, "```\n```\t ", 2, "fence");
    refused(OwnText::Footer, "<b\n- item\n\n  ```\n```", 4, "fence");
    refused(OwnText::Footer, "2. item\nthe\n   ```\n  ```", 3, "fence");
    refused(OwnText::Header, "2. item\n\t```\n   ```\n  ```", 4, "fence");
}

#[test]
fn closed_markup_is_accepted() {
    accepted("");
    accepted("# Title\n\nSome *text* with `code` and <https://example.com>.\n");
    accepted("```rust\nfn a() {}\n```\n");
    accepted("````\n```\n````");
    accepted("a ``` b");
    accepted("``` is `code` ```");
    accepted("<!-- a comment -->\n");
    accepted("\n<hr>\n\n");
    accepted("- item\n  ```\n  code\n  ```\n- next");
    accepted("> ```\n> code");
    accepted("\n---\n");
    assert_eq!(
        check_text(Format::Markdown, OwnText::Header, "<hr>"),
        Ok(())
    );
}

#[test]
fn other_formats_take_any_text_but_json_any_separator() {
    for format in [Format::Xml, Format::Json, Format::Plain] {
        assert_eq!(check_text(format, OwnText::Header, "```\n<!--"), Ok(()));
    }
    let with = |separator: &str| {
        let options = FormatOptions::default().with_separator(Some(separator.to_owned()));
        formatter(Format::Json, &options).map(|_| ())
    };
    assert_eq!(with(" \n"), Ok(()));
    let error = with("\n---\n").unwrap_err();
    assert!(error.to_string().contains("chunkSeparator"), "{error}");
}
