//! What is in a text, without its order.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use rapidhash::RapidHashMap;

use crate::words::{Words, runs, says_nothing};

/// The terms of a text, each once and with how often it is said: all that a [`Corpus`](crate::Corpus) needs to know of
/// it, and what to keep of a text that is weighed again and again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bag {
    /// All terms, in their order and without anything between them.
    text: Box<str>,
    terms: Box<[Term]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Term {
    /// Where it ends; it begins where the one before it ends.
    end: usize,
    /// How often it occurs as other than a stop word.
    said: u32,
}

impl Bag {
    /// That of `text`. O(bytes), and O(t log t) for t terms.
    pub fn of(text: &str) -> Self {
        Vocabulary::default().bag(text)
    }

    /// How many terms there are, those that are stop words alone among them.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Bytes of memory it holds.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.text.len() + size_of_val(&*self.terms)
    }

    fn sorted<'t>(terms: impl Iterator<Item = (&'t str, u32)>) -> Self {
        let mut text = String::new();
        let end = |(term, said)| {
            text.push_str(term);
            Term {
                end: text.len(),
                said,
            }
        };
        let terms = terms.map(end).collect();
        Bag {
            text: text.into(),
            terms,
        }
    }

    /// Each term, in their order, and how often it is said.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        let mut start = 0;
        self.terms.iter().map(move |it| {
            let term = &self.text[start..it.end];
            start = it.end;
            (term, it.said)
        })
    }

    /// Where `term` is in their order, and how often it is said. O(log n).
    pub(crate) fn find(&self, term: &str) -> Option<(usize, u32)> {
        let (mut low, mut high) = (0, self.terms.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.term(middle).cmp(term) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some((middle, self.terms[middle].said)),
            }
        }
        None
    }

    fn term(&self, at: usize) -> &str {
        let start = at.checked_sub(1).map_or(0, |before| self.terms[before].end);
        &self.text[start..self.terms[at].end]
    }
}

/// A term of the text that is taken apart.
#[derive(Clone, Copy)]
struct Count {
    /// Its number among all terms.
    term: usize,
    /// How often it occurs as other than a stop word.
    said: u32,
}

/// So many words are remembered.
const KNOWN: usize = 1 << 15;

/// The words of texts, and the terms that each of them comes to. It remembers those that it has met, up to some ten
/// megabytes: for many texts, keep it.
///
/// # Examples
/// ```
/// use ctx_rank::{Bag, Vocabulary};
///
/// let mut vocabulary = Vocabulary::default();
/// let bag = vocabulary.bag("fn parse_header() {}");
/// assert_eq!(bag, Bag::of("fn parse_header() {}"));
/// assert_eq!(bag.len(), 4); // "fn", "header", "pars" and "parseheader"
/// ```
#[derive(Clone, Default)]
pub struct Vocabulary {
    words: Words,
    /// Terms by their number.
    terms: Vec<Arc<str>>,
    numbers: RapidHashMap<Arc<str>, usize>,
    /// The terms of each word that was met: the number, and whether it is other than a stop word.
    met: RapidHashMap<Box<str>, Box<[(usize, bool)]>>,
    /// Where each term is in the bag that is being filled; [`NOWHERE`] if it is not.
    places: Vec<usize>,
}

const NOWHERE: usize = usize::MAX;

impl fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vocabulary")
            .field("words", &self.met.len())
            .field("terms", &self.terms.len())
            .finish_non_exhaustive()
    }
}

impl Vocabulary {
    /// That of `text`. O(bytes), and O(t log t) for t terms.
    pub fn bag(&mut self, text: &str) -> Bag {
        if self.met.len() >= KNOWN {
            *self = Vocabulary::default();
        }
        let mut bag: Vec<Count> = Vec::new();
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
        bag.sort_unstable_by(|a, b| self.terms[a.term].cmp(&self.terms[b.term]));
        Bag::sorted(bag.iter().map(|it| (&*self.terms[it.term], it.said)))
    }

    fn meet(&mut self, word: &str) {
        let Vocabulary {
            words,
            terms,
            numbers,
            ..
        } = self;
        let mut its = Vec::new();
        words.run(0..word.len(), word, &mut |term, _, bytes| {
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
}
