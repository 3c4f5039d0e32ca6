//! `ctx tokens`.

use serde_json::json;

use crate::run::{Folder, ctx};

fn folder() -> Folder {
    Folder::of([
        ("README.md", b"one two three\n"),
        ("src/lib.rs", "word ".repeat(100).as_bytes()),
        ("src/deep/er.rs", "word ".repeat(50).as_bytes()),
        ("image.png", b"\x89PNG\r\n\0\0"),
        ("nothing", b""),
    ])
}

#[test]
fn the_largest_comes_first_and_folders_are_added_up() {
    let run = folder().run(["tokens"]);
    let lines: Vec<Vec<&str>> = run
        .ok()
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let names: Vec<_> = lines.iter().map(|line| line[1]).collect();
    assert_eq!(
        names,
        ["total", "src/", "lib.rs", "deep/", "er.rs", "README.md"]
    );
    let number = |line: usize| lines[line][0].parse::<u32>().unwrap();
    assert_eq!(number(0), number(1) + number(5));
    assert_eq!(number(1), number(2) + number(3));
    assert!(
        run.stderr.contains("1 without text") && run.stderr.contains("1 empty"),
        "{run:?}"
    );
    assert!(run.stderr.contains("o200k_base"), "{run:?}");
}

#[test]
fn json_is_one_value() {
    let value = folder()
        .run(["tokens", "--json", "--counter", "character-based"])
        .json();
    assert_eq!(value["counter"], "characterBased");
    assert_eq!(value["exactness"], "estimate");
    assert_eq!(value["files"], 3);
    assert_eq!(value["entries"][0]["path"], "src");
    assert_eq!(value["entries"][0]["entries"][0]["path"], "src/lib.rs");
    assert_eq!(value["entries"][0]["entries"][0]["tokens"], 125);
    assert_eq!(
        value["skipped"][0],
        json!({"path": "image.png", "reason": "binary", "detail": "it holds no text"})
    );
}

#[test]
fn depth_limits_what_is_shown_and_not_what_is_counted() {
    let folder = folder();
    let all = folder.run(["tokens", "--json"]).json();
    for depth in ["0", "1"] {
        let cut = folder.run(["tokens", "--json", "--depth", depth]).json();
        assert_eq!(cut["tokens"], all["tokens"]);
    }
    assert_eq!(
        folder.run(["tokens", "--depth", "0"]).ok().lines().count(),
        1
    );
    assert_eq!(
        folder.run(["tokens", "--depth", "1"]).ok().lines().count(),
        3
    );
}

#[test]
fn standard_input_is_a_file_too() {
    let run = ctx(["tokens", "-", "--counter", "character-based"], "12345678");
    assert_eq!(run.ok(), "2  <stdin>\n");
}

#[test]
fn one_file_is_one_line() {
    let run = folder().run(["tokens", "src/deep/er.rs", "--counter", "character-based"]);
    assert_eq!(run.ok(), "63  src/deep/er.rs\n");
}

#[test]
fn each_counter_counts_its_own_way() {
    let folder = Folder::of([(
        "a.txt",
        b"The quick brown fox jumps over the lazy dog, antidisestablishmentarianism.",
    )]);
    let count = |counter: &str| {
        folder
            .run(["tokens", "--json", "--counter", counter])
            .json()
    };
    assert_eq!(count("gpt-4o")["exactness"], "exact");
    assert_eq!(count("gpt-4o")["tokens"], count("o200k_base")["tokens"]);
    assert_eq!(count("gpt-4")["tokens"], count("cl100k_base")["tokens"]);
    assert_eq!(count("words")["exactness"], "estimate");
}

#[cfg(unix)]
#[test]
fn names_do_not_steer_the_terminal() {
    let folder = Folder::of([("a\u{1b}[31m\nb", b"x"), ("c", b"y")]);
    let run = folder.run(["tokens"]);
    assert!(!run.ok().contains('\u{1b}'));
    assert_eq!(run.ok().lines().count(), 3);
}

/// Whoever runs it may read the file.
#[test]
#[cfg(feature = "tokenizer-json")]
fn each_verb_counts_by_the_path_of_a_tokenizer() {
    let folder = folder();
    folder.write("words.json", crate::run::TOKENIZER);
    let counter = ["--counter", "./words.json"];
    let run = |args: &[&str]| folder.run([args, &counter[..]].concat());
    let tokens = run(&["tokens", "README.md"]);
    assert!(tokens.ok().contains('3'), "{tokens:?}");
    run(&["show", "src/lib.rs", "--max-tokens", "200"]).ok();
    run(&["query", "word", "--json"]).ok();
    let packed = run(&["pack", "src", "--json"]);
    assert_eq!(packed.json()["counter"], "./words.json");
    folder.write("receipt.json", packed.ok());
    let verified = folder.run(["verify", "receipt.json"]);
    assert!(verified.ok().contains("by ./words.json"), "{verified:?}");
    assert_eq!(folder.run(["tokens", "--counter", "./none.json"]).code, 3);
}
