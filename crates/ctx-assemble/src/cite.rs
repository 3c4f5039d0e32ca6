//! Citations: their ids stay the same as long as the cited text does.

use ctx_format::Block;
use ctx_model::{Chunk, Citation, LineSpan, Origin};
use rapidhash::{RapidHashMap, RapidHashSet};

/// The number of hexadecimal digits of a citation id: 40 bits, so that among 1,000 chunks two ids
/// coincide once in two million contexts; [`Citations`] then takes more digits.
const DIGITS: usize = 10;

/// Makes citations with unique ids.
#[derive(Debug, Default)]
pub(crate) struct Citations {
    taken: RapidHashSet<String>,
    /// How many ids were tried for each prefix and identity, the shortest first.
    tried: RapidHashMap<(&'static str, blake3::Hash), usize>,
}

/// The hashes of a cited block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hashes {
    /// The hash of its body.
    content: blake3::Hash,
    /// The hash of its source, its lines and its body.
    identity: blake3::Hash,
}

impl Hashes {
    /// The hashes of `block`, whose body has the hash `content`.
    pub(crate) fn of(block: &Block<'_>, content: blake3::Hash) -> Self {
        Hashes {
            content,
            identity: identity(block, content),
        }
    }
}

impl Citations {
    /// Makes the citation of `chunk` as shown by `block`, which has these hashes.
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
        let prefix = chunk.origin.label_prefix();
        let tried = self.tried.entry((prefix, hashes.identity)).or_default();
        loop {
            let digits = DIGITS + *tried;
            *tried += 1;
            let id = match hex.get(..digits) {
                Some(digits) => format!("{prefix}-{digits}"),
                // Two chunks of the same source, span and text can only be distinguished by a
                // number.
                None => format!("{prefix}-{hex}-{}", digits + 1 - hex.len()),
            };
            if self.taken.insert(id.clone()) {
                return id;
            }
        }
    }
}

/// The full form of a [`Citation::id`], for all of `chunk`: the word for its origin, a hyphen, and
/// 64 hexadecimal digits. If the chunk is shown in full, and no other citation begins alike, the id
/// of its citation is a prefix of this. O(bytes).
pub fn citation_id(chunk: &Chunk) -> String {
    let block = Block::full(chunk);
    let content_hash = blake3::hash(block.body.as_bytes());
    let hex = identity(&block, content_hash).to_hex();
    format!("{}-{hex}", chunk.origin.label_prefix())
}

/// Whether the id of `citation` matches its source, its lines and the hash of its text. O(bytes).
pub fn is_citation_id(citation: &Citation) -> bool {
    let span = (
        citation.start_line.unwrap_or(0),
        citation.end_line.unwrap_or(0),
    );
    let Ok(content_hash) = blake3::Hash::from_hex(&citation.content_hash) else {
        return false;
    };
    let Some((prefix, digits)) = citation.id.split_once('-') else {
        return false;
    };
    // Of two citations with the same source, lines and text, one has a number at the end.
    let digits = digits.split_once('-').map_or(digits, |(digits, _)| digits);
    let hex = identity_of(&citation.source, span, content_hash).to_hex();
    Origin::of_label_prefix(prefix).is_some() && digits.len() >= DIGITS && hex.starts_with(digits)
}

/// The hash of a source, its lines, and the text shown.
fn identity(block: &Block<'_>, content_hash: blake3::Hash) -> blake3::Hash {
    let span = block.span.map_or((0, 0), |span| (span.start(), span.end()));
    identity_of(block.title(), span, content_hash)
}

fn identity_of(source: &str, span: (u32, u32), content_hash: blake3::Hash) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"ctx citation id 1");
    // The length precedes the source, so that no two sources give the same bytes.
    hasher.update(&(source.len() as u64).to_le_bytes());
    hasher.update(source.as_bytes());
    hasher.update(&span.0.to_le_bytes());
    hasher.update(&span.1.to_le_bytes());
    hasher.update(content_hash.as_bytes());
    hasher.finalize()
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
        let hex = citation_id(&chunk);
        assert!(ids.contains(&hex) && ids.contains(&format!("{hex}-2")));
        assert!(ids.contains(&format!("{hex}-26")));
        // No id is tried twice; otherwise the search for the last of many would pass all others.
        let tried: usize = citations.tried.values().sum();
        assert_eq!(tried, 80);
    }

    #[test]
    fn the_whole_of_an_id_begins_with_it() {
        let chunk = Chunk::new("a", "text", Relevance::ONE).with_path("a.rs");
        let id = cite(&mut Citations::default(), &chunk);
        assert!(citation_id(&chunk).starts_with(&id));
        assert_eq!(citation_id(&chunk).len(), "chu-".len() + 64);
    }

    #[test]
    fn an_id_is_checked_against_what_it_stands_for() {
        let chunk = Chunk::new("a", "text", Relevance::ONE).with_path("a.rs");
        let block = Block::full(&chunk);
        let hashes = Hashes::of(&block, blake3::hash(b"text"));
        let mut citations = Citations::default();
        for number in 0..60 {
            let good = citations.cite(&chunk, &block, hashes);
            assert!(is_citation_id(&good), "{number}: {good:?}");
            let mut other = good.clone();
            other.source.push('x');
            assert!(!is_citation_id(&other));
            other = good.clone();
            other.start_line = Some(1);
            assert!(!is_citation_id(&other));
            other = good.clone();
            other.content_hash = "0".repeat(64);
            assert!(!is_citation_id(&other));
            other = good;
            other.id.insert(4, 'x');
            assert!(!is_citation_id(&other));
        }
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
