//! Reading back text that no formatter wrote: an error or a document, never a panic.

use ctx_format::parse;
use ctx_model::Format;
use ctx_testkit::generate;
use ctx_testkit::laws::documents::{self, is_bounded};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Lines and tags that documents are made of, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let pieces = [
        "<context>\n",
        "</context>\n",
        "<section name=\"Relevant Code\">",
        "</section>",
        "<sources>",
        "</sources>",
        "<source>",
        "</source>",
        "<code-context file=\"a\" lines=\"1-2\">",
        "</code-context>",
        "<code-context lines=\"2-1\"/>",
        "<notice>Left out: 1 of 2 chunks.</notice>",
        "<![CDATA[",
        "]]>",
        "&lt;",
        "&#13;",
        "&#xffffffff;",
        "&none;",
        "{\"chunks\":[",
        "{\"content\":\"\"}",
        ",",
        "]}",
        "{\"content\":\"\",\"startLine\":0,\"endLine\":0}",
        "### a\n",
        "## Relevant Code\n",
        "```\n",
        "````text\n",
        "Lines 1-2\n",
        "Lines 0-0\n",
        "Relevance: 300%\n",
        "\n",
        "Imports: \"a\n",
        "Imports: ; ; \n",
        "Relations: \"a\\\n",
        "Relations: a\n",
        "{\"id\":1}\n",
        "**Sources:**\n",
        "- a\n",
        "- \"\n",
        "---\n",
        "> Left out: 99999999999999999999 of 1 chunks.\n",
        "Left out: 1 of 2 chunks.\n",
        "Sources:\n",
        "File: \"a\n",
        "File: a (lines 1-2)\n",
        "----------------------------------------\n",
        "=== Other Context ===\n",
    ];
    vec(
        prop_oneof![4 => select(pieces.map(str::to_owned).to_vec()), 1 => generate::hostile_text()],
        0..24,
    )
    .prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn pieces_in_any_order_are_read_or_refused(text in pieces()) {
        is_bounded(&text);
    }

    #[test]
    fn any_string_is_read_or_refused(text in any::<String>()) {
        is_bounded(&text);
    }

    /// A document with something cut out of it, or put into it.
    #[test]
    fn damaged_documents_are_read_or_refused(
        options in generate::options(),
        chunks in generate::chunks(1..3),
        cut in any::<(prop::sample::Index, prop::sample::Index)>(),
        patch in generate::hostile_text(),
    ) {
        let Some(formatter) = documents::formatter_of(&options) else { return Ok(()) };
        let text = documents::document(&*formatter, &options, &chunks);
        let boundary = |index: prop::sample::Index| {
            let at = index.index(text.len() + 1);
            (at..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap()
        };
        let (a, b) = (boundary(cut.0), boundary(cut.1));
        is_bounded(&format!("{}{patch}{}", &text[..a.min(b)], &text[a.max(b)..]));
    }
}

#[test]
fn deep_nesting_is_refused() {
    for (format, open) in [
        (Format::Json, "["),
        (Format::Json, "{\"chunks\":["),
        (Format::Json, "{\"a\":"),
        (Format::Xml, "<context>"),
        (Format::Xml, "<context><section name=\"Relevant Code\">"),
        (Format::Xml, "<a>"),
    ] {
        assert!(parse(format, &open.repeat(100_000)).is_err(), "{open}");
    }
    let deep_field = format!("{}\n", "{\"id\":".repeat(100_000));
    assert!(
        parse(Format::Markdown, &deep_field)
            .unwrap()
            .blocks
            .is_empty()
    );
}

#[test]
fn unclosed_blocks_are_named() {
    let error = parse(Format::Markdown, "### a\n\n```rust\nfn a() {}\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the block that opens on line 3 is never closed"
    );
    let error = parse(Format::Xml, "<context><code-context>").unwrap_err();
    assert_eq!(
        error.to_string(),
        "found the end where text was expected at byte 23"
    );
    assert!(parse(Format::Xml, "<context></context><context></context>").is_err());
    assert!(parse(Format::Xml, "").is_err() && parse(Format::Json, "").is_err());
    assert!(parse(Format::Json, "{\"chunks\":[],\"more\":1}").is_err());
}
