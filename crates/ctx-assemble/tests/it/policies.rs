//! The choices of each policy, and what the receipt says about them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ctx_assemble::{Control, assemble};
use ctx_model::{
    BuildOptions, BuiltContext, Chunk, ChunkKind, OmittedReason, Rendition, RenditionKind,
    Selection, Tokens,
};
use ctx_testkit::generate;
use proptest::prelude::*;

use crate::support::{build, chunk, files, options, try_build};

const POLICIES: [Selection; 3] = [Selection::InOrder, Selection::Density, Selection::Optimal];

/// Chunks whose size has nothing to do with their relevance.
fn uneven(count: u32) -> Vec<Chunk> {
    (0..count)
        .map(|n| {
            let words = 5 + n * 37 % 101;
            let relevance = f64::from(n * 53 % 97 + 1) / 100.0;
            chunk(&format!("c{n}"), relevance, &"word ".repeat(words as usize))
                .with_path(format!("src/{n}.md"))
        })
        .collect()
}

#[test]
fn optimal_is_never_worse_than_the_others_and_knows_its_bound() {
    let chunks = uneven(60);
    for max_tokens in [200, 500, 1_000, 2_000] {
        let value = |selection| {
            let built = build(&chunks, &options(max_tokens).with_selection(selection));
            let certificate = built.certificate;
            assert!(certificate.value <= certificate.upper_bound + 1e-9);
            certificate
        };
        let [in_order, density, optimal] = POLICIES.map(value);
        assert!(optimal.value >= in_order.value && optimal.value >= density.value);
        assert!(optimal.gap <= 0.005, "{optimal:?}");
        assert!(in_order.upper_bound >= optimal.value && density.upper_bound >= optimal.value);
    }
}

#[test]
fn a_chunk_is_worth_its_relevance_to_the_power_asked_for() {
    let chunks = uneven(12);
    for (power, exponent) in [(0, 0), (1, 1), (3, 3), (255, 255)] {
        let options = options(100_000).with_relevance_power(power);
        let built = build(&chunks, &options);
        assert_eq!(built.included.len(), chunks.len());
        for included in &built.included {
            let chunk = chunks.iter().find(|it| it.id == included.id).unwrap();
            let expected = chunk.relevance.get().powi(exponent);
            assert!((included.value - expected).abs() < 1e-12, "{included:?}");
        }
    }
}

#[test]
fn a_larger_budget_never_lowers_the_value() {
    let chunks = uneven(40);
    let mut last = 0.0;
    for max_tokens in (60..1_500).step_by(7) {
        let options = options(max_tokens).with_selection(Selection::Optimal);
        let value = build(&chunks, &options).certificate.value;
        assert!(value >= last, "{value} at {max_tokens}, {last} before");
        last = value;
    }
}

#[track_caller]
fn enter_where_the_receipt_says(chunks: &[Chunk], options: &BuildOptions) -> usize {
    enter_where_told(&build(chunks, options), chunks, options)
}

/// Checks the budgets that the receipt of `built` names; returns how many there are.
#[track_caller]
fn enter_where_told(built: &BuiltContext, chunks: &[Chunk], options: &BuildOptions) -> usize {
    let mut checked = 0;
    let mut richer = BTreeMap::new();
    for omitted in built
        .omitted
        .iter()
        .filter(|it| it.reason == OmittedReason::OverBudget)
    {
        let Some(enters_at) = omitted.enters_at else {
            continue;
        };
        assert!(enters_at > options.max_tokens);
        let richer = richer
            .entry(enters_at)
            .or_insert_with(|| build(chunks, &options.clone().with_max_tokens(enters_at)));
        let shows =
            |it: &ctx_model::Omitted| it.id == omitted.id && it.reason != OmittedReason::MergedInto;
        assert!(!richer.omitted.iter().any(shows), "{omitted:?}");
        checked += 1;
    }
    checked
}

