//! Facts about caps in proportion to relevance.

use ctx_budget::{CapRule, CapUnit, Claim, kind_budget, proportional_caps};
use ctx_model::ChunkKind;

fn claim(relevance: f64, kind: &ChunkKind) -> Claim {
    Claim {
        relevance,
        kind_budget: kind_budget(kind, CapUnit::Characters),
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
    }];
    assert_eq!(proportional_caps(&claims, 10, &CapRule::TOKENS), [25]);
    assert_eq!(proportional_caps(&claims, 10_000, &CapRule::TOKENS), [300]);
}

#[test]
fn huge_numbers_saturate() {
    let claims = [Claim {
        relevance: f64::MAX,
        kind_budget: u64::MAX,
    }; 2];
    let caps = proportional_caps(&claims, u64::MAX, &CapRule::TOKENS);
    assert!(caps.iter().all(|&cap| cap > u64::MAX / 3));
}
