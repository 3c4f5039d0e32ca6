//! What each rendition of a span shows.

use ctx_model::{LineSpan, RenditionKind};
use ctx_syntax::{CONTEXT_LINES, Language, Limits, Outline, Source};
use proptest::prelude::*;

const TEXT: &str = "\
//! A file.

/// Adds.
pub fn add(a: i32, b: i32) -> i32 {
    let sum = a + b;
    log(sum);
    check(sum);
    store(sum);
    publish(sum);
    archive(sum);
    sum
}

pub fn one() -> i32 { 1 }
";

#[track_caller]
fn shows(span: (u32, u32), kind: RenditionKind, matches: &[u32], expected: &str) {
    let source = Source::new("a.rs", TEXT, &Limits::default());
    let span = LineSpan::new(span.0, span.1).unwrap();
    assert_eq!(source.render(span, kind, matches).text(), expected);
    crate::is_nested(TEXT, &source, span, matches);
}

#[test]
fn a_function_from_all_of_it_to_its_name() {
    use RenditionKind::{Excerpt, Full, Mention, Signature, Skeleton};
    let lines: Vec<&str> = TEXT.split_inclusive('\n').collect();
    shows((3, 12), Full, &[], &lines[2..12].concat());
    shows(
        (3, 12),
        Skeleton,
        &[],
        "/// Adds.\npub fn add(a: i32, b: i32) -> i32 {\n    // … 7 lines left out\n}\n",
    );
    shows(
        (3, 12),
        Signature,
        &[],
        "/// Adds.\npub fn add(a: i32, b: i32) -> i32 {\n    // … 8 lines left out\n",
    );
    shows(
        (3, 12),
        Mention,
        &[],
        "pub fn add(a: i32, b: i32) -> i32 {\n",
    );
    shows(
        (3, 12),
        Excerpt,
        &[10],
        "/// Adds.\npub fn add(a: i32, b: i32) -> i32 {\n    // … 3 lines left out\n    store(sum);\n    publish(sum);\n    archive(sum);\n    sum\n}\n",
    );
}

#[test]
fn lines_within_a_body_are_found_by_what_they_say() {
    shows(
        (6, 7),
        RenditionKind::Skeleton,
        &[],
        "    log(sum);\n    // … 1 line left out\n",
    );
    shows(
        (6, 7),
        RenditionKind::Excerpt,
        &[7],
        "    log(sum);\n    check(sum);\n",
    );
}

#[test]
fn lines_past_the_end_are_not_shown() {
    shows(
        (14, 99),
        RenditionKind::Full,
        &[],
        "pub fn one() -> i32 { 1 }\n",
    );
    shows((50, 99), RenditionKind::Full, &[], "");
}

#[test]
fn a_rendition_knows_its_lines_and_its_worth() {
    let source = Source::new("a.rs", TEXT, &Limits::default());
    let span = LineSpan::new(3, 12).unwrap();
    let mut last = 1.0;
    for kind in RenditionKind::ALL {
        let lines = source.render(span, kind, &[]);
        let information = source.information(kind, &lines, source.non_blank_lines(span));
        assert!(
            information <= last && information > 0.0,
            "{kind}: {information}"
        );
        last = information;
        let text = lines.text();
        let rendition = lines.into_rendition(kind, information).unwrap();
        assert_eq!(format!("{}\n", rendition.text()), text);
        assert_eq!(rendition.lines().len(), text.lines().count());
    }
}

#[test]
fn a_rendition_ends_with_a_line_that_says_something() {
    let source = Source::new("a.rs", "fn a() {}\n\n  \n", &Limits::default());
    let rendered = |source: &Source<'_>, last| {
        let span = LineSpan::new(1, last).unwrap();
        let lines = source.render(span, RenditionKind::Full, &[]);
        let rendition = lines.into_rendition(RenditionKind::Full, 1.0).unwrap();
        (rendition.text().to_owned(), rendition.lines().to_vec())
    };
    let shown = rendered(&source, 3);
    assert_eq!(shown, ("fn a() {}".to_owned(), vec![Some(1)]));
    // Of a line without any text nothing else tells.
    let source = Source::new("a.rs", "\n\n", &Limits::default());
    let blank = rendered(&source, 2);
    assert_eq!(blank, ("\n".to_owned(), vec![Some(1)]));
}