#[test]
fn omitted_chunks_enter_at_the_budget_that_the_receipt_names() {
    let chunks = uneven(50);
    for selection in POLICIES {
        let some = options(400).with_selection(selection);
        assert!(
            enter_where_the_receipt_says(&chunks, &some) > 20,
            "{selection:?}"
        );
    }
    let capped = options(400)
        .with_selection(Selection::Optimal)
        .with_caps(true);
    enter_where_the_receipt_says(&chunks, &capped);
    let diverse = options(400)
        .with_selection(Selection::Optimal)
        .with_diversity(0.5);
    enter_where_the_receipt_says(&chunks, &diverse);
}

#[test]
fn diversity_prefers_what_is_new() {
    let about = |id: &str, relevance, keyword: &str| {
        let mut chunk = chunk(
            id,
            relevance,
            &format!("{id} {keyword} {}", "word ".repeat(40)),
        );
        chunk.matched_keywords = [keyword.to_owned()].into();
        chunk.with_path(format!("{id}.md"))
    };
    let chunks = [
        about("a1", 0.90, "alpha"),
        about("a2", 0.88, "alpha"),
        about("a3", 0.86, "alpha"),
        about("b1", 0.80, "beta"),
    ];
    let ids = |diversity| -> Vec<String> {
        let options = options(140)
            .with_selection(Selection::Optimal)
            .with_diversity(diversity);
        build(&chunks, &options)
            .included
            .into_iter()
            .map(|it| it.id)
            .collect()
    };
    assert_eq!(ids(0.0), ["a1", "a2"]);
    assert_eq!(ids(1.0), ["a1", "b1"]);
}

/// Lines of one file, of 10 each.
fn slices(count: u32, relevance: f64) -> Vec<Chunk> {
    (0..count)
        .map(|n| {
            let (start, end) = (10 * n + 1, 10 * n + 10);
            let lines: Vec<String> = (start..=end)
                .map(|line| format!("let value_{line} = compute({line});"))
                .collect();
            chunk(&format!("a{n}"), relevance, &lines.join("\n"))
                .with_path("a.rs")
                .with_span(ctx_model::LineSpan::new(start, end).unwrap())
        })
        .collect()
}

#[test]
fn diversity_shows_all_there_is_room_for() {
    let mut merged = slices(5, 0.9);
    let mut rendered = uneven(3);
    for chunk in merged.iter_mut().chain(&mut rendered) {
        chunk.matched_keywords = ["value".to_owned(), "word".to_owned()].into();
    }
    let mention = Rendition::new(RenditionKind::Mention, "a line with a word", 0.1).unwrap();
    for chunk in &mut rendered {
        chunk.renditions.push(mention.clone());
    }
    for diversity in [0.0, 0.5, 0.9, 1.0] {
        for selection in POLICIES {
            let options = options(20_000)
                .with_selection(selection)
                .with_diversity(diversity);
            for chunks in [&merged, &rendered] {
                let built = build(chunks, &options);
                assert!(
                    !built.was_truncated,
                    "{selection:?}, {diversity}: {built:?}"
                );
            }
        }
    }
}

#[test]
fn with_diversity_a_merged_chunk_is_worth_what_its_parts_are() {
    let mut chunks = slices(6, 0.9);
    chunks.extend((0..6).map(|n| {
        let text = format!("let zed_{n} = compute({n});\n").repeat(10);
        chunk(&format!("z{n}"), 0.3, &text).with_path(format!("z{n}.rs"))
    }));
    for selection in [Selection::Density, Selection::Optimal] {
        let options = options(620).with_selection(selection).with_diversity(0.8);
        let value = |options: &BuildOptions| build(&chunks, options).certificate.value;
        let (merged, apart) = (value(&options), value(&options.clone().with_merge(false)));
        assert!(merged > 0.8 * apart, "{selection:?}: {merged} of {apart}");
    }
}

