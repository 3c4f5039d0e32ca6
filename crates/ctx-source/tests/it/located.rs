//! What a hit says of a file, and what the file says now.

use std::fs;

use ctx_model::LineSpan;
use ctx_source::{Located, Sources, Wanted};
use tempfile::TempDir;

const FILE: &[u8] =
    b"fn a() {\n    one();\n}\n\nfn b() {\n    two();\n}\n\nfn c() {\n    one();\n}\n";

fn span(start: u32, end: u32) -> LineSpan {
    LineSpan::new(start, end).unwrap()
}

fn setting() -> (TempDir, Sources) {
    let folder = super::folder(&[("a.rs", FILE)]);
    let sources = super::sources(&folder);
    (folder, sources)
}

fn said(content: &str, start: u32, end: u32) -> Wanted<'_> {
    Wanted {
        path: "a.rs",
        span: span(start, end),
        content: Some(content),
        content_hash: None,
    }
}

#[test]
fn lines_that_say_what_they_are_said_to_are_fresh() {
    let (_folder, sources) = setting();
    for content in [
        "fn b() {\n    two();\n}",
        "fn b() {\n    two();\n}\n",
        "fn b() {\r\n    two();\r\n}\r\n",
    ] {
        let located = sources.locate(said(content, 5, 7));
        assert!(
            matches!(located, Located::Fresh { span: it, .. } if it == span(5, 7)),
            "{located:?}"
        );
    }
}

#[track_caller]
fn moved(sources: &Sources, wanted: Wanted<'_>, expected: LineSpan) {
    match sources.locate(wanted) {
        Located::Moved { from, to, text } => {
            assert_eq!((from, to), (wanted.span, expected));
            if let Some(content) = wanted.content {
                assert_eq!(text.slice(to).unwrap(), content);
            }
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn text_that_moved_is_found_the_nearest_first() {
    let (_folder, sources) = setting();
    moved(&sources, said("fn b() {\n    two();\n}", 1, 3), span(5, 7));
    moved(
        &sources,
        said("fn b() {\n    two();\n}", 900, 902),
        span(5, 7),
    );
    moved(
        &sources,
        said("    one();\n}\n\nfn b() {", 1, 4),
        span(2, 5),
    );
    // `}` stands in three places, which is no evidence for any.
    let located = sources.locate(said("}", 1, 1));
    assert!(matches!(located, Located::Stale { .. }), "{located:?}");
    // Three words are.
    let twice = super::folder(&[("a.rs", b"x\nlet a = 1;\ny\ny\ny\nlet a = 1;\n")]);
    moved(
        &super::sources(&twice),
        said("let a = 1;", 5, 5),
        span(6, 6),
    );
    moved(
        &super::sources(&twice),
        said("let a = 1;", 4, 4),
        span(2, 2),
    );
}

#[test]
fn what_the_file_no_longer_says_is_stale() {
    let (_folder, sources) = setting();
    match sources.locate(said("fn b() {\n    three();\n}", 5, 7)) {
        Located::Stale { content, why } => {
            assert_eq!(content, "fn b() {\n    three();\n}");
            assert_eq!(why, "lines 5-7 say something else now");
        }
        other => panic!("{other:?}"),
    }
    match sources.locate(said("gone for good", 70, 70)) {
        Located::Stale { why, .. } => {
            assert_eq!(why, "lines 70-70 are wanted, and the file has 11");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_that_is_gone_leaves_what_is_known_of_it() {
    let (folder, sources) = setting();
    fs::remove_file(folder.path().join("a.rs")).unwrap();
    let known = sources.locate(said("fn b() {", 5, 5));
    assert_eq!(
        known,
        Located::MovedOrDeleted {
            content: "fn b() {".to_owned()
        }
    );
    let unknown = sources.locate(Wanted {
        content: None,
        ..said("", 5, 5)
    });
    assert_eq!(
        unknown,
        Located::Unavailable {
            why: "\"a.rs\" does not exist".to_owned()
        }
    );
    let binary = super::folder(&[("a.rs", b"\x7fELF\0")]);
    let located = super::sources(&binary).locate(said("fn b() {", 5, 5));
    assert!(
        matches!(&located, Located::Stale { why, .. } if why.contains("no text")),
        "{located:?}"
    );
}

#[test]
fn a_hash_is_as_good_as_the_text_but_for_showing_it() {
    let (_folder, sources) = setting();
    let hash = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string();
    let by_hash = |hash, start, end| Wanted {
        content: None,
        content_hash: Some(hash),
        ..said("", start, end)
    };
    let b = hash("fn b() {\n    two();\n}");
    let terminated = hash("fn b() {\n    two();\n}\n");
    for hash in [&b, &terminated] {
        let located = sources.locate(by_hash(hash, 5, 7));
        assert!(matches!(located, Located::Fresh { .. }), "{located:?}");
        moved(&sources, by_hash(hash, 1, 3), span(5, 7));
    }
    let other = hash("something else");
    let located = sources.locate(by_hash(&other, 5, 7));
    assert!(
        matches!(located, Located::Unavailable { .. }),
        "{located:?}"
    );
}

#[test]
fn lines_of_which_nothing_is_known_are_unverified() {
    let (_folder, sources) = setting();
    let wanted = |start, end| Wanted {
        content: None,
        ..said("", start, end)
    };
    assert!(matches!(
        sources.locate(wanted(5, 7)),
        Located::Unverified { .. }
    ));
    assert!(matches!(
        sources.locate(wanted(5, 12)),
        Located::Unavailable { .. }
    ));
}
