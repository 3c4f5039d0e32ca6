//! Overlapping and adjacent lines are shown once, and so are duplicate texts.

use ctx_assemble::{Control, assemble_each_line_once};
use ctx_model::{
    BuiltContext, Chunk, LineSpan, Omitted, OmittedReason, Relation, Rendition, RenditionKind,
    Selection, Tokens,
};

use crate::support::{build, chunk, is_sound, options};

/// Lines `start` to `end` of a file of which every line is its own number.
fn lines(id: &str, relevance: f64, start: u32, end: u32) -> Chunk {
    let text: Vec<String> = (start..=end)
        .map(|number| format!("line {number}"))
        .collect();
    chunk(id, relevance, &text.join("\n"))
        .with_path("src/a.rs")
        .with_span(LineSpan::new(start, end).unwrap())
}

fn omitted<'b>(built: &'b BuiltContext, id: &str) -> &'b Omitted {
    built
        .omitted
        .iter()
        .find(|it| it.id == id)
        .expect("it was let in")
}

fn spans(built: &BuiltContext) -> Vec<(u32, u32)> {
    built
        .included
        .iter()
        .map(|it| (it.start_line.unwrap(), it.end_line.unwrap()))
        .collect()
}

#[test]
fn a_hash_of_a_chunks_own_lines_keeps_it_from_no_other() {
    let mut chunks = [
        lines("a", 0.9, 1, 3),
        lines("b", 0.8, 3, 5),
        lines("c", 0.7, 6, 8),
    ];
    let plain = build(&chunks, &options(500));
    for (chunk, end) in chunks.iter_mut().zip(["", "\n", ""]) {
        let hash = blake3::hash(format!("{}{end}", chunk.content).as_bytes());
        chunk.content_hash = Some(hash.to_hex().to_string());
    }
    assert_eq!(build(&chunks, &options(500)).context, plain.context);
    // A whole file has the hash of its own lines, and its parts have that too.
    let mut whole = [lines("w", 0.9, 1, 5), lines("p", 0.8, 2, 3)];
    let hash = blake3::hash(whole[0].content.as_bytes());
    for chunk in &mut whole {
        chunk.content_hash = Some(hash.to_hex().to_string());
    }
    assert_eq!(spans(&build(&whole, &options(500))), [(1, 5)]);
    whole[1].content_hash = Some(
        blake3::hash(whole[1].content.as_bytes())
            .to_hex()
            .to_string(),
    );
    assert_eq!(spans(&build(&whole, &options(500))), [(1, 5)]);
    // Of another state of the file it is another file.
    chunks[2].content_hash = Some(blake3::hash(b"another").to_hex().to_string());
    assert_eq!(spans(&build(&chunks, &options(500))), [(1, 5), (6, 8)]);
}

#[test]
fn overlapping_touching_and_contained_lines_become_one_block() {
    let chunks = [
        lines("top", 0.3, 1, 10),
        lines("overlap", 0.9, 8, 15),
        lines("touch", 0.5, 16, 20),
        lines("inside", 0.2, 17, 18),
        lines("apart", 0.4, 22, 30),
    ];
    let built = build(&chunks, &options(10_000));
    assert_eq!(spans(&built), [(1, 20), (22, 30)]);
    assert_eq!(
        built.included[0].id, "overlap",
        "the most relevant speaks for all"
    );
    for id in ["top", "touch", "inside"] {
        let left_out = omitted(&built, id);
        assert_eq!(left_out.reason, OmittedReason::MergedInto);
        assert_eq!(left_out.other.as_deref(), Some("overlap"));
    }
    assert_eq!(built.context.matches("line 9\n").count(), 1);
    assert!(
        !built.context.contains("Left out"),
        "nothing is missing from it"
    );
    let cited: Vec<&str> = built
        .citations
        .iter()
        .map(|it| it.chunk_id.as_str())
        .collect();
    assert_eq!(
        cited,
        ["overlap", "overlap", "touch", "top", "inside", "apart"]
    );
}

