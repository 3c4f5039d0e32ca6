use ctx_assemble::{Control, assemble};
use ctx_model::{BuildOptions, Relevance, RenditionKind, Tokens};

use super::*;

fn span(start: u32, end: u32) -> LineSpan {
    LineSpan::new(start, end).expect("lines")
}

/// Lines 11 to 16 of a file, two of which are shown in part.
fn prose() -> (Chunk, Rendition) {
    let content = "One is here. Two begins\nand ends. Three\nis long\nand longer.\n\nFour. Five.";
    let chunk = Chunk::new("a", content, Relevance::ONE)
        .with_path("a.md")
        .with_span(span(11, 16));
    let text = "Two begins\nand ends.\n…\nand longer.\n… 1 line left out\nFive.\n";
    let rendition = Rendition::new(RenditionKind::Excerpt, text, 0.5)
        .and_then(|it| it.with_lines(vec![None, None, None, Some(14), None, None]))
        .expect("a line for each");
    (chunk, rendition)
}

#[test]
fn parts_of_lines_are_shown_and_marks_are_not() {
    let (chunk, rendition) = prose();
    let shown = Shown::part(&rendition, &chunk);
    assert_eq!(
        &*shown.text,
        "Two begins\nand ends.\n…\nand longer.\n…\nFive.\n"
    );
    assert_eq!(shown.lines, [span(11, 12), span(14, 14), span(16, 16)]);
    assert!(shown.has(span(11, 12)) && !shown.has(span(11, 13)));
    let rows = shown.rows();
    let rows: Vec<(u32, &str)> = rows
        .iter()
        .map(|it| (it.0, &shown.text[it.1.clone()]))
        .collect();
    let expected = [
        (11, "Two begins"),
        (12, "and ends."),
        (14, "and longer."),
        (16, "Five."),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn lines_of_a_whole_text_follow_each_other() {
    for (text, lines, numbers) in [
        ("a\r\nb\n", Some(span(5, 6)), &[5, 6][..]),
        ("a\n\nb", Some(span(5, 7)), &[5, 6, 7]),
        // Its last line is empty.
        ("a\n", Some(span(5, 6)), &[5]),
        ("a\nb\nc", Some(span(5, 6)), &[]),
        ("a\nb", None, &[]),
        ("", None, &[]),
    ] {
        let rows = Shown::whole(text, lines).rows();
        let found: Vec<u32> = rows.iter().map(|it| it.0).collect();
        assert_eq!(found, numbers, "{text:?}");
    }
}

#[test]
fn a_part_that_may_be_of_two_lines_is_of_neither() {
    let chunk = Chunk::new("a", "yes\nno\nyes", Relevance::ONE).with_span(span(1, 3));
    let rendition = Rendition::new(RenditionKind::Excerpt, "yes\n…\n", 0.5)
        .and_then(|it| it.with_lines(vec![None, None]))
        .expect("a line for each");
    let shown = Shown::part(&rendition, &chunk);
    assert_eq!((&*shown.text, &shown.lines[..]), ("yes\n…\n", &[][..]));
}

#[test]
fn chunks_that_meet_are_shown_as_one() {
    let part = |id: &str, start: u32, text: &str, relevance: f64| {
        let end = start + u32::try_from(text.lines().count()).expect("a few") - 1;
        let relevance = Relevance::new(relevance).expect("0 to 1");
        Chunk::new(id, text, relevance)
            .with_path("a.rs")
            .with_span(span(start, end))
    };
    let chunks = [
        part("a", 3, "c\nd\ne\n", 0.5),
        part("b", 5, "e\nf", 1.0),
        part("c", 9, "i", 1.0),
    ];
    let options = BuildOptions::default().with_max_tokens(Tokens::new(500));
    let built = assemble(&chunks, &options, &ctx_tokens::Words, &Control::default());
    let built = built.expect("there is room");
    let of_b = built.citations.iter().find(|it| it.chunk_id == "b");
    let of_b = Shown::of(of_b.expect("it is shown"), &chunks[1], &[&chunks[0]]);
    assert_eq!(&*of_b.text, "c\nd\ne\nf");
    assert_eq!(of_b.lines, [span(3, 6)]);
}

#[test]
fn a_chunk_shown_without_its_text_has_no_lines() {
    let mut chunk = Chunk::new("a", "let ten = 10;", Relevance::ONE)
        .with_path("a.rs")
        .with_span(span(10, 10));
    chunk.summary = Some("what ten is".to_owned());
    let chunks = [chunk];
    let options = BuildOptions::default().with_content(false);
    let built = assemble(&chunks, &options, &ctx_tokens::Words, &Control::default());
    let built = built.expect("there is room");
    let shown = Shown::of(&built.citations[0], &chunks[0], &[]);
    assert_eq!((&*shown.text, &shown.lines[..]), ("what ten is", &[][..]));
}

#[test]
fn merged_lines_are_known_whichever_chunk_told_how_they_end() {
    let chunk = |id: &str, relevance, first: u32, content: &str| {
        let last = first + u32::try_from(ctx_model::lines(content).count()).expect("few") - 1;
        Chunk::new(id, content, Relevance::clamped(relevance))
            .with_path("a.txt")
            .with_span(span(first, last))
    };
    let long = "three\r\n".to_owned() + &"and many more words\r\n".repeat(80);
    let chunks = [
        chunk("a", 0.9, 2, "two"),
        chunk("b", 0.8, 3, "three"),
        chunk("c", 0.1, 3, &long),
    ];
    let options = BuildOptions::default().with_max_tokens(Tokens::new(80));
    let built = assemble(&chunks, &options, &ctx_tokens::Words, &Control::default());
    let built = built.expect("there is room");
    let ends = (built.included[0].start_line, built.included[0].end_line);
    assert_eq!((built.included.len(), ends), (1, (Some(2), Some(3))));
    let shown = Shown::of(&built.citations[0], &chunks[0], &[&chunks[1]]);
    assert_eq!(shown.rows().len(), 2, "{shown:?}");
}

#[test]
fn parts_of_lines_are_looked_for_in_linear_time() {
    ctx_testkit::laws::linear(
        "parts of lines",
        |n| {
            let chunk = Chunk::new("a", "line\n".repeat(n / 5), Relevance::ONE);
            let lines = n / 5;
            let rendition = Rendition::new(RenditionKind::Excerpt, "part\n".repeat(lines), 0.5);
            let rendition = rendition.and_then(|it| it.with_lines(vec![None; lines]));
            (chunk, rendition.expect("a line for each"))
        },
        |(chunk, rendition)| Shown::part(rendition, chunk).text.len(),
    );
}
