//! Secrets in files.

use std::sync::Arc;

use ctx_model::LineSpan;
use ctx_source::{Located, Secrets, SourceError, Text, Wanted, locate};
use ctx_testkit::laws::linear;

#[test]
fn a_secret_is_masked_where_it_stands_and_told_by_its_line() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let plain = format!("one\r\ntoken: {token}\nthree\n");
    let folder = super::folder(&[("a.yml", plain.as_bytes())]);
    let masked = super::sources(&folder).text("a.yml").unwrap();
    let shown = super::sources(&folder).with_secrets(Secrets::Shown);
    let shown = shown.text("a.yml").unwrap();
    assert_eq!(shown.as_str(), plain);
    let stars = "*".repeat(token.len());
    assert_eq!(masked.as_str(), plain.replace(&token, &stars));
    assert_eq!(masked.masked()[0].rule, "github-pat");
    let count = |first, last| masked.masked_in(LineSpan::new(first, last).unwrap());
    assert_eq!(
        (count(1, 1), count(2, 2), count(3, 3), count(1, 9)),
        (0, 1, 0, 0)
    );
    assert_eq!(count(1, 3), 1);
    // It is the same state of the file, however it is shown.
    assert_eq!(masked.unmasked_hash(), shown.unmasked_hash());
    assert_eq!(shown.shown_hash(), shown.unmasked_hash());
    assert_ne!(masked.shown_hash(), shown.shown_hash());
}

#[test]
fn a_key_is_masked_on_all_its_lines() {
    let body = "MIIEogIBAAKCAQEAmeB96KtCRZpTyKGAgLlIqlFBf0eShGOW\n".repeat(6);
    let marks =
        ["-----BEGIN RSA PRIVATE", "-----END RSA PRIVATE"].map(|it| format!("{it} KEY-----"));
    let text = format!("key = \"\"\"\n{}\n{body}{}\n\"\"\"\n", marks[0], marks[1]);
    let folder = super::folder(&[("a.py", text.as_bytes())]);
    let masked = super::sources(&folder).text("a.py").unwrap();
    for line in 2..=9 {
        assert!(
            masked.line(line).unwrap().bytes().all(|it| it == b'*'),
            "{masked:?}"
        );
    }
    assert_eq!(
        (masked.line(1), masked.line(10)),
        (Some("key = \"\"\""), Some("\"\"\""))
    );
}

#[test]
fn files_of_keys_and_settings_are_read_by_those_alone_who_ask_for_secrets() {
    let folder = super::folder(&[(".env", b"PASSWORD=word\n"), ("id_rsa", b"text\n")]);
    for path in [".env", "id_rsa"] {
        let refused = super::sources(&folder).text(path);
        assert!(
            matches!(refused, Err(SourceError::Secret { .. })),
            "{refused:?}"
        );
        let shown = super::sources(&folder).with_secrets(Secrets::Shown);
        assert!(shown.text(path).is_ok());
        for content in [None, Some("PASSWORD=word")] {
            let located = super::sources(&folder).locate(Wanted {
                path,
                span: LineSpan::new(1, 1).unwrap(),
                content,
                content_hash: None,
            });
            assert!(
                matches!(&located, Located::Unavailable { why } if why.contains("secrets")),
                "{located:?}"
            );
        }
    }
}

#[test]
#[cfg(unix)]
fn a_link_to_such_a_file_is_one() {
    use std::os::unix::fs::symlink;

    let files: [(&str, &[u8]); 3] = [
        (".env", b"PASSWORD=word\n"),
        ("keys/.env.local/a.txt", b"text\n"),
        ("docs/a.txt", b"text\n"),
    ];
    let folder = super::folder(&files);
    let link = |from: &str, to: &str| symlink(to, folder.path().join(from)).unwrap();
    link("docs/setup.txt", "../.env");
    link("docs/second.txt", "setup.txt");
    link("docs/other.txt", "a.txt");
    link("folder", "docs");
    for path in ["docs/setup.txt", "docs/second.txt", "folder/setup.txt"] {
        let refused = super::sources(&folder).text(path);
        assert!(
            matches!(&refused, Err(SourceError::Secret { path: told }) if told == path),
            "{refused:?}"
        );
        let shown = super::sources(&folder).with_secrets(Secrets::Shown);
        assert_eq!(shown.text(path).unwrap().as_str(), "PASSWORD=word\n");
    }
    for path in ["docs/other.txt", "folder/a.txt", "keys/.env.local/a.txt"] {
        assert_eq!(
            super::sources(&folder).text(path).unwrap().as_str(),
            "text\n"
        );
    }
}

const PASSWORD: &str = "admin:hunter22x";

/// A file with a password that every form finds only with what is before it.
fn script() -> String {
    format!("set -e\ncurl -u {PASSWORD} https://example.com/status\necho done with it\n")
}

fn said<'w>(span: (u32, u32), content: Option<&'w str>, hash: Option<&'w str>) -> Wanted<'w> {
    Wanted {
        path: "b.sh",
        span: LineSpan::new(span.0, span.1).unwrap(),
        content,
        content_hash: hash,
    }
}

