//! Weighs passages of prose by their sentences, and decides which sentences may be left out.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use ctx_model::{Chunk, ChunkKind, Omitted, OmittedReason, Relevance};
use ctx_rank::{Analyzer, Intent, Query, Role, chances_in_section, sentence_chances};
use ctx_resolve::{excerpts, sentences};
use ctx_retrieve::Retrieved;

use crate::verbatim::Asked;

/// The most that a passage is worth, in sentences that are certainly needed.
const MOST: f64 = 2.5;
/// Passages separated by at most this many lines, which have no content, are consecutive.
const APART: u32 = 3;

/// Weighs sentences.
#[derive(Debug)]
pub(crate) struct Prose {
    query: Arc<Query>,
    /// For each part, the chance that it is needed given its rank, regardless of its length.
    evidence: BTreeMap<String, f64>,
    /// The lines that the question names, by file.
    lines: BTreeMap<String, BTreeSet<u32>>,
    /// The documents that the question asks for as a whole.
    whole: BTreeSet<String>,
    least: f64,
}

/// A passage of prose among the chunks.
struct Passage {
    chunk: usize,
    sentences: Vec<Range<usize>>,
}

impl Prose {
    /// Weighs the `retrieved` parts, of which the best comes first, for `query`. Sentences with a
    /// chance below `least` are left out.
    pub(crate) fn of(query: &Arc<Query>, retrieved: &Retrieved, least: f64) -> Self {
        let evidence = retrieved.found.iter().enumerate().map(|(index, it)| {
            let id = format!(
                "{}:{}-{}",
                it.part.path,
                it.part.span.start(),
                it.part.span.end()
            );
            #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^52")]
            let rank = (index + 1) as f64;
            (id, it.score * rank.powf(-0.9))
        });
        Prose {
            query: Arc::clone(query),
            evidence: evidence.collect(),
            lines: retrieved.lines.clone(),
            whole: retrieved.whole.clone(),
            least,
        }
    }

    /// Sets the relevance of those passages of prose in `chunks` that `is_weighed` selects to the
    /// sum of the chances of their sentences, and their renditions to excerpts of the likeliest
    /// ones. Passages without a sentence that is likely enough are removed and returned. All other
    /// chunks keep their relevance; in comparison to these the best passage is worth what its rank
    /// gives. So is the best of a changelog, unless the question asks about changes: its sentences
    /// mention everything, and would be worth as much as those of the documentation.
    /// O(bytes × terms).
    pub(crate) fn weigh(
        &self,
        chunks: &mut Vec<Chunk>,
        is_weighed: impl Fn(&Chunk) -> bool,
        analyzer: &mut Analyzer,
    ) -> Vec<Chunk> {
        let runs = self.runs(chunks, is_weighed);
        let asked = Asked::of(&self.query);
        let texts = runs.iter().map(|run| texts(run, chunks, &asked));
        let texts: Vec<Vec<Cow<'_, str>>> = texts.collect();
        let chances = sentence_chances(&self.query.terms, &texts, analyzer);
        // A run is of one file.
        let is_aside = |run: &Vec<Passage>| self.is_aside(&chunks[run[0].chunk]);
        let groups: Vec<usize> = runs.iter().map(|it| usize::from(is_aside(it))).collect();
        let mut best = [0.0; 2];
        for (run, &group) in runs.iter().zip(&groups) {
            let evidence = run.iter().map(|it| self.evidence(it, chunks));
            best[group] = evidence.fold(best[group], f64::max);
        }
        let mut is_unlikely = vec![false; chunks.len()];
        for ((run, chances), group) in runs.iter().zip(&chances).zip(groups) {
            let chances = self.in_sections(run, chances, chunks);
            let mut chances = &chances[..];
            for passage in run {
                let (own, rest) = chances.split_at(passage.sentences.len());
                chances = rest;
                let worth = own.iter().filter(|&&it| it >= self.least).sum::<f64>();
                is_unlikely[passage.chunk] = worth <= 0.0;
                let chunk = &mut chunks[passage.chunk];
                chunk.renditions = excerpts(chunk, &passage.sentences, own, self.least);
                let share = best[group] * worth.min(MOST) / MOST;
                chunk.relevance = Relevance::new(share).unwrap_or(Relevance::ZERO);
            }
        }
        let mut is_unlikely = is_unlikely.into_iter();
        let unlikely = chunks.extract_if(.., |_| is_unlikely.next().unwrap_or(false));
        unlikely.collect()
    }

