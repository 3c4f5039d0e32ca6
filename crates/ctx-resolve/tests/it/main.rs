//! Hits resolved to real files: found, moved, or gone.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod away;
mod excerpts;
mod secrets;

use std::collections::HashSet;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use ctx_model::{Chunk, LineSpan, OmittedReason, Origin, Relation, Relevance, RenditionKind};
use ctx_resolve::{Overlaps, Resolved, Resolver};
use ctx_source::{Limits, Root, Secrets, Sources, Text};
use ctx_syntax::{Outline, Outlines, Source};
use tempfile::TempDir;

const SHAPES: &str = "import math\n\ndef area(r):\n    \"\"\"Of a circle.\"\"\"\n    square = r * r\n    return scale(square)\n\n\ndef unused():\n    pass\n";
const UTIL: &str = "def scale(x):\n    return x * 3\n";

fn setting() -> (TempDir, Resolver) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("app")).unwrap();
    fs::write(folder.path().join("app/shapes.py"), SHAPES).unwrap();
    fs::write(folder.path().join("app/util.py"), UTIL).unwrap();
    let sources = Sources::new(Root::open(folder.path()).unwrap(), Limits::default());
    (
        folder,
        Resolver::new(sources, ctx_syntax::Limits::default()),
    )
}

fn hit(id: &str, path: &str, lines: (u32, u32), content: &str) -> Chunk {
    Chunk::new(id, content, Relevance::ONE)
        .with_path(path)
        .with_span(LineSpan::new(lines.0, lines.1).unwrap())
}

fn run(resolver: &Resolver, hits: Vec<Chunk>) -> Resolved {
    resolver.resolve(hits)
}

#[test]
fn a_hit_becomes_its_code_with_all_that_belongs_to_it() {
    let (_folder, sources) = setting();
    let mut wanted = hit("a", "app/shapes.py", (3, 6), "");
    wanted.matched_keywords = ["SCALE".to_owned()].into();
    let resolved = run(&sources, vec![wanted, hit("b", "app/util.py", (1, 2), "")]);
    assert_eq!(
        (resolved.omitted.len(), resolved.warnings.len()),
        (0, 0),
        "{resolved:?}"
    );
    let [area, scale] = &resolved.chunks[..] else {
        panic!("{resolved:?}");
    };
    assert_eq!(
        area.content,
        "def area(r):\n    \"\"\"Of a circle.\"\"\"\n    square = r * r\n    return scale(square)"
    );
    assert_eq!(area.language.as_deref(), Some("python"));
    assert_eq!(area.imports, ["math"]);
    let calls = Relation {
        kind: "calls".to_owned(),
        target: "scale".to_owned(),
    };
    assert_eq!(area.relations, [calls]);
    let kinds: Vec<RenditionKind> = area
        .renditions
        .iter()
        .map(ctx_model::Rendition::kind)
        .collect();
    assert!(
        kinds.contains(&RenditionKind::Skeleton) && kinds.contains(&RenditionKind::Mention),
        "{kinds:?}"
    );
    assert_eq!(area.renditions.last().unwrap().text(), "def area(r):");
    assert!(scale.content.starts_with("def scale"));
}

#[test]
fn blank_lines_after_a_part_of_code_are_shown_with_it_where_that_is_wanted() {
    let (folder, resolver) = setting();
    fs::write(folder.path().join("notes.md"), "One.\n\nTwo.\n").unwrap();
    let shown = |most: u32, hit: Chunk| {
        let resolver = resolver.clone().with_blank_lines(most);
        let [chunk] = &run(&resolver, vec![hit]).chunks[..] else {
            panic!("there is one");
        };
        let span = chunk.span.unwrap();
        assert_eq!(chunk.content.lines().count(), span.line_count() as usize);
        (span.start(), span.end())
    };
    let area = || hit("a", "app/shapes.py", (3, 6), "");
    for (most, end) in [(0, 6), (1, 7), (2, 8), (3, 8)] {
        assert_eq!(shown(most, area()), (3, end));
    }
    let with_one = hit("a", "app/shapes.py", (3, 7), "");
    assert_eq!(shown(3, with_one), (3, 7), "it has some already");
    let last = hit("a", "app/shapes.py", (9, 10), "");
    assert_eq!(shown(3, last), (9, 10), "the file ends there");
    let prose = hit("a", "notes.md", (1, 1), "");
    assert_eq!(shown(3, prose), (1, 1), "they separate paragraphs");
    let mut named = area();
    named.origin = Origin::Reference;
    assert_eq!(shown(3, named), (3, 6), "these lines are asked for");
}

