//! What an answer may cite, with what the question and its search say of it.

use std::collections::BTreeMap;

use ctx_citations::Cited;
use ctx_model::{BuiltContext, Chunk, LineSpan};
use ctx_rank::{Analyzer, Keywords};
use ctx_retrieve::Found;

/// What an answer to `built` may cite, each by the id of its chunk, which is its label. It was
/// assembled from `chunks`; `found` is what the search found, the best first, and `asked` are the
/// words of the question. O(bytes).
pub(crate) fn cited(
    built: &BuiltContext,
    chunks: &[Chunk],
    found: &[Found],
    asked: &Keywords,
) -> Vec<Cited> {
    let ranks = ranks(found);
    let by_id: BTreeMap<&str, &Chunk> = chunks.iter().map(|it| (it.id.as_str(), it)).collect();
    let mut analyzer = Analyzer::default();
    let mut cited = Cited::named(built, chunks, |it| it.chunk_id.clone());
    for it in &mut cited {
        let Some(chunk) = by_id.get(it.citation.chunk_id.as_str()) else {
            continue;
        };
        let location = chunk.path.as_deref().zip(chunk.span);
        it.metadata.search_rank = location.and_then(|it| ranks.get(&it).copied());
        // What is no file's was not looked for by words.
        if !chunk.matched_keywords.is_empty() {
            it.metadata.matched_keywords = asked.of_chunk(chunk, &mut analyzer);
        }
    }
    cited
}

/// The rank of each part of a file among `found`, from 1.
fn ranks(found: &[Found]) -> BTreeMap<(&str, LineSpan), u32> {
    let locations = found.iter().map(|it| (it.part.path.as_str(), it.part.span));
    locations.zip(1..).collect()
}
