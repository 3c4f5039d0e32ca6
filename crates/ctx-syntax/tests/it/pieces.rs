//! Files cut into the parts that an index finds.

use ctx_model::LineSpan;
use ctx_syntax::{Language, Limits, Outline, Symbol, lines, pieces};
use ctx_testkit::laws::linear;
use proptest::prelude::*;

#[test]
fn every_line_that_says_something_is_in_one_piece() {
    let text = "use a;\n\n/// Adds.\nfn add(a: i32) -> i32 {\n    a\n}\n\nconst X: i32 = 1;\n";
    let outline = Outline::of(text, Language::of("a.rs", text), &Limits::default());
    let lines = lines(text);
    let pieces = pieces(&lines, &outline);
    for (row, line) in lines.iter().enumerate() {
        let number = u32::try_from(row).unwrap() + 1;
        let holders = pieces.iter().filter(|it| it.span.contains_line(number));
        assert_eq!(holders.count(), usize::from(!line.is_empty()), "{line:?}");
    }
}

#[test]
#[cfg(feature = "rust")]
fn a_very_long_table_is_cut_into_runs_that_bear_its_name() {
    let table = |count: usize| {
        format!(
            "const TOPICS: &[&str] = &[\n{}];\n",
            "    \"a\",\n".repeat(count)
        )
    };
    for (count, parts) in [(20, 1), (148, 1), (149, 4)] {
        let text = table(count);
        let outline = Outline::of(&text, Language::of("a.rs", &text), &Limits::default());
        let pieces = pieces(&lines(&text), &outline);
        assert_eq!(pieces.len(), parts, "{count}");
        for (number, piece) in pieces.iter().enumerate() {
            assert_eq!(piece.qualified_name.as_deref(), Some("TOPICS"));
            assert_eq!(piece.name.is_some(), number == 0);
            assert_eq!(piece.kind.as_str(), "constant");
        }
        let last = pieces.last().unwrap().span.end() as usize;
        assert_eq!(last, count + 2);
    }
}

#[test]
#[cfg(feature = "rust")]
fn a_function_is_a_piece_whose_texts_are_its_lines() {
    let text = "/// Adds.\nfn add(a: i32) -> i32 {\n    other(a)\n}\n";
    let outline = Outline::of(text, Language::of("a.rs", text), &Limits::default());
    let lines = lines(text);
    let [piece] = &pieces(&lines, &outline)[..] else {
        panic!("there is one function");
    };
    assert_eq!(
        (piece.kind.as_str(), piece.name.as_deref()),
        ("function", Some("add"))
    );
    assert_eq!(piece.refers_to, ["other"]);
    let [signature, doc, body] = piece.texts(&lines);
    assert_eq!(signature, "fn add(a: i32) -> i32 {\n");
    assert_eq!(doc, "/// Adds.\n");
    assert_eq!(body, "    other(a)\n}\n");
}

#[test]
#[cfg(feature = "python")]
fn comments_and_decorators_above_a_definition_are_of_its_part_beside_its_docstring() {
    let text = "from web import app\n\n\n# A route.\n@app.get(\"/avatar\")\n@login_required\ndef show(id):\n    \"\"\"Show one.\"\"\"\n    return id\n";
    let outline = Outline::of(text, Language::of("a.py", text), &Limits::default());
    let [show] = &outline.symbols[..] else {
        panic!("there is one function");
    };
    assert_eq!(show.span.to_string(), "7-9");
    assert_eq!(show.span_with_doc().to_string(), "4-9");
    assert_eq!(show.doc.map(|it| it.to_string()).as_deref(), Some("8-8"));
    assert_eq!(show.lead.map(|it| it.to_string()).as_deref(), Some("4-6"));
    let lines = lines(text);
    let [imports, piece] = &pieces(&lines, &outline)[..] else {
        panic!("there are two parts");
    };
    assert_eq!(imports.span.to_string(), "1-1");
    assert_eq!(piece.span.to_string(), "4-9");
    let [signature, doc, body] = piece.texts(&lines);
    assert_eq!(signature, "def show(id):\n");
    assert_eq!(
        doc,
        "# A route.\n@app.get(\"/avatar\")\n@login_required\n    \"\"\"Show one.\"\"\"\n"
    );
    assert_eq!(body, "    return id\n");
    // Classes and methods are no other.
    let text = "@dataclass(frozen=True)\nclass Point:\n    \"\"\"A point.\"\"\"\n\n    @property\n    def x(self):\n        \"\"\"Its x.\"\"\"\n        return 1\n";
    let outline = Outline::of(text, Language::of("a.py", text), &Limits::default());
    let spans = outline.symbols.iter().map(Symbol::span_with_doc);
    let spans: Vec<String> = spans.map(|it| it.to_string()).collect();
    assert_eq!(spans, ["1-8", "5-8"]);
}