#[test]
fn each_file_that_was_read_is_told_with_its_hash() {
    let (folder, resolver) = setting();
    fs::write(folder.path().join("returns.py"), "a\rb\n").unwrap();
    let hits = vec![
        hit("a", "app/shapes.py", (3, 6), ""),
        hit("b", "app/shapes.py", (9, 10), ""),
        hit("c", "returns.py", (1, 1), ""),
        hit("d", "gone.py", (1, 1), ""),
        Chunk::new("e", "no file", Relevance::ONE),
    ];
    let files = resolver.resolve(hits).files;
    let hash = |path: &str| *resolver.sources().text(path).unwrap().unmasked_hash();
    let wanted = ["app/shapes.py", "returns.py"].map(|path| (path.to_owned(), hash(path)));
    assert_eq!(files, wanted.into());
}

/// Each row of an outline is the line of the source that has its number, whatever `\r` there are.
#[test]
fn rows_of_outlines_are_lines_of_the_source() {
    let ends = ["\n", "\r\n", "\r\r\n", "\rx\n"];
    for [first, second] in ends
        .map(|first| ends.map(|second| [first, second]))
        .concat()
    {
        let code = format!(
            "# \ra{first}import math{second}\n# one\rtwo{first}def area(r):{second}    return r{first}"
        );
        let text = Text::decode("a.py", code.into_bytes(), Secrets::Shown).unwrap();
        let source = Source::new("a.py", text.as_str(), &ctx_syntax::Limits::default());
        assert_eq!(source.line_count(), text.lines().count());
        for (number, line) in source.lines(source.whole()) {
            assert_eq!(text.line(number), Some(line), "{text:?}");
        }
        let symbols = &source.outline().symbols;
        assert!(!symbols.is_empty(), "{text:?}");
        for symbol in symbols {
            let line = text.line(symbol.span.start()).unwrap();
            assert!(line.contains(&symbol.name), "{line:?} has no {symbol:?}");
        }
    }
}

#[test]
fn a_hit_after_a_lone_return_is_shown_with_its_number() {
    let (folder, plain) = setting();
    let code = "# a\rb\ndef area(r):\n    return r\n";
    fs::write(folder.path().join("mixed.py"), code).unwrap();
    fs::write(folder.path().join("mac.py"), code.replace('\n', "\r")).unwrap();
    for (path, first) in [("mixed.py", 2), ("mac.py", 3)] {
        let resolved = run(&plain, vec![hit("a", path, (first, first + 1), "")]);
        let [area] = &resolved.chunks[..] else {
            panic!("{resolved:?}");
        };
        assert_eq!(area.content, "def area(r):\n    return r");
        let skeleton = &area.renditions[0];
        assert_eq!(skeleton.lines()[0], Some(first), "{skeleton:?}");
    }
}

#[test]
fn lines_around_a_hit_are_shown_on_request() {
    let (_folder, plain) = setting();
    let widening = plain.with_context_lines(1);
    let hits = vec![
        hit("a", "app/shapes.py", (5, 5), "    square = r * r"),
        hit("b", "app/util.py", (1, 2), ""),
        hit("gone", "app/none.py", (1, 1), "as stored"),
    ];
    let resolved = run(&widening, hits);
    let [area, scale, gone] = &resolved.chunks[..] else {
        panic!("{resolved:?}");
    };
    assert_eq!(area.span, LineSpan::new(4, 6).ok());
    assert_eq!(
        area.content,
        "    \"\"\"Of a circle.\"\"\"\n    square = r * r\n    return scale(square)"
    );
    assert_eq!(scale.span, LineSpan::new(1, 2).ok(), "a file has its ends");
    assert_eq!(gone.content, "as stored");
}

