//! Questions about prose: contexts show sentences rather than whole passages.

use std::ops::ControlFlow;
use std::sync::Arc;

use ctx_assemble::Control;
use ctx_index::{Index, Options};
use ctx_model::{BuildOptions, OmittedReason, RenditionKind, Tokens};
use ctx_resolve::Resolver;
use ctx_retrieve::{Options as RetrieveOptions, Retriever};
use ctx_service::{Answer, Service};
use ctx_source::{Limits, Root, Sources};

use crate::support::write;

const QUESTION: &str = "How large are the eyes of owls?";
const SENTENCE: &str = "The eyes of owls are as large as those of people.";

/// A paragraph on a line, as editors that wrap lines leave it.
fn notes() -> String {
    let other = "Hens sleep at night and lay an egg a day. ".repeat(9);
    let more = "Mills grind corn while the wind blows. ".repeat(12);
    format!("{other}{SENTENCE} {other}\n\n{more}\n\n{more}\n")
}

async fn answer(text: &str, min_chance: f64) -> Answer {
    asked(QUESTION, text, min_chance).await
}

async fn asked(question: &str, text: &str, min_chance: f64) -> Answer {
    within(question, text, min_chance, 2_000).await
}

async fn within(question: &str, text: &str, min_chance: f64, max_tokens: u32) -> Answer {
    of_file("notes.md", question, text, (min_chance, max_tokens)).await
}

async fn of_file(path: &str, question: &str, text: &str, limits: (f64, u32)) -> Answer {
    of_files(&[(path, text)], question, limits).await
}

