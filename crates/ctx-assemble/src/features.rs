//! The features of candidates, for selection by new information.

use std::collections::BTreeMap;

use ctx_budget::Feature;
use ctx_model::{BuildOptions, Chunk};
use rapidhash::RapidHashMap;

use crate::candidates::Candidate;
use crate::unit::{Merged, Unit};
use crate::variant::{Variant, worth};
use crate::{AssembleError, Control};

/// The most words of a chunk that are looked for; the first ones are taken.
const MOST_WORDS: usize = 256;

/// The features of each candidate: for each chunk in it, the words of the question that it matched
/// (the first 256), its symbol, and the chunk itself. They share its value equally, so that a
/// candidate that has no feature in common with others has the same value as without features. The
/// features of a merged part are shown by every showing that includes the part, and their value is
/// that of the share of its lines that no more relevant part has. A rendition shows the chunk
/// itself to the degree of the information that it keeps. O(words × bytes of the renditions). Stops
/// early if `control` is cancelled.
pub(crate) fn features(
    candidates: &[Candidate<'_>],
    options: &BuildOptions,
    control: &Control,
) -> Result<Vec<Vec<Feature>>, AssembleError> {
    let mut features = Features {
        ids: BTreeMap::new(),
        options,
        control,
    };
    let features = candidates.iter().map(|candidate| match candidate.unit {
        Unit::One(chunk) => features.of_one(chunk, &candidate.variants),
        Unit::Many(merged) => features.of_parts(merged, &candidate.variants),
    });
    features.collect()
}

struct Features<'a> {
    /// A number for each distinct feature.
    ids: BTreeMap<String, u32>,
    options: &'a BuildOptions,
    control: &'a Control,
}

impl Features<'_> {
    fn of_one(
        &mut self,
        chunk: &Chunk,
        variants: &[Variant<'_>],
    ) -> Result<Vec<Feature>, AssembleError> {
        let last = number(variants.len() - 1);
        let texts = lowered(variants, !chunk.matched_keywords.is_empty());
        let until = |word: Option<&str>| {
            let Some(word) = word else { return last };
            // Features are nested: what a rendition shows, every fuller one shows too.
            let until = texts.iter().take_while(|text| text.contains(word)).count();
            number(until.saturating_sub(1))
        };
        let mut features = self.features_of(chunk, 1.0, until)?;
        let whole = variants[0].value();
        if let Some(own) = features.pop().filter(|_| whole > 0.0) {
            features.extend((0..=last).zip(variants).map(|(until, variant)| Feature {
                weight: own.weight * (variant.value() / whole),
                until,
                ..own
            }));
        }
        Ok(features)
    }

    fn of_parts(
        &mut self,
        merged: &Merged<'_>,
        variants: &[Variant<'_>],
    ) -> Result<Vec<Feature>, AssembleError> {
        let mut last: RapidHashMap<&str, u32> = RapidHashMap::default();
        for (until, variant) in variants.iter().enumerate() {
            let parts = variant.pieces.iter().flat_map(|piece| &piece.parts);
            last.extend(parts.map(|part| (&*part.id, number(until))));
        }
        let mut features = Vec::new();
        for (part, share) in merged.parts.iter().zip(merged.shares()) {
            let until = last.get(&*part.id).copied().unwrap_or_default();
            features.extend(self.features_of(part, share, |_| until)?);
        }
        Ok(features)
    }

    /// The features of all of `chunk`, the chunk itself last, with a total value of `share` of its
    /// value. `until` returns the last showing with a given word in lower case, or, for `None`,
    /// with a feature that is not a word.
    fn features_of(
        &mut self,
        chunk: &Chunk,
        share: f64,
        until: impl Fn(Option<&str>) -> u32,
    ) -> Result<Vec<Feature>, AssembleError> {
        let mut told = Vec::new();
        let words = &chunk.matched_keywords[..chunk.matched_keywords.len().min(MOST_WORDS)];
        for word in words {
            self.control.check()?;
            let word = word.to_lowercase();
            let until = until(Some(&word));
            told.push((self.id(word), until));
        }
        told.sort_unstable();
        told.dedup_by_key(|(id, _)| *id);
        // These names differ from every word, since words contain no NUL.
        if let Some(symbol) = chunk.symbol() {
            told.push((self.id(format!("\0symbol {symbol}")), until(None)));
        }
        told.push((self.id(format!("\0id {}", chunk.id)), until(None)));
        #[expect(clippy::cast_precision_loss, reason = "a chunk matches few words")]
        let weight = worth(chunk, self.options) * share / told.len() as f64;
        let feature = |(id, until)| Feature { id, weight, until };
        Ok(told.into_iter().map(feature).collect())
    }

    fn id(&mut self, name: String) -> u32 {
        let next = number(self.ids.len());
        *self.ids.entry(name).or_insert(next)
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The text of each showing in lower case; empty unless `wanted`.
fn lowered(variants: &[Variant<'_>], wanted: bool) -> Vec<String> {
    if !wanted {
        return Vec::new();
    }
    let text = |variant: &Variant<'_>| {
        variant
            .pieces
            .iter()
            .map(|piece| piece.block().body.to_lowercase())
            .collect()
    };
    variants.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use ctx_model::Relevance;

    use super::*;
    use crate::Cancel;
    use crate::variant;

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
            variants: variant::variants(&unit, &options, &Control::default())
                .expect("nobody cancels it"),
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
