//! Keeps the chunks that did not fit into a reply, by cursor.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;

use ctx_model::{Chunk, Rendition, Warning};

use crate::fault::{Fault, echo};
use crate::sent::state_of;

/// The most cursors that are remembered; the latest stay.
const MOST: usize = 64;
/// The most bytes of all their chunks.
const BYTES: usize = 64 << 20;

/// The chunks that did not fit into several contexts.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// The remaining chunks, oldest first.
    rests: VecDeque<Rest>,
    bytes: usize,
}

/// The chunks that did not fit into one context.
#[derive(Clone, Debug)]
pub(crate) struct Rest {
    pub(crate) cursor: String,
    /// The folders that they come from; only a client that may read these gets them.
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) chunks: Vec<Chunk>,
    /// Warnings that were found for them before.
    pub(crate) warnings: Vec<Warning>,
    pub(crate) given: Given,
}

/// What the client supplied and no file can give back: for each kind, the ids of the chunks that
/// had it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    /// Chunks shown as stored, because their files differed from the beginning.
    pub(crate) stored: BTreeSet<String>,
    /// Chunks that came with renditions.
    pub(crate) renditions: BTreeSet<String>,
    /// Chunks that came with imports.
    pub(crate) imports: BTreeSet<String>,
    /// Chunks that came with relations.
    pub(crate) relations: BTreeSet<String>,
}

impl Rest {
    fn bytes(&self) -> usize {
        let given = (self.given.stored.iter())
            .chain(&self.given.renditions)
            .chain(&self.given.imports)
            .chain(&self.given.relations)
            .map(|it| it.len() + size_of::<String>());
        let warnings = self.warnings.iter().map(|it| {
            let id = it.id.as_ref().map_or(0, String::len);
            size_of::<Warning>() + id + it.code.as_str().len() + it.detail.len()
        });
        let chunks = self.chunks.iter().map(bytes_of);
        chunks.chain(given).chain(warnings).sum()
    }
}

/// About how many bytes a chunk takes.
fn bytes_of(chunk: &Chunk) -> usize {
    let optional = [
        &chunk.name,
        &chunk.qualified_name,
        &chunk.path,
        &chunk.language,
        &chunk.expanded_context,
        &chunk.summary,
        &chunk.content_hash,
    ];
    let relations = chunk.relations.iter().flat_map(|it| [&it.kind, &it.target]);
    let bytes: usize = [&chunk.id, &chunk.content]
        .into_iter()
        .chain(optional.into_iter().flatten())
        .chain(&chunk.imports)
        .chain(relations)
        .chain(chunk.matched_keywords.iter())
        .map(|it| it.len() + size_of::<String>())
        .sum();
    let renditions = chunk.renditions.iter().map(|it| {
        let lines = size_of_val(it.lines());
        size_of::<Rendition>() + it.text().len() + lines
    });
    size_of::<Chunk>() + chunk.kind.as_str().len() + bytes + renditions.sum::<usize>()
}

/// The cursor for `chunks`, which are left of the context with this digest.
pub(crate) fn cursor(digest: &str, chunks: &[Chunk]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(digest.as_bytes());
    for chunk in chunks {
        hasher.update(chunk.id.as_bytes());
        hasher.update(&[0]);
        hasher.update(&state_of(chunk));
    }
    let hash = hasher.finalize().to_hex();
    format!("{}-{}", digest.get(..12).unwrap_or(digest), &hash[..8])
}

impl Pending {
    /// Keeps `rest`, and drops the oldest ones if there are too many. Renditions, imports and
    /// relations are not kept, since they can be computed again, unless the client supplied them.
    pub(crate) fn keep(&mut self, mut rest: Rest) {
        let given = &rest.given;
        for chunk in &mut rest.chunks {
            if !given.renditions.contains(&chunk.id) {
                chunk.renditions = Vec::new();
            }
            if !given.imports.contains(&chunk.id) {
                chunk.imports = Vec::new();
            }
            if !given.relations.contains(&chunk.id) {
                chunk.relations = Vec::new();
            }
        }
        self.take(|it| it.cursor == rest.cursor && it.roots == rest.roots);
        self.bytes += rest.bytes();
        self.rests.push_back(rest);
        while self.rests.len() > MOST || (self.bytes > BYTES && self.rests.len() > 1) {
            let oldest = self.rests.pop_front();
            self.bytes -= oldest.map_or(0, |it| it.bytes());
        }
    }

    /// Returns what `cursor` stands for, for a client that reads `roots`. It is kept, since a reply
    /// may get lost.
    ///
    /// # Errors
    /// The cursor is unknown.
    pub(crate) fn get(&self, cursor: &str, roots: &[PathBuf]) -> Result<Rest, Fault> {
        let found = self
            .rests
            .iter()
            .find(|it| it.cursor == cursor && it.roots == roots);
        found.cloned().ok_or_else(|| {
            Fault::refused(
                format!(
                    "continue at cursor {}: it is not known any more",
                    echo(cursor)
                ),
                "the same call without cursor",
            )
        })
    }

    fn take(&mut self, is_it: impl Fn(&Rest) -> bool) {
        if let Some(at) = self.rests.iter().position(is_it) {
            let rest = self.rests.remove(at);
            self.bytes -= rest.map_or(0, |it| it.bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_model::{Relevance, RenditionKind};

    use super::*;

    #[test]
    fn pending_chunks_are_bounded_whichever_field_is_long() {
        let relevance = Relevance::new(0.5).unwrap();
        let long = || "x".repeat(1 << 20);
        let kind = RenditionKind::Excerpt;
        let mut pending = Pending::default();
        for number in 0..MOST {
            let id = format!("{number}");
            let mut chunk = match number % 5 {
                0 => Chunk::new(id + &long(), "", relevance),
                _ => Chunk::new(id, "", relevance),
            };
            match number % 5 {
                1 => chunk.expanded_context = Some(long()),
                2 => chunk.summary = Some(long()),
                3 => chunk.imports = vec![long(), long()],
                4 => chunk.renditions = vec![Rendition::new(kind, long(), 0.5).unwrap()],
                _ => {}
            }
            let all = BTreeSet::from([chunk.id.clone()]);
            let chunks = vec![chunk; 8];
            let cursor = number.to_string();
            pending.keep(Rest {
                cursor,
                roots: Vec::new(),
                chunks,
                warnings: Vec::new(),
                given: Given {
                    renditions: all.clone(),
                    imports: all,
                    ..Given::default()
                },
            });
        }
        assert!(
            pending.rests.len() <= BYTES / (8 << 20),
            "{}",
            pending.rests.len()
        );
        assert!(pending.get("63", &[]).is_ok() && pending.get("0", &[]).is_err());
    }
}
