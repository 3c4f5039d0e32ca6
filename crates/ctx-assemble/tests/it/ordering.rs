//! The order in which chunks are shown.

use ctx_model::{Chunk, ChunkKind, GroupBy, LineSpan, Order};
use ctx_testkit::shared;

use crate::support::{build, chunk, options};

#[track_caller]
fn shown(chunks: &[Chunk], group_by: GroupBy, order: Order) -> Vec<String> {
    let options = options(1_000_000).with_group_by(group_by).with_order(order);
    build(chunks, &options)
        .included
        .into_iter()
        .map(|it| it.id)
        .collect()
}

#[test]
fn grouping_by_file_gives_the_expected_order() {
    let Some(cases) = shared::json("vectors/core.json") else {
        return;
    };
    let cases = cases["ordering"].as_array().unwrap();
    assert_eq!(cases.len(), 30);
    for case in cases {
        let mut chunks: Vec<Chunk> = serde_json::from_value(case["chunks"].clone()).unwrap();
        let expected: Vec<String> = serde_json::from_value(case["expectedIds"].clone()).unwrap();
        assert_eq!(shown(&chunks, GroupBy::File, Order::Relevance), expected);
        chunks.reverse();
        assert_eq!(shown(&chunks, GroupBy::File, Order::Relevance), expected);
    }
}

fn five() -> Vec<Chunk> {
    let span = |a, b| LineSpan::new(a, b).unwrap();
    vec![
        chunk("b2", 0.3, "x")
            .with_path("b.rs")
            .with_span(span(40, 50)),
        chunk("note", 0.8, "x").with_kind(ChunkKind::Message),
        chunk("b1", 0.9, "x")
            .with_path("b.rs")
            .with_span(span(90, 95)),
        chunk("guide", 0.5, "x")
            .with_path("guide.md")
            .with_kind(ChunkKind::Section),
        chunk("a1", 0.7, "x")
            .with_path("a.rs")
            .with_span(span(1, 2)),
    ]
}

#[test]
fn ungrouped_is_by_relevance() {
    let ids = shown(&five(), GroupBy::None, Order::Relevance);
    assert_eq!(ids, ["b1", "note", "a1", "guide", "b2"]);
}

#[test]
fn files_are_by_their_best_and_lines_inside() {
    let ids = shown(&five(), GroupBy::File, Order::Relevance);
    assert_eq!(ids, ["b2", "b1", "note", "a1", "guide"]);
}

#[test]
fn kinds_are_code_documentation_conversation_other() {
    let mut chunks = five();
    chunks.push(chunk("table", 1.0, "x").with_kind(ChunkKind::Other("table".to_owned())));
    let ids = shown(&chunks, GroupBy::Kind, Order::Relevance);
    assert_eq!(ids, ["b1", "a1", "b2", "guide", "note", "table"]);
    let built = build(&chunks, &options(10_000).with_group_by(GroupBy::Kind));
    let headings: Vec<&str> = built
        .context
        .lines()
        .filter(|it| it.starts_with("## "))
        .collect();
    assert_eq!(
        headings,
        [
            "## Relevant Code",
            "## Related Documentation",
            "## Previous Conversations",
            "## Other Context"
        ]
    );
}

#[test]
fn stable_order_does_not_look_at_relevance() {
    let ids = shown(&five(), GroupBy::None, Order::Stable);
    assert_eq!(ids, ["a1", "b2", "b1", "guide", "note"]);
    let mut pinned = five();
    pinned[3].pinned = true;
    assert_eq!(shown(&pinned, GroupBy::None, Order::Stable)[0], "guide");
}

#[test]
fn edges_puts_the_best_at_both_ends() {
    let ids = shown(&five(), GroupBy::None, Order::Edges);
    assert_eq!(ids, ["b1", "a1", "b2", "guide", "note"]);
    let files = shown(&five(), GroupBy::File, Order::Edges);
    assert_eq!(files, ["b2", "b1", "a1", "guide", "note"]);
}

#[test]
fn equal_relevance_falls_back_to_path_line_and_id() {
    let span = |a, b| LineSpan::new(a, b).unwrap();
    let chunks = [
        chunk("z", 0.5, "x").with_path("a.rs").with_span(span(5, 6)),
        chunk("y", 0.5, "x").with_path("b.rs"),
        chunk("x", 0.5, "x").with_path("a.rs").with_span(span(5, 6)),
        chunk("w", 0.5, "x").with_path("a.rs").with_span(span(1, 6)),
    ];
    for group_by in [GroupBy::None, GroupBy::File, GroupBy::Kind] {
        assert_eq!(
            shown(&chunks, group_by, Order::Relevance),
            ["w", "x", "z", "y"]
        );
    }
}
