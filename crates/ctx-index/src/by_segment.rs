//! Values cached for each segment of a text index, for as long as a searcher uses the segment.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tantivy::{Searcher, SegmentReader};

/// Values of segments, by a key that identifies the segment.
#[derive(Debug)]
pub(crate) struct BySegment<K, T>(Mutex<BTreeMap<K, Arc<T>>>);

impl<K, T> Default for BySegment<K, T> {
    fn default() -> Self {
        BySegment(Mutex::default())
    }
}

impl<K: Ord, T> BySegment<K, T> {
    /// The values of the segments of `searcher`, by ordinal: cached ones, and new ones for the
    /// rest. Values of other segments are dropped. O(segments), and the cost of making new values.
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

    /// Drops all values from the cache. Callers that hold some keep them.
    pub(crate) fn forget(&self) {
        self.known().clear();
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<K, Arc<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
