//! The contents of the receipt.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ctx_assemble::{AssembleError, Control, assemble};
use ctx_budget::BudgetError;
use ctx_model::{
    BuildOptions, BuiltContext, Chunk, Exactness, Format, LineSpan, Omitted, OmittedReason,
    Relation, Relevance, Selection, Tokens,
};

use crate::support::{build, chunk, files, is_sound, options, try_build};

#[test]
fn the_price_of_a_token_is_in_tokens_whatever_counts_them() {
    let chunks = files(40);
    for counter in [
        "o200k_base",
        "characterBased",
        "wordBased",
        "claude-opus-4-7",
        "gemini",
    ] {
        let options = options(1_500)
            .with_counter(counter.parse().unwrap())
            .with_selection(Selection::Optimal);
        let built = build(&chunks, &options);
        let lambda = built.certificate.lambda;
        let mut told = 0;
        for it in &built.included {
            let Some(times) = it.why.strip_prefix("worth ") else {
                continue;
            };
            let times: f64 = times.split_once(' ').unwrap().0.parse().unwrap();
            let expected = it.value / (lambda * f64::from(it.tokens.get()));
            assert!(
                (times - expected).abs() < 0.05 + 0.05 * times,
                "{counter}: {times} for {expected}"
            );
            told += 1;
        }
        assert!(told > 3, "{counter}: {:?}", built.included);
    }
}

#[test]
fn nothing_in_gives_a_valid_empty_result() {
    for format in Format::ALL {
        let options = options(100)
            .with_format(format)
            .with_header(Some("Before.".to_owned()))
            .with_footer(Some("After.".to_owned()));
        let built = build(&[], &options);
        assert!(
            built.context.contains("Before.") && built.context.contains("After."),
            "{format}"
        );
        assert!(built.included.is_empty() && built.omitted.is_empty() && !built.was_truncated);
        assert!(ctx_format::parse(format, &built.context).is_ok());
    }
}

#[test]
fn everything_that_fits_is_shown_without_a_notice() {
    let built = build(&files(5), &options(10_000));
    assert_eq!((built.included.len(), built.omitted.len()), (5, 0));
    assert!(!built.was_truncated && !built.context.contains("Left out"));
    assert_eq!(built.exactness, Exactness::Exact);
    assert_eq!(built.counter, "o200k_base");
    assert_eq!(built.files.len(), 5);
    assert!((built.average_relevance - 0.6).abs() < 1e-12);
    assert!(built.certificate.gap.abs() < f64::EPSILON);
}

#[test]
fn omissions_are_in_the_notice_and_in_the_receipt() {
    let chunks = files(40);
    let options = options(500);
    let built = build(&chunks, &options);
    assert!(built.was_truncated);
    let told = format!("Left out: {} of 40 chunks.", built.omitted.len());
    assert!(built.context.contains(&told), "{}", built.context);
    assert!(
        built
            .omitted
            .iter()
            .all(|it| it.reason == OmittedReason::OverBudget)
    );
    let quiet = build(&chunks, &options.with_notice(false));
    assert!(!quiet.context.contains("Left out"));
}

#[test]
fn a_duplicate_of_an_omitted_chunk_is_omitted_too() {
    let text = (0..40).map(|it| format!("fn of_{it}() {{}}\n"));
    let text: String = text.collect();
    let chunks = [
        chunk("a", 0.5, &text),
        chunk("b", 0.5, &text),
        chunk("c", 0.5, &text),
        chunk("d", 0.5, "fn one() {}"),
    ];
    let built = build(&chunks, &options(60));
    let ids: Vec<&str> = built.included.iter().map(|it| &*it.id).collect();
    assert_eq!(ids, ["d"]);
    let twins = built.omitted.iter();
    let twins = twins.filter(|it| it.reason == OmittedReason::DuplicateOf);
    assert_eq!(twins.count(), 2);
    let told = "Left out: 3 of 4 chunks.";
    assert!(built.context.contains(told), "{}", built.context);
    // Where that is shown, so is what they say.
    let built = build(&chunks, &options(2_000));
    assert!(!built.context.contains("Left out"), "{}", built.context);
}

