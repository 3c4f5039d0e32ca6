//! What is known of all documents together: how many there are, how long, and how many hold a term.

use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::Field;
use tantivy::{Searcher, Term};

/// By so much the length of a file weighs more than that of a part. BM25's score of a term that occurs `f` times in
/// a file of `l` times the mean length is idf × f / (f + k × (1 − b + b × l)); tantivy fixes k = 1.2 and
/// b = 0.75 for all fields, and a mean that is taken for a third of what it is makes that k = 3 and b = 0.9.
/// Whole files repeat their words more than parts do.
const LENGTH: u64 = 3;

/// Statistics of the documents that stand for files. tantivy's own are of all documents, and parts, which have no text
/// of a file, are twenty times as many: to them every file is long.
pub(crate) struct OfFiles<'s> {
    searcher: &'s Searcher,
    files: u64,
}

impl<'s> OfFiles<'s> {
    /// Those of `searcher`, each document of which has its path in `path`. O(segments).
    pub(crate) fn new(searcher: &'s Searcher, path: Field) -> tantivy::Result<Self> {
        let mut files = 0;
        for segment in searcher.segment_readers() {
            // A file and its parts are in one segment, and share a path.
            files += segment.inverted_index(path)?.terms().num_terms() as u64;
        }
        Ok(OfFiles { searcher, files })
    }
}

impl Bm25StatisticsProvider for OfFiles<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        Ok(self.searcher.total_num_tokens(field)? / LENGTH)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.files)
    }

    /// At most the number of files: documents that were replaced are counted until their segment is merged.
    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        Ok(self.searcher.doc_freq(term)?.min(self.files))
    }
}

/// The inverse document frequency of what is known by several terms, one for each field: of the one that most
/// documents hold. `None` where none holds any.
pub(crate) fn rarity(searcher: &Searcher, terms: &[Term]) -> tantivy::Result<Option<f32>> {
    let mut count = 0;
    for term in terms {
        count = count.max(searcher.doc_freq(term)?);
    }
    let all = searcher.total_num_docs()?.max(count);
    #[expect(clippy::cast_precision_loss, reason = "a score of f32 is no finer")]
    let (n, all) = (count as f32, all as f32);
    Ok((count > 0).then(|| ((all - n + 0.5) / (n + 0.5)).ln_1p()))
}
