//! What is known of texts from one question to the next: how long they are, and what is in them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ctx_model::CounterName;
use ctx_rank::{Bag, Vocabulary};
use ctx_tokens::{CachedCounter, TokenCounter, TokensError};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Counts that are kept of each counter, 50 bytes each.
const COUNTS: usize = 1 << 18;
/// Counters that counts are kept of.
const COUNTERS: usize = 4;
/// Bytes of bags that are kept.
const BAGS: u64 = 16 << 20;
/// About as many texts have them.
const TEXTS: usize = 1 << 12;
/// Vocabularies that are kept, of some 15 MB each with the stems they know, for as many questions at once.
const VOCABULARIES: usize = 4;

/// Remembers texts by their hashes, as many as have room: some 16 MiB of what is in them, 13 MB of counts for each of
/// four counters, and 60 MB of words. Nothing in it can be out of date, and it tells nobody of a text that they do not
/// have, so that any number of services may share it.
pub struct Memory {
    counters: Mutex<BTreeMap<CounterName, Arc<Counted>>>,
    bags: Cache<[u8; 32], Arc<Bag>, Size>,
    /// Those that nobody uses at the moment.
    vocabularies: Mutex<Vec<Vocabulary>>,
}

type Counted = CachedCounter<Arc<dyn TokenCounter>>;

/// Bytes.
#[derive(Clone, Debug)]
struct Size;

impl Weighter<[u8; 32], Arc<Bag>> for Size {
    fn weight(&self, key: &[u8; 32], bag: &Arc<Bag>) -> u64 {
        (size_of_val(key) + bag.size()) as u64
    }
}

impl Default for Memory {
    fn default() -> Self {
        Memory {
            counters: Mutex::default(),
            bags: Cache::with_weighter(TEXTS, BAGS, Size),
            vocabularies: Mutex::default(),
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("bags", &self.bags.len())
            .finish_non_exhaustive()
    }
}

impl Memory {
    /// The counter of this name, which remembers what it counted.
    ///
    /// # Errors
    /// Those of [`ctx_tokens::counter`].
    pub(crate) fn counter(&self, name: &CounterName) -> Result<Arc<dyn TokenCounter>, TokensError> {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = counters.get(name) {
            return Ok(Arc::clone(known) as Arc<dyn TokenCounter>);
        }
        let counter = ctx_tokens::counter(name)?;
        if counters.len() >= COUNTERS {
            return Ok(counter);
        }
        let counter = Arc::new(CachedCounter::new(counter, COUNTS));
        counters.insert(name.clone(), Arc::clone(&counter));
        Ok(counter)
    }

    /// The bags of `texts`, in their order. O(bytes): of those that are remembered, to hash them.
    pub(crate) fn bags<'t>(&self, texts: impl Iterator<Item = &'t str>) -> Vec<Arc<Bag>> {
        let (mut bags, mut unknown) = (Vec::new(), Vec::new());
        for text in texts {
            let key = *blake3::hash(text.as_bytes()).as_bytes();
            let known = self.bags.get(&key);
            if known.is_none() {
                unknown.push((bags.len(), key, text));
            }
            bags.push(known.unwrap_or_default());
        }
        if unknown.is_empty() {
            return bags;
        }
        let mut vocabulary = self.vocabularies().pop().unwrap_or_default();
        for (at, key, text) in unknown {
            bags[at] = Arc::new(vocabulary.bag(text));
            self.bags.insert(key, Arc::clone(&bags[at]));
        }
        let mut vocabularies = self.vocabularies();
        if vocabularies.len() < VOCABULARIES {
            vocabularies.push(vocabulary);
        }
        bags
    }

    fn vocabularies(&self) -> MutexGuard<'_, Vec<Vocabulary>> {
        let vocabularies = self.vocabularies.lock();
        vocabularies.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_what_is_made() {
        let memory = Memory::default();
        let texts = ["to read a file", "", "read_file twice", "to read a file"];
        let plainly: Vec<Arc<Bag>> = texts.iter().map(|it| Arc::new(Bag::of(it))).collect();
        for _ in 0..2 {
            assert_eq!(memory.bags(texts.into_iter()), plainly);
        }
        assert_eq!(memory.bags.len(), 3);
    }

    #[test]
    fn a_counter_counts_as_it_does_without_a_memory() {
        let memory = Memory::default();
        let name = CounterName::default();
        let plainly = ctx_tokens::counter(&name).unwrap();
        for text in ["some text", "", "some text", "{\n\t\"a\": 1\n}\n"] {
            let counter = memory.counter(&name).unwrap();
            assert_eq!(counter.count(text), plainly.count(text));
            assert_eq!(counter.weigh(text), plainly.weigh(text));
            assert_eq!(counter.name(), plainly.name());
        }
        assert_eq!(memory.counters.lock().unwrap().len(), 1);
    }
}
