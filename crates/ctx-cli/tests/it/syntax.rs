//! `ctx outline`, `ctx show` and `ctx relations`.

use serde_json::{Value, json};

use crate::run::{Folder, Ran};

const A: &str = "/// Adds.\npub fn add(a: i32) -> i32 {\n    let sum = twice(a);\n    sum\n}\n\nstruct Point {\n    x: i32,\n}\n";
const B: &str = "fn twice(a: i32) -> i32 {\n    a + a\n}\n";

fn folder() -> Folder {
    Folder::of([
        ("src/a.rs", A.as_bytes()),
        ("src/b.rs", B.as_bytes()),
        ("c.bin", b"\0\0"),
    ])
}

#[test]
fn an_outline_is_a_tree_and_a_value() {
    let folder = folder();
    let tree = folder.run(["outline", "src/a.rs"]);
    assert_eq!(
        tree.ok(),
        "src/a.rs (rust)\n  function add:2-5\n  struct Point:7-9\n    field x:8-8\n"
    );
    let value = folder.run(["outline", "--json"]).json();
    let files = value["files"].as_array().unwrap();
    assert_eq!(files.len(), 2);
    assert_eq!(
        files[0]["symbols"][0],
        json!({
            "kind": "function", "name": "add", "qualifiedName": "add", "startLine": 2,
            "endLine": 5, "signatureEndLine": 2, "docStartLine": 1,
        })
    );
    assert_eq!(files[0]["symbols"][2]["parent"], 1);
    folder.write("notes.unknown", "text\n");
    let lines = folder.run(["outline", "notes.unknown"]);
    assert!(
        lines.ok().contains("no outline: there is no grammar"),
        "{lines:?}"
    );
}

#[test]
fn a_file_is_shown_whole_in_part_and_by_name() {
    let folder = folder();
    assert_eq!(folder.run(["show", "src/a.rs"]).ok(), A);
    for place in [
        "src/a.rs:4",
        "src/a.rs:4:5",
        "src/a.rs#L4",
        "src/a.rs#L4-L4",
    ] {
        assert_eq!(folder.run(["show", place]).ok(), "    sum\n", "{place}");
    }
    let skeleton = "/// Adds.\npub fn add(a: i32) -> i32 {\n    // … 2 lines left out\n}\n";
    assert_eq!(
        folder.run(["show", "src/a.rs#add", "-r", "skeleton"]).ok(),
        skeleton
    );
    assert_eq!(
        folder
            .run(["show", "src/a.rs#Point", "--rendition", "mention", "-n"])
            .ok(),
        "7  struct Point {\n"
    );
}

