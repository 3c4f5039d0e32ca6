//! Invalid input and arguments: each has its exit code, names the item at fault, says what to do,
//! and leaves nothing on standard output.

use serde_json::Value;

use crate::run::{Folder, ctx};

const GOOD: &str = "{\"id\": \"good\", \"content\": \"x\", \"relevance\": 1}\n";

#[track_caller]
fn refused(bad: &str, parts: &[&str]) {
    ctx(["assemble"], format!("{GOOD}{bad}\n")).fails(3, &[&["<stdin>:2:"], parts].concat());
}

#[test]
fn a_relevance_that_is_none_is_refused() {
    for value in [
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "2",
        "-0.5",
        "\"high\"",
        "null",
    ] {
        refused(
            &format!("{{\"id\": \"bad\", \"content\": \"x\", \"relevance\": {value}}}"),
            &["\"bad\"", "relevance"],
        );
    }
}

#[test]
fn lines_that_are_none_are_refused() {
    for (lines, part) in [
        (
            "\"startLine\": 9, \"endLine\": 3",
            "endLine 3 is before startLine 9",
        ),
        ("\"startLine\": 0, \"endLine\": 3", "line 0"),
        ("\"startLine\": 4", "startLine is given without endLine"),
    ] {
        refused(
            &format!("{{\"id\": \"bad\", \"content\": \"x\", \"relevance\": 1, {lines}}}"),
            &["\"bad\"", part],
        );
    }
}

#[test]
fn fields_that_are_unknown_or_missing_are_named() {
    refused(
        r#"{"id": "bad", "content": "x", "relevance": 1, "score": 2}"#,
        &["\"bad\"", "unknown field `score`"],
    );
    refused(
        r#"{"id": "bad", "relevance": 1}"#,
        &["\"bad\"", "missing field `content`"],
    );
    refused(
        r#"{"id": "bad", "content": ["x"], "relevance": 1}"#,
        &["\"bad\"", "field `content`"],
    );
    refused(
        r#"{"id": "bad", "content": "x", "relevance": 1, "origin": "moon"}"#,
        &["\"bad\"", "field `origin`", "moon"],
    );
}

