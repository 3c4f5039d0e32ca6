//! Outlines stored in the index, so that a file need not be parsed again to be shown.

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
    /// The hash ([`ctx_source::Text::unmasked_hash`]) of the indexed text of `path`, to which the
    /// line numbers of its parts refer. `None` if the file is not indexed. All zeros if the text is
    /// uncertain: an update is writing it or was interrupted, or another process has written a
    /// newer text than the one that this index answers from.
    pub fn hash_of(&self, path: &str) -> Option<[u8; 32]> {
        let store = self.store();
        // If the manifest cannot be read now, the line numbers are used unchecked.
        let (hash, generation) = store.manifest.hash_of(path).ok().flatten()?;
        if generation == store.answered().generation {
            return Some(hash);
        }
        let is_of_it = self.first_of(&store.reader.searcher(), path, |document| {
            let sealed = document.get_first(self.fields.outline)?.as_bytes()?;
            Some(Outline::is_sealed(sealed, &hash))
        });
        Some(if is_of_it == Some(false) {
            NO_TEXT
        } else {
            hash
        })
    }

    /// How many lines the file at `path` had when it was indexed. `None` if it is not indexed, or
    /// the index cannot be read now.
    pub fn lines_of(&self, path: &str) -> Option<u32> {
        self.store().manifest.lines_of(path).ok().flatten()
    }

    /// Applies `of` to the stored document of the file at `path`.
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

/// The first document of a path. The document of a file precedes those of its parts.
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
