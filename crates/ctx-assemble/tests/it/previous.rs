//! A context that follows another keeps its beginning, so that a prompt cache keeps it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ctx_assemble::{AssembleError, Control, assemble};
use ctx_model::{
    BuildOptions, BuiltContext, Chunk, Format, GroupBy, LineSpan, Order, Previous, Relation,
    Selection, Tokens,
};
use ctx_testkit::laws::linear;
use ctx_tokens::{Additivity, TokenCounter};
use proptest::prelude::*;

use crate::support::{build, chunk, files, options, try_build};

fn previous(built: &BuiltContext) -> Previous {
    Previous {
        digest: built.digest.clone(),
        ids: built.included.iter().map(|it| it.id.clone()).collect(),
        context: Some(built.context.clone()),
    }
}

#[test]
fn the_same_again_is_shared_whole() {
    let first = build(&files(5), &options(2_000));
    let again = build(
        &files(5),
        &options(2_000).with_previous(Some(previous(&first))),
    );
    assert_eq!(again.context, first.context);
    let shared = again.shared_prefix.unwrap();
    assert_eq!(shared.tokens, again.tokens.total);
    assert_eq!(shared.bytes, again.context.len());
    assert_eq!(shared.first_difference, None);
}

/// Its lines are not stated, and its text is there twice: only its id tells which it was.
#[test]
fn a_merged_block_keeps_its_id_whichever_of_its_parts_is_the_most_relevant_now() {
    let at = |id: &str, first: u32, last: u32, relevance: f64| {
        let text = vec!["the"; (last - first + 1) as usize].join("\n");
        let span = LineSpan::new(first, last).unwrap();
        chunk(id, relevance, &text)
            .with_path("src/a.rs")
            .with_span(span)
    };
    let options = options(2_000).with_file_headers(false);
    let first = build(&[at("a", 2, 5, 0.5), at("b", 6, 6, 0.4)], &options);
    assert_eq!(first.included[0].id, "a");
    let next = options.with_previous(Some(previous(&first)));
    let chunks = [at("a", 2, 5, 0.5), at("b", 6, 6, 0.9), at("c", 20, 20, 0.9)];
    for (chunks, ids) in [(&chunks[..2], &["a"][..]), (&chunks, &["a", "c"])] {
        let second = build(chunks, &next);
        let shown: Vec<&str> = second.included.iter().map(|it| &*it.id).collect();
        assert_eq!(shown, ids);
        let shared = second.shared_prefix.unwrap();
        assert_eq!(shared.first_difference.as_deref(), ids.get(1).copied());
    }
}

#[test]
fn chunks_sent_before_keep_their_place_and_new_ones_follow() {
    let all = files(8);
    let first = build(&all[4..], &options(2_000));
    let second = build(&all, &options(2_000).with_previous(Some(previous(&first))));
    let ids = |built: &BuiltContext| -> Vec<String> {
        built.included.iter().map(|it| it.id.clone()).collect()
    };
    assert_eq!(ids(&second)[..4], ids(&first));
    assert_eq!(
        ids(&second)[4..],
        ["id0", "id1", "id2", "id3"],
        "the better ones come later"
    );
    let shared = second.shared_prefix.unwrap();
    assert_eq!(shared.first_difference.as_deref(), Some("id0"));
    assert!(shared.tokens > Tokens::new(100));
    assert!(second.context.is_char_boundary(shared.bytes));
    assert_eq!(
        second.context[..shared.bytes],
        first.context[..shared.bytes]
    );
}

#[test]
fn a_difference_before_a_chunk_ends_the_shared_prefix() {
    let with = |header: &str| options(2_000).with_header(Some(header.to_owned()));
    let first = build(&files(3), &with("one"));
    let second = build(
        &files(3),
        &with("two").with_previous(Some(previous(&first))),
    );
    let shared = second.shared_prefix.unwrap();
    assert!(shared.bytes < 20);
    assert_eq!(
        shared.first_difference.as_ref(),
        Some(&second.included[0].id)
    );
    // What is left out at the end is in no chunk.
    let footer = |footer: &str| options(2_000).with_footer(Some(footer.to_owned()));
    let first = build(&files(3), &footer("one"));
    let second = build(
        &files(3),
        &footer("two").with_previous(Some(previous(&first))),
    );
    assert_eq!(second.shared_prefix.unwrap().first_difference, None);
}

