//! Collection statistics: how many documents there are, how long they are, and how many hold a
//! term.
//!
//! Only live documents are counted. Replaced documents stay in their segments until these are
//! merged, and the same files must score the same whatever was indexed before. The text index's own
//! token counts are not used either, since a merge estimates them. Values that cost a dictionary
//! lookup or more are cached per segment until more of its documents are deleted, and for all
//! segments together until any document is added or deleted, or segments are merged.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use quick_cache::sync::Cache;
use tantivy::index::SegmentId;
use tantivy::postings::TermInfo;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, Opstamp, Searcher, SegmentReader, Term};

use crate::best::Places;
use crate::by_segment::BySegment;
use crate::schema::Fields;
use crate::scores::each_among;

/// The factor by which length counts more in a file than in a part. BM25's score of a term that
/// occurs `f` times in a file of `l` times the mean length is idf × f / (f + k × (1 − b + b × l));
/// tantivy fixes k = 1.2 and b = 0.75 for all fields, and dividing the mean by three has the effect
/// of k = 3 and b = 0.9. Whole files repeat their words more than parts do.
const LENGTH: u64 = 3;
/// The most terms whose posting lists and counts are cached: per segment, some 200 bytes each, and
/// for all together, some 100 and 50 for each segment; fewer in small segments. A question looks up
/// hundreds: its words in each field, and the names that it leads to.
const TERMS: usize = 1 << 13;
/// The size of that cache in an empty segment; each document adds one.
const FEW_TERMS: usize = 64;

/// A segment and its latest deletion.
type Generation = (SegmentId, Option<Opstamp>);

/// Cached statistics of segments, and of all segments of the last searcher together.
#[derive(Default)]
pub(crate) struct Statistics {
    segments: BySegment<Generation, Known>,
    last: Mutex<Option<Arc<Together>>>,
}

/// What is known of the segments of a searcher together.
struct Together {
    of: Vec<Generation>,
    places: Mutex<Option<Arc<Places>>>,
    /// The posting lists of terms in all segments: asking each segment would take several times as
    /// long.
    lists: Cache<Term, Lists>,
}

/// Statistics of the live documents of a segment.
pub(crate) struct Known {
    /// By field number.
    held: Vec<OnceLock<Held>>,
    /// The deleted documents of the segment, ascending.
    replaced: Vec<DocId>,
    terms: Cache<Term, Option<Listed>>,
}

/// A term that occurs in a segment.
#[derive(Clone, Debug)]
struct Listed {
    list: TermInfo,
    /// The number of live documents that hold it.
    count: u64,
}

/// How many documents have a field, and their total length in it.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    documents: u64,
    /// The sum of the lengths as they are stored, rounded to one byte each.
    tokens: u64,
}

impl Statistics {
    /// The statistics of the live documents of `searcher`. O(segments), and O(documents) of the
    /// segments written or deleted from since the last call.
    pub(crate) fn of<'s>(&self, searcher: &'s Searcher) -> Live<'s> {
        Live {
            searcher,
            segments: self.segments.of(searcher, generation_of, Known::new),
            together: self.together(searcher),
        }
    }

    fn together(&self, searcher: &Searcher) -> Arc<Together> {
        let of = searcher.segment_readers().iter().map(generation_of);
        let of: Vec<Generation> = of.collect();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_ref().filter(|it| it.of == of) {
            return Arc::clone(last);
        }
        let documents = usize::try_from(searcher.num_docs()).unwrap_or(usize::MAX);
        let new = Together {
            of,
            places: Mutex::default(),
            lists: Cache::new(cached_terms(documents)),
        };
        Arc::clone(last.insert(Arc::new(new)))
    }
}

fn generation_of(segment: &SegmentReader) -> Generation {
    (segment.segment_id(), segment.delete_opstamp())
}

impl Known {
    fn new(segment: &SegmentReader) -> Self {
        let mut replaced = Vec::new();
        if segment.has_deletes() {
            let all = 0..segment.max_doc();
            replaced.extend(all.filter(|it| segment.is_deleted(*it)));
        }
        Known {
            held: segment.schema().fields().map(|_| OnceLock::new()).collect(),
            replaced,
            terms: Cache::new(cached_terms(segment.max_doc() as usize)),
        }
    }

    fn held(&self, segment: &SegmentReader, field: Field) -> tantivy::Result<Held> {
        let known = &self.held[field.field_id() as usize];
        if let Some(held) = known.get() {
            return Ok(*held);
        }
        let held = held(segment, field)?;
        Ok(*known.get_or_init(|| held))
    }

    /// The posting list of `term` in `segment`, whose statistics these are.
    fn listed(&self, segment: &SegmentReader, term: &Term) -> tantivy::Result<Option<Listed>> {
        self.terms.get_or_insert_with(term, || {
            let index = segment.inverted_index(term.field())?;
            let Some(list) = index.get_term_info(term)? else {
                return Ok(None);
            };
            let mut count = u64::from(list.doc_freq);
            if !self.replaced.is_empty() {
                let basic = IndexRecordOption::Basic;
                let postings = index.read_postings_from_terminfo(&list, basic)?;
                each_among(postings, &self.replaced, |_, _| count -= 1);
            }
            Ok(Some(Listed { list, count }))
        })
    }
}

/// The most terms that are cached of this many `documents`.
fn cached_terms(documents: usize) -> usize {
    TERMS.min(FEW_TERMS.saturating_add(documents))
}