#[test]
fn attributes_and_decorators_are_no_part_of_their_own() {
    // A run that ends at the blank line behind it.
    let long = "x = 1\n".repeat(59);
    for attributes in [
        "@property\n",
        "#[test]\n#[cfg(feature = \"a\")]\n",
        "#![no_std]\n",
        "@app.get(\n  \"/\",\n)\n",
        "@a  # why\n",
    ] {
        let count = u32::try_from(attributes.lines().count()).unwrap();
        let last = spans(&format!("{long}\n{attributes}"));
        assert_eq!(last, [(1, 60 + count)], "{attributes}");
        // Where they are all there is, they are one.
        assert_eq!(spans(attributes), [(1, count)], "{attributes}");
    }
    for others in ["@media (a) {\n", "@import url(a)\n", "@a = 1\n", "[a]\n"] {
        assert_eq!(
            spans(&format!("{long}\n{others}")).last(),
            Some(&(61, 61)),
            "{others}"
        );
    }
}

#[test]
#[cfg(all(feature = "php", feature = "html"))]
fn what_only_tells_the_form_of_a_file_is_no_part_of_its_own() {
    let class = "class Kernel\n{\n    public function run()\n    {\n        return 1;\n    }\n}\n";
    let head = "<?php\n\nnamespace App\\Http;\n\nuse App\\Base;\n\n";
    let text = format!("{head}{class}");
    let outline = Outline::of(&text, Language::of("a.php", &text), &Limits::default());
    let pieces = pieces(&lines(&text), &outline);
    let found: Vec<_> = pieces
        .iter()
        .map(|it| (it.span.to_string(), it.name.as_deref(), it.defines.concat()))
        .collect();
    let expected = [
        ("1-5".to_owned(), None, "App\\Http".to_owned()),
        ("7-13".to_owned(), Some("Kernel"), "run".to_owned()),
    ];
    assert_eq!(found, expected);

    let text = "<!DOCTYPE html>\n\n<html>\n<body>\n<p>One</p>\n</body>\n</html>\n";
    assert_eq!(parts("a.html", text), [(1, 7)]);
    let text = format!("<?xml version=\"1.0\"?>\n<!doctype html>\n{}", &text[16..]);
    assert_eq!(parts("a.html", &text), [(1, 8)]);
    assert_eq!(parts("b.html", "<!DOCTYPE html>\n"), [(1, 1)]);
}

#[test]
fn a_comment_above_a_row_documents_its_first_definition() {
    let text = "/** A. */\nfunction a() { return 1 } function b() { return 2 }\n/** C. */\nclass C { d() {} e() {} }\n";
    let outline = Outline::of(text, Language::of("a.js", text), &Limits::default());
    let symbols = outline.symbols.iter();
    let docs = symbols.map(|it| (it.name.as_str(), it.doc.map(LineSpan::start)));
    let docs: Vec<(&str, Option<u32>)> = docs.collect();
    let expected = [
        ("a", Some(1)),
        ("b", None),
        ("C", Some(3)),
        ("d", Some(3)),
        ("e", None),
    ];
    assert_eq!(docs, expected);
}