#[test]
fn a_chunk_enters_at_the_budget_its_receipt_names() {
    let chunks = files(30);
    for options in [
        options(400),
        options(900)
            .with_reserve(Tokens::new(300))
            .with_sources(true),
    ] {
        let built = build(&chunks, &options);
        assert!(built.omitted.len() > 10);
        for omitted in &built.omitted {
            let enters_at = omitted.enters_at.expect("it is over budget");
            assert!(enters_at > options.max_tokens);
            let richer = build(&chunks, &options.clone().with_max_tokens(enters_at));
            assert!(
                richer.included.iter().any(|it| it.id == omitted.id),
                "{omitted:?}"
            );
        }
    }
}

/// Shown, or in the block of another.
fn is_in(built: &BuiltContext, id: &str) -> bool {
    let is_merged = |it: &Omitted| it.id == id && it.reason == OmittedReason::MergedInto;
    built.included.iter().any(|it| it.id == id) || built.omitted.iter().any(is_merged)
}

/// Whether something was omitted that enters somewhere, and each such does.
#[track_caller]
fn enters(chunks: &[Chunk], options: &BuildOptions) -> bool {
    let built = build(chunks, options);
    let entries = built
        .omitted
        .iter()
        .filter_map(|it| it.enters_at.zip(Some(&it.id)));
    let entries: Vec<_> = entries.collect();
    for (at, id) in &entries {
        let richer = build(chunks, &options.clone().with_max_tokens(*at));
        assert!(is_in(&richer, id), "{id} at {at}: {:?}", richer.omitted);
    }
    !entries.is_empty()
}

/// Lines of one file.
fn slice(id: &str, relevance: f64, start: u32, end: u32) -> Chunk {
    let lines = (start..=end).map(|it| format!("line number {it} is rather long here\n"));
    let span = LineSpan::new(start, end).unwrap();
    let content: String = lines.collect();
    chunk(id, relevance, &content)
        .with_path("f.rs")
        .with_span(span)
}

#[test]
fn a_part_of_a_merged_chunk_enters_at_the_budget_its_receipt_names() {
    let chunks = [
        slice("a", 0.9, 1, 2),
        slice("b", 0.2, 3, 19),
        slice("c", 0.1, 20, 24),
        chunk("z", 0.5, &"other ".repeat(30)),
    ];
    for selection in [Selection::InOrder, Selection::Density, Selection::Optimal] {
        let told = [40, 60, 80, 120, 200]
            .map(|most| enters(&chunks, &options(most).with_selection(selection)));
        assert!(told.contains(&true), "{selection:?}");
    }
}

/// Nothing else is left out: there is nothing else.
#[test]
fn the_parts_that_a_merged_chunk_leaves_out_enter_at_the_budget_that_is_told() {
    let chunks = [
        slice("a", 0.9, 1, 2),
        slice("b", 0.4, 3, 9),
        slice("c", 0.1, 10, 12),
    ];
    for selection in [Selection::InOrder, Selection::Density, Selection::Optimal] {
        let options = options(60).with_selection(selection).with_notice(false);
        let with = |most: Tokens| build(&chunks, &options.clone().with_max_tokens(most));
        let built = build(&chunks, &options);
        assert_eq!(built.included.len(), 1, "{selection:?}: a alone");
        assert_eq!(built.omitted.len(), 2, "{selection:?}: {built:?}");
        let mut at = Tokens::ZERO;
        for it in &built.omitted {
            at = it.enters_at.expect("it is over budget");
            assert!(at > options.max_tokens, "{selection:?}: {it:?}");
            assert!(is_in(&with(at), &it.id), "{selection:?}: {it:?}");
        }
        // First fit has room for all of it, and then for the last.
        if selection == Selection::InOrder {
            let less = at.saturating_sub(Tokens::new(1));
            assert!(!is_in(&with(less), "c"), "{at:?}");
        }
    }
}

