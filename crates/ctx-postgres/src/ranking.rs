//! What documents are worth to a question, by their terms: BM25F (Robertson, Zaragoza and Taylor, "Simple BM25
//! extension to multiple weighted fields", 2004). What a term counts is the sum over fields of what an occurrence is
//! worth there, so that a name that also stands in the body is not told twice as if by two documents.

use ctx_retrieve::Counting;

use crate::lexemes::{Terms, hash_of};

/// BM25's: how soon more of a term tells no more, and how much length counts.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// What is asked.
pub(crate) struct Ranking {
    /// Hashes of terms, and what each is worth: in an order of their own, so that sums are the same for whoever asks for the
    /// same.
    worths: Vec<(u64, f64)>,
    /// What an occurrence is worth, by label.
    fields: [f64; 4],
    counting: Counting,
    /// The mean length of documents.
    average: f64,
}

impl Ranking {
    /// By terms with their worths, in what has labels of these worths.
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

    /// What a document with these terms is worth; 0 where it holds none that counts. O(terms asked for · log its terms).
    pub(crate) fn score(&self, terms: &Terms) -> f64 {
        let length = f64::from(terms.length) / self.average;
        let norm = K1 * (1.0 - B + B * length);
        let share = |&(hash, worth): &(u64, f64)| {
            let counts = terms.counts(hash)?;
            Some(worth * self.share(counts, norm))
        };
        self.worths.iter().filter_map(share).sum()
    }

    /// How much of its worth a term has by how often it stands where.
    fn share(&self, counts: [u8; 4], norm: f64) -> f64 {
        let fields = self.fields.iter().zip(counts);
        let count: f64 = fields.map(|(field, count)| field * f64::from(count)).sum();
        match self.counting {
            Counting::Frequency => count * (K1 + 1.0) / (count + norm),
            Counting::Presence => f64::from(u8::from(count > 0.0)),
        }
    }
}
