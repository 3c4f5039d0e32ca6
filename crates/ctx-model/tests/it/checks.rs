//! What constructors accept and refuse.

use std::error::Error as _;

use ctx_model::merging::merged_text;
use ctx_model::{
    BuildOptions, Category, Chunk, ChunkKind, LineSpan, ModelError, PartKind, Relevance, Rendition,
    RenditionKind, SymbolKind, Tokens, UncheckedChunk, UncheckedOptions, widened,
};
use proptest::prelude::*;
use serde_json::json;

#[track_caller]
fn refused(value: f64) {
    assert!(
        matches!(
            Relevance::new(value),
            Err(ModelError::RelevanceOutOfRange { .. })
        ),
        "{value} was accepted"
    );
}

#[test]
fn relevance_refuses_what_is_not_a_share() {
    for value in [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.001,
        1.000_000_1,
        1e300,
    ] {
        refused(value);
    }
}

#[test]
fn an_error_within_a_chunk_is_told_once() {
    let chunk = Chunk::new("a", "", Relevance::ONE).with_path("");
    let error = chunk.check().expect_err("accepted");
    assert_eq!(error.to_string(), "chunk \"a\": filePath is empty");
    assert!(error.source().is_none(), "it is said already");
}

/// Whatever the id of a chunk is, it does not say which field is at fault, nor how.
#[test]
fn an_error_tells_its_field_and_whether_fields_do_not_go_together() {
    for id in [
        "a",
        "a is given without b",
        "a\": lines b",
        "x\": id y",
        "chunk \"a\": id",
    ] {
        for (fields, field, is_between) in [
            (json!({"relevance": 2}), "relevance", false),
            (json!({"startLine": 0, "endLine": 1}), "startLine", false),
            (json!({"startLine": 2, "endLine": 1}), "endLine", true),
            (json!({"startLine": 2}), "startLine", true),
            (json!({"endLine": 2}), "endLine", true),
            (json!({"filePath": ""}), "filePath", false),
            (
                json!({"renditions": [
                    {"rendition": "full", "text": "x", "information": 1},
                    {"rendition": "mention", "text": "x", "information": 5},
                ]}),
                "renditions[1].information",
                false,
            ),
            (
                json!({"renditions": [{"rendition": "full", "text": "x", "information": 1, "lines": [1, 2]}]}),
                "renditions[0].lines",
                true,
            ),
            (
                json!({"renditions": [{"rendition": "full", "text": "x", "information": 1, "lines": [0]}]}),
                "renditions[0].lines",
                false,
            ),
        ] {
            let mut chunk = json!({"id": id, "content": "x", "relevance": 1});
            let given = fields.as_object().unwrap().clone();
            chunk.as_object_mut().unwrap().extend(given);
            let unchecked: UncheckedChunk = serde_json::from_value(chunk.clone()).unwrap();
            let error = Chunk::try_from(unchecked).unwrap_err();
            assert_eq!(error.field().as_deref(), Some(field), "{chunk}");
            assert_eq!(error.is_between_fields(), is_between, "{chunk}");
            let told = serde_json::from_value::<Chunk>(chunk).unwrap_err();
            assert_eq!(told.to_string(), error.to_string());
        }
    }
    let unchecked = json!({"id": "", "content": "x", "relevance": 1});
    let unchecked: UncheckedChunk = serde_json::from_value(unchecked).unwrap();
    let error = Chunk::try_from(unchecked).unwrap_err();
    assert_eq!(error.field().as_deref(), Some("id"));
    for (options, field, is_between) in [
        (json!({"diversity": 2}), "diversity", false),
        (json!({"minRelevance": -1}), "minRelevance", false),
        (
            json!({"groupBy": "none", "groupByFile": true}),
            "groupBy",
            true,
        ),
    ] {
        let unchecked: UncheckedOptions = serde_json::from_value(options.clone()).unwrap();
        let error = BuildOptions::try_from(unchecked).unwrap_err();
        assert_eq!(error.field().as_deref(), Some(field), "{options}");
        assert_eq!(error.is_between_fields(), is_between, "{options}");
    }
}

