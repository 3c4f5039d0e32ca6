//! Laws of `ctx_retrieve::Semantic`.

use ctx_rank::Query;
use ctx_retrieve::{Near, Semantic};

/// The most locations asked for of each question.
const MANY: usize = 200;

/// Checks that `semantic` keeps the promises of [`Semantic`] for `questions`, of which at least one
/// must find something:
///
/// * there are at most `limit` locations, with finite scores;
/// * a smaller limit gives as many locations, or all, and none that is left out is nearer;
/// * the same question has the same locations, in any order.
///
/// # Panics
/// If a law does not hold, if a search fails, or if all find nothing.
pub async fn semantic<S: Semantic + ?Sized>(semantic: &S, questions: &[&str]) {
    let mut found_any = false;
    for question in questions {
        let query = Query::analyse(question);
        let nearest = async |limit| {
            let locations = semantic.nearest(&query, limit).await;
            let mut locations = locations.expect("a search for locations");
            assert!(
                locations.len() <= limit,
                "{} locations of {limit}",
                locations.len()
            );
            let is_finite = locations.iter().all(|it| it.score.is_finite());
            assert!(is_finite, "a score is not finite: {locations:?}");
            locations.sort_by(by_location);
            locations
        };
        let all = nearest(MANY).await;
        assert_eq!(
            nearest(MANY).await,
            all,
            "the same locations for {question:?}"
        );
        for limit in [0, 1, all.len() / 2] {
            are_nearest(&nearest(limit).await, &all, limit);
        }
        found_any |= !all.is_empty();
    }
    assert!(found_any, "no question finds anything");
}

fn by_location(a: &Near, b: &Near) -> std::cmp::Ordering {
    let lines = |it: &Near| it.span.map(|it| (it.start(), it.end()));
    let location = a.path.cmp(&b.path).then(lines(a).cmp(&lines(b)));
    location.then(a.score.total_cmp(&b.score))
}

/// Checks that `few` are `limit` of `all`, by location, and that none is nearer than these.
#[track_caller]
fn are_nearest(few: &[Near], all: &[Near], limit: usize) {
    assert_eq!(few.len(), limit.min(all.len()), "as many as there are");
    let is_same = |a: &Near, b: &Near| a.path == b.path && a.span == b.span;
    let is_kept = |it: &Near| few.iter().any(|kept| is_same(kept, it));
    let (kept, left): (Vec<&Near>, Vec<&Near>) = all.iter().partition(|it| is_kept(it));
    assert!(kept.len() >= few.len(), "{few:?} are not among {all:?}");
    let worst = kept.iter().map(|it| it.score).fold(f64::INFINITY, f64::min);
    let is_nearer = left.iter().find(|it| it.score > worst);
    assert!(is_nearer.is_none(), "{is_nearer:?} is nearer: {few:?}");
}
