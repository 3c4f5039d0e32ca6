//! What was parsed when it was indexed need not be parsed to be shown.

use ctx_syntax::{Outline, Outlines};
use tantivy::schema::IndexRecordOption::Basic;
use tantivy::schema::document::Value as _;
use tantivy::{
    DocAddress, DocSet as _, Searcher, SegmentReader, TERMINATED, TantivyDocument, Term,
};

use crate::Index;

impl Outlines for Index {
    fn outline(&self, path: &str, hash: &[u8; 32]) -> Option<Outline> {
        let searcher = self.searcher();
        let path = Term::from_field_text(self.fields.path, path);
        let segments = (0..).zip(searcher.segment_readers());
        let mut files = segments.filter_map(|(ordinal, segment)| {
            let document = first(segment, &path)?;
            self.of_file(&searcher, DocAddress::new(ordinal, document), hash)
        });
        files.next()
    }
}

impl Index {
    /// The hash ([`ctx_source::Text::hash`]) of the text that is indexed of the file at `path`: of that are the lines of its
    /// parts. `None` where nothing is, or another process is about to write it.
    pub fn hash_of(&self, path: &str) -> Option<[u8; 32]> {
        // Who cannot read it now has the lines as they are told.
        self.store().manifest.hash_of(path).ok().flatten()
    }

    fn of_file(
        &self,
        searcher: &Searcher,
        address: DocAddress,
        hash: &[u8; 32],
    ) -> Option<Outline> {
        let document: TantivyDocument = searcher.doc(address).ok()?;
        Outline::unseal(document.get_first(self.fields.outline)?.as_bytes()?, hash)
    }
}

/// The first document of a path: that of a file comes before those of its parts.
fn first(segment: &SegmentReader, path: &Term) -> Option<u32> {
    let index = segment.inverted_index(path.field()).ok()?;
    let mut postings = index.read_postings(path, Basic).ok()??;
    let alive = segment.alive_bitset();
    while postings.doc() != TERMINATED {
        let document = postings.doc();
        if alive.is_none_or(|it| it.is_alive(document)) {
            return Some(document);
        }
        postings.advance();
    }
    None
}
