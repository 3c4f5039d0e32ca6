//! The best documents of a query.

use std::cmp::Ordering;
use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::postings::TermInfo;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{
    DocAddress, DocId, DocSet as _, Score, Searcher, SegmentOrdinal, SegmentReader, TERMINATED,
    TantivyError,
};

/// Sums of the same numbers in another order differ in their last digits.
pub(crate) fn rounded(score: Score) -> f64 {
    (f64::from(score) * 1e4).round() / 1e4
}

/// The best so many documents, by looking at every posting. `TopDocs` skips what cannot be among the best, and sorts
/// the lists of all terms for each document to find out: from some dozen lists on that takes longer than
/// looking, and what it adds up in which order depends on what else is in the segment.
#[derive(Clone)]
pub(crate) struct Best {
    limit: usize,
    order: Order,
}

/// Which documents are better.
#[derive(Clone)]
enum Order {
    /// Of equals those that come first in the index: that is quick, and chance.
    Address,
    /// Of those that are equal when rounded those whose paths come first.
    Place(Arc<Places>),
}

impl Best {
    pub(crate) fn new(limit: usize) -> Self {
        Best {
            limit: limit.max(1),
            order: Order::Address,
        }
    }

    /// The same, and of equals the same whatever the order of the index.
    pub(crate) fn by_place(limit: usize, places: Arc<Places>) -> Self {
        Best {
            limit: limit.max(1),
            order: Order::Place(places),
        }
    }
}

type Scored = (Score, DocAddress);

impl Order {
    /// Less is better.
    fn compare(&self, a: &Scored, b: &Scored) -> Ordering {
        match self {
            Order::Address => b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)),
            Order::Place(places) => rounded(b.0)
                .total_cmp(&rounded(a.0))
                .then_with(|| places.of_one(a.1).cmp(&places.of_one(b.1))),
        }
    }
}

/// Of one segment.
pub(crate) struct BestOfSegment {
    segment: SegmentOrdinal,
    best: Best,
    /// At most twice the limit, in no order.
    found: Vec<Scored>,
    /// Nothing worse is among the best any more.
    least: Option<Scored>,
}

impl Collector for Best {
    type Fruit = Vec<Scored>;
    type Child = BestOfSegment;

    fn for_segment(
        &self,
        segment: SegmentOrdinal,
        _: &SegmentReader,
    ) -> Result<BestOfSegment, TantivyError> {
        Ok(BestOfSegment {
            segment,
            best: self.clone(),
            found: Vec::with_capacity(2 * self.limit),
            least: None,
        })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(&self, fruits: Vec<Self::Fruit>) -> Result<Self::Fruit, TantivyError> {
        let mut all: Self::Fruit = fruits.into_iter().flatten().collect();
        all.sort_by(|a, b| self.order.compare(a, b));
        all.truncate(self.limit);
        Ok(all)
    }
}

impl SegmentCollector for BestOfSegment {
    type Fruit = Vec<Scored>;

    fn collect(&mut self, document: DocId, score: Score) {
        let found = (score, DocAddress::new(self.segment, document));
        let order = &self.best.order;
        if (self.least).is_some_and(|least| order.compare(&found, &least).is_gt()) {
            return;
        }
        self.found.push(found);
        if self.found.len() == 2 * self.best.limit {
            self.shorten();
        }
    }

    fn harvest(mut self) -> Self::Fruit {
        if self.found.len() > self.best.limit {
            self.shorten();
        }
        self.found
    }
}

impl BestOfSegment {
    fn shorten(&mut self) {
        let (nth, order) = (self.best.limit - 1, &self.best.order);
        let (_, least, _) = self
            .found
            .select_nth_unstable_by(nth, |a, b| order.compare(a, b));
        self.least = Some(*least);
        self.found.truncate(self.best.limit);
    }
}

/// Where each document is among all by its path.
pub(crate) struct Places {
    /// By ordinal of the segment and number of the document.
    by_path: Vec<Vec<u32>>,
}

impl Places {
    /// Of all documents of `searcher`, whose paths are in `path`. O(documents).
    pub(crate) fn of(searcher: &Searcher, path: Field) -> tantivy::Result<Self> {
        let segments = searcher.segment_readers();
        let mut paths: Vec<(Vec<u8>, usize, TermInfo)> = Vec::new();
        for (ordinal, segment) in segments.iter().enumerate() {
            let index = segment.inverted_index(path)?;
            let mut terms = index.terms().stream()?;
            while terms.advance() {
                paths.push((terms.key().to_vec(), ordinal, terms.value().clone()));
            }
        }
        paths.sort_unstable_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        let sizes = segments.iter().map(|it| vec![0; it.max_doc() as usize]);
        let mut by_path: Vec<Vec<u32>> = sizes.collect();
        let same_path = paths.chunk_by(|a, b| a.0 == b.0);
        for (place, same) in (0..).zip(same_path) {
            for (_, ordinal, term) in same {
                let index = segments[*ordinal].inverted_index(path)?;
                let mut documents =
                    index.read_postings_from_terminfo(term, IndexRecordOption::Basic)?;
                while documents.doc() != TERMINATED {
                    by_path[*ordinal][documents.doc() as usize] = place;
                    documents.advance();
                }
            }
        }
        Ok(Places { by_path })
    }

    /// The parts of a file are in one segment, in their order.
    fn of_one(&self, document: DocAddress) -> (u32, DocId) {
        let of_segment = &self.by_path[document.segment_ord as usize];
        (of_segment[document.doc_id as usize], document.doc_id)
    }
}