/// Also where their grammar has them before the body.
#[test]
fn comments_before_the_first_statement_are_part_of_the_body() {
    for (path, text, last) in [
        (
            "a.py",
            "def f(\n    a,\n):  # shown\n    # one\n\n    # two\n    x = a\n    return x\n",
            &[][..],
        ),
        (
            "a.rb",
            "def f(a)\n  # one\n\n  # two\n  x = a\n  x\nend\n",
            &[7],
        ),
        (
            "a.lua",
            "function f(a)\n    -- one\n    --[[ two\n    ]]\n    local x = a\n    return x\nend\n",
            &[7],
        ),
        (
            "a.ml",
            "let f a =\n  (* one *)\n  (* two *)\n  let x = a in\n  x + 1\n",
            &[],
        ),
        (
            "a.js",
            "function f(a) {\n  // one\n  // two\n  return a\n}\n",
            &[5],
        ),
        (
            "a.c",
            "int f(int a)\n/* shown */\n{\n  /* one */\n  return a;\n}\n",
            &[6],
        ),
    ] {
        let source = Source::new(path, text, &Limits::default());
        let shown =
            |kind| -> Vec<u32> { source.render(source.whole(), kind, &[]).numbers().collect() };
        let first = text.lines().take_while(|it| !it.contains("one"));
        let announced: Vec<u32> = (1..).zip(first).map(|(number, _)| number).collect();
        assert_eq!(shown(RenditionKind::Signature), announced, "{path}");
        let skeleton = [&announced, last].concat();
        assert_eq!(shown(RenditionKind::Skeleton), skeleton, "{path}");
        crate::is_nested(text, &source, source.whole(), &[]);
    }
}

/// An outline may have been changed by whoever has it.
#[test]
fn symbols_that_are_in_none_are_outermost() {
    let text = "mod a {\n    fn f() {\n        g();\n    }\n}\n";
    let outline = Outline::of(text, Language::of("a.rs", text), &Limits::default());
    assert_eq!(outline.path_to(1), [0, 1]);
    assert_eq!(outline.path_to(2), [0; 0]);
    assert_eq!(Outline::default().path_to(0), [0; 0]);
    for parent in [1, 7] {
        let mut changed = outline.clone();
        changed.symbols[1].parent = Some(parent);
        assert_eq!(changed.path_to(1), [1]);
        let lines = ctx_syntax::lines(text);
        assert!(!ctx_syntax::pieces(&lines, &changed).is_empty());
        changed.pack();
        let source = Source::with_outline("a", text, changed);
        for kind in RenditionKind::ALL {
            let shown = source.render(source.whole(), kind, &[]);
            assert!(shown.numbers().next().is_some(), "{kind}");
        }
    }
}

#[test]
fn a_mention_of_lines_that_define_nothing_has_a_word() {
    let text = "/*\n * What it is for.\n */\n\n";
    for (text, expected) in [(text, " * What it is for.\n"), ("\n--\n\n", "--\n")] {
        let source = Source::new("a.unknown", text, &Limits::default());
        let lines = source.render(source.whole(), RenditionKind::Mention, &[]);
        assert_eq!(lines.text(), expected);
        crate::is_nested(text, &source, source.whole(), &[]);
    }
}

