//! What is remembered of each segment of a text index, for as long as a searcher has it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tantivy::{Searcher, SegmentReader};

/// Values of segments, by what tells those apart.
#[derive(Debug)]
pub(crate) struct BySegment<K, T>(Mutex<BTreeMap<K, Arc<T>>>);

impl<K, T> Default for BySegment<K, T> {
    fn default() -> Self {
        BySegment(Mutex::default())
    }
}

impl<K: Ord, T> BySegment<K, T> {
    /// The values of the segments of `searcher`, by ordinal: those that are known, and new ones. Those of other
    /// segments are forgotten. O(segments), and what it costs to make new ones.
    pub(crate) fn of(
        &self,
        searcher: &Searcher,
        key: impl Fn(&SegmentReader) -> K,
        new: impl Fn(&SegmentReader) -> T,
    ) -> Vec<Arc<T>> {
        let mut known = self.known();
        let segments = searcher.segment_readers().iter().map(|it| {
            let known = known.entry(key(it));
            Arc::clone(known.or_insert_with(|| Arc::new(new(it))))
        });
        let segments: Vec<Arc<T>> = segments.collect();
        if known.len() > segments.len() {
            known.retain(|_, value| segments.iter().any(|it| Arc::ptr_eq(it, value)));
        }
        segments
    }

    /// Forgets all values. Whoever has some keeps them.
    pub(crate) fn forget(&self) {
        self.known().clear();
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<K, Arc<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