#[test]
fn relevance_has_one_zero() {
    assert_eq!(
        Relevance::new(-0.0).unwrap().get().to_bits(),
        0.0_f64.to_bits()
    );
}

#[test]
fn a_span_starts_at_one_and_is_not_empty() {
    assert_eq!(LineSpan::new(0, 3), Err(ModelError::SpanStartsAtZero));
    assert_eq!(
        LineSpan::new(4, 3),
        Err(ModelError::SpanEndsBeforeStart { start: 4, end: 3 })
    );
    assert_eq!(LineSpan::new(1, u32::MAX).unwrap().line_count(), u32::MAX);
}

#[test]
fn a_span_contains_its_first_and_its_last_line() {
    let span = LineSpan::new(2, 4).unwrap();
    let contained = (0..7).filter(|&number| span.contains_line(number));
    assert!(contained.eq(2..=4));
    assert!(!span.contains_line(u32::MAX));
}

#[test]
fn touching_spans_share_a_line_or_follow_each_other() {
    let span = |a, b| LineSpan::new(a, b).unwrap();
    assert!(span(1, 3).touches(span(4, 9)));
    assert!(span(4, 9).touches(span(1, 3)));
    assert!(span(1, 9).touches(span(3, 4)));
    assert!(!span(1, 3).touches(span(5, 9)));
}

/// Nobody checks what a chunk claims that is shown without its text.
#[test]
fn lines_that_are_merely_claimed_cost_nothing() {
    let span = |start, end| LineSpan::new(start, end).unwrap();
    let claims = [
        (span(1, u32::MAX), "of a large file"),
        (span(7, 8), "seven\neight\n"),
        (span(9, 9), ""),
    ];
    assert_eq!(merged_text(claims), "seven\neight\n");
    let last = [
        (span(u32::MAX - 1, u32::MAX), "last but one\nlast"),
        (span(u32::MAX, u32::MAX), "last\n"),
    ];
    assert_eq!(merged_text(last), "last but one\nlast");
}

#[test]
fn a_wider_text_is_as_many_lines_round_the_content() {
    let around = |start: u32, content: &str, wider: &str| {
        let lines = u32::try_from(ctx_model::lines(content).count()).unwrap();
        let span = LineSpan::new(start, start + (lines - 1)).unwrap();
        widened(span, content, wider).map(|it| (it.start(), it.end()))
    };
    assert_eq!(around(5, "c\nd\n", "a\nb\nc\nd\ne"), Some((3, 7)));
    assert_eq!(around(5, "c\nd", "c\r\nd\r\n"), Some((5, 6)));
    assert_eq!(around(5, "x\nx\ny", "x\nx\nx\ny"), Some((4, 7)));
    for nowhere in ["", "c", "xc\nd", "c\ndx", "c\n\nd", "c\nd\nc\nd"] {
        assert_eq!(around(5, "c\nd", nowhere), None, "{nowhere:?}");
    }
    // Twice also where the two overlap; and before the first line there is none.
    assert_eq!(around(5, "x\nx", "x\nx\nx"), None);
    assert_eq!(around(2, "c", "a\nb\nc"), None);
    assert_eq!(around(u32::MAX, "c", "c\nd"), None);
    // What is not as many lines as it says may be elsewhere.
    let span = LineSpan::new(5, 7).unwrap();
    assert_eq!(widened(span, "c\nd", "b\nc\nd"), None);
    assert_eq!(widened(span, "c\nd\n", "b\nc\nd"), LineSpan::new(4, 6).ok());
    assert_eq!(
        widened(span, "c\nd\n", "b\nc\nd\n"),
        LineSpan::new(4, 7).ok()
    );
    assert_eq!(widened(span, "\n\n", "\n\n"), Some(span));
}