#[test]
fn lines_are_a_value_with_numbers_but_for_marks() {
    let value = folder()
        .run(["show", "src/a.rs", "-r", "signature", "--json"])
        .json();
    assert_eq!(value["path"], "src/a.rs");
    assert_eq!(value["language"], "rust");
    assert_eq!(value["rendition"], "signature");
    assert!(value.get("strategy").is_none(), "{value}");
    assert_eq!(
        value["lines"][1],
        json!({"number": 2, "text": "pub fn add(a: i32) -> i32 {"})
    );
    assert_eq!(
        value["lines"][2],
        json!({"text": "    // … 4 lines left out"})
    );
    let numbers: Vec<&Value> = value["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["number"])
        .collect();
    assert_eq!(
        numbers.iter().filter(|it| it.is_null()).count(),
        2,
        "{value}"
    );
}

#[test]
fn a_truncated_file_keeps_within_its_tokens() {
    let folder = folder();
    for limit in [0_u64, 5, 12, 20, 30] {
        let ran = folder.run([
            "show",
            "src/a.rs",
            "--max-tokens",
            &limit.to_string(),
            "--strategy",
            "bookend",
        ]);
        let shown = ran.ok().to_owned();
        folder.write("out.txt", &shown);
        let count = folder.run(["tokens", "out.txt", "--json"]).json();
        assert!(
            count["tokens"].as_u64().unwrap() <= limit,
            "{limit}: {shown}"
        );
    }
}

#[test]
fn a_truncated_file_has_a_strategy_and_no_rendition() {
    let args = ["show", "src/a.rs", "--max-tokens", "20", "--json"];
    let value = folder().run(args).json();
    assert_eq!(value["strategy"], "signature-first");
    assert!(value.get("rendition").is_none(), "{value}");
}

#[test]
fn relations_are_told_both_ways_with_their_certainty() {
    let folder = folder();
    let text = folder.run(["relations", "twice"]);
    assert_eq!(
        text.ok(),
        "function twice (src/b.rs:1)\n  ← calls add (src/a.rs:2)\n  ← defines src/b.rs\n"
    );
    let value = folder
        .run([
            "relations",
            "add",
            "--direction",
            "outgoing",
            "--depth",
            "2",
            "--json",
        ])
        .json();
    let edge = &value["symbols"][0]["outgoing"][0];
    assert_eq!(edge["relation"], "calls");
    assert_eq!(edge["symbol"], "twice");
    assert_eq!(edge["weight"], 1.0);
    folder.write("src/c.rs", B);
    let unsure = folder.run(["relations", "add", "--direction", "outgoing"]);
    assert!(
        unsure.ok().contains("→ calls twice (src/c.rs:1) (50 %)"),
        "{unsure:?}"
    );
}

#[test]
fn a_file_is_found_by_its_path_as_the_shell_has_it() {
    let folder = folder();
    let told = folder.run(["relations", "a.rs", "src"]);
    for path in ["src/a.rs", "./src/a.rs"] {
        let found = folder.run(["relations", path, "src"]);
        assert_eq!(found.ok(), told.ok(), "{path}");
    }
    let told = folder.run(["relations", "src/a.rs"]);
    assert_eq!(folder.run(["relations", "./src/a.rs"]).ok(), told.ok());
    let refused = folder.run(["relations", "a.rs", "src", "--depth", "0"]);
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn a_line_of_which_a_part_is_shown_is_told_to_be_one() {
    let folder = Folder::of([("a.rs", b"fn long(name: i32, other: i32, third: i32) {}\n")]);
    let cut = folder.run(["show", "a.rs", "--max-tokens", "14"]);
    assert!(cut.ok().starts_with("fn long"), "{cut:?}");
    assert!(cut.stderr.contains("the beginning of one"), "{cut:?}");
    let whole = folder.run(["show", "a.rs"]);
    assert!(!whole.stderr.contains("warning"), "{whole:?}");
}

#[test]
#[cfg(unix)]
fn why_a_file_cannot_be_read_is_told() {
    let folder = folder();
    std::os::unix::fs::symlink("/", folder.path().join("out")).unwrap();
    let refused = folder.run(["show", "out"]);
    refused.fails(3, &["\"out\" cannot be read: "]);
}

#[test]
fn missing_files_symbols_and_lines_are_named() {
    let folder = folder();
    let fails = |args: &[&str], code: i32, parts: &[&str]| {
        let ran: Ran = folder.run(args);
        ran.fails(code, parts);
    };
    fails(&["show", "src/none.rs"], 3, &["none.rs", "does not exist"]);
    fails(&["show", "src/a.rs#nix"], 3, &["src/a.rs", "nix"]);
    fails(&["show", "src/a.rs:100-200"], 3, &["9 lines", "100-200"]);
    fails(
        &["show", "src/a.rs:0"],
        2,
        &["\"0\"", "not a range of lines"],
    );
    fails(
        &["show", "src/a.rs:5-2"],
        2,
        &["5-2", "not a range of lines"],
    );
    fails(&["show", "src"], 3, &["a folder"]);
    fails(&["show", "c.bin"], 3, &["no text"]);
    fails(&["show", "src/a.rs", "-r", "half"], 2, &["half"]);
    fails(
        &["show", "src/a.rs", "--strategy", "head"],
        2,
        &["required"],
    );
    fails(&["relations", "nix"], 3, &["nix"]);
    fails(&["outline", "gone"], 3, &["gone"]);
}

#[test]
fn of_several_of_a_name_one_with_a_body_is_shown_and_the_others_told() {
    let folder = Folder::of([(
        "a.py",
        b"class Mixin:\n    def send(self): ...\n\n\nclass Session(Mixin):\n    def send(self):\n        return 1\n",
    )]);
    let ran = folder.run(["show", "a.py#send"]);
    assert!(ran.ok().contains("return 1"), "{ran:?}");
    assert!(
        ran.stderr
            .contains("other definitions of send: Mixin.send (2-2)"),
        "{ran:?}"
    );
    let ran = folder.run(["show", "a.py#Mixin.send"]);
    assert!(ran.ok().contains("...") && ran.stderr.is_empty(), "{ran:?}");
}

#[test]
fn a_file_that_is_not_there_is_told_with_names_near_its_own() {
    let folder = Folder::of([
        ("src/sessions.py", b"a = 1\n".as_slice()),
        ("src/other.py", b"\n"),
    ]);
    let ran = folder.run(["show", "src/sesions.py"]);
    assert!(
        ran.code == 3 && ran.stderr.contains("names near it: src/sessions.py"),
        "{ran:?}"
    );
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_to_nothing_is_told_as_one() {
    let folder = Folder::of([("src/sessions.py", b"a = 1\n".as_slice())]);
    std::os::unix::fs::symlink("gone.py", folder.path().join("src/session.py")).unwrap();
    let link = "is a link to something that is not there";
    let ran = folder.run(["show", "src/session.py"]);
    ran.fails(3, &[link]);
    let hint = "names near it: src/sessions.py";
    assert!(ran.stderr.lines().any(|it| it.ends_with(hint)), "{ran:?}");
    for args in [
        &["pack", "src/session.py"][..],
        &["outline", "src/session.py"],
        &["assemble", "src/session.py"],
        &["verify", "src/session.py"],
        &["query", "sessions", "--hits", "src/session.py"],
    ] {
        folder.run(args).fails(3, &["src/session.py", link]);
    }
}