#[test]
fn a_pinned_chunk_takes_a_place_from_those_before_it() {
    let mut chunks = files(5);
    chunks[4].pinned = true;
    let options = options(100).with_max_chunks(Some(3));
    assert!(enters(&chunks, &options));
    let built = build(&chunks, &options);
    // Of the three places, the pinned one has one, and the first two the others.
    assert!(
        built
            .omitted
            .iter()
            .all(|it| it.id != "id2" || it.enters_at.is_none()),
        "{built:?}"
    );
}

#[test]
fn where_pieces_do_not_add_up_no_entry_is_named_and_the_smallest_budget_is_tried_out() {
    let mut chunks: Vec<Chunk> = (0..5)
        .map(|n| {
            chunk(
                &n.to_string(),
                1.0 - f64::from(n) / 10.0,
                &"word ".repeat(20),
            )
        })
        .collect();
    for separator in ["/", "//\n", "\n/x\n"] {
        let options = options(80).with_chunk_separator(Some(separator.to_owned()));
        let built = build(&chunks, &options);
        assert!(!built.omitted.is_empty());
        assert!(
            built.omitted.iter().all(|it| it.enters_at.is_none()),
            "{separator:?}"
        );
    }
    for chunk in &mut chunks {
        chunk.pinned = true;
    }
    for separator in ["/", "//\n", "\n/x\n"] {
        let at = |most: Tokens| {
            let options = options(0).with_max_tokens(most);
            try_build(
                &chunks,
                &options.with_chunk_separator(Some(separator.to_owned())),
            )
        };
        let Err(AssembleError::Budget(BudgetError::TooSmall { smallest, .. })) =
            at(Tokens::new(20))
        else {
            panic!("accepted");
        };
        assert!(at(smallest).is_ok(), "{smallest} with {separator:?}");
        assert!(
            at(smallest.saturating_sub(Tokens::new(1))).is_err(),
            "{smallest} with {separator:?}"
        );
    }
}

/// Where no weight is known to be too much, nothing is solved to know the value of everything.
#[test]
fn a_small_context_is_chosen_in_few_steps_beside_a_separator_with_a_slash() {
    for (count, most, diversity) in [(1, 14, 0.0), (2, 24, 0.0), (2, 24, 0.5), (20, 300, 0.0)] {
        let chunks: Vec<Chunk> = (0..count)
            .map(|n| {
                let content = format!("beta {n} x let beta {n}");
                chunk(&n.to_string(), 1.0 - f64::from(n) / 50.0, &content)
            })
            .collect();
        let steps = |separator: &str| {
            let options = options(most)
                .with_selection(Selection::Optimal)
                .with_diversity(diversity)
                .with_chunk_separator(Some(separator.to_owned()));
            let looks = Arc::new(AtomicU64::new(0));
            let clock = {
                let looks = Arc::clone(&looks);
                move || Duration::from_nanos(looks.fetch_add(1, Ordering::Relaxed))
            };
            let control = Control::default()
                .with_clock(Arc::new(clock))
                .with_deadline(Some(Duration::MAX));
            let counter = ctx_tokens::counter(&options.counter).unwrap();
            let built = assemble(&chunks, &options, &*counter, &control).unwrap();
            assert!(!built.omitted.is_empty(), "{built:?}");
            looks.load(Ordering::Relaxed)
        };
        let (slash, other) = (steps("/"), steps("-\n"));
        assert!(
            slash < 10 * other + 200,
            "{slash} steps, and {other} beside another"
        );
    }
}

#[test]
fn the_largest_number_of_chunks_is_kept_and_named() {
    let chunks = files(6);
    let options = options(10_000).with_max_chunks(Some(2));
    let built = build(&chunks, &options);
    assert_eq!(built.included.len(), 2);
    assert!(
        built
            .omitted
            .iter()
            .all(|it| it.reason == OmittedReason::MaxChunks)
    );
    assert!(built.was_truncated);
    let none = build(&chunks, &options.with_max_chunks(Some(0)));
    assert_eq!((none.included.len(), none.omitted.len()), (0, 6));
}

