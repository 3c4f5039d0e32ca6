//! Laws of `ctx_retrieve::Changes`.

use std::collections::BTreeSet;

use ctx_rank::Query;
use ctx_retrieve::{Changes, Touched};

/// The most locations asked for of each question.
const MANY: usize = 200;

/// Checks that `changes` keeps the promises of [`Changes`] for the terms of `questions`, of which
/// at least one must find something:
///
/// * there are at most `limit` locations, the best first, with finite scores;
/// * a location comes once, and has a path;
/// * a smaller limit gives the beginning of the list;
/// * the same question has the same answer.
///
/// # Panics
/// If a law does not hold, if a search fails, or if all find nothing.
pub async fn changes<C: Changes + ?Sized>(changes: &C, questions: &[&str]) {
    let mut found_any = false;
    for question in questions {
        let terms = terms(question);
        let touched = async |limit| {
            let locations = changes.touched(&terms, limit).await;
            let locations = locations.expect("a search of changes");
            is_ranked(&locations, limit);
            locations
        };
        let all = touched(MANY).await;
        assert_eq!(touched(MANY).await, all, "the same answer to {question:?}");
        for limit in [0, 1, all.len() / 2] {
            let first = &all[..limit.min(all.len())];
            assert_eq!(touched(limit).await, first, "the first {limit} locations");
        }
        found_any |= !all.is_empty();
    }
    assert!(found_any, "no question finds anything");
}

/// The terms of a question, as a retrieval passes them.
fn terms(question: &str) -> Vec<(String, f32)> {
    #[expect(clippy::cast_possible_truncation, reason = "weights are small")]
    let term = |it: ctx_rank::Term| (it.text, it.weight as f32);
    Query::analyse(question)
        .terms
        .into_iter()
        .map(term)
        .collect()
}

#[track_caller]
fn is_ranked(locations: &[Touched], limit: usize) {
    assert!(
        locations.len() <= limit,
        "{} locations of {limit}",
        locations.len()
    );
    let keys: BTreeSet<_> = locations.iter().map(|it| (&it.path, &it.names)).collect();
    assert_eq!(
        keys.len(),
        locations.len(),
        "each location once: {locations:?}"
    );
    let has_path = locations.iter().all(|it| !it.path.is_empty());
    assert!(has_path, "a location without a path: {locations:?}");
    let is_finite = locations.iter().all(|it| it.score.is_finite());
    assert!(is_finite, "a score is not finite: {locations:?}");
    let is_sorted = locations.is_sorted_by(|a, b| a.score >= b.score);
    assert!(is_sorted, "the best first: {locations:?}");
}