#[test]
fn lines_that_end_in_an_empty_one_are_where_they_were_said_to_be() {
    let (folder, plain) = setting();
    fs::write(folder.path().join("p.txt"), "p1\np2\np3\n\n").unwrap();
    let widened = plain.with_context_lines(1);
    for content in ["p3\n\n", "p3\n"] {
        let resolved = run(&widened, vec![hit("a", "p.txt", (3, 4), content)]);
        assert_eq!(resolved.warnings, [], "{content:?}");
        let [shown] = &resolved.chunks[..] else {
            panic!("{resolved:?}");
        };
        assert_eq!(shown.span, LineSpan::new(2, 4).ok());
        assert_eq!(shown.content, "p2\np3\n\n");
    }
}

#[test]
fn moved_lines_are_shown_at_their_new_place() {
    let (_folder, sources) = setting();
    let resolved = run(
        &sources,
        vec![hit("a", "app/shapes.py", (1, 2), "def unused():\n    pass")],
    );
    assert_eq!(resolved.chunks[0].span, LineSpan::new(9, 10).ok());
    assert_eq!(resolved.warnings[0].code, "moved");
    assert!(!resolved.chunks[0].renditions.is_empty());
}

#[test]
fn missing_lines_are_shown_as_stored_or_omitted_with_a_reason() {
    let (_folder, sources) = setting();
    let hits = vec![
        hit(
            "stale",
            "app/shapes.py",
            (3, 4),
            "def something_else(a, b):\n    pass",
        ),
        hit("deleted", "app/gone.py", (1, 1), "def gone(): pass"),
        hit("nothing", "app/gone.py", (1, 1), ""),
        hit("past", "app/util.py", (90, 99), ""),
        hit("outside", "../secret", (1, 1), ""),
        Chunk::new("message", "hello", Relevance::ONE),
    ];
    let resolved = run(&sources, hits);
    let ids: Vec<&str> = resolved.chunks.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["stale", "deleted", "message"]);
    assert_eq!(
        resolved.chunks[0].content,
        "def something_else(a, b):\n    pass"
    );
    assert!(resolved.chunks[0].renditions.is_empty());
    assert_eq!(
        resolved.chunks[0].relations,
        [],
        "those of what stands there now are none of it"
    );
    let out: Vec<(&str, OmittedReason)> = resolved
        .omitted
        .iter()
        .map(|it| (it.id.as_str(), it.reason))
        .collect();
    assert_eq!(
        out,
        [
            ("nothing", OmittedReason::Unreadable),
            ("past", OmittedReason::Stale),
            ("outside", OmittedReason::Unreadable),
        ]
    );
    let codes: Vec<&str> = resolved
        .warnings
        .iter()
        .map(|it| it.code.as_str())
        .collect();
    assert_eq!(
        codes,
        [
            "stale",
            "moved_or_deleted",
            "unreadable",
            "stale",
            "unreadable"
        ]
    );
    for warning in &resolved.warnings {
        assert!(!warning.detail.is_empty());
    }
}

#[test]
fn a_file_without_lines_named_is_shown_whole() {
    let (_folder, sources) = setting();
    let whole = Chunk::new("u", "", Relevance::ONE).with_path("app/util.py");
    let resolved = run(&sources, vec![whole]);
    assert_eq!(resolved.chunks[0].content, UTIL.trim_end());
    assert_eq!(resolved.chunks[0].span, LineSpan::new(1, 2).ok());
}

