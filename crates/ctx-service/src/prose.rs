//! Passages of prose by their sentences: what each is worth, and what may be left out of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use ctx_model::{Chunk, ChunkKind, Omitted, OmittedReason, Relevance};
use ctx_rank::{Query, chances_in_section, sentence_chances};
use ctx_resolve::{excerpts, sentences};
use ctx_retrieve::Retrieved;

/// A passage is worth at most so many sentences that are surely needed.
const MOST: f64 = 2.5;
/// Passages with at most so many lines between them, which say nothing, follow each other.
const APART: u32 = 3;

/// What weighs sentences.
#[derive(Debug)]
pub(crate) struct Prose {
    query: Arc<Query>,
    /// What each part's place in the ranking says of the chance that it is needed, whatever its length.
    places: BTreeMap<String, f64>,
    /// The lines that the question names, by their files.
    lines: BTreeMap<String, BTreeSet<u32>>,
    /// The documents that are all it asks for.
    whole: BTreeSet<String>,
    least: f64,
}

/// A passage of prose among the chunks.
struct Passage {
    chunk: usize,
    sentences: Vec<Range<usize>>,
}

impl Prose {
    /// Weighs by `query` what was `retrieved`, the best first. Sentences below `least` are left out.
    pub(crate) fn of(query: &Arc<Query>, retrieved: &Retrieved, least: f64) -> Self {
        let places = retrieved.found.iter().enumerate().map(|(index, it)| {
            let id = format!(
                "{}:{}-{}",
                it.hit.path,
                it.hit.span.start(),
                it.hit.span.end()
            );
            #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^52")]
            let rank = (index + 1) as f64;
            (id, it.score * rank.powf(-0.9))
        });
        Prose {
            query: Arc::clone(query),
            places: places.collect(),
            lines: retrieved.lines.clone(),
            whole: retrieved.whole.clone(),
            least,
        }
    }

    /// Gives passages of prose among those of `chunks` that are to be weighed the sum of the chances of their sentences for a relevance, and
    /// excerpts of the likeliest for renditions. Passages without a sentence that is likely enough are removed, and
    /// returned. What stands in no passage of prose keeps what it has: the best passage is worth what its
    /// place in the ranking says, against what is no prose. O(bytes × terms).
    pub(crate) fn weigh(
        &self,
        chunks: &mut Vec<Chunk>,
        is_weighed: impl Fn(&Chunk) -> bool,
    ) -> Vec<Chunk> {
        let runs = self.runs(chunks, is_weighed);
        let texts: Vec<Vec<&str>> = runs.iter().map(|run| texts(run, chunks)).collect();
        let chances = sentence_chances(&self.query.terms, &texts);
        let places = runs.iter().flatten();
        let best = places.map(|it| self.place(it, chunks)).fold(0.0, f64::max);
        let mut is_unlikely = vec![false; chunks.len()];
        for (run, chances) in runs.iter().zip(&chances) {
            let chances = self.in_sections(run, chances, chunks);
            let mut chances = &chances[..];
            for passage in run {
                let (own, rest) = chances.split_at(passage.sentences.len());
                chances = rest;
                let worth = own.iter().filter(|&&it| it >= self.least).sum::<f64>();
                is_unlikely[passage.chunk] = worth <= 0.0;
                let chunk = &mut chunks[passage.chunk];
                chunk.renditions = excerpts(chunk, &passage.sentences, own, self.least);
                let share = best * worth.min(MOST) / MOST;
                chunk.relevance = Relevance::new(share).unwrap_or(Relevance::ZERO);
            }
        }
        let mut is_unlikely = is_unlikely.into_iter();
        let unlikely = chunks.extract_if(.., |_| is_unlikely.next().unwrap_or(false));
        unlikely.collect()
    }

