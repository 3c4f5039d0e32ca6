//! Lines of hits, checked against the present file.

use std::fs;
use std::sync::Arc;

use ctx_model::LineSpan;
use ctx_source::{Located, Secrets, Sources, Text, Wanted, around, locate};
use ctx_testkit::laws::linear;
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

#[test]
fn a_text_that_was_stored_as_it_was_read_is_that_of_the_file() {
    let folder = super::folder(&[
        ("a.rs", b"\xef\xbb\xbffn a() {\r\n    one();\r\n}\r\n"),
        ("mac.txt", b"one two three\rfour five six\rseven\r"),
    ]);
    let sources = super::sources(&folder);
    let marked = "\u{feff}fn a() {\r\n    one();\r\n";
    let mac = "one two three\rfour five six";
    for (path, content, told, is) in [
        ("a.rs", marked, span(1, 2), span(1, 2)),
        ("a.rs", marked, span(2, 3), span(1, 2)),
        ("mac.txt", mac, span(1, 2), span(1, 2)),
        ("mac.txt", "seven\r", span(3, 3), span(3, 3)),
        ("mac.txt", mac, span(2, 3), span(1, 2)),
    ] {
        let wanted = Wanted {
            path,
            ..said(content, told.start(), told.end())
        };
        let located = sources.locate(wanted);
        let found = match &located {
            Located::Fresh { span, .. } => Some(*span),
            Located::Moved { to, .. } => Some(*to),
            _ => None,
        };
        assert_eq!(found, Some(is), "{path}: {located:?}");
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
fn a_hit_whose_text_left_the_file_is_stale() {
    let (_folder, sources) = setting();
    match sources.locate(said("fn b() {\n    three();\n}", 5, 7)) {
        Located::Stale { content, why } => {
            assert_eq!(content, "fn b() {\n    three();\n}");
            assert_eq!(why, "lines 5-7 have changed");
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
    // `}` stands in three places, and so does its hash; what stands in one place only is found
    // there.
    let braces = [hash("}"), hash("}\n")];
    for brace in &braces {
        let located = sources.locate(by_hash(brace, 1, 1));
        assert!(
            matches!(located, Located::Unavailable { .. }),
            "{located:?}"
        );
    }
    let two = hash("    two();");
    moved(&sources, by_hash(&two, 1, 1), span(6, 6));
    // That of the whole file tells that nothing has changed.
    let same = [b.to_uppercase(), blake3::hash(FILE).to_hex().to_string()];
    for hash in &same {
        let located = sources.locate(by_hash(hash, 5, 7));
        assert!(matches!(located, Located::Fresh { .. }), "{located:?}");
    }
    // One of another kind has as many digits.
    let other = "0123456789abcdef".repeat(4);
    let why = "lines 5-7 have changed, or the hash is not BLAKE3".to_owned();
    let located = sources.locate(by_hash(&other, 5, 7));
    assert_eq!(located, Located::Unavailable { why });
    // A number of git, one of another length, or a version is no hash of anything here.
    let letters = "x".repeat(64);
    let twice = b.repeat(2);
    for hash in ["", "v7", &b[..40], &b[1..], &twice, &letters] {
        let located = sources.locate(by_hash(hash, 5, 7));
        assert!(
            matches!(located, Located::Unverified { .. }),
            "{hash}: {located:?}"
        );
        let located = sources.locate(by_hash(hash, 5, 99));
        assert!(
            matches!(located, Located::Unavailable { .. }),
            "{hash}: {located:?}"
        );
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

#[test]
fn lines_that_are_much_alike_are_found_where_they_are() {
    let all = |count: usize| "let a = 1;\n".repeat(count);
    let text = [&all(5), "end\n", &all(7), "end\n", &all(2)].concat();
    let folder = super::folder(&[("a.rs", text.as_bytes())]);
    let sources = super::sources(&folder);
    let wanted = [&all(6), "end"].concat();
    moved(&sources, said(&wanted, 1, 7), span(8, 14));
    let wanted = [&all(2), "end"].concat();
    moved(&sources, said(&wanted, 2, 4), span(4, 6));
    moved(&sources, said(&wanted, 13, 15), span(12, 14));
    moved(&sources, said(all(3).trim_end(), 6, 8), span(7, 9));
    // Each line of a run is where others begin, too.
    moved(&sources, said(all(3).trim_end(), 14, 16), span(11, 13));
}

#[test]
fn text_is_looked_for_in_linear_time() {
    // Lines that are wanted, and lines that there are.
    let alike: [(&str, &str, &str); 4] = [
        ("a\n", "b", "a\n"),
        ("a\n", "a b c", "a\n"),
        ("a\nb\n", "a\na", "a\nb\n"),
        ("\n", "x", "\n"),
    ];
    for (most, last, now) in alike {
        let input = |n: usize| {
            let text =
                Text::decode("a.rs", now.repeat(n / now.len()).into(), Secrets::Shown).unwrap();
            let content = most.repeat(n / 2 / most.len()) + last;
            (Arc::new(text), content)
        };
        linear(
            &format!("{most:?}, {last:?} in {now:?}"),
            input,
            |(text, content)| locate(Ok(text), said(content, 1, 1)),
        );
    }
}

#[test]
fn a_search_by_hash_that_would_take_long_is_not_made() {
    let line = |number: usize| format!("{number:0>400}\n");
    let lines = |from: usize, count: usize| (from..from + count).map(line).collect::<String>();
    let folder = super::folder(&[("a.rs", lines(0, 1000).as_bytes())]);
    let sources = super::sources(&folder);
    let by_hash = |count: u32| {
        let hash = blake3::hash(lines(1, count as usize).as_bytes())
            .to_hex()
            .to_string();
        sources.locate(Wanted {
            path: "a.rs",
            span: span(1, count),
            content: None,
            content_hash: Some(&hash),
        })
    };
    assert!(matches!(by_hash(10), Located::Moved { to, .. } if to == span(2, 11)));
    // It would take 100 MB.
    assert!(matches!(by_hash(500), Located::Unavailable { .. }));
}

#[test]
fn a_wider_text_is_that_which_has_the_lines_in_it() {
    let steps = "steps:\n  - run: a\n  - run: b\n";
    let folder = super::folder(&[("a.rs", [steps, steps].concat().as_bytes())]);
    let text = super::sources(&folder).text("a.rs").unwrap();
    for (line, first) in [(1, 1), (3, 1), (4, 4), (6, 4)] {
        let place = around(&text, span(line, line), steps);
        assert_eq!(place, Some(span(first, first + 2)), "{line}");
    }
    assert_eq!(around(&text, span(3, 4), steps), None);
    assert_eq!(around(&text, span(1, 1), "steps:\n  - run: c\n"), None);
}
