//! The weight of a notice depends on the number in it.

use ctx_assemble::AssembleError;
use ctx_budget::BudgetError;
use ctx_model::{BuildOptions, Chunk, CounterName, Selection, Tokens};

use crate::support::{build, chunk, options, try_build};

/// Each of one short line: with `o200k_base` a notice of four digits takes a token more than one of
/// three.
fn many(count: usize) -> Vec<Chunk> {
    let one = |number: usize| {
        chunk(
            &format!("c{number:04}"),
            1.0,
            "let total = price * count;\n",
        )
    };
    (0..count).map(one).collect()
}

/// No budget that holds what is shown refuses it, or proves that nothing is worth as much.
#[track_caller]
fn holds_at_its_own_size(chunks: &[Chunk], options: &BuildOptions) {
    let built = build(chunks, options);
    let tight = options.clone().with_max_tokens(built.tokens.total);
    let again = build(chunks, &tight);
    let (value, bound) = (built.certificate.value, again.certificate.upper_bound);
    let max_tokens = options.max_tokens;
    assert!(bound >= value, "{max_tokens}: {bound} is below {value}");
    assert!(
        again.certificate.value >= value,
        "{max_tokens}: {} is below {value}",
        again.certificate.value
    );
}

#[test]
fn the_notice_that_is_written_is_the_one_that_is_paid_for() {
    let chunks = many(1_000);
    for selection in [Selection::InOrder, Selection::Density, Selection::Optimal] {
        for max_tokens in (26..32).chain(44..50).chain(96..99).chain([3_000]) {
            let options = options(max_tokens)
                .with_selection(selection)
                .with_exact(true);
            if try_build(&chunks, &options).is_ok() {
                holds_at_its_own_size(&chunks, &options);
            }
        }
    }
    let few = many(12);
    for max_tokens in 20..200 {
        let options = options(max_tokens)
            .with_counter(CounterName::WordBased)
            .with_exact(true)
            .with_selection(Selection::Optimal);
        if try_build(&few, &options).is_ok() {
            holds_at_its_own_size(&few, &options);
        }
    }
}

#[test]
fn a_pinned_chunk_among_a_thousand_is_refused_where_it_does_not_fit_alone() {
    let mut chunks = many(1_000);
    chunks[7].pinned = true;
    let Err(AssembleError::Budget(BudgetError::TooSmall { smallest, .. })) =
        try_build(&chunks, &options(20))
    else {
        panic!("20 tokens are too few");
    };
    let at = |tokens: Tokens| try_build(&chunks, &options(tokens.get()));
    assert_eq!(at(smallest).unwrap().tokens.total, smallest);
    assert!(at(smallest.saturating_sub(Tokens::new(1))).is_err());
}

#[test]
fn a_chunk_enters_at_the_least_that_shows_any() {
    let chunks = many(1_000);
    let options = |tokens: u32| {
        options(tokens)
            .with_selection(Selection::Optimal)
            .with_explain(true)
    };
    let empty = build(&chunks, &options(26));
    assert!(empty.included.is_empty(), "{}", empty.context);
    let enters = empty.omitted.iter().filter_map(|it| it.enters_at).min();
    let enters = enters.unwrap();
    let built = build(&chunks, &options(enters.get()));
    assert_eq!((built.included.len(), built.tokens.total), (1, enters));
}
