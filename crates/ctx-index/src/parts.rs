//! A cache of the stored fields of parts.
//!
//! A question reads over a thousand parts, and mostly the same ones as other questions. The stored
//! fields of a document never change within a segment, so each document has a slot per segment, and
//! a search finds a part by index, without a lock or a hash.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use ctx_retrieve::Part;
use tantivy::index::SegmentId;
use tantivy::{DocAddress, Searcher, SegmentReader};

use crate::by_segment::BySegment;

/// When this many parts are cached, some 500 bytes each, all are dropped: frequent ones are soon
/// read again.
const MOST: usize = 1 << 16;

/// The cached parts.
#[derive(Debug)]
pub(crate) struct Parts {
    segments: BySegment<SegmentId, Slots>,
    most: usize,
}

/// One slot per document of a segment, by document number.
#[derive(Debug)]
struct Slots {
    parts: Box<[OnceLock<Arc<Part>>]>,
    filled: AtomicUsize,
}

impl Slots {
    fn new(segment: &SegmentReader) -> Self {
        Slots {
            parts: (0..segment.max_doc()).map(|_| OnceLock::new()).collect(),
            filled: AtomicUsize::new(0),
        }
    }
}

impl Default for Parts {
    fn default() -> Self {
        Parts {
            segments: BySegment::default(),
            most: MOST,
        }
    }
}

impl Parts {
    /// The slots for one search. O(segments), and 16 bytes for each document of a new segment.
    pub(crate) fn of(&self, searcher: &Searcher) -> Met {
        let segments = || {
            self.segments
                .of(searcher, SegmentReader::segment_id, Slots::new)
        };
        let mut met = Met {
            segments: segments(),
        };
        if met.filled() >= self.most {
            self.segments.forget();
            met.segments = segments();
        }
        met
    }
}

/// The slots of all segments of one searcher.
pub(crate) struct Met {
    /// By segment ordinal.
    segments: Vec<Arc<Slots>>,
}

impl Met {
    /// Returns the part at `address`, read by `read` if it is not cached.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn get<E>(
        &self,
        address: DocAddress,
        read: impl FnOnce() -> Result<Part, E>,
    ) -> Result<Arc<Part>, E> {
        let slots = &self.segments[address.segment_ord as usize];
        let slot = &slots.parts[address.doc_id as usize];
        if let Some(part) = slot.get() {
            return Ok(Arc::clone(part));
        }
        let part = Arc::new(read()?);
        if slot.set(Arc::clone(&part)).is_ok() {
            slots.filled.fetch_add(1, Ordering::Relaxed);
        }
        Ok(part)
    }

    /// The number of cached parts.
    pub(crate) fn filled(&self) -> usize {
        let filled = self.segments.iter();
        filled.map(|it| it.filled.load(Ordering::Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use ctx_model::LineSpan;
    use tantivy::schema::{STRING, Schema};
    use tantivy::{Index, IndexReader, IndexWriter, TantivyDocument};

    use super::*;

    fn commit(writer: &mut IndexWriter, reader: &IndexReader, documents: usize) -> Searcher {
        let text = writer.index().schema().get_field("text").unwrap();
        for _ in 0..documents {
            let mut document = TantivyDocument::default();
            document.add_text(text, "word");
            writer.add_document(document).unwrap();
        }
        writer.commit().unwrap();
        reader.reload().unwrap();
        reader.searcher()
    }

    /// The first line of the part at `address`; `line` if it was not cached.
    fn met(parts: &Parts, searcher: &Searcher, address: (u32, u32), line: u32) -> u32 {
        let address = DocAddress::new(address.0, address.1);
        let read = || Ok::<_, ()>(Part::new("a.rs", LineSpan::new(line, line).unwrap()));
        let part = parts.of(searcher).get(address, read).unwrap();
        part.span.start()
    }

    #[test]
    fn each_is_read_once_as_long_as_its_segment_is_there_and_not_too_many_are_remembered() {
        let mut schema = Schema::builder();
        schema.add_text_field("text", STRING);
        let index = Index::create_in_ram(schema.build());
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 15_000_000).unwrap();
        writer.set_merge_policy(Box::new(tantivy::merge_policy::NoMergePolicy));
        let reader = index.reader().unwrap();
        let one = commit(&mut writer, &reader, 4);
        let parts = Parts {
            most: 4,
            ..Parts::default()
        };
        let fails = |parts: &Parts| parts.of(&one).get(DocAddress::new(0, 3), || Err("gone"));
        assert_eq!(fails(&parts), Err("gone"));
        assert_eq!(met(&parts, &one, (0, 3), 1), 1);
        assert_eq!(met(&parts, &one, (0, 3), 2), 1, "it was met before");
        // Other documents and other segments have other parts, whatever their ordinals.
        let two = commit(&mut writer, &reader, 2);
        let first = one.segment_reader(0).segment_id();
        let ordinal = |of: u32| two.segment_reader(of).segment_id() == first;
        let (old, new) = if ordinal(0) { (0, 1) } else { (1, 0) };
        assert_eq!(met(&parts, &two, (old, 3), 3), 1);
        assert_eq!(met(&parts, &two, (new, 1), 4), 4);
        assert_eq!(met(&parts, &two, (old, 1), 5), 5);
        // A search in progress keeps the slots it has.
        let working = parts.of(&two);
        assert_eq!(met(&parts, &two, (new, 0), 6), 6);
        assert_eq!(met(&parts, &two, (new, 1), 7), 7, "four were remembered");
        assert!(working.get(DocAddress::new(new, 1), || Err(())).is_ok());
        // The parts of a merged segment are read anew, and those of the segments it replaced are
        // dropped.
        let segments = [two.segment_reader(0), two.segment_reader(1)];
        let merge = writer.merge(&segments.map(SegmentReader::segment_id));
        merge.wait().unwrap();
        reader.reload().unwrap();
        let merged = reader.searcher();
        assert_eq!(merged.segment_readers().len(), 1);
        assert_eq!(met(&parts, &merged, (0, 5), 8), 8);
        assert_eq!(parts.of(&merged).filled(), 1);
        assert_eq!(met(&parts, &two, (new, 1), 9), 9);
    }
}