#[test]
fn chunks_below_the_least_relevance_are_omitted_for_that_reason() {
    let chunks = files(4);
    let options = options(10_000).with_min_relevance(Some(Relevance::new(0.5).unwrap()));
    let built = build(&chunks, &options);
    assert_eq!(built.included.len(), 3);
    assert_eq!(built.omitted[0].reason, OmittedReason::BelowMinRelevance);
    assert!(!built.was_truncated, "it was not for want of room");
    is_sound(
        &chunks,
        &options,
        &ctx_tokens::counter(&options.counter).unwrap(),
        &built,
    );
}

#[test]
fn the_parts_are_counted_as_they_are_emitted() {
    let header = "Answer from these files only.";
    let options = options(5_000)
        .with_header(Some(header.to_owned()))
        .with_footer(Some("Cite what you use.".to_owned()))
        .with_sources(true);
    let built = build(&files(3), &options);
    let counter = ctx_tokens::counter(&options.counter).unwrap();
    assert_eq!(built.tokens.header, counter.count(&format!("{header}\n\n")));
    assert_eq!(built.tokens.footer, counter.count("Cite what you use.\n"));
    assert!(built.tokens.notices > Tokens::ZERO);
}

#[test]
fn hidden_characters_are_shown_and_reported() {
    let chunks = [chunk("trojan", 1.0, "if admin\u{202e} { }\n\u{1b}[31m")];
    let built = build(&chunks, &options(1_000));
    assert!(built.context.contains("\\u{202e}") && built.context.contains("\\u{1b}"));
    assert_eq!(built.warnings.len(), 1);
    assert_eq!(built.warnings[0].id.as_deref(), Some("trojan"));
    assert_eq!(built.warnings[0].code, "neutralised");
}

#[test]
fn hidden_characters_beside_a_text_are_reported_where_they_are_shown() {
    let mut hidden = chunk("id\u{200b}", 1.0, "plain")
        .with_path("a.rs")
        .with_summary("a\u{1}b");
    hidden.imports = vec!["im\u{200b}port".to_owned()];
    let (kind, target) = ("calls\u{7}".to_owned(), "\u{202e}f".to_owned());
    hidden.relations = vec![Relation { kind, target }];
    hidden.name = Some("na\u{feff}me".to_owned());
    let told = |options: BuildOptions| {
        let built = build(std::slice::from_ref(&hidden), &options);
        let shown = built.context.matches("\\u{").count();
        let told = built.warnings.first().map_or("", |it| &*it.detail);
        assert!(
            told.starts_with(&format!("{shown} ")),
            "{told}: {}",
            built.context
        );
        shown
    };
    let options = options(1_000);
    assert_eq!(told(options.clone()), 1);
    assert_eq!(told(options.clone().with_imports(true)), 2);
    assert_eq!(told(options.clone().with_relations(true)), 3);
    assert_eq!(told(options.clone().with_ids(true)), 2);
    assert_eq!(
        told(options.with_metadata(true).with_format(Format::Xml)),
        3
    );
}

#[test]
fn citations_stand_for_what_is_shown() {
    let built = build(&files(3), &options(5_000));
    for (included, citation) in built.included.iter().zip(&built.citations) {
        assert_eq!(included.citation, citation.id);
        assert_eq!(included.id, citation.chunk_id);
        assert_eq!(citation.content_hash.len(), 64);
    }
    let again = build(&files(2), &options(5_000));
    assert_eq!(again.citations.len(), 2);
    assert!(again.citations.iter().all(|it| it.id.starts_with("chu-")));
}

#[test]
fn an_empty_name_or_expanded_context_is_none() {
    let mut empty = chunk("a", 1.0, "some text");
    (empty.name, empty.qualified_name) = (Some(String::new()), Some(String::new()));
    empty.expanded_context = Some(String::new());
    for format in Format::ALL {
        let options = options(1_000).with_format(format).with_sources(true);
        let built = build(std::slice::from_ref(&empty), &options);
        let without = build(&[chunk("a", 1.0, "some text")], &options);
        assert_eq!(built.context, without.context);
        assert_eq!(built.citations[0].source, "a");
        assert!(built.context.contains("some text"), "{}", built.context);
    }
}
