//! Secrets in files.

use ctx_model::LineSpan;
use ctx_source::{Located, Secrets, SourceError, Wanted};

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
    assert_eq!(masked.hash(), shown.hash());
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