#[test]
fn merging_saves_tokens_for_other_chunks() {
    let chunks = [lines("a", 0.9, 1, 30), lines("b", 0.8, 10, 40)];
    let merged = build(&chunks, &options(10_000));
    let apart = build(&chunks, &options(10_000).with_merge(false));
    assert!(merged.tokens.total < apart.tokens.total);
    assert_eq!((merged.included.len(), apart.included.len()), (1, 2));
}

#[test]
fn a_merged_chunk_gives_up_its_least_relevant_parts_first() {
    let chunks: Vec<Chunk> = (0..8)
        .map(|n| {
            lines(
                &format!("part{n}"),
                if n == 5 { 0.9 } else { 0.1 },
                n * 40 + 1,
                n * 40 + 40,
            )
        })
        .collect();
    let options = options(300);
    let built = build(&chunks, &options);
    assert_eq!(spans(&built), [(201, 240)]);
    assert_eq!(built.included[0].id, "part5");
    assert_eq!(omitted(&built, "part0").reason, OmittedReason::OverBudget);
    assert!(built.was_truncated);
    is_sound(
        &chunks,
        &options,
        &ctx_tokens::counter(&options.counter).unwrap(),
        &built,
    );
}

#[test]
fn parts_that_do_not_meet_are_separate_blocks() {
    let chunks: Vec<Chunk> = (0..5)
        .map(|n| {
            lines(
                &format!("part{n}"),
                [0.9, 0.1, 0.8, 0.1, 0.1][n as usize],
                n * 40 + 1,
                n * 40 + 40,
            )
        })
        .collect();
    let built = build(&chunks, &options(450));
    assert_eq!(spans(&built), [(1, 40), (81, 120)]);
}

#[test]
fn a_block_states_the_imports_and_relations_of_the_chunks_in_it_alone() {
    let part = |id: &str, relevance, start| {
        let mut part = lines(id, relevance, start, start + 39);
        part.imports = vec![format!("imported by {id}"), "shared".to_owned()];
        let (kind, target) = ("calls".to_owned(), format!("called by {id}"));
        part.relations = vec![Relation { kind, target }];
        part
    };
    let chunks = [part("b", 0.9, 41), part("a", 0.8, 1), part("c", 0.1, 81)];
    for (tokens, imports, relations) in [
        (
            10_000,
            "imported by a; shared; imported by b; imported by c",
            "calls called by a; calls called by b; calls called by c",
        ),
        (
            500,
            "imported by a; shared; imported by b",
            "calls called by a; calls called by b",
        ),
        (300, "imported by b; shared", "calls called by b"),
    ] {
        let options = options(tokens).with_imports(true).with_relations(true);
        let built = build(&chunks, &options);
        assert_eq!(built.included.len(), 1);
        let stated = format!("Imports: {imports}\nRelations: {relations}\n");
        assert!(built.context.contains(&stated), "{}", built.context);
    }
}

#[test]
fn text_that_contradicts_its_lines_is_reported_and_not_merged() {
    let mut liar = lines("liar", 0.5, 5, 9);
    liar.content.push_str("\none line more");
    let mut other = lines("other", 0.5, 9, 12);
    other.content = other.content.replace("line 9", "line nine");
    let chunks = [lines("a", 0.9, 1, 10), liar, other];
    let built = build(&chunks, &options(10_000));
    assert_eq!(built.included.len(), 3);
    let codes: Vec<(&str, &str)> = built
        .warnings
        .iter()
        .map(|it| (it.id.as_deref().unwrap(), it.code.as_str()))
        .collect();
    assert_eq!(
        codes,
        [("liar", "span_mismatch"), ("other", "overlap_conflict")]
    );
}

#[test]
fn expanded_context_is_told_with_its_own_lines() {
    let mut chunk = lines("a", 0.9, 5, 9);
    chunk.expanded_context = Some(lines("wide", 0.9, 1, 20).content);
    let built = build(std::slice::from_ref(&chunk), &options(1_000));
    assert_eq!((spans(&built), built.warnings.len()), (vec![(1, 20)], 0));
    let citation = &built.citations[0];
    let cited = citation.start_line.zip(citation.end_line);
    assert_eq!(cited, Some((1, 20)));
    assert!(built.context.contains("1-20"), "{}", built.context);
    assert!(!built.context.contains("5-9"), "{}", built.context);
    // Where its lines are not known, none are told.
    chunk.expanded_context = Some("something\nelse".to_owned());
    let built = build(&[chunk], &options(1_000));
    assert_eq!(built.included[0].start_line, None);
    assert_eq!(built.citations[0].end_line, None);
    assert!(!built.context.contains("5-9"), "{}", built.context);
    assert_eq!(built.warnings[0].code, "span_mismatch");
    assert_eq!(built.warnings[0].id.as_deref(), Some("a"));
}

