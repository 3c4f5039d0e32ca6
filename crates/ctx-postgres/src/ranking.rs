//! What documents are worth to a question, by their terms: BM25F (Robertson, Zaragoza and Taylor, "Simple BM25
//! extension to multiple weighted fields", 2004). What a term counts is the sum over fields of what an occurrence is
//! worth there, so that a name that also stands in the body is not told twice as if by two documents.

use ctx_retrieve::Counting;

use crate::lexemes::{Terms, hash_of};

/// BM25's: how soon more of a term tells no more, and how much length counts.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// Words of bits that tell which terms are not asked for.
const WORDS: usize = 16;

/// What is asked.
pub(crate) struct Ranking {
    /// Hashes of terms, in their order, and what each is worth.
    worths: Vec<(u64, f64)>,
    /// A bit for each of them, by the end of its hash.
    asked: [u64; WORDS],
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
        let mut asked = [0; WORDS];
        for &(hash, _) in &worths {
            let (word, bit) = place(hash);
            asked[word] |= bit;
        }
        Ranking {
            worths,
            asked,
            fields,
            counting,
            average,
        }
    }

    /// What a document with these terms is worth; 0 where it holds none that counts. O(terms).
    pub(crate) fn score(&self, terms: &Terms) -> f64 {
        let length = f64::from(terms.length) / self.average;
        let norm = K1 * (1.0 - B + B * length);
        let mut score = 0.0;
        for (hash, counts) in terms.iter() {
            let (word, bit) = place(hash);
            if self.asked[word] & bit == 0 {
                continue;
            }
            if let Ok(at) = self.worths.binary_search_by_key(&hash, |it| it.0) {
                score += self.worths[at].1 * self.share(counts, norm);
            }
        }
        score
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

/// The word and the bit of `hash`.
fn place(hash: u64) -> (usize, u64) {
    let word = usize::try_from(hash >> 6).unwrap_or(0) % WORDS;
    (word, 1 << (hash & 63))
}