#[test]
fn the_result_is_the_same_in_any_run() {
    let (_folder, sources) = setting();
    let hits = || -> Vec<Chunk> {
        (0..50)
            .map(|n| {
                let path = if n % 2 == 0 {
                    "app/shapes.py"
                } else {
                    "app/util.py"
                };
                hit(&format!("h{n}"), path, (1, 2), "")
            })
            .collect()
    };
    let first = run(&sources, hits());
    assert_eq!(run(&sources, hits()), first);
    let ids: Vec<String> = first.chunks.iter().map(|it| it.id.clone()).collect();
    assert_eq!(ids, (0..50).map(|n| format!("h{n}")).collect::<Vec<_>>());
    let with_imports = first
        .chunks
        .iter()
        .filter(|it| !it.imports.is_empty())
        .count();
    assert_eq!(with_imports, 1, "imports are told once a file");
}

#[test]
fn the_imports_and_relations_of_a_hit_do_not_depend_on_the_order_of_hits() {
    let (_folder, resolver) = setting();
    let hits = || {
        let mut hits = vec![
            hit("below", "app/shapes.py", (9, 10), ""),
            hit("above", "app/shapes.py", (3, 6), ""),
            hit("best", "app/shapes.py", (5, 6), ""),
            hit("own", "app/shapes.py", (1, 1), ""),
        ];
        let relevance = |it| Relevance::new(it).unwrap();
        (hits[0].relevance, hits[1].relevance) = (relevance(0.4), relevance(0.4));
        hits[3].imports = vec!["its own".to_owned()];
        hits
    };
    let told = |hits: Vec<Chunk>| {
        let mut chunks = run(&resolver, hits).chunks;
        chunks.sort_by(|a, b| a.id.cmp(&b.id));
        chunks
    };
    let one = told(hits());
    let with_imports = one.iter().filter(|it| it.imports == ["math"]);
    let with_imports: Vec<&str> = with_imports.map(|it| it.id.as_str()).collect();
    assert_eq!(with_imports, ["best"]);
    for turn in 1..4 {
        let mut other = hits();
        other.rotate_left(turn);
        assert_eq!(told(other), one, "{turn}");
    }
    // Of two that are as good, the one above the other.
    let mut two = hits();
    two.truncate(2);
    let two = told(two);
    assert_eq!((two[0].imports.len(), two[1].imports.len()), (1, 0));
}

const METHODS: &str = "struct Foo;

impl Foo {
    /// Does one.
    fn one(&self) {
        helper_one();
    }

    /// Does two.
    fn two(&self) {
        helper_two();
    }

    const MOST: Limit = 2;
}

fn helper_one() {}

fn helper_two() {}
";

#[test]
fn a_hit_is_told_the_relations_of_what_it_is_about() {
    let (folder, resolver) = setting();
    fs::write(folder.path().join("r.rs"), METHODS).unwrap();
    let calls = |lines, around| {
        let resolver = resolver.clone().with_context_lines(around);
        let found = run(&resolver, vec![hit("a", "r.rs", lines, "")]);
        let calls = found.chunks[0].relations.iter();
        let calls = calls.filter(|it| it.kind == "calls");
        calls.map(|it| it.target.clone()).collect::<Vec<String>>()
    };
    for (lines, expected) in [
        ((9, 12), "helper_two"),
        ((10, 12), "helper_two"),
        // A part of it, and the blank line before what it says of itself.
        ((11, 11), "helper_two"),
        ((8, 12), "helper_two"),
        ((4, 7), "helper_one"),
        // The end of one and all of another: it begins in the one.
        ((6, 12), "helper_one"),
    ] {
        for around in [0, 1, 3] {
            assert_eq!(calls(lines, around), [expected], "{lines:?} {around}");
        }
    }
}

/// Notes whose threads ask.
#[derive(Debug, Default)]
struct Noting(Mutex<HashSet<ThreadId>>);

impl Outlines for Noting {
    fn outline(&self, _: &str, _: &[u8; 32]) -> Option<Outline> {
        self.0.lock().unwrap().insert(thread::current().id());
        None
    }
}