/// Notes the longest text that it is given.
struct Longest {
    counter: Arc<dyn TokenCounter>,
    bytes: AtomicUsize,
}

impl TokenCounter for Longest {
    fn count(&self, text: &str) -> Tokens {
        self.bytes.fetch_max(text.len(), Ordering::Relaxed);
        self.counter.count(text)
    }

    fn additivity(&self) -> Additivity {
        self.counter.additivity()
    }
}

/// A cancel is seen between two counts, so none is long.
#[test]
fn the_shared_prefix_is_counted_in_parts() {
    let all = files(20_000);
    let options = options(u32::MAX);
    let first = build(&all, &options);
    let counter = Longest {
        counter: ctx_tokens::counter(&options.counter).unwrap(),
        bytes: AtomicUsize::new(0),
    };
    let options = options.with_previous(Some(previous(&first)));
    let again = assemble(&all, &options, &counter, &Control::default()).unwrap();
    assert_eq!(again.shared_prefix.unwrap().tokens, first.tokens.total);
    let longest = counter.bytes.into_inner();
    assert!(
        longest < first.context.len() / 4,
        "{longest} of {}",
        first.context.len()
    );
}

#[test]
fn a_heading_that_goes_on_is_paid_once() {
    let lines = |id: &str, start: u32| {
        let span = LineSpan::new(start, start + 2).unwrap();
        let content = format!("{id} one\n{id} two\n{id} three");
        chunk(id, 1.0, &content)
            .with_path("src/a.rs")
            .with_span(span)
    };
    let mut chunks = [lines("x", 1), lines("y", 11)];
    let file = |tokens| options(tokens).with_group_by(GroupBy::File);
    let first = build(&chunks[..1], &file(2_000));
    let second = |tokens| file(tokens).with_previous(Some(previous(&first)));
    let all = build(&chunks, &second(2_000)).tokens.total.get();
    assert_eq!(build(&chunks, &second(all)).included.len(), 2);
    for it in &mut chunks {
        it.pinned = true;
    }
    assert_eq!(build(&chunks, &second(all)).included.len(), 2);
    // With a notice of what is left out, both are no more.
    let beside = chunk("z", 0.1, &"word ".repeat(200)).with_path("src/b.rs");
    let three = [chunks[0].clone(), chunks[1].clone(), beside];
    let two = build(&three, &second(all + 40));
    let exact = build(&three, &second(two.tokens.total.get()));
    assert_eq!((two.included.len(), exact.included.len()), (2, 2));
}

/// Where nothing is shown between two blocks of a file, its heading is not written again.
#[test]
fn a_heading_that_is_not_written_again_leaves_the_bound_true() {
    let part = |id: &str, path: &str, relevance, start| {
        let span = LineSpan::new(start, start + 1).unwrap();
        let content = format!("{id} one\n{id} two");
        chunk(id, relevance, &content)
            .with_path(path)
            .with_span(span)
    };
    let path = "src/a/file/with/a/long/path/for/its/heading.rs";
    let mut chunks = [
        part("a", path, 0.9, 1),
        part("b", "b.rs", 0.1, 1),
        part("c", path, 0.8, 11),
    ];
    let sent = Previous {
        digest: "0".repeat(64),
        ids: ["a", "b", "c"].map(str::to_owned).to_vec(),
        context: None,
    };
    let options = |tokens| {
        let options = options(tokens).with_selection(Selection::Optimal);
        options.with_notice(false).with_previous(Some(sent.clone()))
    };
    let both = build(&[chunks[0].clone(), chunks[2].clone()], &options(2_000));
    let (enough, worth) = (both.tokens.total.get(), both.certificate.value);
    let built = build(&chunks, &options(enough));
    assert!(
        built.certificate.upper_bound >= worth,
        "{:?}",
        built.certificate
    );
    // And what is pinned is shown where it fits.
    for it in [0, 2] {
        chunks[it].pinned = true;
    }
    assert_eq!(build(&chunks, &options(enough)).context, both.context);
    let refused = try_build(&chunks, &options(enough - 1)).unwrap_err();
    assert!(
        refused.to_string().contains(&enough.to_string()),
        "{refused}"
    );
}

