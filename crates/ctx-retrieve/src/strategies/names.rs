//! Definitions of names.

use ctx_rank::{Name, Query, Region};

use super::{MOST_DEFINITIONS, NAMES, Sum, by_question, unique};
use crate::ports::{Answer, FileSearch, Hit};

/// What an identifier of the question is worth by where it stands.
fn worth(name: &Name) -> f64 {
    match name.region {
        Region::Title => 1.5,
        Region::InlineCode => 1.0,
        Region::Prose => 0.8,
        Region::Trace => 0.5,
        _ => 0.3,
    }
}

/// Definitions of the names in the question: each shares its worth among those that bear it.
pub(crate) async fn names(search: &dyn FileSearch, query: &Query) -> Answer<Vec<Hit>> {
    let mut found = Sum::default();
    let names = &query.names[..query.names.len().min(NAMES)];
    let last = unique(names.iter().map(|it| &it.last));
    let answers = search.definitions(&last, MOST_DEFINITIONS + 1).await?;
    let of_name = by_question("names", &last, answers)?;
    for name in names {
        let hits = of_name.get(&name.last).map_or(&[][..], Vec::as_slice);
        if hits.len() > MOST_DEFINITIONS {
            continue;
        }
        let is_within = |hit: &Hit| {
            let within = name.within.as_deref().filter(|it| it.len() > 2);
            let qualified = hit.qualified_name.as_deref().unwrap_or_default();
            within.is_some_and(|it| qualified.contains(it) || hit.path.contains(&it.to_lowercase()))
        };
        let exactly: Vec<bool> = hits.iter().map(is_within).collect();
        let has_exact = exactly.contains(&true);
        let count = exactly.iter().filter(|&&it| it || !has_exact).count();
        for (hit, is_exact) in hits.iter().zip(exactly) {
            let share = if has_exact && !is_exact { 0.2 } else { 1.0 };
            #[expect(clippy::cast_precision_loss, reason = "there are at most 40")]
            let score = worth(name) * share / (count as f64).sqrt();
            found.add(&hit.part, score);
        }
    }
    Ok(found.hits)
}