#[test]
fn files_are_cut_in_linear_time() {
    type Text = fn(usize) -> String;
    let texts: [(&str, &str, Text); 4] = [
        ("sections", "a.md", |n| "# a\n".repeat(n)),
        ("functions", "a.py", |n| "def a():1\n".repeat(n)),
        ("functions on a row with comments above", "a.js", |n| {
            format!("{}{}", "//\n".repeat(n), "function a(){}".repeat(n))
        }),
        ("functions beside comments", "a.js", |n| {
            "/**/function a(){}\n".repeat(n)
        }),
    ];
    for (what, path, text) in texts {
        let limits = Limits::default();
        let parsed = |n: usize| {
            let text = text(n.min(limits.bytes / 20));
            let outline = Outline::of(&text, Language::of(path, &text), &limits);
            assert_eq!(outline.fallback, None, "{what}");
            (text, outline)
        };
        linear(what, parsed, |(text, outline)| {
            pieces(&lines(text), outline)
        });
    }
}

#[test]
fn prose_with_a_paragraph_on_a_line_is_cut_by_its_length() {
    let paragraph = "word ".repeat(150);
    let text = format!("{paragraph}\n").repeat(9);
    let spans = spans(&text);
    assert_eq!(spans, [(1, 3), (4, 6), (7, 9)]);
    let one = "word ".repeat(1_000);
    assert_eq!(self::spans(&format!("{one}\n{one}\n")), [(1, 1), (2, 2)]);
}

#[test]
fn long_runs_end_at_a_blank_line_where_they_can() {
    let paragraph = format!("{}\n", "word ".repeat(90)).repeat(3);
    let text = format!("{paragraph}\n").repeat(3);
    assert_eq!(spans(&text), [(1, 7), (9, 11)]);
}

#[test]
fn the_closing_bracket_of_a_table_belongs_to_it() {
    assert_eq!(spans("a = [\n  1,\n]\n\n\n"), [(1, 3)]);
    assert_eq!(spans("\n}\n\na = 1\n;\n"), [(4, 5)]);
}

proptest! {
    #[test]
    fn parts_share_no_line_have_all_that_says_something_and_are_not_attributes_alone(
        rows in prop::collection::vec(prop_oneof![
            Just("@property"), Just("    @a.b(1)"), Just("#[test]"), Just("@a("), Just(")"),
            Just("def f():"), Just("    \"\"\"Says.\"\"\""), Just("    return 1"), Just("class C:"),
            Just("# a comment"), Just("x = 1"), Just(""), Just("\"\"\""),
            Just("## A heading"), Just("#"), Just("/*"), Just(" * "), Just("*/"), Just("# ```"), Just("======="), Just("// # it"),
        ], 0..90),
        path in prop_oneof![Just("a.py"), Just("a.rs"), Just("a.txt")],
    ) {
        let text = rows.join("\n");
        let outline = Outline::of(&text, Language::of(path, &text), &Limits::default());
        let lines = lines(&text);
        let pieces = pieces(&lines, &outline);
        let mut next = 1;
        for piece in &pieces {
            for number in next..piece.span.start() {
                let line = lines[number as usize - 1];
                prop_assert!(!line.contains(char::is_alphanumeric), "{}: {}", number, line);
            }
            prop_assert!(next <= piece.span.start());
            next = piece.span.end() + 1;
            let mut own = piece.span.start()..=piece.span.end();
            let is_attribute = |number: u32| {
                let line = lines[number as usize - 1].trim();
                line.is_empty() || ["@property", "@a.b(1)", "#[test]"].contains(&line)
            };
            prop_assert!(pieces.len() == 1 || !own.all(is_attribute), "{:?}", piece.span);
        }
        for line in lines.iter().skip(next as usize - 1) {
            prop_assert!(!line.contains(char::is_alphanumeric), "{}", line);
        }
    }
}