#[test]
fn a_text_that_is_not_that_of_the_digest_is_refused() {
    let built = build(&files(2), &options(2_000));
    let forged = Previous {
        context: Some("something else".to_owned()),
        ..previous(&built)
    };
    let error = try_build(&files(2), &options(2_000).with_previous(Some(forged)));
    assert!(matches!(error, Err(AssembleError::PreviousDigest { .. })));
}

#[test]
fn without_its_text_the_places_are_kept_all_the_same() {
    let first = build(&files(3), &options(2_000).with_order(Order::Edges));
    let known = Previous {
        context: None,
        ..previous(&first)
    };
    let second = build(&files(3), &options(2_000).with_previous(Some(known)));
    assert_eq!(second.context, first.context);
    assert_eq!(second.shared_prefix, None);
}

/// What is cached is preferred, and is worth what it is worth all the same.
#[test]
fn a_discount_is_no_part_of_what_is_told() {
    let chunks: Vec<Chunk> = (0..10_u32)
        .map(|n| {
            let relevance = 0.9 - 0.05 * f64::from(n);
            chunk(
                &format!("c{n}"),
                relevance,
                &"word ".repeat(20 + 3 * n as usize),
            )
            .with_path(format!("f{n}.md"))
        })
        .collect();
    // The long ones: without the discount others are chosen.
    let sent = build(&chunks[4..], &options(100_000));
    let mut differ = 0;
    for (selection, most) in [Selection::Optimal, Selection::Density, Selection::InOrder]
        .into_iter()
        .flat_map(|it| (100..900).step_by(40).map(move |most| (it, most)))
    {
        let options = options(most).with_selection(selection);
        let plain = build(&chunks, &options);
        let next = build(&chunks, &options.with_previous(Some(previous(&sent))));
        let relevance = |id: &str| {
            chunks
                .iter()
                .find(|it| it.id == id)
                .unwrap()
                .relevance
                .get()
        };
        for it in &next.included {
            let told = (it.value - relevance(&it.id)).abs();
            assert!(told < 1e-12, "{selection:?} {most}: {it:?}");
        }
        let certificate = next.certificate;
        let sum: f64 = next.included.iter().map(|it| it.value).sum();
        assert!(
            (certificate.value - sum).abs() < 1e-9,
            "{certificate:?} {sum}"
        );
        // What is shown in another order costs the same here, so each bound is one of both.
        let most_of_both = certificate.upper_bound.min(plain.certificate.upper_bound) + 1e-9;
        for value in [certificate.value, plain.certificate.value] {
            assert!(
                value <= most_of_both,
                "{selection:?} {most}: {value} of {most_of_both}"
            );
        }
        differ += u32::from(certificate.value < plain.certificate.value - 1e-9);
    }
    assert!(differ > 5, "the discount decides {differ} times");
}

/// Lines of one file.
fn slice(id: &str, relevance: f64, (start, end): (u32, u32)) -> Chunk {
    let lines: Vec<String> = (start..=end).map(|it| format!("line {it} of it")).collect();
    let span = LineSpan::new(start, end).unwrap();
    chunk(id, relevance, &lines.join("\n"))
        .with_path("src/merged.rs")
        .with_span(span)
}

