//! What has a first claim on a share of the budget.

use ctx_assemble::{AssembleError, Claims, Control, Extras, assemble_with};
use ctx_model::{
    BuildOptions, BuiltContext, Chunk, ChunkKind, OmittedReason, Rendition, RenditionKind,
    Selection,
};
use ctx_testkit::generate;
use proptest::prelude::*;

use crate::support::{build, chunk, files, is_sound, options, try_build};

fn claiming(
    chunks: &[Chunk],
    claims: &Claims,
    options: &BuildOptions,
) -> Result<BuiltContext, AssembleError> {
    let counter = ctx_tokens::counter(&options.counter).unwrap();
    let extras = Extras::default().with_claims(claims);
    assemble_with(chunks, &extras, options, &*counter, &Control::default())
}

/// What somebody said, in so many words: worth next to nothing.
fn said(number: u32, words: usize) -> Chunk {
    let content = format!("said {number}: {}", "word ".repeat(words));
    let part = Rendition::new(RenditionKind::Excerpt, format!("said {number} …"), 0.5);
    chunk(&format!("m{number}"), 0.01, &content)
        .with_name(format!("turn {number:03}"))
        .with_kind(ChunkKind::Message)
        .with_renditions(vec![part.unwrap()])
}

fn latest_first(count: u32) -> Claims {
    let ids = (0..count).rev().map(|it| format!("m{it}"));
    Claims::new(ids.collect(), 0.25)
}

fn claimed(built: &BuiltContext) -> Vec<(&str, RenditionKind)> {
    let included = built.included.iter();
    let claimed = included.filter(|it| it.why == "first claim");
    claimed.map(|it| (&*it.id, it.rendition)).collect()
}

#[test]
fn claims_are_granted_in_order_each_as_fully_as_the_share_holds() {
    let mut chunks = files(60);
    chunks.extend([said(0, 10), said(1, 10), said(2, 600), said(3, 10)]);
    let options = options(2_000).with_order(ctx_model::Order::Stable);
    let without = build(&chunks, &options);
    assert!(without.included.iter().all(|it| it.id != "m3"));
    let built = claiming(&chunks, &latest_first(4), &options).unwrap();
    let (full, part) = (RenditionKind::Full, RenditionKind::Excerpt);
    assert_eq!(
        claimed(&built),
        [("m0", full), ("m1", full), ("m2", part), ("m3", full)]
    );
    // What does not fit in any way ends them.
    chunks[62] = said(2, 600).with_renditions(Vec::new());
    let built = claiming(&chunks, &latest_first(4), &options).unwrap();
    assert_eq!(claimed(&built), [("m3", full)]);
}

#[test]
fn a_claimed_chunk_may_score_below_the_least_relevance() {
    let mut chunks = files(6);
    chunks.extend([said(0, 5), said(1, 5)]);
    let least = ctx_model::Relevance::new(0.3).unwrap();
    let options = options(4_000).with_min_relevance(Some(least));
    let built = claiming(&chunks, &latest_first(2), &options).unwrap();
    assert_eq!(claimed(&built).len(), 2);
    let below = built.omitted.iter().map(|it| it.reason);
    assert_eq!(
        below.collect::<Vec<_>>(),
        [OmittedReason::BelowMinRelevance]
    );
    let built = claiming(&chunks, &Claims::default(), &options).unwrap();
    assert_eq!(built.omitted.len(), 3);
}

#[test]
fn claims_leave_what_is_pinned_its_room_and_others_a_place() {
    let mut chunks = files(12);
    chunks.extend([said(0, 5), said(1, 5)]);
    for chunk in &mut chunks[..2] {
        chunk.pinned = true;
    }
    let claims = latest_first(2);
    for most in 2..8 {
        let options = options(4_000).with_max_chunks(Some(most));
        let built = claiming(&chunks, &claims, &options).unwrap();
        let expected = [0, 0, 1, 1, 1, 1][most - 2];
        assert_eq!(claimed(&built).len(), expected, "of {most}");
        let pinned = built.included.iter().filter(|it| it.why == "pinned");
        assert_eq!(pinned.count(), 2);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_build_fails_for_claims_and_what_is_claimed_is_shown_in_order(
        chunks in generate::chunks(0..16),
        options in generate::options(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        share in prop_oneof![Just(0.25), -0.5..1.5, Just(f64::NAN)],
    ) {
        let ids = order.iter().filter_map(|it| Some(&chunks.get(it.index(chunks.len().max(1)))?.id));
        let claims = Claims::new(ids.cloned().collect(), share);
        let counter = ctx_tokens::counter(&options.counter).unwrap();
        match (try_build(&chunks, &options), claiming(&chunks, &claims, &options)) {
            (Ok(_), Ok(built)) => {
                is_sound(&chunks, &options, &*counter, &built);
                let claimed = built.included.iter().filter(|it| it.why == "first claim");
                for it in claimed {
                    prop_assert!(claims.ids.contains(&it.id) || options.merge);
                }
            }
            (Err(without), Err(with)) => prop_assert_eq!(without.to_string(), with.to_string()),
            (without, with) => panic!("{without:?} and {with:?}"),
        }
        let mut none = claiming(&chunks, &Claims::default(), &options);
        let mut plain = try_build(&chunks, &options);
        for built in [&mut none, &mut plain].into_iter().flatten() {
            built.build_time = 0.0;
        }
        prop_assert_eq!(format!("{none:?}"), format!("{plain:?}"));
    }

    #[test]
    fn the_first_claims_are_shown_without_a_gap_within_their_share(
        lengths in prop::collection::vec(0..120_usize, 1..12),
        others in 0..60_u32,
        pinned in 0..3_usize,
        max_tokens in 150..4_000_u32,
        selection in prop::sample::select(vec![Selection::InOrder, Selection::Density, Selection::Optimal]),
    ) {
        let mut chunks = files(others);
        for chunk in chunks.iter_mut().take(pinned) {
            chunk.pinned = true;
        }
        let count = u32::try_from(lengths.len()).unwrap();
        let whole = |(number, words): (u32, &usize)| said(number, *words).with_renditions(Vec::new());
        chunks.extend((0..).zip(&lengths).map(whole));
        let options = options(max_tokens).with_selection(selection);
        let Ok(built) = claiming(&chunks, &latest_first(count), &options) else {
            return Ok(());
        };
        let claimed = built.included.iter().filter(|it| it.why == "first claim");
        let claimed: Vec<_> = claimed.collect();
        for latest in 0..claimed.len() {
            let id = format!("m{}", count as usize - 1 - latest);
            prop_assert!(claimed.iter().any(|it| it.id == id), "{:?}", claimed);
        }
        let tokens: u32 = claimed.iter().map(|it| it.tokens.get()).sum();
        prop_assert!(tokens <= max_tokens / 4, "{tokens} of {max_tokens}");
    }
}
