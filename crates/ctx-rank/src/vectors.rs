//! Texts as vectors of their terms, weighted by rarity (tf-idf).

use std::fmt;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rapidhash::fast::RandomState;

use crate::bags::{Bag, Vocabulary};
use crate::signals::unit;

/// Document frequencies of the terms of some texts. Shares the bags of these texts: O(terms of
/// each).
#[derive(Clone, Default)]
pub struct Corpus {
    /// The bags of the texts, which hold the terms.
    bags: Vec<Arc<Bag>>,
    numbers: HashTable<Numbered>,
    hasher: RandomState,
    /// The document frequency of each term, by its number.
    frequencies: Vec<u32>,
    /// The words of all bags that are not stop words.
    said: u64,
}

/// BM25's parameters, as is usual: how soon further occurrences stop counting, and how much length
/// counts.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// A term with its number. Its text stays in the bag where it was met first.
#[derive(Clone, Copy)]
struct Numbered {
    bag: usize,
    /// The index of the term in that bag.
    at: usize,
    number: usize,
}

/// A text as a vector: its terms, each with its frequency times its inverse document frequency.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vector {
    bag: Arc<Bag>,
    /// How many words it has that are not stop words.
    said: u32,
    // Invariant: one weight per term of the bag, 0 for a term that only occurs as a stop word; the
    // length of the vector is 1, or all weights are 0.
    weights: Box<[f64]>,
}

impl Corpus {
    /// The statistics of `texts`. O(bytes).
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut vocabulary = Vocabulary::default();
        let bags = texts.into_iter().map(|it| Arc::new(vocabulary.bag(it)));
        Corpus::with_vectors(bags).0
    }

    /// The statistics of the texts with these `bags`, and the vector of each of them, in order: the
    /// results of [`Corpus::of`] and [`Corpus::vector`], without analysing any text. O(t) for t
    /// terms.
    pub fn with_vectors(bags: impl IntoIterator<Item = Arc<Bag>>) -> (Self, Vec<Vector>) {
        let mut corpus = Corpus {
            bags: bags.into_iter().collect(),
            ..Corpus::default()
        };
        let bags = corpus.bags.clone();
        let all = bags.iter().map(|it| it.len()).sum();
        // In texts of one project, each term occurs in some three of them.
        corpus.reserve(all / 3);
        // The numbers of the terms of all bags, one bag after the other.
        let mut numbers = Vec::with_capacity(all);
        for (bag, its) in bags.iter().enumerate() {
            for (at, (term, _)) in its.iter().enumerate() {
                let number = corpus.number(term, bag, at);
                corpus.frequencies[number] += 1;
                numbers.push(number);
            }
        }
        let rarities = corpus.frequencies.iter().map(|it| corpus.rarity(*it));
        let rarities: Vec<f64> = rarities.collect();
        let mut rest = &numbers[..];
        let vector = |bag: Arc<Bag>| {
            let (its, others) = rest.split_at(bag.len());
            rest = others;
            let rarities = its.iter().map(|&number| rarities[number]);
            Vector::of(bag, rarities)
        };
        let vectors: Vec<Vector> = bags.into_iter().map(vector).collect();
        corpus.said = vectors.iter().map(|it| u64::from(it.said)).sum();
        (corpus, vectors)
    }

    fn reserve(&mut self, terms: usize) {
        let Corpus {
            bags,
            numbers,
            hasher,
            ..
        } = self;
        numbers.reserve(terms, |it| hasher.hash_one(bags[it.bag].term(it.at)));
    }

    /// The number of `term`, which has the index `at` in this bag.
    fn number(&mut self, term: &str, bag: usize, at: usize) -> usize {
        let Corpus {
            bags,
            numbers,
            hasher,
            frequencies,
            ..
        } = self;
        let known = numbers.entry(
            hasher.hash_one(term),
            |it| bags[it.bag].term(it.at) == term,
            |it| hasher.hash_one(bags[it.bag].term(it.at)),
        );
        match known {
            Entry::Occupied(known) => known.get().number,
            Entry::Vacant(new) => {
                let number = frequencies.len();
                new.insert(Numbered { bag, at, number });
                frequencies.push(0);
                number
            }
        }
    }

    /// ln(1 + (N − n + ½) / (n + ½)), which is never below 0: the rarer a term, the higher, and
    /// highest for unknown ones.
    pub fn inverse_document_frequency(&self, term: &str) -> f64 {
        let hash = self.hasher.hash_one(term);
        let is_it = |it: &Numbered| self.bags[it.bag].term(it.at) == term;
        let known = self.numbers.find(hash, is_it);
        self.rarity(known.map_or(0, |it| self.frequencies[it.number]))
    }

    /// The inverse document frequency of a term that is in this many texts.
    fn rarity(&self, frequency: u32) -> f64 {
        let n = f64::from(frequency);
        let documents = u32::try_from(self.bags.len()).unwrap_or(u32::MAX);
        let rest = f64::from(documents) - n;
        ((rest + 0.5) / (n + 0.5)).ln_1p()
    }

    /// The vector of `text`, without stop words. O(bytes); for many texts of the corpus itself use
    /// [`Corpus::with_vectors`].
    pub fn vector(&self, text: &str) -> Vector {
        let bag = Bag::of(text);
        let rarities = bag.iter();
        let rarities = rarities.map(|(term, _)| self.inverse_document_frequency(term));
        let rarities: Vec<f64> = rarities.collect();
        Vector::of(Arc::new(bag), rarities.into_iter())
    }

    /// How much `text` is about a term that it says `count` times, in 0..=1: 0 if it does not, and
    /// the more, the oftener and the shorter the text is beside the mean of this corpus. That is
    /// BM25's c / (c + k₁ (1 − b + b · length / mean)) with k₁ = 1.2 and b = 0.75.
    pub fn saturation(&self, text: &Vector, count: u32) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a mean is no finer")]
        let mean = self.said as f64 / self.bags.len().max(1) as f64;
        let count = f64::from(count);
        let length = if mean > 0.0 {
            f64::from(text.said) / mean
        } else {
            1.0
        };
        count / (count + K1 * (1.0 - B + B * length))
    }

    /// The cosine of `a` and `b`, as vectors of this corpus.
    pub fn similarity(&self, a: &str, b: &str) -> f64 {
        self.vector(a).cosine(&self.vector(b))
    }
}