#[test]
fn a_merged_chunk_keeps_its_place_whichever_part_is_the_most_relevant() {
    let chunks = |of_parts: [f64; 2]| {
        let mut all = files(3);
        all.push(slice("first", of_parts[0], (1, 3)));
        all.push(slice("second", of_parts[1], (4, 6)));
        all
    };
    let options = options(2_000).with_group_by(GroupBy::None);
    let first = build(&chunks([1.0, 0.2]), &options);
    assert_eq!(first.included[1].id, "first");
    let known = previous(&first);
    let next = |known: Previous| {
        let options = options.clone().with_previous(Some(known));
        build(&chunks([0.1, 0.2]), &options)
    };
    let second = next(known.clone());
    assert_eq!(second.included[1].id, "first", "it spoke for it before");
    assert_eq!(second.context, first.context);
    assert_eq!(second.shared_prefix.unwrap().tokens, first.tokens.total);
    let second = next(Previous {
        context: None,
        ..known
    });
    assert_eq!(second.included[1].id, "second");
    assert_eq!(second.context, first.context);
}

/// Every block of `first` is in `next` as it was.
#[track_caller]
fn keeps_all_of(first: &BuiltContext, next: &BuiltContext) {
    let ids = |built: &BuiltContext| -> Vec<String> {
        built.included.iter().map(|it| it.id.clone()).collect()
    };
    let (sent, shown) = (ids(first), ids(next));
    assert_eq!(shown[..sent.len()], sent, "{}", next.context);
    let changed = next.shared_prefix.as_ref().unwrap();
    let changed = changed.first_difference.as_ref();
    let at = changed.and_then(|changed| shown.iter().position(|id| id == changed));
    assert!(
        at.is_none_or(|at| at >= sent.len()),
        "{changed:?}: {}",
        next.context
    );
}

#[test]
fn nothing_new_changes_a_block_that_was_sent() {
    let long = |mut chunk: Chunk| {
        chunk.content = chunk
            .content
            .replace("of it", "of it, with some more to say");
        chunk.imports = vec![format!("of {}", chunk.id), "; ".to_owned()];
        let (kind, target) = ("calls".to_owned(), format!("\u{7}{}", chunk.id));
        chunk.relations = vec![Relation { kind, target }];
        chunk
    };
    let mut first = files(3);
    first.push(long(slice("sent", 0.5, (11, 30))));
    first.push(long(slice("below", 0.4, (31, 40))));
    let (sent, below) = (&first[3], &first[4]);
    let new = |relevance, lines| long(slice("new", relevance, lines));
    let twin = |of: &Chunk, path: &str| chunk("new", 0.95, &of.content).with_path(path);
    let mut named = new(0.9, (12, 14));
    (named.name, named.summary) = (Some("a name".to_owned()), Some("in short".to_owned()));
    named.kind = ctx_model::ChunkKind::Section;
    let cases = [
        ("above", new(0.9, (1, 10))),
        ("touching", new(0.1, (41, 45))),
        ("overlapping", new(0.9, (25, 50))),
        ("around", new(0.9, (1, 50))),
        ("within", new(0.9, (12, 14))),
        ("within, and less relevant", new(0.1, (12, 14))),
        ("within, and of another kind", named),
        ("across both", new(0.9, (29, 33))),
        ("the same lines", new(0.9, (11, 30))),
        ("apart", new(0.9, (60, 70))),
        ("the same text", twin(sent, "z.rs")),
        ("the same text as a part", twin(below, "z.rs")),
        ("the same text, pinned", twin(sent, "z.rs").with_pin()),
        ("a neighbour, pinned", new(0.9, (41, 45)).with_pin()),
    ];
    for group_by in [GroupBy::None, GroupBy::File, GroupBy::Kind] {
        for selection in [Selection::InOrder, Selection::Optimal] {
            let options = options(20_000)
                .with_group_by(group_by)
                .with_selection(selection)
                .with_imports(true)
                .with_relations(true);
            let one = build(&first, &options);
            for (what, hit) in &cases {
                println!("{what}, {group_by:?}, {selection:?}");
                let all = [&first[..], std::slice::from_ref(hit)].concat();
                let next = |before: &BuiltContext| {
                    build(&all, &options.clone().with_previous(Some(previous(before))))
                };
                let two = next(&one);
                keeps_all_of(&one, &two);
                // And so it does when all of it was sent.
                let three = next(&two);
                keeps_all_of(&two, &three);
                assert_eq!(three.context, two.context);
            }
        }
    }
}

