//! What is known of all documents together: how many there are, how long, and how many hold a term.
//!
//! All of it is of the documents that are there, and of no others: replaced ones are in their segments until
//! these are merged, and the same files are to be weighed the same whatever became of others before. Nor are the
//! text index's own counts of tokens used, as a merge estimates them. What costs as much as a look into a
//! dictionary or more is remembered for each segment as long as nothing more is deleted from it.

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

/// By so much the length of a file weighs more than that of a part. BM25's score of a term that occurs `f` times in
/// a file of `l` times the mean length is idf × f / (f + k × (1 − b + b × l)); tantivy fixes k = 1.2 and
/// b = 0.75 for all fields, and a mean that is taken for a third of what it is makes that k = 3 and b = 0.9.
/// Whole files repeat their words more than parts do.
const LENGTH: u64 = 3;
/// Of so many terms it is remembered where a segment has its list, and how long that is; in small segments of fewer. Each
/// takes some 200 bytes. A question asks for hundreds: for its words in each field, and for the names that it leads to.
const TERMS: usize = 1 << 13;
/// Of so many in a segment of one document.
const FEW_TERMS: usize = 64;

/// A segment, and up to which deletion.
type Generation = (SegmentId, Option<Opstamp>);

/// What is remembered of segments.
#[derive(Default)]
pub(crate) struct Statistics {
    segments: BySegment<Generation, Known>,
    places: Mutex<Option<(Vec<Generation>, Arc<Places>)>>,
}

/// What is known of the documents of a segment that are there.
pub(crate) struct Known {
    /// By the number of the field.
    held: Vec<OnceLock<Held>>,
    /// What is in the segment and is there no more, ascending.
    replaced: Vec<DocId>,
    terms: Cache<Term, Option<Listed>>,
}

/// A term that documents of a segment hold.
#[derive(Clone, Debug)]
struct Listed {
    list: TermInfo,
    /// How many of them are there.
    count: u64,
}

/// How many documents have something in a field, and how long that is together.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    documents: u64,
    /// The sum of the lengths as they are stored: in one byte each.
    tokens: u64,
}

impl Statistics {
    /// What is known of the documents of `searcher`. O(segments), and O(documents) for those segments that were
    /// written, or deleted from, since the last time.
    pub(crate) fn of<'s>(&'s self, searcher: &'s Searcher) -> Live<'s> {
        Live {
            searcher,
            segments: self.segments.of(searcher, generation_of, Known::new),
            statistics: self,
        }
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
            terms: Cache::new(TERMS.min(FEW_TERMS + segment.max_doc() as usize)),
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

    /// Where the list of `term` is in `segment`, which this is of.
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

fn held(segment: &SegmentReader, field: Field) -> tantivy::Result<Held> {
    let all = u64::from(segment.num_docs());
    if !segment.schema().get_field_entry(field).has_fieldnorms() {
        // Where no length is kept, one is taken for all.
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

/// Statistics of the documents that are there.
pub(crate) struct Live<'s> {
    pub(crate) searcher: &'s Searcher,
    /// By ordinal.
    segments: Vec<Arc<Known>>,
    statistics: &'s Statistics,
}

impl Live<'_> {
    /// What is known of each segment, by ordinal.
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

    /// The order of all documents by their paths, which are in `path`. O(documents), and as long as no document
    /// comes or goes O(segments).
    pub(crate) fn places(&self, path: Field) -> tantivy::Result<Arc<Places>> {
        let segments = self.searcher.segment_readers();
        let generation: Vec<_> = segments.iter().map(generation_of).collect();
        let known = self.statistics.places.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        if let Some((of, places)) = &*known
            && *of == generation
        {
            return Ok(Arc::clone(places));
        }
        let places = Arc::new(Places::of(self.searcher, path)?);
        *known = Some((generation, Arc::clone(&places)));
        Ok(places)
    }

    /// The lists of a term. O(segments), and a look into the dictionary of each where it is not remembered.
    pub(crate) fn lists(&self, term: &Term) -> tantivy::Result<Lists> {
        let mut lists = Lists {
            field: term.field(),
            of_segments: Vec::with_capacity(self.segments.len()),
            count: 0,
        };
        for (known, segment) in self.each() {
            let listed = known.listed(segment, term)?;
            lists.count += listed.as_ref().map_or(0, |it| it.count);
            lists.of_segments.push(listed.map(|it| it.list));
        }
        Ok(lists)
    }

    /// The same of a term that hardly anybody asks for again, or how often: a path. Nothing of it is remembered.
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

    /// The inverse document frequency of what is known by several terms, one for each field: of the one that most
    /// documents hold. `None` where none holds any.
    pub(crate) fn rarity(&self, terms: &[Lists]) -> Option<f32> {
        let count = terms.iter().map(|it| it.count).max().unwrap_or(0);
        let all = self.searcher.num_docs().max(count);
        #[expect(clippy::cast_precision_loss, reason = "a score of f32 is no finer")]
        let (n, all) = (count as f32, all as f32);
        (count > 0).then(|| ((all - n + 0.5) / (n + 0.5)).ln_1p())
    }
}

/// Where the lists of a term are, and how many of the documents that are there hold it.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    pub(crate) field: Field,
    /// By the ordinal of the segment.
    pub(crate) of_segments: Vec<Option<TermInfo>>,
    /// Of [`Live::lists`] alone.
    pub(crate) count: u64,
}

/// What BM25 has to know of all documents together.
pub(crate) trait Collection {
    /// How many there are.
    fn documents(&self) -> u64;

    /// How long they are in `field`, all together.
    fn tokens(&self, field: Field) -> tantivy::Result<u64>;

    /// How many of them are in `lists`.
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

/// Statistics of the documents that stand for files. Parts, which have no text of a file, are twenty times as many: by
/// those of all documents every file is long.
pub(crate) struct OfFiles<'l> {
    live: &'l Live<'l>,
    files: u64,
}

impl<'l> OfFiles<'l> {
    /// Those among the documents of `live`.
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
        // Without any length on the mean all would be too long to be worth anything.
        Ok((tokens / LENGTH).max(tokens.min(1)))
    }

    /// At most the number of files, also of what parts hold.
    fn holding(&self, lists: &Lists) -> u64 {
        lists.count.min(self.files)
    }
}
