//! The ids by which a context calls its sources, so that an answer can cite them.

use std::collections::BTreeSet;

use ctx_assemble::citation_id;
use ctx_citations::{LABEL_DIGITS, label_origin};
use ctx_model::Chunk;

use crate::owner::{OwnerId, SigningKey};

/// Makes the labels of one thread.
///
/// A label is a hash of the citation's id, that is, of source, lines and text. It stays the same
/// from one message of the thread to the next. The hash is keyed, and bound to owner and thread, so
/// that no document can know the labels of the contexts that will show it, and none can contain one
/// that resolves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Labels<'a> {
    pub(crate) signing_key: &'a SigningKey,
    pub(crate) owner: &'a OwnerId,
    pub(crate) thread: &'a str,
}

impl Labels<'_> {
    /// A label for each chunk, as short as possible to distinguish all of them. The order of
    /// `chunks` does not matter, unless two are equal in origin, source, lines and text. O(bytes +
    /// n log n).
    pub(crate) fn of<'c>(&self, chunks: impl IntoIterator<Item = &'c Chunk>) -> Vec<String> {
        let chunks = chunks.into_iter();
        let ids: Vec<(String, String)> = chunks.map(|chunk| self.id(chunk)).collect();
        let all: BTreeSet<&str> = ids.iter().map(|(_, hex)| hex.as_str()).collect();
        let digits = (LABEL_DIGITS..64)
            .find(|&digits| {
                let cut: BTreeSet<&str> = all.iter().map(|hex| &hex[..digits]).collect();
                cut.len() == all.len()
            })
            .unwrap_or(64);
        let mut taken = BTreeSet::new();
        let label = |(word, hex): &(String, String)| {
            let label = format!("{word}-{}", &hex[..digits]);
            // Two that are equal in everything are distinguished only by a number.
            let numbered = (2_u64..).map(|n| format!("{label}-{n}"));
            let mut names = std::iter::once(label.clone()).chain(numbered);
            let free = names.find(|it| !taken.contains(it));
            let free = free.expect("the numbers do not end");
            taken.insert(free.clone());
            free
        };
        ids.iter().map(label).collect()
    }

    /// Whether `label` was given to `chunk`, with its present origin or another, with as many
    /// digits as distinguished it from others then.
    pub(crate) fn gave(&self, label: &str, chunk: &Chunk) -> bool {
        let mut chunk = chunk.clone();
        chunk.origin = label_origin(label).unwrap_or(chunk.origin);
        let (word, hex) = self.id(&chunk);
        let mut parts = label.split('-');
        parts.next() == Some(&word) && parts.next().is_some_and(|digits| hex.starts_with(digits))
    }

    /// The word of the chunk's origin, and the digits.
    fn id(&self, chunk: &Chunk) -> (String, String) {
        let id = citation_id(chunk);
        let parts = [self.owner.as_str(), self.thread, &id].map(str::as_bytes);
        let hex = self.signing_key.sign("ctx label 1", &parts).to_hex();
        let (word, _) = id.split_once('-').unwrap_or((&id, ""));
        (word.to_owned(), hex.to_string())
    }
}

#[cfg(test)]
mod tests {
    use ctx_citations::is_label;
    use ctx_model::{Origin, Relevance};

    use super::*;

    fn labels(key: u8, owner: &str, thread: &str, chunks: &[Chunk]) -> Vec<String> {
        let (key, owner) = (SigningKey::new([key; 32]), OwnerId::new(owner));
        let labels = Labels {
            signing_key: &key,
            owner: &owner,
            thread,
        };
        labels.of(chunks)
    }

    fn chunk(path: &str) -> Chunk {
        Chunk::new(path, "text", Relevance::ONE).with_path(path)
    }

    #[test]
    fn a_label_is_bound_to_key_owner_and_thread() {
        let chunks = [chunk("a.rs")];
        let one = labels(1, "o", "t", &chunks);
        assert_eq!(one, labels(1, "o", "t", &chunks));
        assert_ne!(one, labels(2, "o", "t", &chunks));
        assert_ne!(one, labels(1, "p", "t", &chunks));
        assert_ne!(one, labels(1, "o", "u", &chunks));
        assert!(is_label(&one[0]), "{one:?}");
    }

    #[test]
    fn a_label_tells_the_origin() {
        for origin in [
            Origin::Reference,
            Origin::File,
            Origin::Chunk,
            Origin::Message,
        ] {
            let mut chunk = chunk("a.rs");
            chunk.origin = origin;
            let label = &labels(1, "o", "t", &[chunk])[0];
            assert_eq!(label_origin(label), Some(origin), "{label}");
        }
        assert_eq!(label_origin("file-9f2a1c"), None);
    }

    #[test]
    fn labels_are_as_long_as_tells_them_apart() {
        let chunks: Vec<Chunk> = (0..20_000).map(|n| chunk(&format!("{n}.rs"))).collect();
        let all = labels(1, "o", "t", &chunks);
        let set: BTreeSet<&String> = all.iter().collect();
        assert_eq!(set.len(), all.len());
        assert!(all[0].len() > "chu-".len() + LABEL_DIGITS, "{}", all[0]);
        assert!(all[0].starts_with(&labels(1, "o", "t", &chunks[..1])[0]));
    }

    #[test]
    fn equal_chunks_have_numbered_labels() {
        let chunks = vec![chunk("a.rs"); 3];
        let all = labels(1, "o", "t", &chunks);
        assert_eq!(all[1], format!("{}-2", all[0]));
        assert!(all.iter().all(|it| is_label(it)), "{all:?}");
    }
}
