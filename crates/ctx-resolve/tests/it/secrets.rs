//! Secrets in files and in the texts of hits: none is shown, and a right guess of one is not
//! confirmed.

use std::fs;

use ctx_model::{Chunk, LineSpan, OmittedReason, Relation, Relevance, Rendition, RenditionKind};
use ctx_resolve::{Resolved, Resolver, mask};
use ctx_source::{Limits, Root, Secrets, Sources};
use proptest::prelude::*;
use tempfile::TempDir;

use super::hit;

fn resolver(folder: &TempDir, secrets: Secrets) -> Resolver {
    let root = Root::open(folder.path()).unwrap();
    let sources = Sources::new(root, Limits::default()).with_secrets(secrets);
    Resolver::new(sources, ctx_syntax::Limits::default())
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        fs::write(folder.path().join(path), text).unwrap();
    }
    folder
}

fn run(files: &[(&str, &str)], hits: Vec<Chunk>) -> Resolved {
    resolver(&folder(files), Secrets::Masked).resolve(hits)
}

/// What is told of it, without what is the same in all.
fn told(resolved: &Resolved) -> Vec<(&str, &str)> {
    let warnings = resolved.warnings.iter();
    let told = warnings.map(|it| (it.id.as_deref().unwrap_or_default(), it.code.as_str()));
    told.collect()
}

fn token() -> String {
    format!("ghp_{}", "a1B2c3D4e5F6".repeat(3))
}

/// Lines that rules find something in, some of it by what stands on other lines.
fn block() -> impl Strategy<Value = String> {
    let key = prop::collection::vec("[A-Za-z0-9+/]{64}", 3..9).prop_map(|it| it.join("\n"));
    let marked = (
        key,
        "[A-Za-z0-9+/]{10,30}==",
        prop::sample::select(vec!["RSA ", "", "EC "]),
    );
    let marked = marked.prop_map(|(key, last, label)| {
        format!(
            "-----BEGIN {label}PRIVATE KEY-----\n{key}\n{last}\n-----END {label}PRIVATE KEY-----"
        )
    });
    prop_oneof![
        marked.clone(),
        marked
            .clone()
            .prop_map(|it| format!("const KEY: &str = \"{it}\";")),
        marked.prop_map(|it| format!("{{\"private_key\": \"{}\\n\"}}", it.replace('\n', "\\n"))),
        "[A-Za-z0-9]{36}".prop_map(|it| format!("token: ghp_{it}")),
        "[A-Za-z0-9]{40}".prop_map(|it| format!("aws:\n  secret_access_key: {it}")),
        "[a-f0-9]{32}".prop_map(|it| format!("datadog:\n  api_key: {it}")),
        "[a-z0-9]{32}".prop_map(|it| format!("asana:\n  client_secret: {it}")),
        "[A-Za-z0-9]{32}".prop_map(|it| format!("fastly:\n  api_token: {it}")),
        "[a-z]{8}[0-9]{3}".prop_map(|it| format!("curl -u admin:{it} https://example.com/")),
    ]
}

fn plain() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "# settings",
        "",
        "}",
        "let kept = of_all.get(&name);",
        "x",
        "see the notes on how to deploy",
        "größer ☔",
    ])
    .prop_map(str::to_owned)
}

/// A file of such, and two numbers that cut lines out of it.
fn file() -> impl Strategy<Value = (String, (usize, usize))> {
    let lines = prop::collection::vec(prop_oneof![2 => block(), 3 => plain()], 1..7);
    let end = prop::sample::select(vec!["\n", "\r\n"]);
    let cut = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
    (lines, end, cut).prop_map(|(lines, end, (first, last))| {
        let text = lines.join("\n") + "\n";
        let count = text.lines().count();
        let (first, last) = (first.index(count), last.index(count));
        (text.replace('\n', end), (first.min(last), first.max(last)))
    })
}

/// The numbers of lines that are told from 0.
fn span(first: usize, last: usize) -> (u32, u32) {
    let number = |it: usize| u32::try_from(it).unwrap() + 1;
    (number(first), number(last))
}

/// The parts of secrets in `text` that are no marks, each in one line.
fn parts(text: &str) -> Vec<&str> {
    let found = ctx_secrets::find("a.md", text);
    let lines = found.iter().flat_map(|it| text[it.span.clone()].lines());
    let parts = lines.map(str::trim).filter(|it| it.len() >= 8);
    parts.filter(|it| !it.starts_with("-----")).collect()
}

