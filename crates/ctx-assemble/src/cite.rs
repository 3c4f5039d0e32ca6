//! What an answer may cite: ids that stay the same as long as what they stand for does.

use ctx_format::Block;
use ctx_model::{Chunk, Citation, LineSpan, Origin};
use rapidhash::RapidHashSet;

/// Hexadecimal digits of a citation id: 40 bits, so that among 1,000 chunks two are alike once in
/// two million contexts; [`Citations`] then takes more.
const DIGITS: usize = 10;

/// Gives out citations, each id once.
#[derive(Debug, Default)]
pub(crate) struct Citations {
    taken: RapidHashSet<String>,
}

/// What is hashed of a block that is cited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hashes {
    /// Its body.
    content: blake3::Hash,
    /// Its source, its lines, and its body.
    identity: blake3::Hash,
}

impl Hashes {
    /// Those of `block`, whose body has the hash `content`.
    pub(crate) fn of(block: &Block<'_>, content: blake3::Hash) -> Self {
        Hashes {
            content,
            identity: identity(block, content),
        }
    }
}

impl Citations {
    /// The citation of `chunk` as `block` shows it, which has these hashes.
    pub(crate) fn cite(&mut self, chunk: &Chunk, block: &Block<'_>, hashes: Hashes) -> Citation {
        Citation {
            id: self.id(chunk, hashes),
            chunk_id: chunk.id.clone(),
            source: block.title().to_owned(),
            file_path: chunk.path.clone(),
            start_line: block.span.map(LineSpan::start),
            end_line: block.span.map(LineSpan::end),
            content_hash: hashes.content.to_hex().to_string(),
        }
    }

    fn id(&mut self, chunk: &Chunk, hashes: Hashes) -> String {
        let hex = hashes.identity.to_hex();
        let prefix = prefix_of(chunk.origin);
        let digits = (DIGITS..=hex.len()).map(|digits| format!("{prefix}-{}", &hex[..digits]));
        // Two chunks of one source, span and text: nothing but a number tells them apart.
        let numbered = (2_u64..).map(|n| format!("{prefix}-{hex}-{n}"));
        let id = digits
            .chain(numbered)
            .find(|id| !self.taken.contains(id))
            .expect("the numbers do not end");
        self.taken.insert(id.clone());
        id
    }
}

/// The whole of what a [`Citation::id`] is the beginning of: the word for the chunk's origin, a hyphen, and
/// 64 hexadecimal digits. It stands for all of `chunk`: where the chunk is shown whole, and no other citation
/// begins alike, the id of its citation is a prefix of this. O(bytes).
pub fn citation_id(chunk: &Chunk) -> String {
    let block = Block::full(chunk);
    let content_hash = blake3::hash(block.body.as_bytes());
    let hex = identity(&block, content_hash).to_hex();
    format!("{}-{hex}", prefix_of(chunk.origin))
}

/// The hash of a source, its lines, and the text that is shown of it.
fn identity(block: &Block<'_>, content_hash: blake3::Hash) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"ctx citation id 1");
    let span = block.span.map_or((0, 0), |span| (span.start(), span.end()));
    // Each part is told apart by its length, so that no two sources spell the same bytes.
    hasher.update(&(block.title().len() as u64).to_le_bytes());
    hasher.update(block.title().as_bytes());
    hasher.update(&span.0.to_le_bytes());
    hasher.update(&span.1.to_le_bytes());
    hasher.update(content_hash.as_bytes());
    hasher.finalize()
}

const fn prefix_of(origin: Origin) -> &'static str {
    match origin {
        Origin::Reference => "ref",
        Origin::File => "fil",
        Origin::Chunk => "chu",
        Origin::Message => "mes",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use ctx_model::Relevance;

    fn cite(citations: &mut Citations, chunk: &Chunk) -> String {
        let block = Block::full(chunk);
        let hashes = Hashes::of(&block, blake3::hash(chunk.content.as_bytes()));
        citations.cite(chunk, &block, hashes).id
    }

    #[test]
    fn equal_chunks_get_different_ids() {
        let chunk = Chunk::new("a", "text", Relevance::ONE).with_path("a.rs");
        let mut citations = Citations::default();
        let ids: BTreeSet<String> = (0..80).map(|_| cite(&mut citations, &chunk)).collect();
        assert_eq!(ids.len(), 80);
    }

    #[test]
    fn the_whole_of_an_id_begins_with_it() {
        let chunk = Chunk::new("a", "text", Relevance::ONE).with_path("a.rs");
        let id = cite(&mut Citations::default(), &chunk);
        assert!(citation_id(&chunk).starts_with(&id));
        assert_eq!(citation_id(&chunk).len(), "chu-".len() + 64);
    }

    #[test]
    fn an_id_stands_for_source_lines_and_text() {
        let id = |path: &str, text: &str| {
            let chunk = Chunk::new("a", text, Relevance::ONE).with_path(path);
            cite(&mut Citations::default(), &chunk)
        };
        assert_eq!(id("a.rs", "x"), id("a.rs", "x"));
        assert_ne!(id("a.rs", "x"), id("a.rs", "y"));
        assert_ne!(id("a.rs", "x"), id("b.rs", "x"));
        assert!(id("a.rs", "x").starts_with("chu-"));
    }
}
