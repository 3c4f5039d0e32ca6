//! What a candidate tells, for selection that looks for what is new.

use std::collections::BTreeMap;

use ctx_budget::Feature;
use ctx_model::BuildOptions;

use crate::candidates::Candidate;
use crate::showing::{Showing, worth};
use crate::{AssembleError, Control};

/// So many words that a chunk matched are looked for, the first.
const MOST_WORDS: usize = 256;

/// The features of each candidate: the words of the question that it matched (the first 256), the symbol it is,
/// and itself. They share its value equally, so that a candidate that tells nothing another one
/// tells is worth as much as without features. O(words × bytes of the renditions). Stops early when `control` says so.
pub(crate) fn features(
    candidates: &[Candidate<'_>],
    options: &BuildOptions,
    control: &Control,
) -> Result<Vec<Vec<Feature>>, AssembleError> {
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
            let words = &chunk.matched_keywords[..chunk.matched_keywords.len().min(MOST_WORDS)];
            let texts = lowered(&candidate.showings, !words.is_empty());
            // A name that no word can be, since those hold no NUL.
            let mut told = vec![(id(format!("\0id {}", chunk.id)), last)];
            if let Some(symbol) = chunk.qualified_name.as_ref().or(chunk.name.as_ref()) {
                told.push((id(format!("\0symbol {symbol}")), last));
            }
            for word in words {
                control.check()?;
                let word = word.to_lowercase();
                // Features are nested: what a rendition tells, every fuller one tells too.
                let until = texts.iter().take_while(|text| text.contains(&word)).count();
                let until = u32::try_from(until.saturating_sub(1)).unwrap_or(u32::MAX);
                told.push((id(word), until));
            }
            told.sort_unstable();
            told.dedup_by_key(|(id, _)| *id);
            #[expect(clippy::cast_precision_loss, reason = "a chunk matches few words")]
            let weight = worth(chunk, options) / told.len() as f64;
            let feature = |(id, until)| Feature { id, weight, until };
            Ok(told.into_iter().map(feature).collect())
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

#[cfg(test)]
mod tests {
    use ctx_model::{Chunk, Relevance};

    use super::*;
    use crate::Cancel;
    use crate::showing;
    use crate::unit::Unit;

    #[test]
    fn the_first_words_are_looked_for_until_a_cancel() {
        let mut chunk = Chunk::new("a", "word7 word300", Relevance::ONE);
        chunk.matched_keywords = (0..1_000).map(|it| format!("word{it}")).collect();
        let options = BuildOptions::default();
        let unit = Unit::One(&chunk);
        let candidates = [Candidate {
            unit: &unit,
            section: 0,
            was_sent: false,
            showings: showing::showings(&unit, &options),
        }];
        let cancel = Cancel::new();
        let control = Control::default().with_cancel(cancel.clone());
        let told = features(&candidates, &options, &control).unwrap();
        assert_eq!(told[0].len(), 1 + MOST_WORDS);
        cancel.cancel();
        let told = features(&candidates, &options, &control);
        assert!(matches!(told, Err(AssembleError::Cancelled)));
    }
}
