//! Selection of the best documents of a query.

use std::cmp::Reverse;
use std::sync::Arc;

use tantivy::postings::TermInfo;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocId, DocSet as _, Score, Searcher, TERMINATED};

/// The initial capacity, in documents.
const FEW: usize = 64;
/// Scores that differ by more than this are not equal when rounded.
const EQUAL: Score = 1e-4;

/// Rounds to four digits: sums of the same numbers in another order differ in their last digits.
pub(crate) fn rounded(score: Score) -> f64 {
    (f64::from(score) * 1e4).round() / 1e4
}

/// The `limit` best of the documents pushed. Takes memory for twice as many.
pub(crate) struct Best {
    limit: usize,
    order: Order,
    /// Unordered.
    found: Vec<(Rank, Scored)>,
    /// The worst rank among the best so far: nothing worse is kept any more.
    least: Option<(Rank, Score)>,
}

pub(crate) type Scored = (Score, DocAddress);

/// The rank of a document, less is better: its score, then its place.
type Rank = (Reverse<i64>, (u32, DocId));

/// How documents with equal scores are ordered.
enum Order {
    /// By their address in the index: quick, but dependent on how segments came about.
    Address,
    /// By path, for scores that are equal when rounded.
    Place(Arc<Places>),
}

impl Order {
    fn rank(&self, (score, address): Scored) -> Rank {
        match self {
            Order::Address => {
                let place = (address.segment_ord, address.doc_id);
                (Reverse(ordered(score.into())), place)
            }
            Order::Place(places) => (Reverse(ordered(rounded(score))), places.of_one(address)),
        }
    }
}

/// An integer that is ordered as [`f64::total_cmp`] orders `score`.
fn ordered(score: f64) -> i64 {
    let bits = score.to_bits().cast_signed();
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

impl Best {
    pub(crate) fn new(limit: usize) -> Self {
        Self::by(Order::Address, limit)
    }

    /// The `limit` best, where ties are broken by path and so do not depend on the order of the
    /// index.
    pub(crate) fn by_place(limit: usize, places: Arc<Places>) -> Self {
        Self::by(Order::Place(places), limit)
    }

    fn by(order: Order, limit: usize) -> Self {
        let limit = limit.max(1);
        Best {
            limit,
            order,
            found: Vec::with_capacity(limit.min(FEW)),
            least: None,
        }
    }

    /// Documents that score less than this, or nothing, cannot be among the best.
    pub(crate) fn floor(&self) -> Score {
        let least = self.least.map_or(0.0, |(_, score)| score - EQUAL);
        least.max(Score::MIN_POSITIVE)
    }

    /// Amortized O(1).
    pub(crate) fn push(&mut self, scored: Scored) {
        let rank = self.order.rank(scored);
        if self.least.is_some_and(|(least, _)| rank > least) {
            return;
        }
        self.found.push((rank, scored));
        if self.found.len() == 2 * self.limit {
            let (_, least, _) = self
                .found
                .select_nth_unstable_by_key(self.limit - 1, |it| it.0);
            self.least = Some((least.0, least.1.0));
            self.found.truncate(self.limit);
        }
    }

    /// The best, in descending order.
    pub(crate) fn into_vec(self) -> Vec<Scored> {
        let mut found = self.found;
        found.sort_unstable_by_key(|it| it.0);
        found.truncate(self.limit);
        found.into_iter().map(|(_, scored)| scored).collect()
    }
}

/// The rank of each document when all are sorted by path.
pub(crate) struct Places {
    /// Indexed by segment ordinal and document number.
    by_path: Vec<Vec<u32>>,
}

impl Places {
    /// Sorts all documents of `searcher` by their paths, which are in the field `path`.
    /// O(documents).
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

    /// All parts of a file are in one segment, in their order.
    fn of_one(&self, document: DocAddress) -> (u32, DocId) {
        let of_segment = &self.by_path[document.segment_ord as usize];
        (of_segment[document.doc_id as usize], document.doc_id)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_the_numbers(a in any::<f64>(), b in any::<f64>()) {
            for (a, b) in [(a, b), (a, a), (a, -a), (0.0, -0.0), (f64::NAN, b), (f64::INFINITY, b)] {
                prop_assert_eq!(ordered(a).cmp(&ordered(b)), a.total_cmp(&b), "{} {}", a, b);
            }
        }

        #[test]
        fn the_best_are_the_first_of_all_in_order(
            scores in prop::collection::vec((0..40_u8, 0..9_u32), 0..60),
            limit in 1..20_usize,
        ) {
            // Half a rounding step apart, and several documents per path.
            let mut all: Vec<Scored> = scores
                .iter()
                .zip(0..)
                .map(|(&(score, _), document)| (1.0 + f32::from(score) * 5e-5, DocAddress::new(0, document)))
                .collect();
            let by_path = vec![scores.iter().map(|it| it.1).collect()];
            let places = Arc::new(Places { by_path });
            let told = |mut best: Best| {
                for it in &all {
                    best.push(*it);
                }
                best.into_vec()
            };
            let (by_address, by_place) = (told(Best::new(limit)), told(Best::by_place(limit, Arc::clone(&places))));
            all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            prop_assert_eq!(&by_address[..], &all[..limit.min(all.len())]);
            all.sort_by(|a, b| {
                let by_score = rounded(b.0).total_cmp(&rounded(a.0));
                by_score.then_with(|| places.of_one(a.1).cmp(&places.of_one(b.1)))
            });
            prop_assert_eq!(&by_place[..], &all[..limit.min(all.len())]);
        }
    }
}