#[test]
fn one_thread_gives_what_many_give() {
    let [one, many] = [true, false].map(|one_thread| {
        let (_folder, resolver) = setting();
        let noting = Arc::new(Noting::default());
        let resolver = resolver.with_outlines(Arc::clone(&noting) as Arc<dyn Outlines>);
        let hits = ["app/shapes.py", "app/util.py"].map(|it| hit(it, it, (1, 2), ""));
        let resolver = if one_thread {
            resolver.on_one_thread()
        } else {
            resolver
        };
        let found = run(&resolver, hits.to_vec());
        let threads = noting.0.lock().unwrap().clone();
        (found, threads)
    });
    assert_eq!(one.0, many.0);
    let own = thread::current().id();
    assert_eq!(one.1, HashSet::from([own]));
    assert!(!many.1.contains(&own), "files are the pool's to read");
}

/// Notes whose outlines are asked for.
#[derive(Debug, Default)]
struct Asked(Mutex<Vec<String>>);

impl Outlines for Asked {
    fn outline(&self, path: &str, _: &[u8; 32]) -> Option<Outline> {
        self.0.lock().unwrap().push(path.to_owned());
        None
    }
}

#[test]
fn files_are_not_read_once_nobody_waits() {
    let hits = ["app/shapes.py", "app/util.py"].map(|it| hit(it, it, (1, 2), ""));
    let (_folder, resolver) = setting();
    let asked = Arc::new(Asked::default());
    let resolver = resolver
        .with_outlines(Arc::clone(&asked) as Arc<dyn Outlines>)
        .on_one_thread();
    let has_gone = Arc::clone(&asked);
    let until_one = resolver
        .clone()
        .while_awaited(move || has_gone.0.lock().unwrap().is_empty());
    let found = run(&until_one, hits.to_vec());
    assert_eq!(*asked.0.lock().unwrap(), ["app/shapes.py"]);
    // Of the first file no rendition was made, and the second is as it was given.
    assert!(found.chunks[0].renditions.is_empty());
    assert_eq!(found.chunks[1], hits[1]);
    let files: Vec<&String> = found.files.keys().collect();
    assert_eq!(files, ["app/shapes.py"]);
    let found = run(&resolver, hits.to_vec());
    assert!(found.chunks.iter().all(|it| !it.content.is_empty()));
    // Whoever waits for it waits for that which it is part of.
    for waits in [[false, true], [true, false], [true, true]] {
        let resolver = resolver.clone().while_awaited(move || waits[0]);
        let resolver = resolver.while_awaited(move || waits[1]);
        assert_eq!(resolver.is_awaited(), waits == [true, true]);
    }
}

#[test]
fn a_search_within_a_file_ends_once_nobody_waits() {
    let (_folder, resolver) = setting();
    let hits: Vec<Chunk> = (0..9)
        .map(|n| {
            let mut hit = hit(&n.to_string(), "app/shapes.py", (1, 2), "");
            hit.content_hash = Some("0".repeat(64));
            hit
        })
        .collect();
    let asked = AtomicUsize::new(0);
    // Before the file, and before each hit.
    let resolver = resolver.while_awaited(move || asked.fetch_add(1, Ordering::Relaxed) < 4);
    let found = run(&resolver, hits.clone());
    let omitted: Vec<&str> = found.omitted.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(omitted, ["0", "1", "2"]);
    assert_eq!(found.chunks, hits[3..]);
}

/// Every symbol of this workspace's own sources, as a search would name it.
#[test]
fn hits_with_good_places_are_all_resolved() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let sources = Sources::new(Root::open(&crates).unwrap(), Limits::default());
    let limits = ctx_syntax::Limits::default();
    let mut hits = Vec::new();
    for name in ["ctx-model", "ctx-assemble", "ctx-syntax"] {
        for entry in fs::read_dir(crates.join(name).join("src")).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            let path = format!("{name}/src/{file}");
            let Ok(text) = sources.text(&path) else {
                continue;
            };
            let source = Source::new(&path, text.as_str(), &limits);
            for symbol in &source.outline().symbols {
                let id = format!("{path}#{}", hits.len());
                let stored = text.slice(symbol.span).unwrap();
                let lines = (symbol.span.start(), symbol.span.end());
                hits.push(hit(&id, &path, lines, stored));
            }
        }
    }
    assert!(hits.len() > 300, "{}", hits.len());
    let resolved = run(&Resolver::new(sources, limits), hits.clone());
    assert_eq!((resolved.omitted, resolved.warnings), (vec![], vec![]));
    for (hit, chunk) in hits.iter().zip(&resolved.chunks) {
        assert_eq!(
            (&hit.content, hit.span),
            (&chunk.content, chunk.span),
            "{}",
            hit.id
        );
    }
}

