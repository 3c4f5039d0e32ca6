//! Texts as vectors of their terms, each worth more the rarer it is among them.

use std::fmt;
use std::sync::Arc;

use rapidhash::RapidHashMap;

use crate::signals::unit;
use crate::words::{Analyzer, runs, says_nothing};

/// How often the terms of some texts occur among them.
#[derive(Clone, Default)]
pub struct Corpus {
    documents: u32,
    frequencies: RapidHashMap<Arc<str>, u32>,
}

/// A text as a vector: its terms, each with its frequency times its inverse document frequency.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vector {
    // Invariant: sorted by term; of length 1, or empty.
    weights: Vec<(Arc<str>, f64)>,
}

impl Corpus {
    /// The statistics of `texts`. O(bytes).
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        Corpus::with_vectors(texts).0
    }

    /// The statistics of `texts`, and each of them as a vector by these, in their order: what [`Corpus::of`] and
    /// [`Corpus::vector`] give, with each text taken apart once and each word in it once for all. O(bytes), and
    /// O(t log t) for t terms.
    pub fn with_vectors<'t>(texts: impl IntoIterator<Item = &'t str>) -> (Self, Vec<Vector>) {
        let mut words = Words::default();
        let bags: Vec<Bag> = texts.into_iter().map(|text| words.bag(text)).collect();
        let corpus = Corpus {
            documents: u32::try_from(bags.len()).unwrap_or(u32::MAX),
            frequencies: words.frequencies(&bags),
        };
        let weights: Vec<f64> = words
            .terms
            .iter()
            .map(|term| corpus.inverse_document_frequency(term))
            .collect();
        let ranks = words.ranks();
        let vector = |mut bag: Bag| {
            bag.retain(|it| it.said > 0);
            bag.sort_unstable_by_key(|it| ranks[it.term]);
            let weigh = |it: Count| (Arc::clone(&words.terms[it.term]), it.said, weights[it.term]);
            Vector::of(bag.into_iter().map(weigh))
        };
        let vectors = bags.into_iter().map(vector).collect();
        (corpus, vectors)
    }

    /// ln(1 + (N − n + ½) / (n + ½)), which is never below 0: rare terms tell more, and unknown ones most.
    pub fn inverse_document_frequency(&self, term: &str) -> f64 {
        let n = f64::from(self.frequencies.get(term).copied().unwrap_or(0));
        let rest = f64::from(self.documents) - n;
        ((rest + 0.5) / (n + 0.5)).ln_1p()
    }

    /// `text` as a vector. Stop words are left out. O(bytes); for many texts of the corpus itself see
    /// [`Corpus::with_vectors`].
    pub fn vector(&self, text: &str) -> Vector {
        let mut words = Words::default();
        let mut bag = words.bag(text);
        bag.retain(|it| it.said > 0);
        bag.sort_unstable_by(|a, b| words.terms[a.term].cmp(&words.terms[b.term]));
        Vector::of(bag.into_iter().map(|it| {
            let term = Arc::clone(&words.terms[it.term]);
            let weight = self.inverse_document_frequency(&term);
            (term, it.said, weight)
        }))
    }

    /// The cosine between `a` and `b`, as vectors of this corpus.
    pub fn similarity(&self, a: &str, b: &str) -> f64 {
        self.vector(a).cosine(&self.vector(b))
    }
}

impl fmt::Debug for Corpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Corpus")
            .field("documents", &self.documents)
            .field("terms", &self.frequencies.len())
            .finish()
    }
}

impl Vector {
    /// Of terms in their order, each with its frequency and its inverse document frequency. Sums are taken in
    /// that order: another one has other last digits.
    fn of(terms: impl Iterator<Item = (Arc<str>, u32, f64)>) -> Self {
        let mut weights: Vec<(Arc<str>, f64)> = terms
            .map(|(term, count, rarity)| (term, f64::from(count) * rarity))
            .collect();
        let length = weights.iter().map(|(_, it)| it * it).sum::<f64>().sqrt();
        if length > 0.0 {
            for (_, weight) in &mut weights {
                *weight /= length;
            }
        } else {
            weights.clear();
        }
        Vector { weights }
    }