/// A file of one line is mentioned by its beginning.
#[test]
fn short_renditions_show_the_beginning_of_a_long_line() {
    use RenditionKind::{Excerpt, Full, Mention, Signature, Skeleton};
    let json = format!("{{\"all\": [{}1]}}", "1, ".repeat(13_000));
    let code = format!(
        "function sum(a) {{ {} }}\n\nvar b = 2;\n",
        "a += 1; ".repeat(5_000)
    );
    let prose = format!("# Title\n\n{}\n", "Words are here. ".repeat(3_000));
    let log = "GET /index.html 200; ".repeat(2_000);
    let code_kinds = [Mention, Signature, Skeleton];
    for (path, text, short) in [
        ("a.json", &json, &code_kinds[..]),
        ("a.min.js", &code, &code_kinds),
        ("a.md", &prose, &[Mention, Signature]),
        ("a.txt", &log, &[Mention]),
    ] {
        let source = Source::new(path, text, &Limits::default());
        for kind in [Full, Excerpt, Skeleton, Signature, Mention] {
            let lines = source.render(source.whole(), kind, &[]);
            let is_short = lines.size() < 500;
            assert_eq!(
                is_short,
                short.contains(&kind),
                "{path} {kind}: {}",
                lines.size()
            );
        }
        crate::is_nested(text, &source, source.whole(), &[]);
        crate::is_nested(text, &source, source.whole(), &[1, 3]);
    }
    let source = Source::new("a.json", &json, &Limits::default());
    let shown = source.render(source.whole(), Mention, &[]).text();
    assert_eq!(shown, format!("{}\n// … 1 line left out\n", &json[..200]));
    // White space before a line that is too long is no reason for a long mark.
    let far = format!("{}x\ny\n", " ".repeat(90_000));
    let source = Source::new("a.js", &far, &Limits::default());
    for kind in code_kinds {
        assert!(
            source.render(source.whole(), kind, &[]).size() < 900,
            "{kind}"
        );
    }
}

#[test]
fn a_line_is_cut_between_characters_that_do_not_go_together() {
    for (unit, boundary) in [
        ("é", 200),
        ("漢", 198),
        ("👩\u{200d}👩\u{200d}👧 ", 192),
        ("e\u{301}", 200),
        ("x", 200),
    ] {
        let line = unit.repeat(100) + &"x".repeat(240);
        let beginning = ctx_syntax::beginning(&line).unwrap();
        assert!(line.starts_with(beginning));
        assert!(
            beginning.len() <= boundary && beginning.len() > 130,
            "{unit} {}",
            beginning.len()
        );
        let next = line[beginning.len()..].chars().next().unwrap();
        assert!(
            next.is_alphanumeric() || next.is_ascii(),
            "{unit}: {next:?}"
        );
    }
    assert_eq!(ctx_syntax::beginning(&"x".repeat(240)), None);
    // There is no such place.
    let tags = "\u{e0061}".repeat(80);
    assert_eq!(ctx_syntax::beginning(&tags).map(str::len), Some(200));
}

/// 250 bytes.
const LONG: &str = concat!(
    "fn long() { ------------------------------------------------------------------------------------------------",
    "------------------------------------------------------------------------------------------------------------------------------- }",
    "////////"
);

#[test]
fn the_excerpt_of_a_long_table_is_what_names_it_and_the_lines_asked_about() {
    let tables = [
        ("a.js", "export const TOPICS = [\n", "  \"topic\",\n", "]\n"),
        (
            "a.ts",
            "export const TOPICS: string[] = [\n",
            "  \"topic\",\n",
            "];\n",
        ),
        ("a.py", "TOPICS = [\n", "    \"topic\",\n", "]\n"),
        (
            "a.rs",
            "pub const TOPICS: &[&str] = &[\n",
            "    \"topic\",\n",
            "];\n",
        ),
        ("a.go", "var Topics = []string{\n", "\t\"topic\",\n", "}\n"),
        (
            "a.java",
            "class A {\n  static final String[] TOPICS = {\n",
            "    \"topic\",\n",
            "  };\n}\n",
        ),
    ];
    for (path, head, line, end) in tables {
        for count in [10_u32, 60] {
            let text = format!("{head}{}{end}", line.repeat(count as usize));
            let source = Source::new(path, &text, &Limits::default());
            let outline = source.outline();
            let Some(table) = outline
                .symbols
                .iter()
                .find(|it| it.name.eq_ignore_ascii_case("topics"))
            else {
                // Without the grammar there is no declaration.
                assert!(outline.fallback.is_some(), "{path}");
                continue;
            };
            let span = table.span;
            let middle = span.start() + count / 2;
            let lines = source.render(span, RenditionKind::Excerpt, &[middle]);
            let numbers: Vec<u32> = lines.numbers().collect();
            if count == 10 {
                assert_eq!(numbers.len(), span.line_count() as usize, "{path}");
                continue;
            }
            let near = middle - CONTEXT_LINES..=middle + CONTEXT_LINES;
            let expected: Vec<u32> = [span.start()].into_iter().chain(near).collect();
            assert_eq!(numbers, expected, "{path}");
            crate::is_nested(&text, &source, span, &[middle]);
        }
    }
}

