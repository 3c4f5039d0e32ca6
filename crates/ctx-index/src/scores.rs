//! Scores of documents for a question, summed term by term rather than document by document.
//!
//! A question has dozens of terms, each with a posting list in each of several fields. Traversing
//! that many lists in parallel, as the queries of the text index do, costs more than adding each
//! posting to an array of sums. And the same numbers summed in the same order give the same result,
//! whatever the segments are.

use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{BlockSegmentPostings, Postings as _, SegmentPostings, TermInfo};
use tantivy::query::Bm25Weight;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{
    DocAddress, DocId, DocSet as _, InvertedIndexReader, Score, Searcher, SegmentReader,
    TERMINATED, Term,
};

use crate::best::{Best, Scored};
use crate::statistics::{Collection, Lists, Live};

/// The number of sums compared at once.
const RUN: usize = 64;

/// What a document gains by a term.
#[derive(Debug)]
pub(crate) enum Clause {
    /// BM25 of the term, times `boost`: with its frequency, or as if it occurred once.
    Bm25 {
        lists: Lists,
        boost: Score,
        counting: IndexRecordOption,
    },
    /// A constant `worth` if the document holds any of the terms.
    Any { lists: Vec<Lists>, worth: Score },
}

/// A clause that can add to the sums: at least one document holds a term of it.
enum Gain<'c> {
    Bm25 {
        lists: &'c Lists,
        weight: Bm25Weight,
        counting: IndexRecordOption,
    },
    Any {
        lists: &'c [Lists],
        worth: Score,
    },
}

impl<'c> Gain<'c> {
    fn of(clause: &'c Clause, collection: &dyn Collection) -> tantivy::Result<Option<Self>> {
        Ok(match clause {
            Clause::Bm25 {
                lists,
                boost,
                counting,
            } => weight(collection, lists)?.map(|weight| Gain::Bm25 {
                lists,
                weight: weight.boost_by(*boost),
                counting: *counting,
            }),
            Clause::Any { lists, worth } => Some(Gain::Any {
                lists,
                worth: *worth,
            }),
        })
    }
}

/// The sums of all documents of a searcher.
pub(crate) struct Scores<'s> {
    segments: Vec<OfSegment<'s>>,
}

impl<'s> Scores<'s> {
    /// Scores documents by `clauses`; with `within`, only those that hold one of these terms. All
    /// lists are of `live`. O(documents of the index + postings of the terms), with four bytes per
    /// document; with `within`, O(its documents × terms), with eight bytes per document looked at.
    pub(crate) fn of(
        live: &'s Live<'_>,
        clauses: &[Clause],
        within: Option<&[Lists]>,
        collection: &dyn Collection,
    ) -> tantivy::Result<Self> {
        let mut gains = Vec::with_capacity(clauses.len());
        for clause in clauses {
            gains.extend(Gain::of(clause, collection)?);
        }
        let within = match (&*gains, within) {
            // Most names that are searched for are defined nowhere.
            ([], _) => {
                return Ok(Scores {
                    segments: Vec::new(),
                });
            }
            // With a single list, no other documents can score.
            ([Gain::Bm25 { lists, .. }], None) => Some(std::slice::from_ref(*lists)),
            (_, within) => within,
        };
        let readers = live.searcher.segment_readers();
        let mut segments = Vec::with_capacity(readers.len());
        for (ordinal, segment) in readers.iter().enumerate() {
            let mut reading = Reading::of(segment);
            let mut scores = OfSegment::new(ordinal, &mut reading, within)?;
            for gain in &gains {
                scores.add(gain, &mut reading)?;
            }
            segments.push(scores);
        }
        Ok(Scores { segments })
    }

    /// Scores documents by the similarity of their text in `field` to the most similar of `texts`:
    /// the number of distinct tokens in both divided by that in either (Jaccard). A document's
    /// tokens are counted by its stored length, which is rounded above 40. O(documents of the index
    /// + postings of the tokens), with five bytes per document.
    pub(crate) fn alike(
        searcher: &'s Searcher,
        field: Field,
        texts: &[Vec<String>],
    ) -> tantivy::Result<Self> {
        let segments = searcher.segment_readers().iter().enumerate();
        let segments = segments.map(|(ordinal, segment)| {
            let mut reading = Reading::of(segment);
            let mut scores = OfSegment::new(ordinal, &mut reading, None)?;
            scores.set_alike(field, texts, &mut reading)?;
            Ok(scores)
        });
        let segments = segments.collect::<tantivy::Result<_>>()?;
        Ok(Scores { segments })
    }

    /// Whether no document has a sum, because no list matched.
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// The best of the live documents that have a sum above 0, the best first.
    pub(crate) fn best(&self, mut best: Best) -> Vec<Scored> {
        for (ordinal, segment) in (0..).zip(&self.segments) {
            segment.tell(|document| DocAddress::new(ordinal, document), &mut best);
        }
        best.into_vec()
    }
}