    /// The cosine of the angle, 0..=1; 0 where either is empty. O(a log b) for a terms of this one and b of the
    /// other.
    pub fn cosine(&self, other: &Vector) -> f64 {
        let both = self.weights.iter();
        let product: f64 = both
            .filter_map(|(term, weight)| Some(weight * other.weight(term)?))
            .sum();
        unit(product)
    }

    /// Whether it has `term`. O(log n).
    pub fn has(&self, term: &str) -> bool {
        self.weight(term).is_some()
    }

    /// Its terms, in their order.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        self.weights.iter().map(|(term, _)| &**term)
    }

    fn weight(&self, term: &str) -> Option<f64> {
        let found = self.weights.binary_search_by(|(it, _)| (**it).cmp(term));
        found.ok().map(|at| self.weights[at].1)
    }
}

/// A term of a text.
#[derive(Clone, Copy)]
struct Count {
    /// Its number among all terms.
    term: usize,
    /// How often it occurs as other than a stop word.
    said: u32,
}

/// The terms of a text, each once, in no order.
type Bag = Vec<Count>;

/// Takes texts apart, and remembers what each word came to.
#[derive(Default)]
struct Words {
    analyzer: Analyzer,
    /// Terms by their number.
    terms: Vec<Arc<str>>,
    numbers: RapidHashMap<Arc<str>, usize>,
    /// The terms of each word that was met: the number, and whether it is other than a stop word.
    met: RapidHashMap<Box<str>, Box<[(usize, bool)]>>,
    /// Where each term is in the bag that is being filled; [`NOWHERE`] if it is not.
    places: Vec<usize>,
}

const NOWHERE: usize = usize::MAX;

impl Words {
    fn bag(&mut self, text: &str) -> Bag {
        let mut bag = Bag::new();
        for (_, word) in runs(text) {
            if !self.met.contains_key(word) {
                self.meet(word);
            }
            for &(term, is_said) in &self.met[word] {
                if self.places[term] == NOWHERE {
                    self.places[term] = bag.len();
                    bag.push(Count { term, said: 0 });
                }
                bag[self.places[term]].said += u32::from(is_said);
            }
        }
        for it in &bag {
            self.places[it.term] = NOWHERE;
        }
        bag
    }

    fn meet(&mut self, word: &str) {
        let Words {
            analyzer,
            terms,
            numbers,
            ..
        } = self;
        let mut its = Vec::new();
        analyzer.words(word, &mut |term, _, bytes| {
            let number = numbers.get(term).copied().unwrap_or_else(|| {
                let shared: Arc<str> = term.into();
                terms.push(Arc::clone(&shared));
                numbers.insert(shared, terms.len() - 1);
                terms.len() - 1
            });
            its.push((number, !says_nothing(&word[bytes])));
        });
        self.places.resize(self.terms.len(), NOWHERE);
        self.met.insert(word.into(), its.into());
    }

    /// In how many of `bags` each term is.
    fn frequencies(&self, bags: &[Bag]) -> RapidHashMap<Arc<str>, u32> {
        let mut counts = vec![0; self.terms.len()];
        for it in bags.iter().flatten() {
            counts[it.term] += 1;
        }
        self.terms.iter().cloned().zip(counts).collect()
    }

    /// The place of each term in the order of all.
    fn ranks(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.terms.len()).collect();
        order.sort_unstable_by(|&a, &b| self.terms[a].cmp(&self.terms[b]));
        let mut ranks = vec![0; order.len()];
        for (rank, number) in order.into_iter().enumerate() {
            ranks[number] = rank;
        }
        ranks
    }
}
