//! What is stored of parts, as far as it was met.
//!
//! A question comes upon over a thousand parts, and mostly upon the same ones as others. What a segment says of a
//! document never changes, so each document of a segment has a slot, and whoever knows the slots of all segments
//! finds a part without a lock or a hash.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ctx_retrieve::Part;
use tantivy::index::SegmentId;
use tantivy::{DocAddress, Searcher};

/// So many parts are remembered, some 500 bytes each. Then all are forgotten: a question has others in use by then.
const MOST: usize = 1 << 16;

/// By the number of the document.
type Slots = Arc<[OnceLock<Arc<Part>>]>;

/// The parts that were met lately.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    segments: Mutex<BTreeMap<SegmentId, Slots>>,
    /// How many slots are filled, or were when they were forgotten meanwhile.
    met: AtomicUsize,
}

/// Those of one searcher.
pub(crate) struct Met<'p> {
    parts: &'p Parts,
    /// By ordinal.
    segments: Vec<Slots>,
}

impl Parts {
    /// Those of the documents of `searcher`. O(segments), and 16 bytes for each document.
    pub(crate) fn of(&self, searcher: &Searcher) -> Met<'_> {
        let mut known = self.known();
        let segments = searcher.segment_readers().iter().map(|it| {
            let empty = || (0..it.max_doc()).map(|_| OnceLock::new()).collect();
            Arc::clone(known.entry(it.segment_id()).or_insert_with(empty))
        });
        let segments: Vec<Slots> = segments.collect();
        if known.len() > segments.len() {
            let are_there = searcher.generation().segments();
            known.retain(|segment, _| are_there.contains_key(segment));
        }
        Met {
            parts: self,
            segments,
        }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<SegmentId, Slots>> {
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Met<'_> {
    /// The part at `address`, which is read where it was not met lately.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn get<E>(
        &self,
        address: DocAddress,
        read: impl FnOnce() -> Result<Part, E>,
    ) -> Result<Arc<Part>, E> {
        let slot = &self.segments[address.segment_ord as usize][address.doc_id as usize];
        if let Some(part) = slot.get() {
            return Ok(Arc::clone(part));
        }
        let part = Arc::new(read()?);
        if self.parts.met.fetch_add(1, Ordering::Relaxed) >= MOST {
            self.parts.known().clear();
            self.parts.met.store(0, Ordering::Relaxed);
        }
        Ok(Arc::clone(slot.get_or_init(|| part)))
    }
}

#[cfg(test)]
mod tests {
    use ctx_model::LineSpan;
    use tantivy::schema::{STRING, Schema};
    use tantivy::{Index, TantivyDocument};

    use super::*;

    fn part(line: u32) -> Part {
        Part::new("a.rs", LineSpan::new(line, line).unwrap())
    }

    #[test]
    fn each_is_read_once_and_not_too_many_are_remembered() {
        let mut schema = Schema::builder();
        let text = schema.add_text_field("text", STRING);
        let index = Index::create_in_ram(schema.build());
        let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
        for _ in 0..10 {
            let mut document = TantivyDocument::default();
            document.add_text(text, "word");
            writer.add_document(document).unwrap();
        }
        writer.commit().unwrap();
        let searcher = index.reader().unwrap().searcher();
        let parts = Parts::default();
        let (met, first) = (parts.of(&searcher), DocAddress::new(0, 3));
        assert_eq!(met.get(first, || Err("gone")), Err("gone"));
        let read = met.get(first, || Ok::<_, ()>(part(1))).unwrap();
        let known = |met: &Met<'_>| met.get(first, || Err(())).ok();
        assert!(Arc::ptr_eq(&read, &known(&parts.of(&searcher)).unwrap()));
        // Others of the segment are others.
        let other = met.get(DocAddress::new(0, 4), || Ok::<_, ()>(part(2)));
        assert_eq!(other.unwrap().span.start(), 2);
        parts.met.store(MOST, Ordering::Relaxed);
        met.get(DocAddress::new(0, 5), || Ok::<_, ()>(part(3)))
            .unwrap();
        // Who is at work goes on with what there was.
        assert!(known(&met).is_some() && known(&parts.of(&searcher)).is_none());
    }
}
