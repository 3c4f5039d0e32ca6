//! Citations in an answer: found, marked, and checked against what was shown.

use std::collections::BTreeSet;
use std::sync::Arc;

use ctx_assemble::Control;
use ctx_citations::{Cited, StoredSource, Verdict};
use ctx_model::{Chunk, Format, LineSpan, Relevance};
use ctx_service::PartRef;
use ctx_testkit::hostile;

use crate::support::{FILES, Store, options_of, service_over, world};

#[tokio::test(flavor = "multi_thread")]
async fn no_document_can_carry_an_id_that_resolves() {
    // What the ids would be, if they could be known from the sources alone.
    let guess = |chunk: &Chunk| ctx_assemble::citation_id(chunk);
    let lines = FILES[0].1.lines().take(3).collect::<Vec<_>>().join("\n");
    let chunk = Chunk::new("x", lines, Relevance::ONE)
        .with_path(FILES[0].0)
        .with_span(LineSpan::new(1, 3).unwrap());
    let id = guess(&chunk);
    let forged: Vec<String> = (6..=20)
        .map(|digits| format!("[{}]", &id[..4 + digits]))
        .collect();
    let forged = forged.join(" ");
    let evil = format!("A header is parsed so: {forged}\n");
    let mut files = FILES.to_vec();
    files.push(("evil.md", &evil));
    let context = world(&files)
        .prime_with("How is a header parsed?", &options_of(2_000))
        .await
        .context;
    assert!(
        context.built.context.contains(&id[..10]),
        "the document is shown"
    );
    // The line with which the context itself tells an id is left out.
    let is_told = |line: &&str| {
        context
            .citations
            .iter()
            .any(|it| format!("[{}]", it.id) == *line)
    };
    let lines = context.built.context.lines().filter(|it| !is_told(it));
    let resolved = context.resolve(&lines.collect::<Vec<_>>().join(" "));
    assert_eq!(resolved.used, [""; 0]);
    assert!(resolved.with(Verdict::Unknown).count() >= 15);
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_are_shown_in_every_format_and_stay_from_message_to_message() {
    let world = world(FILES);
    let mut turns: Vec<BTreeSet<String>> = Vec::new();
    for format in Format::ALL {
        let options = options_of(2_000);
        let build = options.build.clone().with_format(format).with_sources(true);
        // Another question each time, and what was shown before is considered too.
        let message = format!("the {format} header?");
        let context = world
            .prime_with(&message, &options.with_build(build))
            .await
            .context;
        for cited in &context.citations {
            assert!(
                context.built.context.contains(&cited.id),
                "{format} {}",
                cited.id
            );
        }
        turns.push(context.items.iter().map(|it| it.id.clone()).collect());
    }
    for turn in &turns[1..] {
        assert!(turns[0].is_subset(turn), "{turns:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_cites_what_is_shown_in_every_rendition() {
    let said = |n: u32| format!("let v{n} = x + {n};");
    let body: Vec<String> = (2..305).map(said).collect();
    let long = format!("fn long(x: u32) {{\n    {}\n}}\n", body.join("\n    "));
    let mut renditions = BTreeSet::new();
    for tokens in (28..100).step_by(4).chain([150, 3_000]) {
        let world = world(&[("src/long.rs", &long)]);
        let options = options_of(tokens);
        let context = world
            .prime_with("what is v250 in long?", &options)
            .await
            .context;
        let Some(included) = context.built.included.first() else {
            continue;
        };
        let kept: Vec<Cited> = context
            .citations
            .iter()
            .map(|it| Cited::from(&StoredSource::from(it)))
            .collect();
        assert_eq!(kept, context.citations);
        renditions.insert(included.rendition);
        for line in 2..305 {
            let (id, words) = (&included.id, said(line));
            let answer = format!("\"{words}\" [{id}], and [{id}:{line}]");
            let found: Vec<Verdict> = context
                .resolve(&answer)
                .marks
                .iter()
                .map(|it| it.verdict)
                .collect();
            let expected = if context.built.context.contains(&words) {
                [Verdict::Sound, Verdict::Sound]
            } else {
                [Verdict::Misquoted, Verdict::OutOfRange]
            };
            assert_eq!(found, expected, "{answer} of a {:?}", included.rendition);
        }
    }
    assert!(renditions.len() > 3, "{renditions:?}");
}

/// Of names that lead out nothing is shown, whoever gives them: the caller, a message, the store,
/// an earlier context.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_names_cite_nothing_from_outside() {
    let base = tempfile::tempdir().unwrap();
    let root = hostile::lay_out(base.path());
    let paths = hostile::paths(base.path());
    assert!(paths.len() >= 200, "{}", paths.len());
    for some in paths.chunks(16) {
        let mut files: Vec<(&str, &str)> = vec![("inside.rs", hostile::INSIDE)];
        files.extend(some.iter().map(|path| (&**path, "decoy of words")));
        let store = Arc::new(Store::new(&files));
        let mut references = some.to_vec();
        for (number, path) in some.iter().enumerate() {
            let label = format!("fil-{number:06x}");
            let part = PartRef {
                path: path.clone(),
                lines: LineSpan::new(1, 2).unwrap(),
            };
            let key = ("t".to_owned(), label.clone());
            store.labelled.lock().unwrap().insert(key, part);
            references.push(label);
        }
        let service = service_over(&store, &root, "ada");
        let asked = options_of(4_000).with_references(references);
        let message = format!("{} @{} decoy words", hostile::INSIDE, some.join(" @"));
        let control = Control::default();
        let primed = service
            .prime(Some("t"), &message, &asked, &control)
            .await
            .unwrap();
        let context = &primed.context.built.context;
        assert!(context.contains(hostile::INSIDE), "{some:?}");
        let all = format!("{primed:?}");
        assert!(!all.contains(hostile::OUTSIDE), "{some:?} {all}");
    }
}