#[test]
fn text_that_contradicts_its_lines_is_reported_whatever_else_it_has() {
    let mut plain = lines("plain", 0.5, 1, 3);
    plain.span = LineSpan::new(1, 10).ok();
    let mut rendered = plain.clone();
    rendered.id = "rendered".to_owned();
    rendered.renditions = with_renditions("f", 0.5).renditions;
    for merge in [true, false] {
        let options = options(10_000).with_merge(merge);
        for chunk in [&plain, &rendered] {
            let built = build(std::slice::from_ref(chunk), &options);
            let codes: Vec<&str> = built.warnings.iter().map(|it| it.code.as_str()).collect();
            assert_eq!(codes, ["span_mismatch"], "{} {merge}", chunk.id);
        }
        // Nobody sees it.
        let built = build(std::slice::from_ref(&plain), &options.with_content(false));
        assert_eq!(built.warnings.len(), 0);
    }
}

/// `a\n` may be lines 1-2 of a file whose second line is empty, or a line less than it is said to
/// be.
#[test]
fn a_merged_block_has_no_blank_line_that_no_chunk_has() {
    let slice = |id: &str, start: u32, end: u32, content: &str| {
        let span = LineSpan::new(start, end).unwrap();
        chunk(id, 0.5, content).with_path("a.txt").with_span(span)
    };
    let unsure = slice("unsure", 1, 2, "a\n");
    let below = slice("below", 3, 3, "c");
    let built = build(&[unsure.clone(), below.clone()], &options(1_000));
    assert_eq!(spans(&built), [(1, 2), (3, 3)]);
    assert_eq!(built.warnings.len(), 1);
    assert_eq!(built.warnings[0].code, "span_mismatch");
    assert_eq!(built.warnings[0].id.as_deref(), Some("unsure"));
    // Another chunk has the line.
    let empty = slice("empty", 2, 3, "\nc");
    let built = build(&[unsure.clone(), below, empty], &options(1_000));
    assert_eq!((spans(&built), built.warnings.len()), (vec![(1, 3)], 0));
    let other = slice("other", 2, 3, "b\nc");
    let built = build(&[unsure.clone(), other], &options(1_000));
    assert_eq!(spans(&built), [(1, 2), (2, 3)]);
    // Alone it is shown as it was given.
    let far = slice("far", 4, 4, "d");
    let built = build(&[unsure, far], &options(1_000));
    assert_eq!((built.included.len(), built.warnings.len()), (2, 0));
}

#[test]
fn chunks_of_different_versions_of_a_file_are_not_merged() {
    let mut old = lines("old", 0.5, 5, 15);
    old.content_hash = Some("1".to_owned());
    let mut new = lines("new", 0.6, 1, 10);
    new.content_hash = Some("2".to_owned());
    assert_eq!(build(&[old, new], &options(10_000)).included.len(), 2);
}