#[test]
fn a_hint_is_about_what_is_wrong() {
    let with = |rest: &str| format!(r#"{{"id": "bad", "content": "x", "relevance": 1{rest}}}"#);
    for (bad, hint) in [
        (
            r#"{"id": "bad", "content": "x\ud800y", "relevance": 1}"#.to_owned(),
            "come in pairs",
        ),
        (
            r#"{"id": "bad", "content": "x\udc00y", "relevance": 1}"#.to_owned(),
            "come in pairs",
        ),
        (
            with(r#", "content": "y""#),
            "a field may be given only once",
        ),
        (
            with(r#", "startLine": 0, "endLine": 3"#),
            "line numbers from 1",
        ),
        (
            with(r#", "startLine": 4294967296, "endLine": 4294967297"#),
            "to 4294967295",
        ),
        (
            r#"{"id": "bad", "content": "x"}"#.to_owned(),
            "a chunk needs",
        ),
    ] {
        for input in [format!("{GOOD}{bad}\n"), format!("[{bad}]")] {
            let ran = ctx(["assemble"], input);
            assert_eq!(ran.code, 3, "{ran:?}");
            let said = ran.stderr.lines().find(|line| line.starts_with("hint: "));
            assert!(said.is_some_and(|said| said.contains(hint)), "{ran:?}");
        }
    }
}

#[test]
fn an_id_given_twice_is_refused() {
    ctx(["assemble"], format!("{GOOD}{GOOD}")).fails(3, &["1, 2", "\"good\""]);
}

#[test]
fn options_that_are_unknown_are_named() {
    let with = |options: &str| format!("{{\"chunks\": [], \"options\": {{{options}}}}}");
    for (options, parts) in [
        ("\"format\": \"pdf\"", ["field `format`", "pdf"]),
        ("\"groupBy\": \"size\"", ["field `groupBy`", "size"]),
        ("\"maxToken\": 1", ["options", "unknown field `maxToken`"]),
        (
            "\"maxTokens\": 99999999999",
            ["field `maxTokens`", "99999999999"],
        ),
        ("\"minRelevance\": 3", ["options", "minRelevance 3"]),
    ] {
        ctx(["assemble"], with(options)).fails(3, &parts);
    }
    ctx(["assemble"], with("\"tokenEstimation\": \"gpt-4oo\"")).fails(3, &["gpt-4oo", "gpt-4o"]);
}

#[test]
fn flags_that_make_no_sense_are_usage_errors() {
    for (flags, part) in [
        (&["--max-tokens", "0"][..], "at least 1"),
        (&["--max-tokens", "4294967296"], "too many tokens"),
        (
            &["--max-tokens", "99999999999999999999999"],
            "too many tokens",
        ),
        (&["--max-tokens", "many"], "not a whole number"),
        (
            &["--max-tokens", "-5"],
            "invalid value '-5' for '--max-tokens <N>': not a positive whole number of tokens",
        ),
        (&["-t", "-1"], "not a positive whole number of tokens"),
        (
            &["--reserve", "-1"],
            "not a positive whole number of tokens",
        ),
        (&["--min-relevance", "-1"], "not a number from 0 to 1"),
        (&["--diversity", "-0.5"], "not a number from 0 to 1"),
        (&["--relevance-power", "-1"], "not a whole number up to 255"),
        (
            &["--deadline", "-1"],
            "not a positive whole number of milliseconds",
        ),
        (&["--min-relevance", "2"], "not a number from 0 to 1"),
        (&["--min-relevance", "NaN"], "not a number from 0 to 1"),
        (&["--format", "pdf"], "pdf"),
        (&["--selection", "best"], "best"),
        (
            &["--max-chunks", "-1"],
            "invalid value '-1' for '--max-chunks <N>': not a positive whole number",
        ),
        (&["--max-chunks", "many"], "not a whole number"),
        (&["--colour"], "--colour"),
    ] {
        ctx([&["assemble"], flags].concat(), GOOD).fails(2, &[part]);
    }
    ctx(["pack", "--max-file-size", "9Q"], "").fails(2, &["not a size"]);
    for size in ["-1", "-64M"] {
        let told =
            format!("invalid value '{size}' for '--max-file-size <SIZE>': not a positive size");
        ctx(["pack", "--max-file-size", size], "").fails(2, &[&told]);
    }
    ctx(["tokens", "--depth", "-1"], "").fails(2, &["not a positive whole number"]);
    ctx(["relations", "a", "--depth", "-1"], "").fails(2, &["not a positive whole number"]);
    ctx(["frobnicate"], "").fails(2, &["frobnicate"]);
}

#[test]
fn an_unknown_counter_lists_what_is_near() {
    for verb in ["assemble", "pack", "tokens"] {
        ctx([verb, "--counter", "gpt4o"], GOOD).fails(2, &["--counter", "gpt4o", "gpt-4o"]);
    }
    let input = r#"{"chunks": [], "options": {"tokenEstimation": "gpt4o"}}"#;
    ctx(["assemble"], input).fails(3, &["gpt4o", "gpt-4o"]);
}

#[test]
fn with_json_what_failed_is_an_object_too() {
    let told = |args: &[&str], input: &str, code: i32| -> Value {
        let words = ctx(args, input);
        words.fails(code, &[]);
        let run = ctx([args, &["--json"]].concat(), input);
        assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{run:?}");
        let told: Value = serde_json::from_str(&run.stderr).unwrap();
        assert_eq!(
            (told["exitCode"].as_i64(), run.stderr.lines().count()),
            (Some(code.into()), 1)
        );
        let line = |label: &str, said: &Value| format!("{label}: {}", said.as_str().unwrap());
        let lines = [line("error", &told["detail"]), line("hint", &told["hint"])];
        assert_eq!(words.stderr.lines().collect::<Vec<_>>(), lines);
        told
    };
    let header = "a header of a good many words that will not fit ".repeat(5);
    let budget = ["assemble", "--max-tokens", "20", "--header", &header];
    let budget = told(&budget, GOOD, 4);
    assert_eq!(budget["type"], "budget");
    assert_eq!(budget["available"], 20);
    let parts = budget["breakdown"].as_object().unwrap().values();
    let parts = parts.map(|it| it.as_u64().unwrap());
    assert_eq!(parts.sum::<u64>(), budget["needed"].as_u64().unwrap());
    let hint = format!("give --max-tokens {} or more", budget["smallestMaxTokens"]);
    assert!(
        budget["hint"].as_str().unwrap().starts_with(&hint),
        "{budget}"
    );
    let none = [
        "assemble",
        "--max-tokens",
        "20",
        "--reserve",
        "4294967290",
        "--header",
        &header,
    ];
    assert_eq!(told(&none, GOOD, 4).get("smallestMaxTokens"), None);
    // No terminal obeys it either.
    let twice =
        "{\"id\": \"\\u001b[31m\\u202e\", \"content\": \"x\", \"relevance\": 1}\n".repeat(2);
    let input = told(&["assemble"], &twice, 3);
    assert_eq!(input["type"], "input");
    assert!(
        !input["detail"]
            .as_str()
            .unwrap()
            .contains(['\u{1b}', '\u{202e}']),
        "{input}"
    );
}

#[test]
fn a_budget_that_cannot_be_kept_says_which_would_do() {
    let header = "a header of a good many words that will not fit ".repeat(5);
    let run = ctx(
        ["assemble", "--max-tokens", "20", "--header", &header],
        GOOD,
    );
    run.fails(4, &["header", "20", "smallest"]);
    let hint = run
        .stderr
        .lines()
        .find(|line| line.starts_with("hint: "))
        .unwrap();
    let smallest = hint
        .split_whitespace()
        .find(|word| word.bytes().all(|b| b.is_ascii_digit()))
        .unwrap();
    ctx(
        ["assemble", "--max-tokens", smallest, "--header", &header],
        GOOD,
    )
    .ok();
    let less = (smallest.parse::<u32>().unwrap() - 1).to_string();
    ctx(
        ["assemble", "--max-tokens", &less, "--header", &header],
        GOOD,
    )
    .fails(4, &[]);
    // The largest budget there is works, with 9 tokens for the header and a notice, or not even
    // that.
    for (reserve, hint) in [
        (u32::MAX - 9, "hint: give --max-tokens 4294967295 or more"),
        (u32::MAX, "hint: reduce --reserve"),
    ] {
        let reserve = format!("--reserve={reserve}");
        let header = ["--counter", "character-based", "--header", "H"];
        let run = ctx(
            ["assemble", "--max-tokens", "20", &reserve]
                .into_iter()
                .chain(header),
            GOOD,
        );
        run.fails(4, &[]);
        assert!(run.stderr.contains(hint), "{}", run.stderr);
    }
    // The reserve leaves nothing for a header either.
    ctx(
        [
            "assemble",
            "--max-tokens",
            "20",
            "--reserve",
            "20",
            "--header",
            "H",
        ],
        GOOD,
    )
    .fails(4, &["reserve"]);
}

#[test]
fn a_pin_that_does_not_fit_is_a_budget_error() {
    let pinned = format!(
        "{{\"id\": \"pin\", \"content\": \"{}\", \"relevance\": 1, \"pinned\": true}}",
        "word ".repeat(500)
    );
    ctx(
        ["assemble", "--max-tokens", "50"],
        format!("{GOOD}{pinned}"),
    )
    .fails(4, &[]);
}

#[test]
fn text_that_would_break_the_format_is_refused() {
    ctx(["assemble", "--format", "json", "--separator", "---"], GOOD).fails(3, &["chunkSeparator"]);
    ctx(["assemble", "--header", "```\nopen"], GOOD).fails(3, &["header"]);
}

#[test]
fn hostile_headers_do_not_break_a_document() {
    let hostile = "</header></context>]]><!-- \u{1b}[31m";
    let out = ctx(
        [
            "assemble",
            "--format",
            "xml",
            "--header",
            hostile,
            "--footer",
            hostile,
            "--separator",
            hostile,
        ],
        GOOD,
    );
    assert!(!out.ok().contains('\u{1b}'));
    assert_eq!(out.ok().matches("</context>").count(), 1, "{out:?}");
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    ctx(
        ["assemble"],
        [GOOD.as_bytes(), b"{\"id\": \"\xff\"}\n"].concat(),
    )
    .fails(3, &["<stdin>:2", "UTF-8"]);
    ctx(["assemble"], b"\xff\xfe{\0}\0").fails(3, &["UTF-8"]);
    ctx(["assemble"], [0_u8; 100]).fails(3, &[]);
}

#[test]
fn input_that_is_cut_short_is_refused() {
    let whole = format!("{{\"chunks\": [{GOOD}]}}");
    for length in 1..whole.trim_end().len() {
        ctx(["assemble"], &whole[..length]).fails(3, &["<stdin>:"]);
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let folder = Folder::new();
    for args in [
        &["assemble", "gone.json"][..],
        &["pack", "gone"],
        &["tokens", ".", "gone"],
    ] {
        folder.run(args).fails(3, &["gone"]);
    }
    folder.run(["assemble", "."]).fails(3, &["."]);
}

#[test]
fn escape_sequences_in_input_do_not_reach_the_terminal() {
    let bad = "{\"id\": \"\\u001b[31mred\\u001b]0;title\\u0007\", \"content\": 1}";
    let run = ctx(["assemble"], bad);
    run.fails(3, &["red"]);
    let id = "{\"id\": \"\\u001b[2J\\u202e\", \"content\": \"x\", \"relevance\": 1}";
    let explained = ctx(["assemble", "--explain"], id);
    for text in [&run.stderr, &explained.stderr] {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    }
}

#[test]
fn nesting_without_end_is_an_error_of_every_input() {
    let folder = Folder::new();
    for deep in ctx_testkit::hostile::nested_json() {
        ctx(["assemble"], &deep).fails(3, &["<stdin>"]);
        ctx(["verify", "-"], &deep).fails(3, &["not a receipt"]);
        folder.write("deep.json", &deep);
        let previous = ["pack", ".", "--previous", "deep.json"];
        folder.run(previous).fails(3, &["not a receipt"]);
    }
}
