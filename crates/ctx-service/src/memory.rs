//! Caches about texts that outlive a question: their token counts and their words.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use ctx_rank::{Analyzer, Bag, Vocabulary};
use ctx_tokens::{CachedCounter, Identity, SharedCounter, TextKeys, TokenCounter};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// The number of counts cached per counter, 50 bytes each.
const COUNTS: usize = 1 << 18;
/// The number of counters with cached counts: the most recently used ones.
const COUNTERS: usize = 4;
/// The most bytes of bags of words cached.
const BAGS: u64 = 64 << 20;
/// About how many texts these are expected to be of.
const TEXTS: usize = 1 << 14;
/// The number of vocabularies, and of analyzers, kept for concurrent questions, some 15 MB each
/// with the words and stems they know.
const SPARE: usize = 4;

/// A cache about texts, by their keys: some 64 MiB of bags of words, 13 MB of counts for each of
/// the four most recently used counters, and 120 MB of vocabularies and analyzers. Entries cannot
/// become stale and reveal nothing about texts that the caller does not have, so any number of
/// services may share one.
pub struct Memory {
    /// Counts by counter, the most recently used last.
    counts: Mutex<Vec<Counts>>,
    keys: TextKeys,
    bags: Cache<u128, Arc<Bag>, Size>,
    vocabularies: Spare<Vocabulary>,
    analyzers: Spare<Analyzer>,
}

/// What learns from the texts it is used for, while nobody uses it: at most [`SPARE`].
#[derive(Default)]
struct Spare<T>(Mutex<Vec<T>>);

/// One of the [`Spare`], or a new one. It is given back on drop.
pub(crate) struct Lent<'s, T: Default> {
    one: T,
    to: &'s Spare<T>,
}

impl<T: Default> Spare<T> {
    fn all(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lend(&self) -> Lent<'_, T> {
        let one = self.all().pop().unwrap_or_default();
        Lent { one, to: self }
    }
}

impl<T: Default> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        // After a panic it may be half done with a text.
        if thread::panicking() {
            return;
        }
        let one = std::mem::take(&mut self.one);
        let mut all = self.to.all();
        if all.len() < SPARE {
            all.push(one);
        }
    }
}

impl<T: Default> Deref for Lent<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.one
    }
}

impl<T: Default> DerefMut for Lent<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.one
    }
}

/// The counts of one counter, which is identified by its name and its identity.
struct Counts {
    name: String,
    identity: Identity,
    counted: Arc<Counted>,
}

type Counted = CachedCounter<Arc<dyn TokenCounter>>;

/// Weighs entries by their bytes.
#[derive(Clone, Debug)]
struct Size;

impl Weighter<u128, Arc<Bag>> for Size {
    fn weight(&self, key: &u128, bag: &Arc<Bag>) -> u64 {
        (size_of_val(key) + bag.size()) as u64
    }
}