/// A block around one that was sent was made without the chunks of that.
#[test]
fn a_block_that_was_sent_keeps_its_chunks_when_a_later_one_is_around_it() {
    let mut chunks = vec![slice("a", 0.5, (9, 10)), slice("b", 0.4, (10, 12))];
    let mut before = build(&chunks, &options(2_000));
    let around = [slice("c", 0.9, (2, 11)), slice("d", 0.8, (12, 16))];
    for new in [
        &around[..],
        &[slice("e", 0.9, (30, 31))],
        &[slice("f", 0.1, (11, 11))],
    ] {
        chunks.extend_from_slice(new);
        let options = options(2_000).with_previous(Some(previous(&before)));
        let next = build(&chunks, &options);
        keeps_all_of(&before, &next);
        before = next;
    }
    let ids: Vec<&str> = before.included.iter().map(|it| &*it.id).collect();
    assert_eq!(ids, ["a", "c", "e"]);
}

/// A block that was written without imports says nothing about those of its chunks.
#[test]
fn imports_are_shown_of_a_block_that_was_sent_without_them() {
    let mut chunks = vec![slice("a", 0.9, (1, 3)), slice("b", 0.5, (4, 6))];
    for it in &mut chunks {
        it.imports = vec![format!("of {}", it.id)];
    }
    let first = build(&chunks, &options(2_000));
    chunks.push(slice("c", 0.1, (2, 5)));
    let options = options(2_000).with_previous(Some(previous(&first)));
    let next = build(&chunks, &options.with_imports(true));
    assert!(
        next.context.contains("Imports: of a; of b\n"),
        "{}",
        next.context
    );
}

#[test]
fn a_part_of_a_block_sent_before_is_found_in_it() {
    let mut chunks = vec![slice("sent", 0.5, (1, 20))];
    let first = build(&chunks, &options(2_000));
    chunks.push(slice("new", 0.9, (5, 8)));
    let second = build(
        &chunks,
        &options(2_000).with_previous(Some(previous(&first))),
    );
    assert_eq!(second.context, first.context);
    assert_eq!(second.included[0].id, "sent");
    assert_eq!(second.omitted[0].other.as_deref(), Some("sent"));
    assert_eq!(second.citations.len(), 2);
    // Without the text of that context nobody knows which lines its block had, and it is as it
    // always is.
    let known = Previous {
        context: None,
        ..previous(&first)
    };
    let second = build(&chunks, &options(2_000).with_previous(Some(known)));
    assert_eq!(second.included[0].id, "new");
}

/// Twenty turns, in each of which some hits are new, some are gone, and relevance has moved.
fn session(next_options: impl Fn(&BuildOptions, &BuiltContext) -> BuildOptions) -> f64 {
    // Knuth's linear congruential generator: the same session every time.
    let mut state = 1_u64;
    let mut below = |limit: u32| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % limit
    };
    let pool = files(60);
    let mut hits: Vec<usize> = (0..24).collect();
    let base = options(3_000)
        .with_group_by(GroupBy::None)
        .with_notice(false)
        .with_selection(Selection::Optimal);
    let (mut shared, mut sent) = (0_u32, 0_u32);
    let mut last: Option<BuiltContext> = None;
    for _ in 0..20 {
        let chunks: Vec<Chunk> = hits
            .iter()
            .map(|&index| {
                let relevance = f64::from(below(100)) / 100.0;
                let mut chunk = pool[index].clone();
                chunk.relevance = ctx_model::Relevance::new(relevance).unwrap();
                chunk
            })
            .collect();
        let options = last
            .as_ref()
            .map_or(base.clone(), |last| next_options(&base, last));
        let built = build(&chunks, &options);
        if let Some(last) = &last {
            let common = built.context.bytes().zip(last.context.bytes());
            let bytes = common.take_while(|(a, b)| a == b).count();
            shared += u32::try_from(bytes).unwrap();
            sent += u32::try_from(built.context.len()).unwrap();
        }
        last = Some(built);
        for _ in 0..3 {
            hits.remove(below(24) as usize);
            let fresh = (0..pool.len())
                .filter(|index| !hits.contains(index))
                .collect::<Vec<_>>();
            hits.push(fresh[below(37) as usize]);
        }
    }
    f64::from(shared) / f64::from(sent)
}

