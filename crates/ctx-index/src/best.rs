//! The best documents of a query with many terms.

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::{DocAddress, DocId, Score, SegmentOrdinal, SegmentReader, TantivyError};

/// The best so many documents: what `TopDocs` finds, by looking at every posting. `TopDocs` skips what cannot be
/// among the best, and sorts the lists of all terms for each document to find out; from some dozen lists on,
/// that takes longer than looking.
pub(crate) struct Best(pub(crate) usize);

/// Of one segment.
pub(crate) struct BestOfSegment {
    segment: SegmentOrdinal,
    limit: usize,
    /// At most twice the limit, in no order.
    found: Vec<(Score, DocId)>,
    /// Nothing at or below it is among the best any more.
    least: Score,
}

impl Collector for Best {
    type Fruit = Vec<(Score, DocAddress)>;
    type Child = BestOfSegment;

    fn for_segment(
        &self,
        segment: SegmentOrdinal,
        _: &SegmentReader,
    ) -> Result<BestOfSegment, TantivyError> {
        Ok(BestOfSegment {
            segment,
            limit: self.0.max(1),
            found: Vec::with_capacity(2 * self.0.max(1)),
            least: Score::MIN,
        })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(&self, fruits: Vec<Self::Fruit>) -> Result<Self::Fruit, TantivyError> {
        let mut all: Self::Fruit = fruits.into_iter().flatten().collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        all.truncate(self.0);
        Ok(all)
    }
}

impl SegmentCollector for BestOfSegment {
    type Fruit = Vec<(Score, DocAddress)>;

    fn collect(&mut self, document: DocId, score: Score) {
        // Documents come in their order, so of equals the first are kept.
        if score <= self.least {
            return;
        }
        self.found.push((score, document));
        if self.found.len() == 2 * self.limit {
            self.shorten();
        }
    }

    fn harvest(mut self) -> Self::Fruit {
        if self.found.len() > self.limit {
            self.shorten();
        }
        let segment = self.segment;
        let address = |(score, document)| (score, DocAddress::new(segment, document));
        self.found.into_iter().map(address).collect()
    }
}

impl BestOfSegment {
    fn shorten(&mut self) {
        let nth = self.limit - 1;
        let (_, least, _) = self
            .found
            .select_nth_unstable_by(nth, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        self.least = least.0;
        self.found.truncate(self.limit);
    }
}
