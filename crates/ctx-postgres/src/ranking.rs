//! Scores documents by their terms with BM25F (Robertson, Zaragoza and Taylor, "Simple BM25
//! extension to multiple weighted fields", 2004). The frequency of a term is summed over fields
//! with the weight of each field, so that a name that also occurs in the body does not count like a
//! match in two documents.

use ctx_retrieve::Counting;

use crate::lexemes::{Terms, hash_of};

/// BM25's parameters: how soon further occurrences stop counting, and how much length counts.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// A question, prepared for scoring.
pub(crate) struct Ranking {
    /// Hashes of terms with their worths, sorted, so that equal questions add up in the same order
    /// and have equal sums.
    worths: Vec<(u64, f64)>,
    /// The weight of an occurrence, by label.
    fields: [f64; 4],
    counting: Counting,
    /// The mean length of documents.
    average: f64,
}

impl Ranking {
    /// Scores by terms with their worths; `fields` has the weight of each label.
    pub(crate) fn new(
        worths: &[(&str, f64)],
        fields: [f64; 4],
        counting: Counting,
        average: f64,
    ) -> Self {
        let hashed = worths.iter();
        let hashed = hashed.map(|&(term, worth)| (hash_of(term.as_bytes()), worth));
        let mut worths: Vec<(u64, f64)> = hashed.collect();
        worths.sort_unstable_by_key(|it| it.0);
        Ranking {
            worths,
            fields,
            counting,
            average,
        }
    }

    /// The score of a document with these terms; 0 if it holds no term that counts. O(terms of the
    /// question · log terms of the document).
    pub(crate) fn score(&self, terms: &Terms) -> f64 {
        let length = f64::from(terms.length) / self.average;
        let norm = K1 * (1.0 - B + B * length);
        let share = |&(hash, worth): &(u64, f64)| {
            let counts = terms.counts(hash)?;
            Some(worth * self.share(counts, norm))
        };
        self.worths.iter().filter_map(share).sum()
    }

    /// The share of its worth that a term contributes, given its occurrences per label.
    fn share(&self, counts: [u8; 4], norm: f64) -> f64 {
        let fields = self.fields.iter().zip(counts);
        let count: f64 = fields.map(|(field, count)| field * f64::from(count)).sum();
        match self.counting {
            Counting::Frequency => count * (K1 + 1.0) / (count + norm),
            Counting::Presence => f64::from(u8::from(count > 0.0)),
        }
    }
}