#[test]
fn a_text_is_shown_once_across_paths() {
    let text = |changed: &str| -> String {
        (0..40)
            .map(|n| {
                if n == 20 {
                    changed.to_owned()
                } else {
                    format!("    statement({n});\n")
                }
            })
            .collect()
    };
    let chunks = [
        chunk("best", 0.9, &text("x\n")).with_path("a.rs"),
        chunk("same", 0.8, &text("x\n")).with_path("b.rs"),
        chunk("near", 0.7, &text("y\n")).with_path("c.rs"),
        chunk("pinned", 0.6, &text("x\n"))
            .with_path("d.rs")
            .with_pin(),
        chunk("other", 0.5, &"something else\n".repeat(40)).with_path("e.rs"),
    ];
    let built = build(&chunks[..3], &options(10_000));
    assert_eq!(built.included.len(), 1);
    for (id, reason) in [
        ("same", OmittedReason::DuplicateOf),
        ("near", OmittedReason::NearDuplicateOf),
    ] {
        assert_eq!(omitted(&built, id).reason, reason);
        assert_eq!(omitted(&built, id).other.as_deref(), Some("best"));
    }
    // The other line of the near one is nowhere.
    let told = "Left out: 1 of 3 chunks.";
    assert!(built.context.contains(told), "{}", built.context);
    let all = build(&chunks, &options(10_000));
    let ids: Vec<&str> = all.included.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(
        ids,
        ["pinned", "other"],
        "what is pinned is shown, and stands for the others"
    );
    assert_eq!(
        build(&chunks, &options(10_000).with_merge(false))
            .included
            .len(),
        5
    );
}

#[test]
fn short_texts_are_not_taken_for_duplicates() {
    let chunks = [
        chunk("a", 0.9, "mod tests;\n").with_path("a.rs"),
        chunk("b", 0.8, "mod tests;\n").with_path("b.rs"),
    ];
    assert_eq!(build(&chunks, &options(10_000)).included.len(), 2);
}

fn with_renditions(id: &str, relevance: f64) -> Chunk {
    let rendition = |kind, text: &str, kept| Rendition::new(kind, text, kept).unwrap();
    let body = "    let value = compute();\n".repeat(30);
    chunk(id, relevance, &format!("fn {id}() {{\n{body}}}"))
        .with_path(format!("{id}.rs"))
        .with_renditions(vec![
            rendition(RenditionKind::Signature, &format!("fn {id}()"), 0.4),
            rendition(RenditionKind::Mention, &format!("function {id}"), 0.1),
        ])
}

#[test]
fn a_merged_chunk_that_does_not_fit_in_full_is_shown_in_a_lesser_rendition() {
    let chunks: Vec<Chunk> = (0..10)
        .map(|n| with_renditions(&format!("f{n}"), 1.0 - f64::from(n) / 20.0))
        .collect();
    for selection in [Selection::InOrder, Selection::Density, Selection::Optimal] {
        let options = options(750).with_selection(selection);
        let built = build(&chunks, &options);
        let shown = |kind| {
            built
                .included
                .iter()
                .filter(|it| it.rendition == kind)
                .count()
        };
        assert!(shown(RenditionKind::Full) >= 1, "{selection:?}");
        assert!(
            shown(RenditionKind::Signature) + shown(RenditionKind::Mention) >= 3,
            "{selection:?}"
        );
        assert!(built.was_truncated);
        is_sound(
            &chunks,
            &options,
            &ctx_tokens::counter(&options.counter).unwrap(),
            &built,
        );
    }
}

#[test]
fn a_pinned_chunk_appears_in_its_cheapest_rendition_if_need_be() {
    let mut chunks: Vec<Chunk> = (0..10)
        .map(|n| with_renditions(&format!("f{n}"), 0.9))
        .collect();
    chunks[7].pinned = true;
    chunks[7].relevance = ctx_model::Relevance::ZERO;
    for selection in [Selection::InOrder, Selection::Density, Selection::Optimal] {
        let built = build(&chunks, &options(120).with_selection(selection));
        assert!(
            built.included.iter().any(|it| it.id == "f7"),
            "{selection:?}"
        );
        assert!(built.tokens.total <= Tokens::new(120));
    }
}

/// With a rendition of its first line.
fn with_rendition(mut chunk: Chunk) -> Chunk {
    let first = chunk.content.lines().next().unwrap();
    let rendition = Rendition::new(RenditionKind::Mention, first, 0.1).unwrap();
    chunk.renditions = vec![rendition];
    chunk
}