impl Default for Memory {
    fn default() -> Self {
        Memory {
            counts: Mutex::default(),
            keys: TextKeys::default(),
            bags: Cache::with_weighter(TEXTS, BAGS, Size),
            vocabularies: Spare::default(),
            analyzers: Spare::default(),
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
    /// The same counter with a cache for its counts.
    pub(crate) fn counting(&self, known: SharedCounter) -> SharedCounter {
        let SharedCounter { counter, identity } = known;
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |it: &Counts| it.identity == identity && it.name == counter.name();
        let counts_of = match counts.iter().position(is_it) {
            Some(at) => counts.remove(at),
            None => Counts {
                name: counter.name().to_owned(),
                identity,
                counted: Arc::new(CachedCounter::new(counter, COUNTS)),
            },
        };
        let counter = Arc::clone(&counts_of.counted) as Arc<dyn TokenCounter>;
        if counts.len() >= COUNTERS {
            counts.remove(0);
        }
        counts.push(counts_of);
        SharedCounter { counter, identity }
    }

    /// The bags of `texts`, in order; `None` once the request is cancelled. O(bytes); for cached
    /// texts, only their keys are computed.
    pub(crate) fn bags<'t>(
        &self,
        texts: impl Iterator<Item = &'t str>,
        is_awaited: &dyn Fn() -> bool,
    ) -> Option<Vec<Arc<Bag>>> {
        let (mut bags, mut unknown) = (Vec::new(), Vec::new());
        for text in texts {
            let key = self.keys.of(text);
            let known = self.bags.get(&key);
            if known.is_none() {
                unknown.push((bags.len(), key, text));
            }
            bags.push(known.unwrap_or_default());
        }
        if unknown.is_empty() {
            return Some(bags);
        }
        let mut vocabulary = self.vocabularies.lend();
        for (at, key, text) in unknown {
            bags[at] = Arc::new(vocabulary.bag_while(text, is_awaited)?);
            self.bags.insert(key, Arc::clone(&bags[at]));
        }
        Some(bags)
    }

    /// An analyzer that knows the words of earlier texts.
    pub(crate) fn analyzer(&self) -> Lent<'_, Analyzer> {
        self.analyzers.lend()
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use ctx_model::{CounterName, Tokens};
    use ctx_tokens::Counters;

    use super::*;

    fn counter(memory: &Memory, counters: &Counters, name: &CounterName) -> SharedCounter {
        memory.counting(counters.known(name).unwrap())
    }

    #[test]
    fn cached_bags_equal_new_ones() {
        let memory = Memory::default();
        let texts = ["to read a file", "", "read_file twice", "to read a file"];
        let plainly: Vec<Arc<Bag>> = texts.iter().map(|it| Arc::new(Bag::of(it))).collect();
        for _ in 0..2 {
            let bags = memory.bags(texts.into_iter(), &|| true);
            assert_eq!(bags.as_ref(), Some(&plainly));
        }
        assert_eq!(memory.bags.len(), 3);
    }

    #[test]
    fn stems_stay_known_where_nobody_waits_for_a_text() {
        let memory = Memory::default();
        let _ = memory.bags(iter::once("to read a file"), &|| true);
        assert_eq!(memory.vocabularies.all().len(), 1);
        let long = "words of a text ".repeat(1 << 16);
        assert_eq!(memory.bags(iter::once(&*long), &|| false), None);
        assert_eq!(memory.vocabularies.all().len(), 1);
    }

    #[test]
    fn what_was_lent_is_lent_again_unless_it_broke() {
        let spare = Spare::<Vec<u8>>::default();
        let mut lent: Vec<_> = (0..=SPARE).map(|_| spare.lend()).collect();
        lent[0].push(1);
        drop(lent);
        assert_eq!(spare.all().len(), SPARE);
        let again: Vec<_> = (0..SPARE).map(|_| spare.lend()).collect();
        assert_eq!(again.iter().filter(|it| it.len() == 1).count(), 1);
        drop(again);
        let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _lent = spare.lend();
            panic!("as in the middle of a text");
        }));
        assert!(broken.is_err());
        assert_eq!(spare.all().len(), SPARE - 1);
    }

    #[test]
    fn a_counter_counts_as_it_does_without_a_memory() {
        let memory = Memory::default();
        let name = CounterName::default();
        let plainly = ctx_tokens::counter(&name).unwrap();
        for text in ["some text", "", "some text", "{\n\t\"a\": 1\n}\n"] {
            let counter = counter(&memory, &Counters::default(), &name).counter;
            assert_eq!(counter.count(text), plainly.count(text));
            assert_eq!(counter.weigh(text), plainly.weigh(text));
            assert_eq!(counter.name(), plainly.name());
        }
        assert_eq!(memory.counts.lock().unwrap().len(), 1);
    }

    #[test]
    fn counts_are_kept_of_the_counters_used_last() {
        let memory = Memory::default();
        let counters = Counters::default();
        let use_it = |name: &str| counter(&memory, &counters, &name.into());
        let first = use_it("characterBased").counter;
        first.count("some text");
        for name in [
            "wordBased",
            "gpt-4",
            "characterBased",
            "o200k_base",
            "claude",
            "gpt-4o",
        ] {
            use_it(name);
        }
        let names = || -> Vec<String> {
            let counts = memory.counts.lock().unwrap();
            counts.iter().map(|it| it.name.clone()).collect()
        };
        let kept = ["cl100k_base", "characterBased", "claude", "o200k_base"];
        assert_eq!(names(), kept, "models of one encoding are one counter");
        let again = use_it("characterBased").counter;
        assert!(Arc::ptr_eq(&first, &again), "it was among those used last");
    }

    /// A counter that counts `self.0` tokens in every text.
    struct Says(u32);

    impl TokenCounter for Says {
        fn count(&self, _: &str) -> Tokens {
            Tokens::new(self.0)
        }

        fn name(&self) -> &'static str {
            "says"
        }
    }

    #[test]
    fn two_counters_of_one_name_are_not_mixed() {
        let counters = |by| Counters::default().with(Arc::new(Says(by))).unwrap();
        let memory = Memory::default();
        let count = |counters: &Counters| {
            let known = counter(&memory, counters, &"says".into());
            (known.counter.count("text"), known.identity)
        };
        let ones = counters(1);
        let (one, first) = count(&ones);
        assert_eq!((one, first), count(&ones));
        let (two, second) = count(&counters(2));
        assert_eq!((one, two), (Tokens::new(1), Tokens::new(2)));
        assert_ne!(first, second);
    }
}
