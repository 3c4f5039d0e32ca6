//! Contexts that show everything, which have no notice; and which chunks come first if not all can
//! be shown.

use std::ops::RangeInclusive;

use ctx_assemble::AssembleError;
use ctx_budget::BudgetError;
use ctx_model::{
    BuildOptions, BuiltContext, Chunk, CounterName, Format, LineSpan, Order, Previous, Rendition,
    RenditionKind, Selection, Tokens,
};

use crate::support::{build, chunk, options, try_build};

const POLICIES: [Selection; 3] = [Selection::InOrder, Selection::Density, Selection::Optimal];

fn with_mention(chunk: Chunk, text: &str) -> Chunk {
    let mention = Rendition::new(RenditionKind::Mention, text, 0.5).unwrap();
    chunk.with_renditions(vec![mention])
}

fn two() -> [Chunk; 2] {
    let a = chunk("a", 0.9, &"alpha beta gamma delta ".repeat(10));
    let b = chunk("b", 0.8, &"one two three four ".repeat(10));
    [a, with_mention(b, "b: one two")]
}

fn pinned() -> [Chunk; 2] {
    let [a, b] = two();
    [with_mention(a, "a: alpha"), b].map(Chunk::with_pin)
}

fn pin(chunk: Chunk, pinned: bool) -> Chunk {
    if pinned { chunk.with_pin() } else { chunk }
}

/// One short line for each number.
fn numbered(lines: RangeInclusive<u32>) -> String {
    let lines: Vec<String> = lines.map(|it| format!("line({it});\n")).collect();
    lines.concat()
}

#[track_caller]
fn shows_all(built: &BuiltContext, count: usize) {
    let shown = (built.included.len(), built.omitted.len());
    assert_eq!(shown, (count, 0), "{}", built.context);
}

#[test]
fn a_notice_that_nobody_needs_keeps_nothing_out() {
    let mut in_part = 0;
    for selection in POLICIES {
        for max_tokens in 20..160 {
            let options = options(max_tokens)
                .with_selection(selection)
                .with_exact(true);
            let quiet = try_build(&two(), &options.clone().with_notice(false));
            let Some(quiet) = quiet.ok().filter(|it| it.omitted.is_empty()) else {
                continue;
            };
            let built = build(&two(), &options);
            assert!(
                built.certificate.value >= quiet.certificate.value,
                "{max_tokens}"
            );
            assert_eq!(built.context, quiet.context, "{selection} {max_tokens}");
            in_part += usize::from(built.was_truncated);
        }
    }
    assert!(in_part > 9, "{in_part}");
}

#[test]
fn pinned_chunks_need_no_room_for_a_notice_where_nothing_is_left_out() {
    for selection in POLICIES {
        let of = |tokens: u32| try_build(&pinned(), &options(tokens).with_selection(selection));
        let Err(AssembleError::Budget(BudgetError::TooSmall { smallest, .. })) = of(20) else {
            panic!("20 tokens are too few");
        };
        for tokens in 21..smallest.get() {
            assert!(of(tokens).is_err(), "{tokens}");
        }
        for tokens in smallest.get()..200 {
            shows_all(&of(tokens).unwrap(), 2);
        }
    }
}