#[test]
fn documentation_in_comments_is_cut_before_its_headings() {
    // Six sections of 17 lines, each with an example.
    let section = |mark: &str, head: &str| {
        let lines = [
            head,
            "",
            "What it says of it.",
            "",
            "```rust",
            "let a = 1;",
            "",
            "# let b = 2;",
            "```",
        ];
        let more = [
            "",
            "And more of it.",
            "",
            "All of it.",
            "",
            "To its end.",
            "",
            "So it is.",
        ];
        let lines = lines.iter().chain(&more);
        let lines = lines.map(|it| [mark, it, "\n"].concat());
        lines.collect::<String>()
    };
    for (mark, head) in [
        ("//! ", "# Sharing state"),
        ("/// ", "## Sharing state"),
        ("// ", "= Sharing state"),
        ("-- ", "# Sharing state"),
    ] {
        let text = section(mark, head).repeat(6);
        let expected: Vec<(u32, u32)> = (0..6).map(|n| (n * 17 + 1, n * 17 + 17)).collect();
        assert_eq!(spans(&text), expected, "{mark}{head}");
    }
    // Within a comment of several lines, with and without a mark on each.
    for (mark, head) in [(" * ", "# Sharing state"), ("", "# Sharing state")] {
        let text = format!("/*\n{}*/\n", section(mark, head).repeat(4));
        let begun: Vec<u32> = spans(&text).iter().map(|it| it.0).collect();
        let expected: Vec<u32> = (0..4)
            .map(|n| if n == 0 { 1 } else { n * 17 + 2 })
            .collect();
        assert_eq!(begun, expected, "{mark}{head}");
    }
}

#[test]
fn the_heading_of_a_string_that_documents_begins_a_part() {
    let section = |n: usize| format!("State {n}\n=======\n\n{}", "It says so.\n\n".repeat(10));
    let text = format!("\"\"\"A module.\n\n{}{}\"\"\"\n", section(1), section(2));
    let begun: Vec<u32> = spans(&text).iter().map(|it| it.0).collect();
    assert_eq!(begun, [1, 26]);
}

#[test]
fn runs_of_comments_end_at_their_empty_lines_outside_of_code() {
    for mark in ["//!", "///", "//", "#", "--", ";;", "%"] {
        let line = format!("{mark} It says something.\n");
        let text = format!("{}{mark}\n{}", line.repeat(30), line.repeat(50));
        assert_eq!(spans(&text)[0], (1, 30), "{mark}");
        assert_eq!(spans(&text)[1].0, 32, "{mark}");
        // In code only where there is no other.
        let code = format!("{mark} ```\n{line}{mark}\n{line}{mark} ```\n");
        let text = format!(
            "{}{mark}\n{}{code}{}",
            line.repeat(24),
            line.repeat(5),
            line.repeat(50)
        );
        assert_eq!(spans(&text)[0], (1, 24), "{mark}");
        let text = format!("{}{code}{}", line.repeat(30), line.repeat(50));
        assert_eq!(spans(&text)[0], (1, 32), "{mark}");
    }
    // Separators are no such lines, and begin what they stand above.
    let line = "# It says something.\n";
    let banner = "# ---------\n# A banner\n# ---------\n";
    let text = format!("{}#\n{banner}{}", line.repeat(20), line.repeat(50));
    assert_eq!(spans(&text)[..2], [(1, 20), (22, 74)]);
}

/// The lines of each piece of a text without a grammar.
fn spans(text: &str) -> Vec<(u32, u32)> {
    parts("a", text)
}

/// The lines of each part of the file at `path`.
fn parts(path: &str, text: &str) -> Vec<(u32, u32)> {
    let outline = Outline::of(text, Language::of(path, text), &Limits::default());
    let pieces = pieces(&lines(text), &outline);
    let spans = pieces.iter().map(|it| (it.span.start(), it.span.end()));
    spans.collect()
}

#[test]
fn a_run_begins_at_the_line_that_opens_its_comment_or_string() {
    assert_eq!(
        spans("\"\"\"\nrequests.sessions\n~~~\n\"\"\"\n\nimport os\n"),
        [(1, 6)]
    );
    assert_eq!(spans("/*\n * Copyright\n */\nuse a;\n"), [(1, 4)]);
    assert_eq!(spans("}\n{\n  a: 1\n}\n"), [(2, 4)]);
    assert_eq!(spans("*/\na = 1\n"), [(2, 2)]);
}