    /// The `chances` of the sentences of `run`, where what stands under one heading may be the answer as a whole.
    fn in_sections(&self, run: &[Passage], chances: &[f64], chunks: &[Chunk]) -> Vec<f64> {
        let mut chances = chances.to_vec();
        let mut rest = &mut chances[..];
        for section in run.chunk_by(|a, b| is_continued(&chunks[a.chunk], &chunks[b.chunk])) {
            let sentences = section.iter().flat_map(|it| &it.sentences);
            let lengths: Vec<usize> = sentences.map(Range::len).collect();
            let (own, after) = rest.split_at_mut(lengths.len());
            rest = after;
            // A run of lines ends where it is long enough, which says nothing of what it is about.
            if chunks[section[0].chunk].kind == ChunkKind::Section {
                let places = section.iter().map(|it| self.place(it, chunks));
                let place = places.fold(0.0, f64::max);
                own.copy_from_slice(&chances_in_section(own, &lengths, place));
            }
        }
        chances
    }

    /// What the ranking says of `passage`: 1 for the first, less for what is behind.
    fn place(&self, passage: &Passage, chunks: &[Chunk]) -> f64 {
        let place = self.places.get(&chunks[passage.chunk].id);
        place.copied().unwrap_or(0.0)
    }

    /// Whether `chunk` is of a document that is all that the question asks for.
    pub(crate) fn is_of_whole(&self, chunk: &Chunk) -> bool {
        chunk
            .path
            .as_ref()
            .is_some_and(|it| self.whole.contains(it))
    }

    /// The passages of prose, in runs that follow each other in their files. What is named by a line of it, or in a document that is
    /// all that is asked for, is wanted as it is, whatever it says; and so is all where it is asked which files there are.
    fn runs(&self, chunks: &[Chunk], is_weighed: impl Fn(&Chunk) -> bool) -> Vec<Vec<Passage>> {
        if self.query.is_of_patterns_alone() {
            return Vec::new();
        }
        let order = (0..chunks.len()).filter(|&it| is_weighed(&chunks[it]));
        let mut order: Vec<usize> = order.collect();
        order.sort_by_key(|&it| (&chunks[it].path, chunks[it].span));
        let mut runs: Vec<Vec<Passage>> = Vec::new();
        let mut end: Option<(&str, u32)> = None;
        for index in order {
            let chunk = &chunks[index];
            let Some((path, span)) = chunk.path.as_deref().zip(chunk.span) else {
                continue;
            };
            let named = self.lines.get(path);
            if self.whole.contains(path) {
                continue;
            }
            if named.is_some_and(|it| it.range(span.start()..=span.end()).next().is_some()) {
                continue;
            }
            let sentences = sentences(chunk);
            if sentences.is_empty() {
                continue;
            }
            let follows = end.is_some_and(|(before, last)| {
                before == path && span.start() > last && span.start() - last <= APART
            });
            end = Some((path, span.end()));
            let passage = Passage {
                chunk: index,
                sentences,
            };
            match runs.last_mut() {
                Some(run) if follows => run.push(passage),
                _ => runs.push(vec![passage]),
            }
        }
        runs
    }
}

/// Whether `next` is the rest of the section that `part` is of: sections that are long are in several parts, and the first
/// has the heading for its name.
fn is_continued(part: &Chunk, next: &Chunk) -> bool {
    let is_section = |it: &Chunk| it.kind == ChunkKind::Section;
    is_section(part)
        && is_section(next)
        && next.name.is_none()
        && part.qualified_name == next.qualified_name
}

/// What the receipt has of a passage that was removed.
pub(crate) fn below_min_chance(chunk: &Chunk) -> Omitted {
    Omitted::new(chunk.id.clone(), OmittedReason::BelowMinChance)
}

/// The sentences of a run.
fn texts<'c>(run: &[Passage], chunks: &'c [Chunk]) -> Vec<&'c str> {
    let of = |it: &Passage| {
        let content = &*chunks[it.chunk].content;
        it.sentences
            .iter()
            .map(|place| &content[place.clone()])
            .collect::<Vec<_>>()
    };
    run.iter().flat_map(of).collect()
}