proptest! {
    #[test]
    fn each_cut_of_a_file_is_shown_as_its_masked_lines((text, (first, last)) in file()) {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let stored = lines[first..=last].concat();
        let span = span(first, last);
        let mut masked = text.clone();
        let secrets = ctx_secrets::mask("a.md", &mut masked);
        let masked: Vec<&str> = masked.split_inclusive('\n').collect();
        let as_shown = masked[first..=last].concat();
        let excerpt = stored.lines().next().unwrap();
        let excerpt = Rendition::new(RenditionKind::Excerpt, excerpt, 0.5).unwrap();
        let own = hit("own", "a.md", span, &stored).with_renditions(vec![excerpt]);
        let hits = vec![
            hit("stored", "a.md", span, &stored),
            hit("trimmed", "a.md", span, stored.strip_suffix('\n').unwrap()),
            hit("masked", "a.md", span, &as_shown),
            hit("asked", "a.md", span, ""),
            own,
        ];
        let resolved = run(&[("a.md", &text)], hits.clone());
        prop_assert_eq!(resolved.chunks.len(), hits.len());
        for chunk in &resolved.chunks {
            let shown = ctx_model::lines(&chunk.content);
            prop_assert!(shown.eq(ctx_model::lines(&as_shown)), "{:?}", chunk);
        }
        let told = told(&resolved);
        prop_assert!(told.iter().all(|it| it.1 == "masked"), "{:?}", told);
        let shown = format!("{resolved:?}");
        for part in parts(&text) {
            prop_assert!(!shown.contains(part), "{}: {}", part, shown);
        }
        // Elsewhere in the file, the same is found, or has nothing to hide.
        let longer = format!("# one\n# two\n{text}");
        prop_assert_eq!(ctx_secrets::find("a.md", &longer).len(), secrets.len());
        let resolved = run(&[("a.md", &longer)], hits);
        let shown = format!("{resolved:?}");
        for part in parts(&longer) {
            prop_assert!(!shown.contains(part), "{}: {}", part, shown);
        }
    }

    #[test]
    fn a_guess_does_not_reveal_a_masked_secret((text, (first, last)) in file(), guess in "[a-z]{64}") {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let span = span(first, last);
        let right = lines[first..=last].concat();
        let mut wrong = text.clone();
        for secret in ctx_secrets::find("a.md", &text) {
            let other: String = text[secret.span.clone()]
                .bytes()
                .zip(guess.bytes().cycle())
                .map(|(is, guess)| char::from(if is.is_ascii_control() { is } else { guess }))
                .collect();
            wrong.replace_range(secret.span, &other);
        }
        let wrong_lines: Vec<&str> = wrong.split_inclusive('\n').collect();
        let wrong_cut = wrong_lines[first..=last].concat();
        let folder = folder(&[("a.md", &text)]);
        let resolver = resolver(&folder, Secrets::Masked);
        for lines in [span, (span.0 + 1, span.1 + 1)] {
            let by_text = |text: &str| resolver.resolve(vec![hit("a", "a.md", lines, text)]);
            prop_assert_eq!(by_text(&right), by_text(&wrong_cut));
        }
        let by_hash = |text: &str| {
            let mut hit = hit("a", "a.md", span, "");
            hit.content_hash = Some(blake3(text));
            let mut resolved = resolver.resolve(vec![hit]);
            for chunk in &mut resolved.chunks {
                chunk.content_hash = None;
            }
            resolved
        };
        prop_assert_eq!(by_hash(&text), by_hash(&wrong));
        prop_assert_eq!(by_hash(&right), by_hash(&wrong_cut));
    }
}

#[test]
fn a_hash_of_what_is_masked_is_not_compared_and_that_is_reported() {
    let text = format!("one\ntoken: {}\n", token());
    let stars = text.replace(&token(), &"*".repeat(token().len()));
    let by = |hash: &str| {
        let mut hit = hit("a", "a.yml", (1, 2), "");
        hit.content_hash = Some(hash.to_owned());
        let resolved = run(&[("a.yml", &text)], vec![hit]);
        assert_eq!(resolved.chunks[0].content, stars.trim_end());
        resolved
    };
    for other in ["0".repeat(64), blake3(&text), blake3("one\n")] {
        let resolved = by(&other);
        assert_eq!(told(&resolved), [("a", "unverified"), ("a", "masked")]);
        let why = "it is unknown whether a.yml has changed: it has masked secrets, and the hash is not of its masked text";
        assert_eq!(resolved.warnings[0].detail, why);
    }
    // No hash, as a number of git is none, is not compared anywhere.
    for right in [&*blake3(&stars), "v7"] {
        assert_eq!(told(&by(right)), [("a", "masked")]);
    }
}