impl fmt::Debug for Corpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Corpus")
            .field("documents", &self.bags.len())
            .field("terms", &self.frequencies.len())
            .finish_non_exhaustive()
    }
}

impl Vector {
    /// Builds the vector of `bag` from the inverse document frequency of each term. Sums are taken
    /// in the order of terms: another order would change the last digits.
    fn of(bag: Arc<Bag>, rarities: impl Iterator<Item = f64>) -> Self {
        let mut weights: Box<[f64]> = (bag.iter().zip(rarities))
            .map(|((_, said), rarity)| f64::from(said) * rarity)
            .collect();
        let length = weights.iter().map(|it| it * it).sum::<f64>().sqrt();
        if length > 0.0 {
            for weight in &mut weights {
                *weight /= length;
            }
        }
        let said = bag
            .iter()
            .fold(0_u32, |sum, (_, it)| sum.saturating_add(it));
        Vector { bag, said, weights }
    }

    /// The cosine of the angle, 0..=1; 0 if either is empty. O(a log b) for a terms of this vector
    /// and b of the other.
    pub fn cosine(&self, other: &Vector) -> f64 {
        let both = self.weighted();
        let product: f64 = both
            .filter_map(|(term, weight)| Some(weight * other.weight(term)?))
            .sum();
        unit(product)
    }

    /// How often it says `term`, other than as a stop word. O(log n).
    pub fn count(&self, term: &str) -> u32 {
        self.bag.find(term).map_or(0, |(_, said)| said)
    }

    /// Whether it has `term`. O(log n).
    pub fn has(&self, term: &str) -> bool {
        self.weight(term).is_some()
    }

    /// Its terms, in order.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        self.weighted().map(|(term, _)| term)
    }

    fn weighted(&self) -> impl Iterator<Item = (&str, f64)> {
        let all = self.bag.iter().zip(&self.weights);
        all.filter_map(|((term, said), &weight)| (said > 0).then_some((term, weight)))
    }

    fn weight(&self, term: &str) -> Option<f64> {
        let (at, said) = self.bag.find(term)?;
        (said > 0).then(|| self.weights[at])
    }
}