fn passage(content: &str, first: u32) -> Chunk {
    let lines = u32::try_from(content.matches('\n').count()).unwrap();
    hit("p", "notes.md", (first, first + lines), content)
}

#[test]
fn an_excerpt_shows_the_likeliest_sentences_and_marks_what_is_left_out() {
    let chunk = passage(
        "One is here. Two is\nhere. Three is here.\nFour is here.",
        7,
    );
    let sentences = ctx_resolve::sentences(&chunk);
    assert_eq!(sentences.len(), 4);
    let excerpts = ctx_resolve::excerpts(&chunk, &sentences, &[0.1, 0.3, 0.01, 0.2], 0.05);
    let shown: Vec<(&str, &[Option<u32>])> =
        excerpts.iter().map(|it| (it.text(), it.lines())).collect();
    assert_eq!(
        shown,
        [
            (
                "One is here. Two is\nhere.\n…\nFour is here.",
                &[Some(7), None, None, Some(9)][..]
            ),
            (
                "…\nTwo is\nhere.\n…\nFour is here.",
                &[None, None, None, None, Some(9)]
            ),
            ("…\nTwo is\nhere.\n…", &[None; 4]),
        ]
    );
    let kept: Vec<f64> = excerpts
        .iter()
        .map(ctx_model::Rendition::information)
        .collect();
    assert!(
        (kept[0] - 1.0).abs() < 1e-12 && (kept[2] - 0.5).abs() < 1e-12,
        "{kept:?}"
    );
}

#[test]
fn code_has_no_sentences() {
    assert!(ctx_resolve::sentences(&hit("a", "a.py", (1, 1), "One. Two.")).is_empty());
}

#[test]
fn where_no_sentence_is_worth_it_there_is_no_excerpt() {
    let chunk = passage("One. Two.", 1);
    let sentences = ctx_resolve::sentences(&chunk);
    assert!(ctx_resolve::excerpts(&chunk, &sentences, &[0.1, 0.1], 0.2).is_empty());
    assert!(ctx_resolve::excerpts(&chunk, &[], &[], 0.0).is_empty());
}

#[test]
fn secrets_are_masked_in_what_files_say_and_in_what_hits_bring_along() {
    let (folder, _) = setting();
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let text = format!("def f():\n    token = \"{token}\"\n    return token\n");
    fs::write(folder.path().join("app/secret.py"), &text).unwrap();
    let sources = |secrets| {
        let root = Root::open(folder.path()).unwrap();
        Sources::new(root, Limits::default()).with_secrets(secrets)
    };
    let hits = || {
        let mut own = hit("own", "app/secret.py", (1, 3), "");
        own.expanded_context = Some(text.clone());
        let rendition = ctx_model::Rendition::new(RenditionKind::Excerpt, text.clone(), 0.5);
        vec![
            hit("file", "app/secret.py", (1, 3), ""),
            // Found elsewhere as it stands in the file: it is there still.
            hit("same", "app/secret.py", (1, 3), text.trim_end()),
            hit("past", "app/gone.py", (1, 3), &text),
            own,
            Chunk::new("none", text.clone(), Relevance::ONE)
                .with_renditions(vec![rendition.unwrap()]),
            hit("line", "app/secret.py", (3, 3), ""),
        ]
    };
    let limits = ctx_syntax::Limits::default;
    let resolved = ctx_resolve::resolve(hits(), sources(Secrets::Masked), limits());
    assert!(!format!("{resolved:?}").contains("ghp_"), "{resolved:?}");
    let told = resolved.warnings.iter();
    let told: Vec<_> = told
        .map(|it| (it.id.as_deref().unwrap(), it.code.as_str()))
        .collect();
    let expected = [
        ("file", "masked"),
        ("same", "masked"),
        ("past", "moved_or_deleted"),
        ("past", "masked"),
        ("own", "masked"),
        ("none", "masked"),
    ];
    assert_eq!(told, expected);
    assert_eq!(resolved.chunks.len(), 6);
    let shown = ctx_resolve::resolve(hits(), sources(Secrets::Shown), limits());
    assert!(
        shown.chunks[..5]
            .iter()
            .all(|it| format!("{it:?}").contains(&token))
    );
}