fn held(segment: &SegmentReader, field: Field) -> tantivy::Result<Held> {
    let all = u64::from(segment.num_docs());
    if !segment.schema().get_field_entry(field).has_fieldnorms() {
        // Without stored lengths, every document counts as one token.
        return Ok(Held {
            documents: all,
            tokens: all,
        });
    }
    let Some(lengths) = segment.fieldnorms_readers().get_field(field)? else {
        return Ok(Held::default());
    };
    let lengths = segment.doc_ids_alive().map(|it| lengths.fieldnorm(it));
    Ok(lengths.fold(Held::default(), |held, length| Held {
        documents: held.documents + u64::from(length > 0),
        tokens: held.tokens + u64::from(length),
    }))
}

/// Statistics of the live documents of a searcher.
pub(crate) struct Live<'s> {
    pub(crate) searcher: &'s Searcher,
    /// By segment ordinal.
    segments: Vec<Arc<Known>>,
    together: Arc<Together>,
}

impl Live<'_> {
    /// The statistics of each segment, by ordinal.
    fn each(&self) -> impl Iterator<Item = (&Known, &SegmentReader)> {
        let segments = self.segments.iter().map(AsRef::as_ref);
        segments.zip(self.searcher.segment_readers())
    }

    fn held(&self, field: Field) -> tantivy::Result<Held> {
        self.each()
            .try_fold(Held::default(), |sum, (known, segment)| {
                let held = known.held(segment, field)?;
                Ok(Held {
                    documents: sum.documents + held.documents,
                    tokens: sum.tokens + held.tokens,
                })
            })
    }

    /// The order of all documents by their paths, which are in the field `path`. O(documents), and
    /// O(1) while no document is added or removed.
    pub(crate) fn places(&self, path: Field) -> tantivy::Result<Arc<Places>> {
        let known = self.together.places.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = &*known {
            return Ok(Arc::clone(places));
        }
        let places = Places::of(self.searcher, path)?;
        Ok(Arc::clone(known.insert(Arc::new(places))))
    }

    /// The posting lists of a term. O(1) if they are cached; else O(segments), and a dictionary
    /// lookup in each segment of which they are not.
    pub(crate) fn lists(&self, term: &Term) -> tantivy::Result<Lists> {
        self.together.lists.get_or_insert_with(term, || {
            let listed = self.each();
            let listed = listed.map(|(known, segment)| known.listed(segment, term));
            let listed = listed.collect::<tantivy::Result<Vec<_>>>()?;
            Ok(Lists {
                field: term.field(),
                count: listed.iter().flatten().map(|it| it.count).sum(),
                of_segments: listed.into_iter().map(|it| Some(it?.list)).collect(),
            })
        })
    }

    /// The posting lists of a term that is unlikely to be searched for again, such as a path: they
    /// are neither cached nor counted.
    pub(crate) fn lists_once(&self, term: &Term) -> tantivy::Result<Lists> {
        let list = |segment: &SegmentReader| {
            let index = segment.inverted_index(term.field())?;
            Ok(index.get_term_info(term)?)
        };
        let segments = self.searcher.segment_readers().iter();
        Ok(Lists {
            field: term.field(),
            of_segments: segments.map(list).collect::<tantivy::Result<_>>()?,
            count: 0,
        })
    }

    /// The inverse document frequency of a word searched for in several fields, one term per field:
    /// that of the most frequent of these terms. `None` if no document holds any.
    pub(crate) fn rarity(&self, terms: &[Lists]) -> Option<f32> {
        let count = terms.iter().map(|it| it.count).max().unwrap_or(0);
        let all = self.searcher.num_docs().max(count);
        #[expect(clippy::cast_precision_loss, reason = "a score of f32 is no finer")]
        let (n, all) = (count as f32, all as f32);
        (count > 0).then(|| ((all - n + 0.5) / (n + 0.5)).ln_1p())
    }
}

/// The posting lists of a term, and the number of live documents that hold it.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    pub(crate) field: Field,
    /// By segment ordinal.
    pub(crate) of_segments: Arc<[Option<TermInfo>]>,
    /// Set by [`Live::lists`] only.
    pub(crate) count: u64,
}

/// The collection statistics that BM25 needs.
pub(crate) trait Collection {
    /// The number of documents.
    fn documents(&self) -> u64;

    /// Their total length in `field`, in tokens.
    fn tokens(&self, field: Field) -> tantivy::Result<u64>;

    /// The number of them that are in `lists`.
    fn holding(&self, lists: &Lists) -> u64;
}

impl Collection for Live<'_> {
    fn documents(&self) -> u64 {
        self.searcher.num_docs()
    }

    fn tokens(&self, field: Field) -> tantivy::Result<u64> {
        Ok(self.held(field)?.tokens)
    }

    fn holding(&self, lists: &Lists) -> u64 {
        lists.count
    }
}

/// Statistics of the documents that stand for files. Parts are twenty times as numerous and have no
/// file text, so measured by the mean over all documents every file would be long.
pub(crate) struct OfFiles<'l> {
    live: &'l Live<'l>,
    files: u64,
}

impl<'l> OfFiles<'l> {
    /// Counts the documents of files in `live`.
    pub(crate) fn new(live: &'l Live<'l>, fields: &Fields) -> tantivy::Result<Self> {
        let by_text = live.held(fields.text)?.documents;
        let by_path = live.held(fields.path_words)?.documents;
        Ok(OfFiles {
            live,
            files: by_text.max(by_path),
        })
    }
}

impl Collection for OfFiles<'_> {
    fn documents(&self) -> u64 {
        self.files
    }

    fn tokens(&self, field: Field) -> tantivy::Result<u64> {
        let tokens = self.live.tokens(field)?;
        // With a mean length of 0 every document would score nothing.
        Ok((tokens / LENGTH).max(tokens.min(1)))
    }

    /// Bounded by the number of files, also for terms that parts hold.
    fn holding(&self, lists: &Lists) -> u64 {
        lists.count.min(self.files)
    }
}