    /// The `chances` of the sentences of `run`, adjusted for sections, which may be the answer as a
    /// whole.
    fn in_sections(&self, run: &[Passage], chances: &[f64], chunks: &[Chunk]) -> Vec<f64> {
        let mut chances = chances.to_vec();
        let mut rest = &mut chances[..];
        for section in run.chunk_by(|a, b| is_continued(&chunks[a.chunk], &chunks[b.chunk])) {
            let sentences = section.iter().flat_map(|it| &it.sentences);
            let lengths: Vec<usize> = sentences.map(Range::len).collect();
            let (own, after) = rest.split_at_mut(lengths.len());
            rest = after;
            // A run of lines ends where it is long enough, so it is no unit of meaning.
            if chunks[section[0].chunk].kind == ChunkKind::Section {
                let evidence = section.iter().map(|it| self.evidence(it, chunks));
                let evidence = evidence.fold(0.0, f64::max);
                own.copy_from_slice(&chances_in_section(own, &lengths, evidence));
            }
        }
        chances
    }

    /// The value of the rank of `passage`: 1 for the first, less for later ones.
    fn evidence(&self, passage: &Passage, chunks: &[Chunk]) -> f64 {
        let evidence = self.evidence.get(&chunks[passage.chunk].id);
        evidence.copied().unwrap_or(0.0)
    }

    /// Whether `chunk` is of a changelog, which the question does not ask for.
    fn is_aside(&self, chunk: &Chunk) -> bool {
        let path = chunk.path.as_deref();
        path.is_some_and(Role::is_of_changes) && !self.query.asks_for(Intent::Changes)
    }

    /// Whether `chunk` is of a document that the question asks for as a whole.
    pub(crate) fn is_of_whole(&self, chunk: &Chunk) -> bool {
        chunk
            .path
            .as_ref()
            .is_some_and(|it| self.whole.contains(it))
    }

    /// The passages of prose, grouped into runs that are consecutive in their files. Not among
    /// them, since they are wanted whatever they say: passages with a named line, those of
    /// documents asked for as a whole, and all if the question asks which files there are.
    fn runs(&self, chunks: &[Chunk], is_weighed: impl Fn(&Chunk) -> bool) -> Vec<Vec<Passage>> {
        if self.query.asks_for(Intent::Patterns) {
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

/// Whether `next` continues the section of `part`: long sections are split into several parts, of
/// which only the first has the heading as its name.
fn is_continued(part: &Chunk, next: &Chunk) -> bool {
    let is_section = |it: &Chunk| it.kind == ChunkKind::Section;
    is_section(part)
        && is_section(next)
        && next.name.is_none()
        && part.qualified_name == next.qualified_name
}

/// The receipt's entry for a passage that was removed.
pub(crate) fn below_min_chance(chunk: &Chunk) -> Omitted {
    Omitted::new(chunk.id.clone(), OmittedReason::BelowMinChance)
}

/// The sentences of a run, without examples of what is `asked`.
fn texts<'c>(run: &[Passage], chunks: &'c [Chunk], asked: &Asked) -> Vec<Cow<'c, str>> {
    let of = |it: &Passage| {
        let content = &*chunks[it.chunk].content;
        let sentences = it.sentences.iter();
        let texts = sentences.map(|bytes| asked.without_examples(&content[bytes.clone()]));
        texts.collect::<Vec<_>>()
    };
    run.iter().flat_map(of).collect()
}
