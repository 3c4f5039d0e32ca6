//! What a candidate tells, for selection that looks for what is new.

use std::collections::BTreeMap;

use ctx_budget::Feature;
use ctx_model::BuildOptions;

use crate::candidates::Candidate;
use crate::showing::{Showing, worth};

/// The features of each candidate: the words of the question that it matched, the symbol it is,
/// and itself. They share its value equally, so that a candidate that tells nothing another one
/// tells is worth as much as without features. O(bytes of the renditions).
pub(crate) fn features(candidates: &[Candidate<'_>], options: &BuildOptions) -> Vec<Vec<Feature>> {
    let mut ids: BTreeMap<String, u32> = BTreeMap::new();
    let mut id = |name: String| {
        let next = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        *ids.entry(name).or_insert(next)
    };
    candidates
        .iter()
        .map(|candidate| {
            let chunk = candidate.unit.chunk();
            let last = u32::try_from(candidate.showings.len() - 1).unwrap_or(u32::MAX);
            let texts = lowered(&candidate.showings, !chunk.matched_keywords.is_empty());
            // A name that no keyword can be, since those hold no NUL.
            let mut told = vec![(id(format!("\0id {}", chunk.id)), last)];
            if let Some(symbol) = chunk.qualified_name.as_ref().or(chunk.name.as_ref()) {
                told.push((id(format!("\0symbol {symbol}")), last));
            }
            for keyword in &*chunk.matched_keywords {
                let keyword = keyword.to_lowercase();
                // Features are nested: what a rendition tells, every fuller one tells too.
                let until = texts
                    .iter()
                    .take_while(|text| text.contains(&keyword))
                    .count();
                let until = u32::try_from(until.saturating_sub(1)).unwrap_or(u32::MAX);
                told.push((id(keyword), until));
            }
            told.sort_unstable();
            told.dedup_by_key(|(id, _)| *id);
            #[expect(clippy::cast_precision_loss, reason = "a chunk matches few words")]
            let weight = worth(chunk, options) / told.len() as f64;
            let feature = |(id, until)| Feature { id, weight, until };
            told.into_iter().map(feature).collect()
        })
        .collect()
}

/// The text of each showing in lower case, where anybody asks for it.
fn lowered(showings: &[Showing<'_>], wanted: bool) -> Vec<String> {
    if !wanted {
        return Vec::new();
    }
    let text = |showing: &Showing<'_>| {
        showing
            .pieces
            .iter()
            .map(|piece| piece.block.body.to_lowercase())
            .collect()
    };
    showings.iter().map(text).collect()
}