proptest! {
    #[test]
    fn lines_stand_where_they_are_found_one_by_one(
        content in "[ab]?(\n[ab]){0,3}\n?",
        wider in "[ab]?(\n[ab]){0,8}\n?",
    ) {
        let part: Vec<&str> = ctx_model::lines(&content).collect();
        let all: Vec<&str> = ctx_model::lines(&wider).collect();
        let places = (0..all.len()).filter(|&at| all[at..].starts_with(&part));
        let places: Vec<usize> = places.collect();
        let number = |it: usize| u32::try_from(it).unwrap();
        let span = LineSpan::new(100, 99 + number(part.len())).unwrap();
        let expected = match places[..] {
            [before] => LineSpan::new(100 - number(before), 99 - number(before) + number(all.len())).ok(),
            _ => None,
        };
        prop_assert_eq!(widened(span, &content, &wider), expected);
    }
}

#[test]
fn each_kind_of_part_has_a_kind_of_chunk() {
    let kind = |part: PartKind| part.chunk_kind(ChunkKind::Document).to_string();
    let told = PartKind::ALL.iter().map(|&it| (it.as_str(), kind(it)));
    let told: Vec<String> = told
        .map(|(part, chunk)| format!("{part} {chunk}"))
        .collect();
    assert_eq!(
        told,
        [
            "function function",
            "method method",
            "class class",
            "struct class",
            "enum class",
            "interface interface",
            "impl class",
            "module module",
            "type type",
            "constant constant",
            "field field",
            "macro macro",
            "section section",
            "lines document",
            "file document",
        ]
    );
    // What is a section of a document is a piece of any other file.
    let section = PartKind::from(SymbolKind::Section);
    for kind in [section, PartKind::Lines, PartKind::File] {
        assert_eq!(kind.chunk_kind(ChunkKind::File), ChunkKind::File);
    }
}

#[test]
fn kinds_fall_into_the_four_categories() {
    let cases = [
        (
            "function method class interface type file module",
            Category::Code,
        ),
        (
            "document section requirement feature",
            Category::Documentation,
        ),
        ("session message decision", Category::Conversation),
        ("table text Function", Category::Other),
    ];
    for (words, category) in cases {
        for word in words.split(' ') {
            let kind = ChunkKind::from(word.to_owned());
            assert_eq!(kind.category(), category, "{word}");
            assert_eq!(kind.as_str(), word);
        }
    }
}

#[test]
fn a_line_map_has_one_entry_per_line() {
    let rendition = Rendition::new(RenditionKind::Excerpt, "a\nb\n", 0.5).unwrap();
    assert!(rendition.clone().with_lines(vec![Some(4), None]).is_ok());
    assert_eq!(
        rendition.clone().with_lines(vec![Some(4)]),
        Err(ModelError::LineMapLength {
            mapped: 1,
            lines: 2
        })
    );
    assert_eq!(
        rendition.with_lines(vec![Some(0), None]),
        Err(ModelError::SpanStartsAtZero)
    );
}

proptest! {
    #[test]
    fn a_line_map_is_as_long_as_the_text_has_lines(
        text in prop_oneof!["[a\r\n]{0,600}", any::<String>()],
    ) {
        let count = text.lines().count();
        let rendition = Rendition::new(RenditionKind::Excerpt, text, 0.5).unwrap();
        prop_assert!(rendition.clone().with_lines(vec![None; count]).is_ok());
        prop_assert!(rendition.with_lines(vec![None; count + 1]).is_err());
    }

    #[test]
    fn token_sums_saturate(a: u32, b: u32) {
        let sum = Tokens::new(a) + Tokens::new(b);
        prop_assert_eq!(sum.get(), a.saturating_add(b));
        prop_assert_eq!(Tokens::saturating_from_u64(u64::from(a) + u64::from(b)), sum);
    }
}