/// The same chunks with a short way to show each.
#[test]
fn omitted_chunks_enter_at_the_budget_that_is_named_whenever_the_deadline_comes() {
    let chunks = with_mentions(uneven(60));
    for selection in POLICIES {
        for tokens in [12, 300] {
            let options = options(tokens).with_selection(selection);
            let mut told = 0;
            // Each look at the clock takes a second.
            for deadline in (1..400).step_by(19) {
                let looks = AtomicU64::new(0);
                let clock = move || Duration::from_secs(looks.fetch_add(1, Ordering::Relaxed));
                let control = Control::default()
                    .with_clock(Arc::new(clock))
                    .with_deadline(Duration::from_secs(deadline))
                    .with_one_thread(true);
                let counter = ctx_tokens::counter(&options.counter).unwrap();
                let built = assemble(&chunks, &options, &*counter, &control).unwrap();
                told += enter_where_told(&built, &chunks, &options);
            }
            assert!(told > 0, "{selection:?} of {tokens} tokens");
        }
    }
}

fn with_mentions(mut chunks: Vec<Chunk>) -> Vec<Chunk> {
    for chunk in &mut chunks {
        let mention = Rendition::new(RenditionKind::Mention, "a line", 0.05).unwrap();
        chunk.renditions.push(mention);
    }
    chunks
}

#[test]
fn the_values_of_the_chunks_add_up_to_the_certificate() {
    let mut chunks = with_mentions(uneven(30));
    for (number, chunk) in chunks.iter_mut().enumerate() {
        chunk.name = Some(format!("name{}", number % 4));
        chunk.matched_keywords = ["word".to_owned(), format!("word{}", number % 3)].into();
    }
    for diversity in [0.0, 0.1, 0.5, 1.0] {
        for (selection, tokens) in POLICIES.into_iter().flat_map(|it| [(it, 100), (it, 700)]) {
            let options = options(tokens)
                .with_selection(selection)
                .with_diversity(diversity);
            let built = build(&chunks, &options);
            let value = built.certificate.value;
            let sum: f64 = built.included.iter().map(|it| it.value).sum();
            assert!(
                (value - sum).abs() < 1e-9 && sum > 0.0,
                "{selection:?}, {diversity:?}, {tokens}: {sum} for {value}"
            );
        }
    }
}

#[test]
fn where_nothing_fits_the_receipt_names_the_smallest_budget_that_shows_something() {
    for chunks in [uneven(40), with_mentions(uneven(400)), uneven(1)] {
        for selection in POLICIES {
            let (mut told, mut tokens) = (Vec::new(), 0);
            loop {
                tokens += 1;
                let options = options(tokens).with_selection(selection);
                let Ok(built) = try_build(&chunks, &options) else {
                    continue;
                };
                if !built.included.is_empty() {
                    break;
                }
                told.push(built.omitted.iter().filter_map(|it| it.enters_at).min());
            }
            let least = Some(Tokens::new(tokens));
            assert!(!told.is_empty(), "{selection:?}");
            assert!(
                told.iter().all(|it| *it == least),
                "{selection:?}: {told:?}, {tokens}"
            );
        }
    }
}

#[test]
fn a_diversity_that_is_no_share_is_refused() {
    for diversity in [f64::NAN, -0.1, 1.1] {
        let options = options(100).with_diversity(diversity);
        assert!(try_build(&files(3), &options).is_err(), "{diversity}");
    }
}

#[test]
fn caps_keep_one_large_chunk_from_taking_all() {
    let mut chunks = vec![
        chunk("large", 1.0, &"word ".repeat(700)).with_path("large.md"),
        chunk("b", 0.5, &"text ".repeat(60)).with_path("b.md"),
        chunk("c", 0.5, &"line ".repeat(60)).with_path("c.md"),
    ];
    for chunk in &mut chunks {
        chunk.kind = ChunkKind::Function;
    }
    let options = options(760);
    assert_eq!(build(&chunks, &options).included[0].id, "large");
    let capped = build(&chunks, &options.with_caps(true));
    let ids: Vec<&str> = capped.included.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["b", "c"]);
    assert_eq!(capped.omitted[0].id, "large");
}

