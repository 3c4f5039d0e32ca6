//! What is refused, and how the error names the cause.

use ctx_assemble::AssembleError;
use ctx_model::{
    BuildOptions, Chunk, Format, LineSpan, Rendition, RenditionKind, Selection, Tokens,
};
use ctx_testkit::few::thorough;

use crate::support::{build, chunk, files, is_sound, options, try_build};

#[track_caller]
fn message(chunks: &[Chunk], options: &BuildOptions) -> String {
    try_build(chunks, options)
        .expect_err("accepted")
        .to_string()
}

#[test]
fn two_chunks_of_one_id_are_refused() {
    let chunks = [chunk("twin", 0.5, "a"), chunk("twin", 0.5, "b")];
    assert!(message(&chunks, &options(100)).contains("\"twin\""));
}

#[test]
fn an_empty_id_or_path_is_refused() {
    let chunks = [chunk("a", 0.5, "a"), chunk("", 0.5, "b")];
    assert_eq!(message(&chunks, &options(100)), "chunk 2 of 2: id is empty");
    let nowhere = chunk("lost", 0.5, "a").with_path("");
    assert!(message(&[nowhere], &options(100)).contains("\"lost\""));
}

#[test]
fn a_header_that_swallows_the_document_is_refused() {
    let options = options(1_000).with_header(Some("Look:\n```rust".to_owned()));
    let error = try_build(&files(1), &options).expect_err("accepted");
    assert!(matches!(error, AssembleError::Format(_)), "{error}");
    assert!(error.to_string().contains("header"), "{error}");
}

#[test]
fn a_json_document_takes_no_separator() {
    let options = options(1_000)
        .with_format(Format::Json)
        .with_chunk_separator(Some("---".to_owned()));
    let error = try_build(&files(2), &options).expect_err("accepted");
    assert!(error.to_string().contains("---"), "{error}");
}

#[test]
fn a_separator_is_no_longer_than_it_may_be() {
    let most = BuildOptions::LONGEST_SEPARATOR;
    for format in Format::ALL {
        let with = |count| {
            let separator = if format == Format::Json { " " } else { "é" };
            let options = options(10_000).with_format(format);
            options.with_chunk_separator(Some(separator.repeat(count)))
        };
        assert_eq!(build(&files(2), &with(most)).included.len(), 2);
        assert_eq!(
            message(&files(2), &with(most + 1)),
            "chunkSeparator has more than 1024 characters",
            "{format}"
        );
    }
}

#[test]
fn very_many_tiny_chunks_are_sorted_out() {
    let count = thorough(1_000_000, 100_000);
    let chunks: Vec<Chunk> = (0_u32..)
        .take(count)
        .map(|n| chunk(&n.to_string(), f64::from(n % 97) / 97.0, "x"))
        .collect();
    let options = options(1_000).with_counter("characterBased".to_owned().into());
    let built = build(&chunks, &options);
    is_sound(&chunks, &options, &ctx_tokens::Characters, &built);
    assert!(built.tokens.left < Tokens::new(10), "{:?}", built.tokens);
}

/// In time that grows with their number and not with its square, which takes minutes.
#[test]
fn a_hundred_thousand_lines_of_one_file_become_one() {
    let chunks: Vec<Chunk> = (1..=100_000_u32)
        .map(|n| {
            chunk(&n.to_string(), f64::from(n % 97) / 97.0, "x")
                .with_path("all.rs")
                .with_span(LineSpan::new(n, n).unwrap())
        })
        .collect();
    for max_tokens in [1_000, 1_000_000] {
        let options = options(max_tokens).with_counter("characterBased".to_owned().into());
        let built = build(&chunks, &options);
        is_sound(&chunks, &options, &ctx_tokens::Characters, &built);
        assert_eq!(built.included.len() + built.omitted.len(), chunks.len());
        assert_eq!(built.included.len() == 1, max_tokens == 1_000_000);
    }
}

#[test]
fn a_chunk_far_over_the_budget_is_left_out_with_its_price() {
    let chunks = [
        chunk("huge", 1.0, &"lorem ipsum\n".repeat(500_000)),
        chunk("small", 0.5, "x"),
    ];
    let built = build(&chunks, &options(1_000));
    assert_eq!(built.included[0].id, "small");
    assert_eq!(built.omitted[0].id, "huge");
    assert!(built.omitted[0].enters_at.unwrap() > Tokens::new(1_000_000));
}

#[test]
fn renditions_that_are_alike_or_worth_nothing_are_no_trouble() {
    let rendition = |text: &str, information| {
        Rendition::new(RenditionKind::Skeleton, text, information).unwrap()
    };
    let chunks: Vec<Chunk> = (0..20)
        .map(|n| {
            chunk(&format!("c{n}"), 0.5, &format!("line {n}\n").repeat(40))
                .with_path(format!("{n}.rs"))
                .with_renditions(vec![
                    rendition("the same", 0.5),
                    rendition("the same", 0.5),
                    rendition("", 0.0),
                    rendition(&format!("line {n}\n").repeat(40), 1.0),
                ])
        })
        .collect();
    for selection in [Selection::InOrder, Selection::Density, Selection::Optimal] {
        for max_tokens in [100, 500, 100_000] {
            let built = build(&chunks, &options(max_tokens).with_selection(selection));
            let mut ids: Vec<&str> = built.included.iter().map(|it| it.id.as_str()).collect();
            ids.extend(built.omitted.iter().map(|it| it.id.as_str()));
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), chunks.len(), "{selection:?} at {max_tokens}");
        }
    }
}
