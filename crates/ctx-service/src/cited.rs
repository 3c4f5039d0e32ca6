//! What an answer may cite, with what the question and its search say of it.

use std::collections::BTreeMap;

use ctx_citations::Cited;
use ctx_model::{BuiltContext, Chunk, LineSpan};
use ctx_rank::Keywords;
use ctx_retrieve::Found;

use crate::memory::Memory;

/// What an answer to `built` may cite, each by the id of its chunk, which is its label. It was
/// assembled from `chunks`; `found` is what the search found, the best first, and `asked` are the
/// words of the question. `None` once the request is cancelled. O(bytes).
pub(crate) fn cited(
    built: &BuiltContext,
    chunks: &[Chunk],
    found: &[Found],
    asked: &Keywords,
    memory: &Memory,
    is_awaited: &dyn Fn() -> bool,
) -> Option<Vec<Cited>> {
    let ranks = ranks(found);
    let by_id: BTreeMap<&str, &Chunk> = chunks.iter().map(|it| (it.id.as_str(), it)).collect();
    let mut cited = Cited::named(built, chunks, |it| it.chunk_id.clone());
    let shown = cited.iter_mut().filter_map(|it| {
        let chunk = *by_id.get(it.citation.chunk_id.as_str())?;
        Some((&mut it.metadata, chunk))
    });
    let mut shown: Vec<_> = shown.collect();
    for (metadata, chunk) in &mut shown {
        let location = chunk.path.as_deref().zip(chunk.span);
        metadata.search_rank = location.and_then(|it| ranks.get(&it).copied());
    }
    // What is no file's was not looked for by words.
    shown.retain(|(_, chunk)| !chunk.matched_keywords.is_empty());
    let texts = shown.iter().map(|(_, chunk)| chunk.full_text());
    let bags = memory.bags(texts, is_awaited)?;
    let mut analyzer = memory.analyzer();
    for ((metadata, chunk), text) in shown.into_iter().zip(bags) {
        metadata.matched_keywords = asked.of_chunk(chunk, &text, &mut analyzer);
    }
    Some(cited)
}

/// The rank of each part of a file among `found`, from 1.
fn ranks(found: &[Found]) -> BTreeMap<(&str, LineSpan), u32> {
    let locations = found.iter().map(|it| (it.part.path.as_str(), it.part.span));
    locations.zip(1..).collect()
}