/// The BM25 weight of a term; `None` if no document holds it.
fn weight(collection: &dyn Collection, lists: &Lists) -> tantivy::Result<Option<Bm25Weight>> {
    let count = collection.holding(lists);
    if count == 0 {
        return Ok(None);
    }
    let documents = collection.documents();
    let tokens = collection.tokens(lists.field)?;
    #[expect(clippy::cast_precision_loss, reason = "a score of f32 is no finer")]
    let mean = tokens as Score / documents as Score;
    let weight = Bm25Weight::for_one_term_without_explain(count, documents, mean);
    Ok(Some(weight))
}

struct OfSegment<'s> {
    ordinal: usize,
    segment: &'s SegmentReader,
    /// The documents that are looked at, ascending; `None` for all.
    within: Option<Vec<DocId>>,
    /// By document number, or by position in `within`.
    sums: Vec<Score>,
}

impl<'s> OfSegment<'s> {
    fn new(
        ordinal: usize,
        reading: &mut Reading<'s>,
        within: Option<&[Lists]>,
    ) -> tantivy::Result<Self> {
        let segment = reading.segment;
        let within = within
            .map(|lists| documents_of(ordinal, reading, lists))
            .transpose()?;
        let count = within.as_ref().map_or(segment.max_doc() as usize, Vec::len);
        Ok(OfSegment {
            ordinal,
            segment,
            within,
            sums: vec![0.0; count],
        })
    }

    fn add(&mut self, gain: &Gain<'_>, reading: &mut Reading<'_>) -> tantivy::Result<()> {
        match gain {
            Gain::Bm25 {
                lists,
                weight,
                counting,
            } => self.add_bm25(lists, *counting, weight, reading),
            Gain::Any { lists, worth } => self.add_to_any(lists, *worth, reading),
        }
    }

    fn add_bm25(
        &mut self,
        lists: &Lists,
        counting: IndexRecordOption,
        weight: &Bm25Weight,
        reading: &mut Reading<'_>,
    ) -> tantivy::Result<()> {
        let Some(list) = &lists.of_segments[self.ordinal] else {
            return Ok(());
        };
        let sums = &mut self.sums;
        let field = reading.field(lists.field, counting)?;
        let lengths = field.lengths.clone();
        field.each_posting(list, self.within.as_deref(), |posting| {
            sums[posting.place] +=
                weight.score(lengths.fieldnorm_id(posting.document), posting.count);
        })
    }

    fn add_to_any(
        &mut self,
        terms: &[Lists],
        worth: Score,
        reading: &mut Reading<'_>,
    ) -> tantivy::Result<()> {
        let mut is_in = vec![0_u64; self.sums.len().div_ceil(64)];
        for lists in terms {
            let Some(list) = &lists.of_segments[self.ordinal] else {
                continue;
            };
            let sums = &mut self.sums;
            let field = reading.field(lists.field, IndexRecordOption::Basic)?;
            field.each_posting(list, self.within.as_deref(), |posting| {
                let (word, bit) = (posting.place / 64, 1 << (posting.place % 64));
                if is_in[word] & bit == 0 {
                    is_in[word] |= bit;
                    sums[posting.place] += worth;
                }
            })?;
        }
        Ok(())
    }

    fn set_alike(
        &mut self,
        field: Field,
        texts: &[Vec<String>],
        reading: &mut Reading<'_>,
    ) -> tantivy::Result<()> {
        let Some(lengths) = self.segment.fieldnorms_readers().get_field(field)? else {
            return Ok(());
        };
        let of_field = reading.field(field, IndexRecordOption::Basic)?;
        // The number of tokens that each document shares with a text, and the documents that share
        // any.
        let (mut shared, mut documents) = (vec![0_u8; self.sums.len()], Vec::new());
        for tokens in texts {
            let tokens = &tokens[..tokens.len().min(usize::from(u8::MAX))];
            for token in tokens {
                let term = Term::from_field_text(field, token);
                let Some(list) = of_field.index.get_term_info(&term)? else {
                    continue;
                };
                of_field.each_posting(&list, None, |posting| {
                    if shared[posting.place] == 0 {
                        documents.push(posting.document);
                    }
                    shared[posting.place] += 1;
                })?;
            }
            for document in documents.drain(..) {
                let sum = &mut self.sums[document as usize];
                let shared = std::mem::take(&mut shared[document as usize]);
                *sum = sum.max(share(shared, tokens.len(), lengths.fieldnorm(document)));
            }
        }
        Ok(())
    }

    /// Pushes the live documents to `best`, except those that score too low: most do, and are
    /// skipped a run at a time.
    fn tell(&self, address: impl Fn(DocId) -> DocAddress, best: &mut Best) {
        let alive = self.segment.alive_bitset();
        for (run, sums) in self.sums.chunks(RUN).enumerate() {
            let floor = best.floor();
            // Counting is vectorised, searching is not.
            let wanted: u32 = sums.iter().map(|sum| u32::from(*sum >= floor)).sum();
            if wanted == 0 {
                continue;
            }
            for (at, &sum) in sums.iter().enumerate() {
                let document = self.document(run * RUN + at);
                if sum >= floor && alive.is_none_or(|it| it.is_alive(document)) {
                    best.push((sum, address(document)));
                }
            }
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "a segment has fewer than 2^32 documents"
    )]
    fn document(&self, place: usize) -> DocId {
        let within = self.within.as_ref();
        within.map_or(place as DocId, |documents| documents[place])
    }
}