#[test]
fn a_hit_in_a_file_of_secrets_is_left_out_whatever_it_brings() {
    let (folder, _) = setting();
    fs::write(folder.path().join(".env"), "DB_PASSWORD=hunter2\n").unwrap();
    let resolve = |secrets| {
        let root = Root::open(folder.path()).unwrap();
        let sources = Sources::new(root, Limits::default()).with_secrets(secrets);
        let hit = hit("env", ".env", (1, 1), "DB_PASSWORD=hunter2");
        ctx_resolve::resolve(vec![hit], sources, ctx_syntax::Limits::default())
    };
    let resolved = resolve(Secrets::Masked);
    assert!(resolved.chunks.is_empty(), "{resolved:?}");
    assert_eq!(resolved.omitted[0].reason, OmittedReason::Unreadable);
    assert!(!format!("{resolved:?}").contains("hunter2"));
    assert_eq!(resolve(Secrets::Shown).chunks.len(), 1);
}

#[test]
fn a_hash_that_cannot_be_one_keeps_nobody_from_looking_for_what_has_moved() {
    let (folder, resolver) = setting();
    let indexed = hash(SHAPES);
    let resolver = resolver.with_indexed(move |_| Some(indexed));
    let mut area = hit("area", "app/shapes.py", (3, 6), "");
    area.qualified_name = Some("area".to_owned());
    area.content_hash = Some("v7".to_owned());
    let changed = format!("import os\nimport sys\n\n{SHAPES}");
    fs::write(folder.path().join("app/shapes.py"), changed).unwrap();
    let found = run(&resolver, vec![area]);
    assert!(
        found.chunks[0].content.starts_with("def area(r):"),
        "{found:?}"
    );
}

#[test]
fn a_definition_is_found_again_in_a_file_changed_since_it_was_indexed() {
    let (folder, resolver) = setting();
    let indexed = hash(SHAPES);
    let resolver = resolver.with_indexed(move |path| (path == "app/shapes.py").then_some(indexed));
    let hits = || {
        let named = |id: &str, name: &str, lines| {
            let mut chunk = hit(id, "app/shapes.py", lines, "");
            chunk.qualified_name = Some(name.to_owned());
            chunk
        };
        let mut asked_for = hit("asked", "app/shapes.py", (1, 1), "");
        asked_for.origin = Origin::Reference;
        vec![
            named("area", "area", (3, 6)),
            named("gone", "unused", (9, 10)),
            hit("nameless", "app/shapes.py", (1, 1), ""),
            asked_for,
            // Of this file nobody says what it was.
            hit("other", "app/util.py", (1, 1), ""),
        ]
    };
    let same = run(&resolver, hits());
    assert_eq!((same.chunks.len(), same.warnings.len()), (5, 0), "{same:?}");

    let (before, _) = SHAPES.split_once("\n\ndef unused").unwrap();
    let changed = format!("import os\nimport sys\n\n{before}\n");
    fs::write(folder.path().join("app/shapes.py"), changed).unwrap();
    let sources = Sources::new(Root::open(folder.path()).unwrap(), Limits::default());
    let found = run(&resolver.over(sources), hits());
    let area = &found.chunks[0];
    assert_eq!(area.span, LineSpan::new(6, 9).ok());
    assert!(area.content.starts_with("def area(r):"), "{area:?}");
    let shown: Vec<&str> = found.chunks.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(shown, ["area", "asked", "other"]);
    let left_out: Vec<_> = found
        .omitted
        .iter()
        .map(|it| (it.id.as_str(), it.reason))
        .collect();
    let stale = OmittedReason::Stale;
    assert_eq!(left_out, [("gone", stale), ("nameless", stale)]);
    let told: Vec<String> = found
        .warnings
        .iter()
        .map(|it| format!("{} {}: {}", it.id.as_deref().unwrap(), it.code, it.detail))
        .collect();
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    assert_eq!(
        told,
        [
            "area moved: lines 3-6 of app/shapes.py are lines 6-9 now",
            "gone stale: app/shapes.py has changed since it was indexed, and no longer has \"unused\"",
            "nameless stale: app/shapes.py has changed since it was indexed: its lines cannot be found again",
        ]
    );
}

