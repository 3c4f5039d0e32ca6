//! Facts about caps in proportion to relevance.

use ctx_budget::{CapRule, CapUnit, Claim, kind_budget, proportional_caps};
use ctx_model::ChunkKind;
use proptest::collection::vec;
use proptest::prelude::*;

fn claim(relevance: f64, kind: &ChunkKind) -> Claim {
    Claim {
        relevance,
        kind_budget: kind_budget(kind, CapUnit::Characters),
        need: u64::MAX,
    }
}

#[track_caller]
fn caps(claims: &[Claim], budget: u64, expected: &[u64]) {
    assert_eq!(
        proportional_caps(claims, budget, &CapRule::CHARACTERS),
        expected
    );
}

#[test]
fn four_fifths_are_split_by_relevance() {
    let claims = [
        claim(0.9, &ChunkKind::Class),
        claim(0.1, &ChunkKind::Function),
    ];
    caps(&claims, 2_000, &[1_440, 160]);
}

#[test]
fn no_item_has_more_than_four_times_what_its_kind_has() {
    caps(&[claim(1.0, &ChunkKind::File)], 100_000, &[800]);
    caps(&[claim(1.0, &ChunkKind::Document)], 100_000, &[4_000]);
}

#[test]
fn the_share_above_a_cap_is_split_among_the_others() {
    // Of 7,200 the file has 4,320 by its relevance, and may have 800; the others have the rest.
    let claims = [
        claim(0.6, &ChunkKind::File),
        claim(0.2, &ChunkKind::Document),
        claim(0.2, &ChunkKind::Class),
    ];
    caps(&claims, 9_000, &[800, 3_200, 3_200]);
    caps(&claims, 9_500, &[800, 3_600, 3_200]);
    caps(&claims, u64::MAX, &[800, 4_000, 3_200]);
}

#[test]
fn the_share_that_is_not_needed_is_split_among_the_others() {
    let mut claims = [claim(0.5, &ChunkKind::Document); 3];
    claims[0].need = 100;
    caps(&claims, 3_000, &[100, 1_150, 1_150]);
}

#[test]
fn a_claim_without_relevance_gets_the_floor() {
    let claims = [claim(1.0, &ChunkKind::File), claim(0.0, &ChunkKind::Class)];
    caps(&claims, 100_000, &[800, 100]);
}

#[test]
fn every_item_has_at_least_the_floor() {
    let claims = [claim(1.0, &ChunkKind::Class), claim(0.0, &ChunkKind::Class)];
    caps(&claims, 1_000, &[800, 100]);
    caps(&claims, 0, &[100, 100]);
}

#[test]
fn without_relevance_the_parts_are_equal() {
    caps(&[claim(0.0, &ChunkKind::Class); 4], 2_000, &[400; 4]);
    caps(&[claim(f64::NAN, &ChunkKind::Class); 4], 2_000, &[400; 4]);
    caps(&[], 2_000, &[]);
}

#[test]
fn in_tokens_a_quarter_of_it() {
    let claims = [Claim {
        relevance: 0.0,
        kind_budget: kind_budget(&ChunkKind::Method, CapUnit::Tokens),
        need: u64::MAX,
    }];
    assert_eq!(proportional_caps(&claims, 10, &CapRule::TOKENS), [25]);
    assert_eq!(proportional_caps(&claims, 10_000, &CapRule::TOKENS), [300]);
}

proptest! {
    #[test]
    fn caps_come_to_the_share_as_far_as_kinds_and_needs_allow(
        claims in vec((0.0..1.0_f64, 0..1_000_u64, prop_oneof![Just(u64::MAX), 0..2_000_u64]), 1..40),
        budget in 0..200_000_u64,
        more in 0..10_000_u64,
    ) {
        let claims = claims.into_iter();
        let claims = claims.map(|(relevance, kind_budget, need)| Claim { relevance, kind_budget, need });
        let claims: Vec<Claim> = claims.collect();
        let rule = CapRule { floor: 0, ..CapRule::CHARACTERS };
        let caps = proportional_caps(&claims, budget, &rule);
        let has_relevance = claims.iter().any(|it| it.relevance > 0.0);
        let allowed = |it: &Claim| (it.kind_budget * 4).min(it.need);
        let may = |it: &Claim| if it.relevance > 0.0 || !has_relevance { allowed(it) } else { 0 };
        let most: u64 = claims.iter().map(may).sum();
        let share = budget * 4 / 5;
        let sum: u64 = caps.iter().sum();
        prop_assert!(sum.abs_diff(share.min(most)) <= claims.len() as u64 + 1, "{sum} of {share}, {most}");
        // The design's own rule, which splits nothing anew.
        let all: f64 = claims.iter().map(|it| it.relevance).sum();
        let real = |it: u64| f64::from(u32::try_from(it).unwrap());
        for (claim, cap) in claims.iter().zip(&caps) {
            let part = claim.relevance / all * real(budget) * 0.8;
            let alone = part.min(real(allowed(claim)));
            prop_assert!(all == 0.0 || real(*cap) >= alone - 1.0, "{cap} < {alone}");
        }
        let larger = proportional_caps(&claims, budget + more, &rule);
        prop_assert!(caps.iter().zip(&larger).all(|(cap, more)| cap <= more));
    }
}

#[test]
fn huge_numbers_saturate() {
    let claims = [Claim {
        relevance: f64::MAX,
        kind_budget: u64::MAX,
        need: u64::MAX,
    }; 2];
    let caps = proportional_caps(&claims, u64::MAX, &CapRule::TOKENS);
    assert!(caps.iter().all(|&cap| cap > u64::MAX / 3));
}
