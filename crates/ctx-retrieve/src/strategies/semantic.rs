//! Locations found by a custom search.

use std::collections::BTreeMap;

use ctx_model::LineSpan;
use ctx_rank::Query;

use super::{WIDE, by_question, unique};
use crate::ports::{FileSearch, Hit, Near, PartQuery, PortResult, Semantic, nearest_of};

/// The most locations that are looked up.
const NEAR: usize = 200;
/// The slowness of the decay by rank: the location at rank r scores (1 + `SLOW`) / (r + `SLOW`).
const SLOW: f64 = 20.0;

/// Finds the parts of files at the locations that `nearest` returns. Foreign scores are not
/// comparable, so only ranks count.
pub(crate) async fn semantic(
    search: &dyn FileSearch,
    nearest: &dyn Semantic,
    query: &Query,
) -> PortResult<Vec<Hit>> {
    let near = nearest_of(nearest.nearest(query, NEAR).await?, NEAR);
    let at = |it: &Near| match it.span {
        Some(span) => PartQuery::new(&it.path).overlapping(span),
        None => PartQuery::new(&it.path),
    };
    let all: Vec<PartQuery> = near.iter().map(at).collect();
    let wanted = unique(all.iter());
    let answers = search.parts_of(&wanted, WIDE).await?;
    let parts = by_question("locations", &wanted, answers)?;
    let mut found: BTreeMap<(&str, u32, u32), Hit> = BTreeMap::new();
    for (rank, (it, at)) in (1_u32..).zip(near.iter().zip(&all)) {
        let worth = (1.0 + SLOW) / (f64::from(rank) + SLOW);
        for part in parts.get(at).into_iter().flatten() {
            let score = worth * it.span.map_or(1.0, |span| common(part.span, span));
            let (path, first, last) = part.key();
            let best = found.entry((path, first, last));
            let best = best.or_insert_with(|| Hit::new(part.part.clone(), 0.0));
            best.score = best.score.max(score);
        }
    }
    Ok(found.into_values().filter(|it| it.score > 0.0).collect())
}

/// The overlap of both as a share of the shorter one, 0..=1.
fn common(one: LineSpan, other: LineSpan) -> f64 {
    let lines = |first: u32, last: u32| f64::from(last) - f64::from(first) + 1.0;
    let (first, last) = (one.start().max(other.start()), one.end().min(other.end()));
    let shorter = lines(one.start(), one.end()).min(lines(other.start(), other.end()));
    lines(first, last).max(0.0) / shorter
}