/// The tokens in both of two sets divided by those in either, 0..=1. The length of the other is
/// rounded and may be a little too large.
#[expect(clippy::cast_precision_loss, reason = "names are short")]
fn share(both: u8, one: usize, other: u32) -> Score {
    let both = Score::from(both);
    (both / (one as Score + other as Score - both)).min(1.0)
}

/// The documents of the segment with this ordinal, which is being read, that are in any of the
/// lists, ascending.
fn documents_of(
    ordinal: usize,
    reading: &mut Reading<'_>,
    terms: &[Lists],
) -> tantivy::Result<Vec<DocId>> {
    let mut documents = Vec::new();
    for lists in terms {
        let Some(list) = &lists.of_segments[ordinal] else {
            continue;
        };
        let field = reading.field(lists.field, IndexRecordOption::Basic)?;
        field.each_posting(list, None, |posting| {
            documents.push(posting.document);
        })?;
    }
    documents.sort_unstable();
    documents.dedup();
    Ok(documents)
}

/// An entry of a term's posting list.
struct Posting {
    document: DocId,
    /// The index of its sum: the document number, or the position in `within`.
    place: usize,
    /// The frequency of the term in the document.
    count: u32,
}

/// A segment whose posting lists are read one after the other: each field is opened once.
struct Reading<'s> {
    segment: &'s SegmentReader,
    fields: Vec<ReadField>,
}

/// A field whose posting lists are read, with frequencies or without.
struct ReadField {
    field: Field,
    counting: IndexRecordOption,
    index: Arc<InvertedIndexReader>,
    lengths: FieldNormReader,
    /// The block of the last list, whose memory serves the next.
    block: Option<BlockSegmentPostings>,
}

impl<'s> Reading<'s> {
    fn of(segment: &'s SegmentReader) -> Self {
        let fields = Vec::new();
        Reading { segment, fields }
    }

    fn field(
        &mut self,
        field: Field,
        counting: IndexRecordOption,
    ) -> tantivy::Result<&mut ReadField> {
        let is_it = |it: &ReadField| it.field == field && it.counting == counting;
        let at = if let Some(at) = self.fields.iter().position(is_it) {
            at
        } else {
            let lengths = self.segment.fieldnorms_readers().get_field(field)?;
            let all = self.segment.max_doc();
            self.fields.push(ReadField {
                field,
                counting,
                index: self.segment.inverted_index(field)?,
                lengths: lengths.unwrap_or_else(|| FieldNormReader::constant(all, 1)),
                block: None,
            });
            self.fields.len() - 1
        };
        Ok(&mut self.fields[at])
    }
}

impl ReadField {
    /// Calls `visit` with each document of `list`, ascending; with `within`, only with those.
    /// `list` is of this field and segment. Without frequencies, each count is 1.
    fn each_posting(
        &mut self,
        list: &TermInfo,
        within: Option<&[DocId]>,
        mut visit: impl FnMut(Posting),
    ) -> tantivy::Result<()> {
        if let Some(within) = within {
            let postings = self
                .index
                .read_postings_from_terminfo(list, self.counting)?;
            each_among(postings, within, |place, postings| {
                visit(Posting {
                    document: within[place],
                    place,
                    count: postings.term_freq(),
                });
            });
            return Ok(());
        }
        let block = match &mut self.block {
            Some(block) => {
                self.index.reset_block_postings_from_terminfo(list, block)?;
                block
            }
            none => none.insert(
                self.index
                    .read_block_postings_from_terminfo(list, self.counting)?,
            ),
        };
        while !block.docs().is_empty() {
            for (at, &document) in block.docs().iter().enumerate() {
                visit(Posting {
                    document,
                    place: document as usize,
                    count: block.freq(at),
                });
            }
            block.advance();
        }
        Ok(())
    }
}

/// Calls `visit` with the position of each of `documents` that is among `postings`, and with
/// `postings` standing at it. `documents` ascend. Blocks of postings that hold none of them are not
/// read.
pub(crate) fn each_among(
    mut postings: SegmentPostings,
    documents: &[DocId],
    mut visit: impl FnMut(usize, &SegmentPostings),
) {
    let mut place = 0;
    while let Some(&wanted) = documents.get(place) {
        let next = match postings.doc() {
            doc if doc < wanted => postings.seek(wanted),
            doc => doc,
        };
        if next == TERMINATED {
            break;
        }
        if next == wanted {
            visit(place, &postings);
            place += 1;
        } else {
            place += documents[place..].partition_point(|it| *it < next);
        }
    }
}

#[cfg(test)]
#[path = "scores_tests.rs"]
mod tests;
