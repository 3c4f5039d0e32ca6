//! The chunks of what was gathered, and what is noted as they are read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ctx_citations::label_origin;
use ctx_model::{Chunk, LineSpan, Origin, Relevance, UnixSeconds, Warning};
use ctx_rank::{Analyzer, Query};
use ctx_resolve::{Resolved, Resolver, file_kind};
use ctx_retrieve::Found;

use super::{Facts, UnreadFiles};
use crate::gather::{Named, NamedPart, Recalled, Unresolved};
use crate::prose::{Prose, below_min_chance};
use crate::service::{chunk_kind, chunks_of};

/// The prefix of the ids of recalled chunks, until they get their labels.
pub(super) const RECALLED: &str = "recalled ";

/// The chunks that the search found, each dated by its file.
pub(super) fn found_chunks(query: &Query, found: &[Found]) -> Vec<Chunk> {
    let modified: BTreeMap<&str, UnixSeconds> = found
        .iter()
        .filter_map(|it| Some((it.part.path.as_str(), it.part.modified_at?)))
        .collect();
    let mut chunks = chunks_of(query, found);
    for chunk in &mut chunks {
        let at = chunk.path.as_deref().and_then(|path| modified.get(path));
        chunk.created_at = at.map(|it| it.as_millis());
    }
    chunks
}

/// The parts of files that earlier contexts showed and that are named. Such a part is wanted
/// whatever its words.
pub(super) struct RecalledParts<'g>(BTreeSet<(&'g str, LineSpan)>);

impl<'g> RecalledParts<'g> {
    pub(super) fn of(recalled: &'g [Recalled]) -> Self {
        let parts = recalled.iter();
        let parts = parts.map(|it| (it.part.path.as_str(), it.part.lines));
        RecalledParts(parts.collect())
    }

    pub(super) fn contain(&self, chunk: &Chunk) -> bool {
        let location = chunk.path.as_deref().zip(chunk.span);
        location.is_some_and(|it| self.0.contains(&it))
    }
}

/// Weighs those chunks of `read` that the search found, and removes the unlikely ones. Returns the
/// chance of each remaining one, by id.
pub(super) fn weigh(
    prose: &Prose,
    read: &mut Resolved,
    found: &BTreeSet<String>,
    analyzer: &mut Analyzer,
) -> BTreeMap<String, Facts> {
    let is_found = |it: &Chunk| found.contains(&it.id);
    let unlikely = prose.weigh(&mut read.chunks, is_found, analyzer);
    read.omitted.extend(unlikely.iter().map(below_min_chance));
    let of_search = read.chunks.iter().filter(|it| is_found(it));
    let facts = of_search.map(|it| {
        let chance = it.relevance.get();
        let facts = Facts {
            chance,
            ..Facts::default()
        };
        (it.id.clone(), facts)
    });
    facts.collect()
}

/// The chunks of the named parts.
#[derive(Default)]
pub(super) struct NamedChunks {
    pub(super) chunks: Vec<Chunk>,
    /// The references that have none.
    pub(super) unresolved: Vec<Unresolved>,
    /// The hashes of the files of which lines are named.
    pub(super) clipped: Vec<(String, [u8; 32])>,
    /// The files whose lines could not be counted.
    pub(super) unread: UnreadFiles,
}

/// If the request is cancelled, the remaining parts are not read.
pub(super) fn named_chunks(
    named: &Named,
    resolver: &Resolver,
    keywords: &Arc<[String]>,
) -> NamedChunks {
    let mut all = NamedChunks {
        unresolved: named.unresolved.clone(),
        ..NamedChunks::default()
    };
    for part in &named.parts {
        if !resolver.is_awaited() {
            break;
        }
        match named_chunk(part, resolver, keywords, &mut all) {
            Ok(chunk) => all.chunks.push(chunk),
            Err(why) => all.unresolved.push(Unresolved::new(&part.reference, why)),
        }
    }
    all
}

