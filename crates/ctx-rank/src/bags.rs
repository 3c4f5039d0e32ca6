//! Bags of words: the terms of a text, without their order.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use rapidhash::RapidHashMap;

use crate::words::{MAX_TERM_BYTES, Words, runs, says_nothing};

/// The terms of a text with their counts: all that a [`Corpus`](crate::Corpus) needs to know of it,
/// and what to store of a text that is scored repeatedly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bag {
    /// All terms, sorted and concatenated.
    text: Box<str>,
    terms: Box<[Term]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Term {
    /// Where the term ends in the text; it begins where the previous one ends.
    end: usize,
    /// The count of its occurrences that are not stop words.
    said: u32,
}

impl Bag {
    /// The bag of `text`. O(bytes), and O(t log t) for t terms.
    pub fn of(text: &str) -> Self {
        Vocabulary::default().bag(text)
    }

    /// The number of terms, including those that are only stop words.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether there are no terms.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The memory it takes, in bytes.
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

    /// The terms in order, with their counts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        let mut start = 0;
        self.terms.iter().map(move |it| {
            let term = &self.text[start..it.end];
            start = it.end;
            (term, it.said)
        })
    }

    /// The index of `term`, and its count. O(log n).
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

    /// The term at this index.
    pub(crate) fn term(&self, at: usize) -> &str {
        let start = at.checked_sub(1).map_or(0, |before| self.terms[before].end);
        &self.text[start..self.terms[at].end]
    }
}

/// A term of the text that is being analysed.
#[derive(Clone, Copy)]
struct Count {
    /// The index of the term in the vocabulary.
    term: usize,
    /// The count of its occurrences that are not stop words.
    said: u32,
}

/// A vocabulary that takes more bytes than this is cleared.
const MOST: usize = 8 << 20;
/// The callback is called after every this many words.
const ASKED_AFTER: usize = 1 << 16;
/// The approximate memory of a word or a term beyond its text, in bytes.
const OF_EACH: usize = 64;

/// The words of texts, with the terms of each. Remembers the words it has met, up to some 8 MiB:
/// reuse one for many texts.
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
    /// Terms by their index.
    terms: Vec<Arc<str>>,
    numbers: RapidHashMap<Arc<str>, usize>,
    /// The terms of each known word: the index, and whether it is not a stop word.
    met: RapidHashMap<Box<str>, Box<[(usize, bool)]>>,
    /// The position of each term in the bag that is being filled, or [`NOWHERE`].
    places: Vec<usize>,
    /// The approximate bytes that terms and words take.
    held: usize,
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
    /// The bag of `text`. O(bytes), and O(t log t) for t terms.
    pub fn bag(&mut self, text: &str) -> Bag {
        let bag = self.bag_while(text, || true);
        bag.expect("it is wanted to the end")
    }

    /// Like [`Vocabulary::bag`], for as long as `is_awaited` returns true; it is called after every
    /// 65,536 words. `None` once it returns false.
    pub fn bag_while(&mut self, text: &str, is_awaited: impl Fn() -> bool) -> Option<Bag> {
        let mut bag: Vec<Count> = Vec::new();
        let mut is_whole = true;
        for (number, (_, word)) in runs(text).enumerate() {
            if number % ASKED_AFTER == ASKED_AFTER - 1 && !is_awaited() {
                is_whole = false;
                break;
            }
            if word.len() > MAX_TERM_BYTES {
                // Encoded data, which will not recur.
                let its = self.take_apart(word);
                add(&mut bag, &mut self.places, &its);
                continue;
            }
            if let Some(its) = self.met.get(word) {
                add(&mut bag, &mut self.places, its);
                continue;
            }
            let its = self.take_apart(word);
            add(&mut bag, &mut self.places, &its);
            self.held += OF_EACH + word.len() + size_of_val(&*its);
            self.met.insert(word.into(), its);
        }
        for it in &bag {
            self.places[it.term] = NOWHERE;
        }
        if !is_whole {
            return None;
        }
        bag.sort_unstable_by(|a, b| self.terms[a.term].cmp(&self.terms[b.term]));
        let bag = Bag::sorted(bag.iter().map(|it| (&*self.terms[it.term], it.said)));
        if self.held > MOST {
            *self = Vocabulary::default();
        }
        Some(bag)
    }

    /// The terms of `word`: the index of each, and whether it is not a stop word.
    fn take_apart(&mut self, word: &str) -> Box<[(usize, bool)]> {
        let Vocabulary {
            words,
            terms,
            numbers,
            held,
            ..
        } = self;
        let mut its = Vec::new();
        words.run(0..word.len(), word, &mut |term, _, bytes| {
            let number = numbers.get(term).copied().unwrap_or_else(|| {
                *held += 2 * OF_EACH + term.len();
                let shared: Arc<str> = term.into();
                terms.push(Arc::clone(&shared));
                numbers.insert(shared, terms.len() - 1);
                terms.len() - 1
            });
            its.push((number, !says_nothing(&word[bytes])));
        });
        self.places.resize(self.terms.len(), NOWHERE);
        its.into()
    }
}