async fn of_files(
    files: &[(&str, &str)],
    question: &str,
    (min_chance, max_tokens): (f64, u32),
) -> Answer {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    for (path, text) in files {
        write(&root, path, text);
    }
    let index = Index::open(&root, &folder.path().join("index"), Options::default()).unwrap();
    index.update(&mut |_| ControlFlow::Continue(())).unwrap();
    let sources = Sources::new(Root::open(&root).unwrap(), Limits::default());
    let resolver = Arc::new(Resolver::new(sources, ctx_syntax::Limits::default()));
    let service = Service::new(Retriever::new(Arc::new(index)), resolver);
    let retrieve = RetrieveOptions::default().with_min_chance(min_chance);
    let build = BuildOptions::default()
        .with_max_tokens(Tokens::new(max_tokens))
        .with_selection(ctx_model::Selection::Optimal);
    service
        .answer(question, &retrieve, &build, &Control::default())
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sentence_is_shown_and_the_rest_of_its_line_is_not() {
    let answer = answer(&notes(), 0.1).await;
    let [included] = &answer.built.included[..] else {
        panic!("{:?}", answer.built.included);
    };
    assert_eq!(included.rendition, RenditionKind::Excerpt);
    assert_eq!(
        (included.start_line, included.file_path.as_deref()),
        (Some(1), Some("notes.md"))
    );
    let context = &answer.built.context;
    assert!(
        context.contains(&format!("…\n{SENTENCE}\n…\n")),
        "{context}"
    );
    assert!(!context.contains("Mills"), "{context}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passage_without_a_likely_sentence_is_omitted_for_that() {
    let text = format!("# Owls\n\n{SENTENCE}\n\n# Mills\n\nMills grind people.\n");
    let left_out = |answer: &Answer| {
        let omitted = answer.built.omitted.iter();
        let unlikely = omitted.filter(|it| it.reason == OmittedReason::BelowMinChance);
        unlikely.map(|it| it.id.clone()).collect::<Vec<_>>()
    };
    let answer = answer(&text, 0.9999).await;
    assert_eq!(answer.built.context, "");
    let mut found: Vec<String> = (answer.material.retrieved.found.iter())
        .map(|it| format!("{}:{}", it.part.path, it.part.span))
        .collect();
    found.sort_unstable();
    assert!(!found.is_empty());
    assert_eq!(left_out(&answer), found);
    assert_eq!(
        left_out(&self::answer(&text, 0.0).await),
        Vec::<String>::new()
    );
}

/// A changelog mentions everything, also what is asked about, and explains nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_changelog_is_worth_less_than_what_explains_unless_it_is_asked_for() {
    let section = format!("# Birds\n\n{SENTENCE}\n");
    let log = format!("# 1.2.0\n\n{SENTENCE}\n\n# 1.1.0\n\nThe eyes of owls are drawn.\n");
    let files = [("docs/birds.md", &*section), ("CHANGELOG.md", &*log)];
    let worth = async |question: &str| {
        let answer = of_files(&files, question, (0.0, 2_000)).await;
        let of = |path: &str| {
            let chunks = answer.material.chunks.iter();
            let its = chunks.filter(|it| it.path.as_deref() == Some(path));
            its.map(|it| it.relevance.get()).fold(0.0, f64::max)
        };
        (of("docs/birds.md"), of("CHANGELOG.md"))
    };
    let (explained, changed) = worth(QUESTION).await;
    assert!(
        changed > 0.0 && changed < 0.7 * explained,
        "{explained}, {changed}"
    );
    let (explained, changed) = worth("What changed for the eyes of owls in 1.2.0?").await;
    assert!(changed >= explained, "{explained}, {changed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_section_is_shown_in_full_and_as_many_lines_without_a_heading_are_not() {
    let lines = format!("{SENTENCE} Hens sleep at night. Mills grind corn while the wind blows.");
    let shown = async |heading: &str| {
        let answer = answer(&format!("{heading}\n\n{lines}\n"), 0.02).await;
        let kinds = answer.built.included.iter().map(|it| it.rendition);
        (
            kinds.collect::<Vec<_>>(),
            answer.built.context.contains("Mills"),
        )
    };
    assert_eq!(shown("# Birds").await, (vec![RenditionKind::Full], true));
    assert_eq!(shown("Birds").await, (vec![RenditionKind::Excerpt], false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_section_is_shown_by_its_sentences() {
    let answer = answer(&format!("# Birds\n\n{}", notes()), 0.1).await;
    let kinds: Vec<RenditionKind> = (answer.built.included.iter())
        .map(|it| it.rendition)
        .collect();
    assert_eq!(kinds, [RenditionKind::Excerpt]);
    assert!(answer.built.context.contains(SENTENCE));
    assert!(!answer.built.context.contains("Mills"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_floor_the_budget_is_filled() {
    let (with, without) = (answer(&notes(), 0.1).await, answer(&notes(), 0.0).await);
    assert!(without.built.tokens.total > with.built.tokens.total);
    assert!(without.built.tokens.total <= Tokens::new(2_000));
    assert!(without.built.context.contains(SENTENCE));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_passage_has_excerpts_each_shorter_and_worth_less() {
    let answer = answer(&notes(), 0.0).await;
    for chunk in &answer.material.chunks {
        let mut before = (chunk.content.len(), 1.0);
        for it in &chunk.renditions {
            assert!(
                it.text().len() < before.0 && it.information() <= before.1,
                "{it:?}"
            );
            before = (it.text().len(), it.information());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passage_that_is_named_by_a_line_of_it_is_shown_whatever_it_says() {
    let text = format!("# Owls\n\n{SENTENCE}\n\n# Mills\n\nMills grind corn.\nSails turn them.\n");
    for question in ["notes.md:8", "what is an owl to notes.md:8?"] {
        let answer = asked(question, &text, 0.9999).await;
        let [included] = &answer.built.included[..] else {
            panic!("{question}: {:?}", answer.built);
        };
        assert_eq!((included.start_line, included.end_line), (Some(5), Some(8)));
        assert_eq!(included.rendition, RenditionKind::Full);
    }
}

/// Six sections of one size but for the second, which is longer; the last says most of what a
/// question says.
fn guide() -> String {
    let section = |at: usize, text: &str| format!("# Part {at}\n\n{}\n", text.repeat(12));
    let mut guide = section(1, "Owls fly at night. ");
    guide.push_str(&section(
        2,
        "Hens sleep at night, and so do mills, people and trees. ",
    ));
    for at in 3..6 {
        guide.push_str(&section(at, "Mills grind corn. "));
    }
    guide.push_str(&section(6, "What the notes say is said in notes.md. "));
    guide
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_is_all_that_is_asked_for_is_shown_from_its_start() {
    let lines = |answer: &Answer| {
        let included = answer.built.included.iter();
        included
            .map(|it| (it.start_line.unwrap(), it.rendition))
            .collect::<Vec<_>>()
    };
    let full = |lines: &[u32]| -> Vec<_> {
        let lines = lines.iter();
        lines.map(|&it| (it, RenditionKind::Full)).collect()
    };
    let question = "What does notes.md say?";
    let answer = within(question, &guide(), 0.1, 2_000).await;
    assert_eq!(lines(&answer), full(&[1, 4, 7, 10, 13, 16]));
    let answer = within(question, &guide(), 0.1, 420).await;
    // Of what there is no room for there may be the headings.
    let mut shown = lines(&answer);
    shown.retain(|it| it.1 != RenditionKind::Mention);
    assert_eq!(shown, full(&[1, 4, 7]));
    // Who asks for something in it is shown that.
    let question = "What does notes.md say of mills?";
    let answer = within(question, &guide(), 0.1, 420).await;
    assert!(!lines(&answer).contains(&(1, RenditionKind::Full)));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_project_in_few_tokens_no_pictures_are_shown_and_lines_keep_their_numbers() {
    let badge = "  <a href=\"https://owls.example\"><img src=\"https://owls.example/owl.svg\" alt=\"owl\"></a>\n";
    let pictures = format!("<p align=\"center\">\n{}</p>\n\n", badge.repeat(12));
    let said = "Owls is a library that tells how owls fly.\n";
    let more = "## More\n\nIt needs no more than a feather.\n";
    let asked = async |text: &str, max_tokens: u32| {
        let question = "what does this project do?";
        of_file("README.md", question, text, (0.0, max_tokens)).await
    };
    for (title, first) in [("", 16), ("# Owls\n\n", 16)] {
        let text = format!("{pictures}{title}{said}\n{more}");
        let answer = asked(&text, 200).await;
        let context = &answer.built.context;
        assert!(
            context.contains(said) && !context.contains("<img"),
            "{context}"
        );
        let shown = answer.built.included.iter().filter_map(|it| it.start_line);
        assert_eq!(shown.min(), Some(first), "{context}");
        for cited in &answer.built.citations {
            let lines = cited.start_line.zip(cited.end_line).unwrap();
            let lines = text
                .lines()
                .skip(lines.0 as usize - 1)
                .take((lines.1 + 1 - lines.0) as usize);
            let lines = lines.collect::<Vec<_>>().join("\n");
            let hash = blake3::hash(lines.as_bytes()).to_hex().to_string();
            assert_eq!(cited.content_hash, hash, "{lines}");
        }
        // Where there is room nothing is left out.
        let answer = asked(&text, 4_000).await;
        assert!(answer.built.context.contains("<img"));
    }
    // Who asks about something in it may ask about that.
    let text = format!("{pictures}{said}");
    let answer = of_file("README.md", "what does README.md say?", &text, (0.0, 2_000)).await;
    assert!(answer.built.context.contains("<img"));
}