fn blake3(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

#[test]
fn expanded_context_is_what_the_file_says_around_a_hit() {
    let token = token();
    let text = format!("one\ntwo\ntoken: {token}\nfour\nfive\n");
    let files = [("a.yml", text.as_str())];
    let wide = |id: &str, content: &str, wider: String| {
        let mut hit = hit(id, "a.yml", (2, 2), content);
        hit.expanded_context = Some(wider);
        hit
    };
    let around = format!("two\ntoken: {token}\nfour");
    let hits = vec![
        wide("there", "two", around.clone()),
        wide("moved", &format!("token: {token}"), around.clone()),
        wide("other", "two", "two\ntoken: another\nfour".to_owned()),
        wide("elsewhere", "two", "four\nfive".to_owned()),
        wide("stale", "seven", format!("six\nseven\ntoken: {token}")),
        wide("alone", "", around.clone()),
    ];
    let resolved = run(&files, hits);
    assert!(!format!("{resolved:?}").contains("ghp_"), "{resolved:?}");
    let shown: Vec<_> = resolved
        .chunks
        .iter()
        .map(|it| {
            let span = it.span.map(|it| (it.start(), it.end()));
            (&*it.id, &*it.content, span, it.expanded_context.as_deref())
        })
        .collect();
    let stars = "*".repeat(token.len());
    let (line, masked) = (format!("token: {stars}"), around.replace(&token, &stars));
    let stored = format!("six\nseven\ntoken: {stars}");
    let expected = [
        ("there", "two", Some((2, 2)), Some(&*masked)),
        ("moved", &line, Some((3, 3)), Some(&*masked)),
        ("other", "two", Some((2, 2)), None),
        ("elsewhere", "two", Some((2, 2)), None),
        ("stale", "seven", Some((2, 2)), Some(&*stored)),
        ("alone", "", Some((2, 2)), Some(&*masked)),
    ];
    assert_eq!(shown, expected);
    let expected = [
        ("there", "masked"),
        ("moved", "moved"),
        ("moved", "masked"),
        ("other", "stale"),
        ("elsewhere", "stale"),
        ("stale", "stale"),
        ("stale", "masked"),
        ("alone", "masked"),
    ];
    assert_eq!(told(&resolved), expected);
}

#[test]
fn stored_text_of_a_secret_file_is_not_shown_even_with_its_surroundings() {
    let password = "DB_PASSWORD=correct-horse-battery";
    let hits = || {
        let wide = |id: &str, path: &str, content: &str| {
            let mut hit = hit(id, path, (1, 1), content);
            hit.expanded_context = Some(format!("{password}\nMODE=prod"));
            hit
        };
        vec![
            hit("content", ".env", (1, 1), password),
            wide("wide", ".env", password),
            wide("alone", "gone/prod.env", ""),
        ]
    };
    let files = [(".env", password)];
    let resolved = run(&files, hits());
    assert!(resolved.chunks.is_empty(), "{resolved:?}");
    assert!(
        resolved
            .omitted
            .iter()
            .all(|it| it.reason == OmittedReason::Unreadable)
    );
    assert!(!format!("{resolved:?}").contains("horse"), "{resolved:?}");
    let shown = resolver(&folder(&files), Secrets::Shown).resolve(hits());
    assert_eq!(shown.chunks.len(), 3);
    // Where no file is read, there is nobody to leave it out.
    for mut hit in hits() {
        hit.summary = Some("with größer".to_owned());
        let warning = mask(&mut hit).unwrap();
        assert_eq!(warning.code.as_str(), "masked");
        assert!(warning.detail.contains("keys or settings"), "{warning:?}");
        assert_eq!(hit.summary.as_deref(), Some("*".repeat(13).as_str()));
        let shown = hit.full_text();
        assert!(shown.chars().all(|it| it == '*' || it == '\n'), "{hit:?}");
    }
    let mut example = hit("a", "prod.env.example", (1, 1), password);
    assert_eq!(mask(&mut example), None);
}

#[test]
fn names_imports_and_relations_are_masked_and_counted() {
    let token = token();
    let bring = |mut chunk: Chunk| {
        chunk.imports = vec![format!("import x from \"https://{token}@github.com\"")];
        chunk.relations = vec![Relation {
            kind: "calls".to_owned(),
            target: token.clone(),
        }];
        chunk.name = Some(token.clone());
        chunk.qualified_name = Some(format!("a::{token}"));
        chunk
    };
    let mut alone = bring(Chunk::new("alone", "x", Relevance::ONE));
    let one = "1 secret is masked";
    assert_eq!(mask(&mut alone).unwrap().detail, one);
    assert!(!format!("{alone:?}").contains("ghp_"), "{alone:?}");
    assert!(alone.imports[0].starts_with("import x from \"https://***"));
    let other = format!("ghp_{}", "b1A2d3C4f5E6".repeat(3));
    let mut two = bring(Chunk::new("two", format!("token: {other}"), Relevance::ONE));
    assert_eq!(mask(&mut two).unwrap().detail, "2 secrets are masked");
    let text = format!("token: {token}\n");
    let hits = vec![
        bring(hit("lines", "a.yml", (1, 1), "")),
        bring(hit("text", "a.yml", (1, 1), &text)),
        bring(hit("gone", "b.yml", (1, 1), "x")),
    ];
    let resolved = run(&[("a.yml", &text)], hits);
    assert!(!format!("{resolved:?}").contains("ghp_"), "{resolved:?}");
    let masked = resolved.warnings.iter();
    let masked = masked.filter(|it| it.code.as_str() == "masked");
    let ids: Vec<_> = masked.filter_map(|it| it.id.as_deref()).collect();
    assert_eq!(ids, ["lines", "text", "gone"]);
}

#[test]
fn a_secret_in_one_text_is_masked_in_all() {
    let secret = "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8i9J0";
    let line = format!("  secret_access_key: {secret}");
    let text = format!("# settings\naws:\n{line}\n");
    let rendition = Rendition::new(RenditionKind::Excerpt, line.clone(), 0.5).unwrap();
    let rendition = rendition.with_lines(vec![Some(3)]).unwrap();
    let mut chunk = Chunk::new("a", text.clone(), Relevance::ONE)
        .with_path("a.yml")
        .with_renditions(vec![rendition.clone()]);
    assert_eq!(mask(&mut chunk).unwrap().detail, "1 secret is masked");
    let masked = line.replace(secret, &"*".repeat(secret.len()));
    assert_eq!(chunk.renditions[0].text(), masked);
    assert_eq!(chunk.renditions[0].lines(), [Some(3)]);
    // By what is masked in the file, where the hit alone does not tell it.
    let hit = hit("a", "a.yml", (3, 3), &line).with_renditions(vec![rendition]);
    let resolved = run(&[("a.yml", &text)], vec![hit]);
    assert_eq!(told(&resolved), [("a", "masked")]);
    assert_eq!(resolved.chunks[0].content, masked);
    assert_eq!(resolved.chunks[0].renditions[0].text(), masked);
}

#[test]
fn a_path_says_nothing_by_its_dots() {
    let text = "fn a() {\n    one();\n    two();\n    three();\n}\n";
    let hits = vec![
        hit("a", "a.rs", (1, 3), ""),
        hit("b", "./a.rs", (3, 5), ""),
        hit("c", ".//././a.rs", (2, 2), "    one();"),
        hit("d", "./gone.rs", (1, 1), "x"),
        hit("e", "../a.rs", (1, 1), ""),
    ];
    let resolved = run(&[("a.rs", text)], hits);
    let paths = resolved.chunks.iter().map(|it| it.path.as_deref().unwrap());
    let paths: Vec<&str> = paths.collect();
    assert_eq!(paths, ["a.rs", "a.rs", "a.rs", "gone.rs"]);
    assert_eq!(resolved.files.keys().collect::<Vec<_>>(), ["a.rs"]);
    assert_eq!(resolved.omitted[0].id, "e");
    assert_eq!(resolved.chunks[2].span, LineSpan::new(2, 2).ok());
}
