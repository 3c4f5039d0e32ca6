//! Plain BM25: the baseline that gives every policy the same relevances.
//!
//! Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, with k1
//! = 1.2 and b = 0.75, and the inverse document frequency ln(1 + (N - n + 0.5) / (n + 0.5)), which
//! is never negative.

use std::collections::BTreeMap;

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// An inverted index of texts.
#[derive(Debug)]
pub(super) struct Bm25 {
    /// For each term the texts that contain it, and how often.
    postings: BTreeMap<String, Vec<(usize, f64)>>,
    /// The lengths of the texts, in terms.
    lengths: Vec<f64>,
    mean_length: f64,
}

impl Bm25 {
    pub(super) fn new<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let mut postings: BTreeMap<String, Vec<(usize, f64)>> = BTreeMap::new();
        let mut lengths = Vec::new();
        for (index, text) in texts.enumerate() {
            let mut counts: BTreeMap<String, f64> = BTreeMap::new();
            let mut length = 0.0;
            for term in terms(text) {
                *counts.entry(term).or_default() += 1.0;
                length += 1.0;
            }
            lengths.push(length);
            for (term, count) in counts {
                postings.entry(term).or_default().push((index, count));
            }
        }
        let mean_length = lengths.iter().sum::<f64>() / count(lengths.len()).max(1.0);
        Bm25 {
            postings,
            lengths,
            mean_length,
        }
    }

    /// The texts that share a term with `query`, best first.
    pub(super) fn rank(&self, query: &str) -> Vec<(usize, f64)> {
        let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
        for term in terms(query) {
            let Some(postings) = self.postings.get(&term) else {
                continue;
            };
            let (all, with) = (count(self.lengths.len()), count(postings.len()));
            let rarity = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
            for &(text, times) in postings {
                let length = self.lengths[text] / self.mean_length;
                let saturation = times * (K1 + 1.0) / (times + K1 * (1.0 - B + B * length));
                *scores.entry(text).or_default() += rarity * saturation;
            }
        }
        let mut ranked: Vec<(usize, f64)> = scores.into_iter().collect();
        ranked.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
        ranked
    }
}

/// Words of letters and digits, and the parts of compound ones: `camelCase` gives `camelcase`,
/// `camel` and `case`.
pub(super) fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
        let parts = parts(word);
        if parts.len() > 1 {
            terms.push(word.to_lowercase());
        }
        terms.extend(parts.into_iter().map(str::to_lowercase));
    }
    terms
}

fn parts(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for piece in word.split('_') {
        let mut start = 0;
        let mut before: Option<char> = None;
        for (at, c) in piece.char_indices() {
            let is_hump = c.is_uppercase() && before.is_some_and(char::is_lowercase);
            let is_number = before.is_some_and(|b| b.is_numeric() != c.is_numeric());
            if is_hump || is_number {
                parts.push(&piece[start..at]);
                start = at;
            }
            before = Some(c);
        }
        parts.push(&piece[start..]);
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^52")]
fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_taken_apart() {
        assert_eq!(
            terms("newHTTPServer2, snake_case!"),
            [
                "newhttpserver2",
                "new",
                "httpserver",
                "2",
                "snake_case",
                "snake",
                "case"
            ]
        );
        assert_eq!(terms("plain"), ["plain"]);
        assert!(terms(" … ").is_empty());
    }

    #[test]
    fn the_rarer_and_the_shorter_come_first() {
        let texts = [
            "a common word",
            "a rare word",
            "a rare word in more words",
            "a word",
        ];
        let ranked = Bm25::new(texts.into_iter()).rank("rare word");
        let order: Vec<usize> = ranked.iter().map(|(text, _)| *text).collect();
        assert_eq!(order, [1, 2, 3, 0]);
        assert!(Bm25::new(texts.into_iter()).rank("absent").is_empty());
    }

    /// A text of two terms and a query of one: ln(1 + 0.5 / 1.5) × 2.2 / 2.2.
    #[test]
    fn a_score_is_that_of_the_formula() {
        let ranked = Bm25::new(["one two"].into_iter()).rank("one");
        assert!((ranked[0].1 - (4.0_f64 / 3.0).ln()).abs() < 1e-12);
    }
}
