//! Which lines of parts a context shows.

use std::collections::BTreeMap;

use ctx::model::{BuiltContext, Chunk, Included, LineSpan, OmittedReason, RenditionKind};

/// A context, by the ids of the chunks it was built from.
pub(crate) struct Visible<'a> {
    chunks: BTreeMap<&'a str, &'a Chunk>,
    included: BTreeMap<&'a str, &'a Included>,
    /// The hashes of what is shown, by citation.
    hashes: BTreeMap<&'a str, &'a str>,
    /// The chunks that stand for others, and whether they have all of these.
    others: BTreeMap<&'a str, (&'a str, bool)>,
}

impl<'a> Visible<'a> {
    /// O(chunks × log chunks).
    pub(crate) fn of(built: &'a BuiltContext, chunks: &'a [Chunk]) -> Self {
        let citations = built.citations.iter();
        let other = |it: &'a ctx::model::Omitted| {
            let is_whole = match it.reason {
                OmittedReason::MergedInto => true,
                OmittedReason::DuplicateOf | OmittedReason::NearDuplicateOf => false,
                _ => return None,
            };
            Some((&*it.id, (it.other.as_deref()?, is_whole)))
        };
        Visible {
            chunks: chunks.iter().map(|it| (&*it.id, it)).collect(),
            included: built.included.iter().map(|it| (&*it.id, it)).collect(),
            hashes: citations.map(|it| (&*it.id, &*it.content_hash)).collect(),
            others: built.omitted.iter().filter_map(other).collect(),
        }
    }

    /// Whether line `number` of its file, which chunk `id` has, is shown. O(bytes of what the chunk
    /// can be shown as).
    pub(crate) fn has_line(&self, id: &str, number: u32) -> bool {
        let Some(&chunk) = self.chunks.get(id) else {
            return false;
        };
        let first = chunk.span.map_or(1, LineSpan::start);
        let index = number.saturating_sub(first) as usize;
        let Some(line) = chunk.full_text().lines().nth(index) else {
            return false;
        };
        match (self.included.get(id), self.others.get(id)) {
            (Some(included), _) => self.shows(chunk, included, Some(number), line),
            (None, Some((_, true))) => true,
            // What says nearly the same may lack this line.
            (None, Some((other, false))) => {
                let other = self.chunks.get(other).zip(self.included.get(other));
                other.is_some_and(|(chunk, included)| self.shows(chunk, included, None, line))
            }
            (None, None) => false,
        }
    }

    /// Whether what is `included` of `chunk` has the line called `number`, or one that is equal to
    /// `line` where there is none.
    fn shows(&self, chunk: &Chunk, included: &Included, number: Option<u32>, line: &str) -> bool {
        let hash = self.hashes.get(&*included.citation);
        let is_it = |text: &str| {
            hash.is_some_and(|it| *it == blake3::hash(text.as_bytes()).to_hex().as_str())
        };
        let has = |text: &str| text.lines().any(|it| it.trim() == line.trim());
        let rendition = chunk.renditions.iter().find(|it| is_it(it.text()));
        match (rendition, number) {
            _ if is_it(chunk.full_text()) => number.is_some() || has(chunk.full_text()),
            (Some(it), Some(number)) if !it.lines().is_empty() => {
                it.lines().contains(&Some(number)) && has(it.text())
            }
            (Some(it), _) => has(it.text()),
            // It was merged with others, and is there in full.
            (None, Some(_)) => included.rendition == RenditionKind::Full,
            (None, None) => has(chunk.full_text()),
        }
    }
}