/// The chunk of a named part, with its lines limited to those of the file. Notes in `all` the hash
/// of the text that these were counted in, or that the file cannot be read.
fn named_chunk(
    part: &NamedPart,
    resolver: &Resolver,
    keywords: &Arc<[String]>,
    all: &mut NamedChunks,
) -> Result<Chunk, String> {
    let span = match part.lines {
        Some(wanted) => {
            let text = resolver.sources().text(&part.path);
            let text = text.map_err(|error| {
                all.unread.paths.insert(part.path.clone());
                let transient = error.is_transient().then(|| part.path.clone());
                all.unread.transient.extend(transient);
                error.to_string()
            })?;
            all.clipped.push((part.path.clone(), *text.unmasked_hash()));
            Some(within(wanted, &part.path, text.lines().count())?)
        }
        None => None,
    };
    let id = match span {
        Some(span) => format!("reference {}:{span}", part.path),
        None => format!("reference {}", part.path),
    };
    let mut chunk = Chunk::new(id, "", Relevance::ONE)
        .with_path(part.path.clone())
        .with_kind(file_kind(&part.path, None))
        .with_pin();
    chunk.span = span;
    chunk.origin = Origin::Reference;
    chunk.matched_keywords = Arc::clone(keywords);
    if let Some(hit) = &part.hit {
        chunk.kind = chunk_kind(hit);
        chunk.name.clone_from(&hit.name);
        chunk.qualified_name.clone_from(&hit.qualified_name);
        chunk.language.clone_from(&hit.language);
    }
    Ok(chunk)
}

/// The lines of `wanted` that exist in the file at `path`, which has `count` lines.
fn within(wanted: LineSpan, path: &str, count: u32) -> Result<LineSpan, String> {
    LineSpan::new(wanted.start(), wanted.end().min(count))
        .map_err(|_| format!("{path} has {count} lines"))
}

/// The chunk that a label was given to, at the lines where it was shown then.
pub(super) fn recalled_chunk(recalled: &Recalled, keywords: &Arc<[String]>) -> Chunk {
    let Recalled { label, part } = recalled;
    let mut chunk = Chunk::new(format!("{RECALLED}{label}"), "", Relevance::ONE)
        .with_path(part.path.clone())
        .with_kind(file_kind(&part.path, None))
        .with_span(part.lines);
    chunk.origin = label_origin(label).unwrap_or_default();
    chunk.matched_keywords = Arc::clone(keywords);
    chunk
}

/// Removes recently shown files that can no longer be read, and gives the others their keywords.
pub(super) fn read_recent(
    recent: &[(String, UnixSeconds)],
    read: &mut Resolved,
    keywords: &Arc<[String]>,
) {
    let recent = recent.iter().map(|(path, _)| recent_id(path));
    let recent: BTreeSet<String> = recent.collect();
    forget_gone(read, &recent);
    for chunk in &mut read.chunks {
        if recent.contains(&chunk.id) {
            chunk.matched_keywords = Arc::clone(keywords);
        }
    }
}

/// Adds the hashes of the files of which lines are named. Those of files that changed in between
/// become all zeros, which no text has.
pub(super) fn note_clipped(
    clipped: Vec<(String, [u8; 32])>,
    files: &mut BTreeMap<String, [u8; 32]>,
) {
    for (path, hash) in clipped {
        if files.get(&path) != Some(&hash) {
            files.insert(path, [0; 32]);
        }
    }
}

/// Removes recently shown files that can no longer be read, as nobody asked for them.
fn forget_gone(read: &mut Resolved, recent: &BTreeSet<String>) {
    let gone = read.omitted.extract_if(.., |it| recent.contains(&it.id));
    let gone: BTreeSet<String> = gone.map(|it| it.id).collect();
    let is_gone = |it: &Warning| it.id.as_ref().is_some_and(|it| gone.contains(it));
    read.warnings.retain(|it| !is_gone(it));
}

fn recent_id(path: &str) -> String {
    format!("recent {path}")
}

/// A chunk of a whole file that was shown recently, dated by that time. It has no keywords while it
/// is read, and so no excerpts: what the file has about the question is found as parts of it.
pub(super) fn recent_chunk((path, at): &(String, UnixSeconds)) -> Chunk {
    let mut chunk = Chunk::new(recent_id(path), "", Relevance::ZERO)
        .with_path(path.clone())
        .with_kind(file_kind(path, None));
    chunk.origin = Origin::File;
    chunk.created_at = Some(at.as_millis());
    chunk
}