#[test]
fn a_context_that_fits_exactly_fits_by_an_estimate_too() {
    for (pinned, counter) in [
        (false, CounterName::CharacterBased),
        (true, CounterName::CharacterBased),
        (true, CounterName::WordBased),
    ] {
        for length in 1..60 {
            let chunks = [pin(chunk("a", 1.0, &"x;".repeat(length)), pinned)];
            let options = options(9_999)
                .with_counter(counter.clone())
                .with_format(Format::Plain);
            let total = build(&chunks, &options).tokens.total;
            let built = build(&chunks, &options.clone().with_max_tokens(total));
            shows_all(&built, 1);
            let less = options.with_max_tokens(total.saturating_sub(Tokens::new(1)));
            match try_build(&chunks, &less) {
                Ok(built) => assert!(built.included.is_empty()),
                Err(AssembleError::Budget(BudgetError::TooSmall { smallest, .. })) => {
                    assert_eq!(smallest, total);
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}

#[test]
fn a_part_that_is_worth_nothing_is_shown_where_a_notice_of_it_costs_more() {
    let lines = |id: &str, relevance: f64, first: u32, last: u32| {
        let text = numbered(first..=last);
        let span = LineSpan::new(first, last).unwrap();
        chunk(id, relevance, &text)
            .with_path("a.rs")
            .with_span(span)
    };
    let chunks = [
        lines("a", 0.9, 1, 4),
        lines("b", 0.8, 5, 8),
        lines("z", 0.0, 9, 9),
    ];
    for selection in POLICIES {
        let build = |tokens: u32| build(&chunks, &options(tokens).with_selection(selection));
        let all = build(8_000);
        assert_eq!(all.included[0].end_line, Some(9), "{}", all.context);
        let total = all.tokens.total.get();
        for tokens in [total, total + 1, total + 3, 8_000] {
            assert_eq!(build(tokens).context, all.context, "{selection} {tokens}");
        }
    }
}

#[test]
fn a_pinned_part_is_shown_without_what_it_was_merged_with() {
    let lines = |number: u32, relevance: f64, count: u32| {
        let first = number * 20 + 1;
        let last = first + count - 1;
        let text = numbered(first..=last);
        let span = LineSpan::new(first, last).unwrap();
        chunk(&format!("c{number}"), relevance, &text)
            .with_path("a.rs")
            .with_span(span)
    };
    let hits = (0..10_u32).map(|it| lines(it, 0.9 - f64::from(it) / 100.0, 20));
    let chunks: Vec<Chunk> = hits.chain([lines(10, 0.1, 4).with_pin()]).collect();
    for selection in POLICIES {
        let options = |tokens: u32| options(tokens).with_selection(selection);
        let apart = build(&chunks[10..], &options(500).with_notice(false));
        let room = apart.tokens.total.get() + 20;
        let built = build(&chunks, &options(room));
        let shown: Vec<_> = built.included.iter().map(|it| &*it.id).collect();
        assert_eq!(shown, ["c10"], "{}", built.context);
        let Err(AssembleError::Budget(BudgetError::TooSmall { smallest, .. })) =
            try_build(&chunks, &options(20))
        else {
            panic!("20 tokens are too few");
        };
        assert!(smallest.get() <= room, "{smallest}");
    }
}

#[test]
fn chunks_that_meet_are_one_of_those_that_are_counted_pinned_or_not() {
    let lines = |id: &str, first: u32| {
        let span = LineSpan::new(first, first + 1).unwrap();
        let chunk = chunk(id, 0.5, &format!("line {first}\nline {}\n", first + 1));
        chunk.with_path("f.txt").with_span(span)
    };
    for pinned in [false, true] {
        let chunks = [lines("a", 1), lines("b", 3)].map(|it| pin(it, pinned));
        let built = build(&chunks, &options(500).with_max_chunks(Some(1)));
        assert_eq!(built.included.len(), 1);
        assert_eq!(built.included[0].end_line, Some(4));
    }
    let apart = [lines("a", 1), lines("b", 9)].map(Chunk::with_pin);
    let refused = try_build(&apart, &options(500).with_max_chunks(Some(1)));
    assert!(matches!(
        refused,
        Err(AssembleError::Budget(BudgetError::TooManyPins {
            pinned: 2,
            max_items: 1
        }))
    ));
}

#[test]
fn first_fit_takes_the_most_relevant_however_they_are_shown() {
    let relevance = |number: u32| 0.05 + 0.045 * f64::from(number);
    let chunks: Vec<Chunk> = (0..20_u32)
        .map(|number| {
            let text = format!("let value_{number} = compute({number});\n").repeat(20);
            let path = format!("{number:02}.rs");
            chunk(&format!("x{number}"), relevance(number), &text).with_path(path)
        })
        .collect();
    let ids: Vec<String> = (0..6).map(|it| format!("x{it}")).collect();
    let previous = Previous {
        digest: "0".repeat(64),
        ids,
        context: None,
    };
    let ways: [&dyn Fn(BuildOptions) -> BuildOptions; 4] = [
        &|it| it,
        &|it| it.with_order(Order::Stable),
        &|it| it.with_order(Order::Edges),
        &|it| it.with_previous(Some(previous.clone())),
    ];
    let shown = |way: &dyn Fn(BuildOptions) -> BuildOptions| {
        let built = build(&chunks, &way(options(1_500)));
        let mut shown: Vec<String> = built.included.into_iter().map(|it| it.id).collect();
        shown.sort_unstable();
        shown
    };
    let best = shown(ways[0]);
    assert!((3..19).contains(&best.len()) && best.contains(&"x19".to_owned()));
    for way in ways {
        assert_eq!(shown(way), best);
    }
}

#[test]
fn where_nothing_may_be_chosen_nothing_is_missed() {
    let chunks = two();
    for selection in POLICIES {
        let options = options(500).with_selection(selection);
        let certificate = build(&chunks, &options.with_max_chunks(Some(0))).certificate;
        assert_eq!(
            (certificate.value, certificate.upper_bound, certificate.gap),
            (0.0, 0.0, 0.0)
        );
    }
}