#[test]
fn twenty_turns_keep_several_times_more_than_relevance_order_does() {
    let by_relevance = session(|base, _| base.clone());
    let stable = session(|base, _| base.clone().with_order(Order::Stable));
    let kept = session(|base, last| {
        base.clone()
            .with_order(Order::Stable)
            .with_previous(Some(previous(last)))
    });
    println!("shared: relevance {by_relevance:.3}, stable {stable:.3}, previous {kept:.3}");
    assert!(kept > 3.0 * by_relevance, "{kept} against {by_relevance}");
    assert!(kept > stable, "{kept} against {stable}");
}

/// Without headings, a separator that looks like one heads nothing.
#[test]
fn a_block_below_a_separator_that_looks_like_a_heading_keeps_its_place() {
    let line = |id: &str, path: &str, relevance: f64, content: &str| {
        chunk(id, relevance, content)
            .with_path(path)
            .with_span(LineSpan::new(1, 1).unwrap())
    };
    let sent = [
        line("a", "a.rs", 0.5, "fn one() {}"),
        line("b", "b.rs", 0.4, "fn two() {}"),
    ];
    let better = line("c", "a.rs", 1.0, "fn one() {}");
    let plain = options(1_000).with_file_headers(false);
    for (format, separator) in [(Format::Markdown, "### "), (Format::Plain, "File: x\n")] {
        let options = plain
            .clone()
            .with_format(format)
            .with_chunk_separator(Some(separator.to_owned()));
        let first = build(&sent, &options);
        let next = build(
            &[&sent[..], std::slice::from_ref(&better)].concat(),
            &options.with_previous(Some(previous(&first))),
        );
        assert_eq!(next.context, first.context);
        assert_eq!(previous(&next).ids, previous(&first).ids);
    }
}

/// The same below the heading of a file, where blocks of one file follow each other.
#[test]
fn a_block_below_the_heading_of_its_file_keeps_its_place_beside_such_a_separator() {
    let sent = [
        slice("a", 0.5, (1, 3)),
        slice("b", 0.4, (11, 12)),
        slice("c", 0.3, (21, 22)),
    ];
    for (separator, numbers) in [
        ("### Next\n", true),
        ("\n### Next\n\n", false),
        ("### Next\nLines 3-4\n", true),
        ("### Next\nLines 3-4\n", false),
    ] {
        let options = options(2_000)
            .with_group_by(GroupBy::File)
            .with_line_numbers(numbers)
            .with_chunk_separator(Some(separator.to_owned()));
        let first = build(&sent, &options);
        assert_eq!(first.included.len(), 3);
        for lines in [(5, 10), (13, 15), (11, 11), (23, 30)] {
            let all = [&sent[..], &[slice("new", 0.9, lines)]].concat();
            let options = options.clone().with_previous(Some(previous(&first)));
            keeps_all_of(&first, &build(&all, &options));
        }
    }
}