/// Counts the terms of a word.
fn add(bag: &mut Vec<Count>, places: &mut [usize], its: &[(usize, bool)]) {
    for &(term, is_said) in its {
        if places[term] == NOWHERE {
            places[term] = bag.len();
            bag.push(Count { term, said: 0 });
        }
        bag[places[term]].said += u32::from(is_said);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;
    use std::iter::repeat_n;

    use proptest::prelude::*;

    use super::*;
    use crate::Analyzer;

    /// The terms of `text` as an analyzer gives them, with their counts.
    fn plainly(text: &str) -> Vec<(String, u32)> {
        let mut terms = BTreeMap::new();
        Analyzer::default().words(text, &mut |term, _, bytes| {
            let said = terms.entry(term.to_owned()).or_insert(0);
            *said += u32::from(!says_nothing(&text[bytes]));
        });
        terms.into_iter().collect()
    }

    fn told(bag: &Bag) -> Vec<(String, u32)> {
        bag.iter()
            .map(|(term, said)| (term.to_owned(), said))
            .collect()
    }

    proptest! {
        #[test]
        fn a_bag_has_what_an_analyzer_gives(
            texts in prop::collection::vec(
                prop_oneof!["([a-cA-C_1]{60,70}|the|readFile|v?[0-9]|-?rc|[ぁ-ん一]{1,9}|é[a-z]{0,3}|[ .\n]){0,12}", any::<String>()],
                0..4,
            ),
        ) {
            let mut vocabulary = Vocabulary::default();
            for text in texts.iter().chain(&texts) {
                prop_assert_eq!(told(&vocabulary.bag(text)), plainly(text));
            }
        }
    }

    #[test]
    fn counting_ends_when_cancelled_and_leaves_no_trace() {
        let long = "to read a file ".repeat(ASKED_AFTER);
        let mut vocabulary = Vocabulary::default();
        let asked = Cell::new(0);
        let is_awaited = || {
            asked.set(asked.get() + 1);
            asked.get() < 3
        };
        assert_eq!(vocabulary.bag_while(&long, is_awaited), None);
        assert_eq!(asked.get(), 3);
        for text in ["to read", &long] {
            assert_eq!(told(&vocabulary.bag(text)), plainly(text));
        }
    }

    #[test]
    fn whatever_it_has_met_a_vocabulary_is_small() {
        let long: String = repeat_n("0a", 1 << 19).collect();
        let parts: String = repeat_n("a_b_", 1 << 16).collect();
        let many: Vec<String> = (0..60_000).map(|n| format!("word{n}")).collect();
        let many = many.join(" ");
        let of_parts = |n: u32| format!("{n:03}{}", "a1".repeat(30));
        let of_parts: Vec<String> = (0..999).map(of_parts).collect();
        let of_parts = of_parts.join(" ");
        let mut vocabulary = Vocabulary::default();
        for text in [&long, &parts, &many, &of_parts, &many] {
            assert_eq!(told(&vocabulary.bag(text)), plainly(text));
            assert!(vocabulary.held <= MOST);
            assert!(vocabulary.met.keys().all(|it| it.len() <= MAX_TERM_BYTES));
        }
    }
}