#[test]
fn chunks_with_renditions_that_are_shown_in_full_are_merged_too() {
    let chunks = [
        with_rendition(lines("all", 0.5, 1, 100)),
        with_rendition(lines("within", 0.9, 40, 50)),
        lines("short", 0.9, 99, 104),
        with_rendition(lines("apart", 0.4, 200, 230)),
    ];
    let counter = ctx_tokens::counter(&options(1).counter).unwrap();
    let once = |chunks: &[Chunk], max_tokens| {
        let options = options(max_tokens);
        let control = Control::default();
        let built = assemble_each_line_once(chunks, &options, &*counter, &control).unwrap();
        is_sound(chunks, &options, &*counter, &built);
        built
    };
    let built = once(&chunks, 2_000);
    assert_eq!(spans(&built), [(1, 104), (200, 230)]);
    for id in ["all", "within", "short"] {
        let is_shown = built.included.iter().any(|it| it.id == id);
        assert!(
            is_shown || omitted(&built, id).reason == OmittedReason::MergedInto,
            "{id}"
        );
    }
    let apart = build(&chunks, &options(2_000));
    assert!(built.tokens.total < apart.tokens.total, "nothing is saved");
    let mut other = chunks.to_vec();
    other.reverse();
    let other = once(&other, 2_000);
    assert_eq!(
        (&other.context, &other.omitted),
        (&built.context, &built.omitted)
    );
    // What is shown in part stays as it is.
    for max_tokens in [60, 120, 200, 400] {
        let ours = once(&chunks, max_tokens);
        let shown = |built: &BuiltContext| built.included.iter().map(|it| it.value).sum::<f64>();
        let theirs = build(&chunks, &options(max_tokens));
        assert!(shown(&ours) > 0.9 * shown(&theirs), "{max_tokens}");
    }
    let apart = options(2_000).with_merge(false);
    let built = assemble_each_line_once(&chunks, &apart, &*counter, &Control::default()).unwrap();
    assert_eq!(built.included.len(), 4);
}

#[test]
fn a_part_that_is_worth_nothing_is_shown_where_there_is_room_whatever_is_worth_something() {
    let chunks = [lines("a", 1.0, 4, 4), lines("b", 0.0, 1, 3)];
    for diversity in [0.0, 0.5, 1.0] {
        for notice in [false, true] {
            let mut options = options(1_000).with_notice(notice);
            options.diversity = diversity;
            let built = build(&chunks, &options);
            assert_eq!(spans(&built), [(1, 4)], "{diversity:?}, {notice}");
            let counter = ctx_tokens::counter(&options.counter).unwrap();
            is_sound(&chunks, &options, &*counter, &built);
        }
    }
}

#[test]
fn a_hit_within_a_larger_one_that_does_not_fit_is_shown_by_itself() {
    let chunks = [lines("all", 0.9, 1, 400), lines("within", 0.85, 50, 60)];
    for selection in [Selection::Density, Selection::Optimal] {
        let built = build(&chunks, &options(300).with_selection(selection));
        assert_eq!(spans(&built), [(50, 60)], "{selection:?}");
        assert_eq!(omitted(&built, "all").reason, OmittedReason::OverBudget);
    }
    assert_eq!(spans(&build(&chunks, &options(8_000))), [(1, 400)]);
}

/// What a chunker with overlap makes of one file.
#[test]
fn of_many_windows_of_one_file_as_many_are_shown_as_there_is_room_for() {
    let windows: Vec<Chunk> = (0..100)
        .map(|n| {
            let relevance = f64::from(n * 37 % 100) / 100.0;
            lines(&n.to_string(), relevance, n * 15 + 1, n * 15 + 20)
        })
        .collect();
    for limit in [1_000, 2_000, 4_000] {
        let built = build(&windows, &options(limit));
        let left = built.tokens.left.get();
        assert!(left * 4 < limit, "{left} of {limit} tokens are left");
    }
}

/// Among the smallest numbers, a little less than a number may round to that number.
#[test]
fn relevances_next_to_nothing_come_to_an_end() {
    let least = |count: u64| f64::from_bits(count);
    let mut chunks = vec![lines("whole", least(299), 1, 9)];
    chunks.extend([2, 5, 8].map(|it| lines(&format!("line {it}"), least(100), it, it)));
    let built = build(&chunks, &options(8_000).with_selection(Selection::Optimal));
    assert_eq!(spans(&built), [(1, 9)]);
}