#[test]
fn caps_hold_where_everything_would_fit() {
    let chunks: Vec<Chunk> = [("large", 240), ("b", 12), ("c", 12), ("d", 12)]
        .map(|(id, words)| chunk(id, 0.5, &format!("{id} ").repeat(words)).with_path(id))
        .into();
    for selection in POLICIES {
        let options = options(700).with_selection(selection);
        assert_eq!(build(&chunks, &options).included.len(), 4);
        let capped = build(&chunks, &options.with_caps(true));
        assert_eq!(capped.omitted.len(), 1, "{selection}");
        assert_eq!(capped.omitted[0].id, "large");
    }
}

#[test]
fn the_unused_caps_of_small_chunks_go_to_the_others() {
    let mut chunks: Vec<Chunk> = [("large", 240), ("b", 12), ("c", 12), ("d", 12)]
        .map(|(id, words)| chunk(id, 0.5, &format!("{id} ").repeat(words)).with_path(id))
        .into();
    chunks[0].kind = ChunkKind::Class;
    for selection in POLICIES {
        // A quarter of four fifths is 140 tokens for each.
        let options = options(700).with_selection(selection).with_caps(true);
        assert_eq!(build(&chunks, &options).included.len(), 4, "{selection}");
    }
}

#[test]
fn the_receipt_says_why_each_chunk_is_in() {
    let mut chunks = uneven(30);
    chunks[3].pinned = true;
    let built = build(&chunks, &options(500).with_selection(Selection::Optimal));
    for included in &built.included {
        if included.id == "c3" {
            assert_eq!(included.why, "pinned");
        } else {
            assert!(
                included.why.contains("times the price of its tokens"),
                "{}",
                included.why
            );
            assert!(included.value > 0.0);
        }
    }
    let roomy = build(&chunks, &options(100_000));
    assert!(roomy.included.iter().any(|it| it.why == "there was room"));
}

proptest! {
    #[test]
    fn a_chunk_that_shares_no_feature_is_worth_as_much_as_without_diversity(
        (_, mut chunks) in generate::chunks_of_files(),
        diversity in 0.0..=1.0_f64,
    ) {
        for chunk in &mut chunks {
            chunk.matched_keywords = Arc::default();
        }
        let roomy = options(1_000_000).with_selection(Selection::Optimal);
        let plain = build(&chunks, &roomy);
        let diverse = build(&chunks, &roomy.with_diversity(diversity));
        prop_assert_eq!(&diverse.context, &plain.context);
        let (value, expected) = (diverse.certificate.value, plain.certificate.value);
        prop_assert!((value - expected).abs() < 1e-9, "{} for {}", value, expected);
    }

    #[test]
    fn optimal_is_monotone_over_any_chunks(
        chunks in generate::chunks(0..10),
        options in generate::options(),
        budgets in prop::array::uniform2(100_u32..2_000),
    ) {
        let [less, more] = if budgets[0] <= budgets[1] { budgets } else { [budgets[1], budgets[0]] };
        // With diversity the greedy choice may turn for the worse with more to spend: see
        // ctx-budget. And what was sent before is preferred to what is worth more.
        let options = options.with_selection(Selection::Optimal).with_diversity(0.0).with_previous(None);
        let value = |max_tokens| {
            let options = options.clone().with_max_tokens(Tokens::new(max_tokens));
            try_build(&chunks, &options).map(|built| built.certificate.value)
        };
        if let (Ok(less), Ok(more)) = (value(less), value(more)) {
            prop_assert!(less <= more + 1e-9, "{} at {:?}, {} with more", less, budgets, more);
        }
    }
}
