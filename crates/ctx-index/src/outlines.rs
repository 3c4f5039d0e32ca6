//! What was parsed when it was indexed need not be parsed to be shown.

use ctx_syntax::{Outline, Outlines};
use tantivy::schema::IndexRecordOption::Basic;
use tantivy::schema::document::Value as _;
use tantivy::{
    DocAddress, DocSet as _, Searcher, SegmentReader, TERMINATED, TantivyDocument, Term,
};

use crate::Index;
use crate::manifest::NO_TEXT;

impl Outlines for Index {
    fn outline(&self, path: &str, hash: &[u8; 32]) -> Option<Outline> {
        self.first_of(&self.searcher(), path, |document| {
            Outline::unseal(document.get_first(self.fields.outline)?.as_bytes()?, hash)
        })
    }

    fn hash_of(&self, path: &str) -> Option<[u8; 32]> {
        self.hash_of(path)
    }
}

impl Index {
    /// The hash ([`ctx_source::Text::hash`]) of the text that is indexed of the file at `path`: of that are the lines of its
    /// parts. `None` where nothing is; zeros, which are no text's, where an update is about to write it or came to no end, and
    /// where another process has written it and what is answered of it here is known to be of another text.
    pub fn hash_of(&self, path: &str) -> Option<[u8; 32]> {
        let store = self.store();
        // Who cannot read it now has the lines as they are told.
        let (hash, generation) = store.manifest.hash_of(path).ok().flatten()?;
        if generation == store.answered().generation {
            return Some(hash);
        }
        let is_of_it = self.first_of(&store.reader.searcher(), path, |document| {
            let sealed = document.get_first(self.fields.outline)?.as_bytes()?;
            Some(Outline::unseal(sealed, &hash).is_some())
        });
        Some(if is_of_it == Some(false) {
            NO_TEXT
        } else {
            hash
        })
    }

    /// What `of` makes of what is stored of the file at `path`.
    fn first_of<T>(
        &self,
        searcher: &Searcher,
        path: &str,
        of: impl Fn(&TantivyDocument) -> Option<T>,
    ) -> Option<T> {
        let path = Term::from_field_text(self.fields.path, path);
        let segments = (0..).zip(searcher.segment_readers());
        let mut files = segments.filter_map(|(ordinal, segment)| {
            let document = first(segment, &path)?;
            of(&searcher.doc(DocAddress::new(ordinal, document)).ok()?)
        });
        files.next()
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