#[test]
fn the_excerpt_of_many_settings_is_the_first_and_the_lines_asked_about() {
    let long = format!("setting_# = {}", "long ".repeat(50));
    let flat = [
        ("a.toml", "setting_# = #"),
        ("a.yaml", "setting_#: #"),
        ("a.py", "SETTING_# = #"),
        ("a.rs", "const SETTING_#: u32 = #;"),
        ("a.sh", "export SETTING_#=#"),
        ("a.ini", "setting_# = #"),
        ("a.ini", &long),
    ];
    let text = |line: &str, count: u32| -> String {
        let lines = (1..=count).map(|it| line.replace('#', &it.to_string()));
        lines.flat_map(|it| [it, "\n".to_owned()]).collect()
    };
    let excerpt = |path: &str, text: &str| {
        let source = Source::new(path, text, &Limits::default());
        crate::is_nested(text, &source, source.whole(), &[10]);
        let shown = source.render(source.whole(), RenditionKind::Excerpt, &[10]);
        shown.numbers().collect::<Vec<_>>()
    };
    for (path, line) in flat {
        let about_the_tenth = [1, 8, 9, 10, 11, 12];
        assert!(excerpt(path, &text(line, 15)).len() >= 15, "{path}");
        assert_eq!(excerpt(path, &text(line, 45)), about_the_tenth, "{path}");
        // A blank line is no line that a skeleton leaves out.
        let parted = format!("{}\n{}", text(line, 12), text(line, 32));
        assert_eq!(excerpt(path, &parted), about_the_tenth, "{path}");
    }
    // Of what is, or may be, written to be read everything is read.
    for path in ["a.md", "a.txt", "notes"] {
        assert!(
            excerpt(path, &text("This is line #.", 45)).len() >= 45,
            "{path}"
        );
    }
}

proptest! {
    #[test]
    fn a_line_of_white_space_says_nothing(
        text in prop_oneof!["[ \t\n\r\x0b\x0c\x1c\u{85}\u{a0}\u{2028}\u{3000}xé]{0,40}", any::<String>()],
    ) {
        let source = Source::new("a.txt", &text, &Limits::default());
        prop_assert!(ctx_model::lines(&text).eq(source.lines(source.whole()).map(|(_, line)| line)));
        let lines = source.lines(source.whole());
        let plainly = lines.filter(|(_, line)| !line.trim().is_empty()).count();
        prop_assert_eq!(source.non_blank_lines(source.whole()), plainly);
    }

    #[test]
    fn any_span_of_any_text_is_nested_and_verbatim(
        lines in prop::collection::vec(prop::sample::select(vec![
            "fn a() {", "}", "", "    let x = 1;", "// comment", "struct S {", "    x: u8,", "impl S {",
            "\u{feff}", "\t\t}", "\"", "/*", "*/", "mod m {", "é☔", "#[test]", "fn b() -> u8 { 2 }\r", LONG,
        ]), 1..40),
        path in prop::sample::select(vec!["a.rs", "a.js", "a.py", "a.md", "a.unknown", "a.c"]),
        start in 1_u32..40,
        length in 0_u32..40,
        matches in prop::collection::vec(1_u32..40, 0..4),
    ) {
        let text = lines.join("\n");
        let source = Source::new(path, &text, &Limits::default());
        if start <= source.line_count() {
            let span = LineSpan::new(start, start + length).unwrap();
            crate::is_nested(&text, &source, span, &matches);
        }
    }
}