/// Where what is wanted is in `text`, and how sure that is.
fn place(text: &Text, wanted: Wanted<'_>) -> (&'static str, Option<LineSpan>) {
    match locate(Ok(&Arc::new(text.clone())), wanted) {
        Located::Fresh { span, .. } => ("fresh", Some(span)),
        Located::Unverified { span, .. } => ("unverified", Some(span)),
        Located::Moved { to, .. } => ("moved", Some(to)),
        Located::Stale { .. } => ("stale", None),
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_tells_a_right_guess_of_a_secret_from_a_wrong_one() {
    let plain = script();
    let text = Text::decode("b.sh", plain.clone().into_bytes(), Secrets::Masked).unwrap();
    assert!(!text.as_str().contains("hunter"), "{text:?}");
    let hash = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string();
    let line = |text: &str| text.lines().nth(1).unwrap().to_owned();
    for guess in [
        PASSWORD,
        "admin:hunter23y",
        "***************",
        "a b c d e f g h",
    ] {
        assert_eq!(guess.len(), PASSWORD.len());
        let guessed = plain.replace(PASSWORD, guess);
        for (span, content, expected) in [
            ((2, 2), line(&guessed), ("fresh", (2, 2))),
            ((1, 3), guessed.clone(), ("fresh", (1, 3))),
            ((3, 3), line(&guessed), ("moved", (2, 2))),
            ((7, 9), guessed.clone(), ("moved", (1, 3))),
        ] {
            let expected = (expected.0, LineSpan::new(expected.1.0, expected.1.1).ok());
            assert_eq!(
                place(&text, said(span, Some(&content), None)),
                expected,
                "{guess}"
            );
        }
        let is_shown = guess.starts_with('*');
        for content in [guessed.clone(), line(&guessed), line(&guessed) + "\n"] {
            let hash = hash(&content);
            let expected = if is_shown { "fresh" } else { "unverified" };
            let span = if content == guessed { (1, 3) } else { (2, 2) };
            let found = place(&text, said(span, None, Some(&hash)));
            assert_eq!(
                found,
                (expected, LineSpan::new(span.0, span.1).ok()),
                "{guess}"
            );
        }
    }
    for other in [
        "curl -u admin:hunter2 https://example.com/status",
        "curl -u admin:hunter22x",
    ] {
        assert_eq!(place(&text, said((2, 2), Some(other), None)).0, "stale");
    }
    // Without masks a hash is as good as the text.
    let shown = Text::decode("b.sh", plain.clone().into_bytes(), Secrets::Shown).unwrap();
    let found = place(&shown, said((1, 3), None, Some(&hash(&plain))));
    assert_eq!(found.0, "fresh");
}

#[test]
fn text_is_looked_for_among_masks_in_linear_time() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let (line, stars) = (
        format!("{token}\n"),
        format!("{}\n", "x".repeat(token.len())),
    );
    for (most, last, now) in [
        ("a\n", "b", "a\n"),
        ("a\nb\n", "a\na", "a\nb\n"),
        (&*stars, "end", &*line),
        (&*stars, &*token, &*line),
    ] {
        let input = |n: usize| {
            let now = format!("{token}\n{}", now.repeat(n / now.len()));
            let text = Text::decode("a.rs", now.into(), Secrets::Masked).unwrap();
            (Arc::new(text), most.repeat(n / 2 / most.len()) + last)
        };
        linear(&format!("{most:?}, {last:?}"), input, |(text, content)| {
            locate(Ok(text), said((1, 1), Some(content), None))
        });
    }
}

#[test]
fn lines_that_are_masked_whole_match_no_text_without_a_secret() {
    let body = "MIIEogIBAAKCAQEAmeB96KtCRZpTyKGAgLlIqlFBf0eShGOW\n".repeat(6);
    let marks = ["BEGIN", "END"].map(|it| format!("-----{it} RSA PRIVATE KEY-----"));
    let text = format!("a note\nsaid here\n{}\n{body}{}\n", marks[0], marks[1]);
    let folder = super::folder(&[("k.md", text.as_bytes())]);
    let text = super::sources(&folder).text("k.md").unwrap();
    let located = |content: &str| {
        let wanted = Wanted {
            path: "k.md",
            span: LineSpan::new(2, 2).unwrap(),
            content: Some(content),
            content_hash: None,
        };
        locate(Ok(&text), wanted)
    };
    for gone in [
        "fn a_function(with: Some, other: Arguments) -> Res<()",
        &"-".repeat(48),
    ] {
        let gone = format!("{gone:-<48}");
        assert!(
            matches!(located(&gone[..48]), Located::Stale { .. }),
            "{gone}"
        );
    }
    // A line of a key, right or guessed, is shown where lines of one are.
    for line in [&body[..48], &"a".repeat(48)] {
        assert!(matches!(located(line), Located::Moved { .. }), "{line}");
    }
}