/// As a store has it.
fn hash(text: &str) -> [u8; 32] {
    let text = Text::decode("a", text.as_bytes().to_vec(), Secrets::Masked);
    *text.unwrap().unmasked_hash()
}

#[test]
fn a_file_of_one_long_line_has_a_short_rendition() {
    let (folder, resolver) = setting();
    let text = format!("{{\"all\": [{}1]}}", "1, ".repeat(13_000));
    for path in ["a.json", "a.txt", "a.csv"] {
        fs::write(folder.path().join(path), &text).unwrap();
        let found = run(&resolver, vec![hit("a", path, (1, 1), "")]);
        let shortest = found.chunks[0].renditions.last().unwrap();
        assert!(shortest.text().len() < 300, "{path}");
    }
}

#[test]
fn hits_that_meet_are_left_to_be_merged_whatever_their_order() {
    let (folder, resolver) = setting();
    let functions = (1..=400).map(|it| format!("fn f{it}() {{\n    g({it});\n    h({it});\n}}\n"));
    let text = functions.collect::<Vec<_>>().concat();
    fs::write(folder.path().join("a.rs"), text).unwrap();
    let mut pinned = hit("pinned", "a.rs", (31, 35), "");
    pinned.pinned = true;
    let hits = [
        hit("overlaps", "a.rs", (1, 8), ""),
        hit("other", "a.rs", (5, 12), ""),
        hit("touches", "a.rs", (13, 16), ""),
        hit("within", "a.rs", (2, 3), ""),
        hit("alone", "a.rs", (21, 28), ""),
        pinned,
        hit("long", "a.rs", (100, 300), ""),
        hit("in-long", "a.rs", (101, 108), ""),
    ];
    let plain = |hits: Vec<Chunk>, overlaps: Overlaps| {
        let of = resolver.clone().with_overlaps(overlaps);
        let chunks = of.resolve(hits).chunks.into_iter();
        let chunks = chunks.filter(|it| it.renditions.is_empty());
        let mut ids: Vec<String> = chunks.map(|it| it.id).collect();
        ids.sort_unstable();
        ids
    };
    let mut order = hits.to_vec();
    for _ in 0..hits.len() {
        order.rotate_left(1);
        assert_eq!(
            plain(order.clone(), Overlaps::Merged),
            ["other", "overlaps", "touches", "within"]
        );
    }
    order.reverse();
    assert_eq!(plain(order.clone(), Overlaps::Merged).len(), 4);
    assert_eq!(plain(order, Overlaps::Apart), [""; 0]);
    // Lines around a hit are shown with it.
    let around = resolver.clone().with_context_lines(3);
    let two = vec![hit("a", "a.rs", (1, 4), ""), hit("b", "a.rs", (9, 12), "")];
    let found = around.with_overlaps(Overlaps::Merged).resolve(two.clone());
    assert!(found.chunks.iter().all(|it| it.renditions.is_empty()));
    assert_eq!(plain(two, Overlaps::Merged), [""; 0]);
}