/// Without line numbers, the last line of a merged block may be empty.
#[test]
fn an_empty_last_line_is_one_of_a_block_without_line_numbers() {
    let line = |id: &str, relevance: f64, number: u32, content: &str| {
        chunk(id, relevance, content)
            .with_path("d.md")
            .with_span(LineSpan::new(number, number).unwrap())
    };
    for first in ["```", "```\n"] {
        let chunks = [line("a", 0.9, 6, first), line("b", 0.4, 7, "")];
        let options = options(2_000).with_line_numbers(false);
        let one = build(&chunks, &options);
        assert_eq!(one.included.len(), 1);
        let again = build(&chunks, &options.with_previous(Some(previous(&one))));
        assert_eq!(again.context, one.context);
        assert_eq!(previous(&again).ids, previous(&one).ids);
    }
}

proptest! {
    /// The same chunks, with their own context as the one before, give that context again. The
    /// lines of a block without line numbers are plain from its text, as no two lines are equal.
    #[test]
    fn the_same_again_is_shared_whole_whatever_is_shown(
        words in prop::collection::vec(
            prop::sample::select(vec!["```", "alpha", "beta 0", "### Next", "Lines 1-2", "File: x"]),
            12,
        ),
        empty in 0_usize..12,
        hits in prop::collection::vec((0_usize..2, 1_u32..12, 0_u32..4, any::<bool>()), 1..6),
        format in prop::sample::select(vec![Format::Markdown, Format::Plain, Format::Xml]),
        group_by in prop::sample::select(vec![GroupBy::File, GroupBy::Kind, GroupBy::None]),
        separator in prop::sample::select(vec![
            None, Some("---\n"), Some("### Next\n"), Some("\n### src/a.rs\n"), Some("Lines 3-4\n"),
        ]),
        (numbers, headers) in any::<(bool, bool)>(),
    ) {
        let mut lines: Vec<String> = (words.iter().enumerate())
            .map(|(number, word)| format!("{word} {number}"))
            .collect();
        lines[empty].clear();
        let chunks: Vec<Chunk> = hits
            .iter()
            .enumerate()
            .map(|(number, &(file, start, more, is_ended))| {
                let end = (start + more).min(12);
                let content = lines[start as usize - 1..end as usize].join("\n");
                // Otherwise the text would lack its last line.
                let is_ended = is_ended || content.ends_with('\n');
                let end_of_line = if is_ended { "\n" } else { "" };
                let relevance = 0.9 - f64::from(u32::try_from(number).unwrap()) / 10.0;
                chunk(&format!("c{number}"), relevance, &format!("{content}{end_of_line}"))
                    .with_path(["src/a.rs", "src/b.rs"][file])
                    .with_span(LineSpan::new(start, end).unwrap())
            })
            .collect();
        let options = options(20_000)
            .with_format(format)
            .with_group_by(group_by)
            .with_line_numbers(numbers)
            .with_file_headers(headers)
            .with_chunk_separator(separator.map(str::to_owned));
        let first = build(&chunks, &options);
        let again = build(&chunks, &options.with_previous(Some(previous(&first))));
        prop_assert_eq!(&again.context, &first.context);
        prop_assert_eq!(previous(&again).ids, previous(&first).ids);
    }
}

/// Whatever a context before is made of to look like the blocks of long chunks.
#[test]
fn an_earlier_context_is_read_in_linear_time() {
    for piece in [
        "Shown: nothing\n",
        "```text\n```\n\n",
        "```text\nline\n```\n\n",
        "### a.txt\n\n",
    ] {
        let input = |n: usize| {
            let lines = u32::try_from(n / 5).unwrap();
            let span = LineSpan::new(1, lines).unwrap();
            let chunk = chunk("a", 0.5, &"line\n".repeat(n / 5));
            let context = piece.repeat(n / piece.len());
            let previous = Previous {
                digest: blake3::hash(context.as_bytes()).to_hex().to_string(),
                ids: vec!["a".to_owned()],
                context: Some(context),
            };
            let options = options(100).with_previous(Some(previous));
            ([chunk.with_path("a.txt").with_span(span)], options)
        };
        linear(piece, input, |(chunks, options)| build(chunks, options));
    }
}
