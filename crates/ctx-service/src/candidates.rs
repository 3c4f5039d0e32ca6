//! The candidates of a prime context: where each is from, its text, and its relevance.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ctx_citations::label_origin;
use ctx_model::{
    Chunk, Included, LineSpan, Omitted, OmittedReason, Origin, Relevance, Rendition, RenditionKind,
    UnixSeconds, Warning, WarningCode,
};
use ctx_rank::{
    Analyzer, Bag, Contribution, Corpus, Profile, Query, Signals, Vector, chunk_names, recency_at,
    source_priority, usage_frequency, weighted_keyword_match,
};
use ctx_resolve::{Resolved, Resolver, file_kind};
use ctx_retrieve::{Found, Message, PortError};

use crate::beside::{has_lost, take_out_named};
use crate::gather::{Named, NamedPart, Recalled, Required, Unresolved};
use crate::history::{beginning, exchanges, ids_of_exchanges, name_turns};
use crate::label::Labels;
use crate::mention::Mentioned;
use crate::prose::{Prose, below_min_chance};
use crate::service::{chunk_kind, chunks_of, each_location_once, keywords};
use crate::verbatim;

/// A part that the search gives a chance of 10 to the power of minus this is as similar to the
/// question as one that it did not find.
const DECADES: f64 = 4.0;

/// The information of a rendition that must not be preferred to the full text.
const LEAST_KEPT: f64 = 0.01;

/// The prefix of the ids of recalled chunks, until they get their labels.
const RECALLED: &str = "recalled ";

/// Everything gathered for one question.
#[derive(Debug)]
pub(crate) struct Gathered {
    pub(crate) named: Named,
    /// The parts of files that labels of earlier contexts refer to.
    pub(crate) recalled: Vec<Recalled>,
    /// The references in the message, the request and the pins, some of which are ids.
    pub(crate) mentioned: Mentioned,
    /// Required references that could not be looked up for a transient reason, with that reason.
    pub(crate) unavailable: BTreeMap<String, PortError>,
    pub(crate) found: Vec<Found>,
    /// Weighs the parts found.
    pub(crate) prose: Prose,
    /// The lines that the question names, by file.
    pub(crate) lines: BTreeMap<String, BTreeSet<u32>>,
    /// What the search skipped.
    pub(crate) warnings: Vec<Warning>,
    pub(crate) history: Vec<Message>,
    pub(crate) recent: Vec<(String, UnixSeconds)>,
    /// How often files were useful, if known.
    pub(crate) uses: Option<BTreeMap<String, u64>>,
}

/// The chunks that may be shown, with their labels as ids.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) omitted: Vec<Omitted>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) unresolved: Vec<Unresolved>,
    /// The hashes of the texts of the files that were read.
    pub(crate) files: BTreeMap<String, [u8; 32]>,
    /// The files that could not be read: they may be another time.
    pub(crate) unread: BTreeSet<String>,
    /// Those of them that could not be read for a transient reason.
    away: BTreeSet<String>,
    /// Labels of earlier contexts with the ids of the chunks they refer to, if these still have the
    /// same text.
    recalled: BTreeMap<String, String>,
    /// The ids of the messages of each exchange, by the id of its chunk.
    pub(crate) said: BTreeMap<String, Vec<String>>,
    /// The chance that the search gives each chunk, 0..=1, by id.
    chances: BTreeMap<String, f64>,
    /// The ids of chunks named by their label, or by the id of a message.
    pub(crate) called: BTreeSet<String>,
    /// The ids of removed chunks, each with the id of the chunk that contains it.
    pub(crate) held: BTreeMap<String, String>,
    /// The ids of chunks that nobody named, and that are pinned because they contain others.
    pub(crate) holding: BTreeSet<String>,
    /// The chunks without lines that a named chunk has too.
    cut: Vec<Cut>,
    /// The ids of chunks that got such lines back, each with its new id and lines.
    pub(crate) renamed: BTreeMap<String, (String, Option<LineSpan>)>,
}

/// A chunk without lines that a named chunk has too.
#[derive(Debug)]
struct Cut {
    /// The id of the chunk without them.
    id: String,
    /// The chunk with them. Its label differs, as it depends on the lines.
    whole: Chunk,
}

/// The inputs of scoring.
pub(crate) struct Scoring<'s> {
    /// The question, as text and as analysed.
    pub(crate) asked: &'s str,
    pub(crate) query: &'s Query,
    /// The weights of the signals.
    pub(crate) profile: &'s Profile,
    pub(crate) now: UnixSeconds,
    /// Whether the message belongs to a thread.
    pub(crate) is_in_thread: bool,
}

impl Candidates {
    /// Reads what was gathered: each part of a file once, whichever source gave it, where named
    /// parts precede found ones and these recently shown ones. Found parts are weighed as in every
    /// search, prose by sentences. Labels are given after reading, because they depend on the text.
    /// If the request is cancelled, the rest is not read.
    pub(crate) fn read(
        gathered: &Gathered,
        query: &Query,
        asked: &str,
        resolver: &Resolver,
        labels: &Labels<'_>,
    ) -> Self {
        resolver.sources().prepare(&gathered.paths());
        let keywords = keywords(query);
        let NamedChunks {
            mut chunks,
            unresolved,
            clipped,
            mut unread,
            mut away,
        } = named_chunks(&gathered.named, resolver, &keywords);
        let found = found_chunks(query, &gathered.found);
        let recalled = RecalledParts::of(&gathered.recalled);
        let weighed = found.iter().filter(|it| !recalled.contain(it));
        let weighed: BTreeSet<String> = weighed.map(|it| it.id.clone()).collect();
        chunks.extend(found);
        chunks.extend(gathered.recent.iter().map(recent_chunk));
        let of_labels = gathered.recalled.iter();
        chunks.extend(of_labels.map(|it| recalled_chunk(it, &keywords)));
        let mut seen = BTreeSet::new();
        chunks.retain(|it| seen.insert((it.path.clone(), it.span)));
        let stood = chunks.iter().map(|it| (it.id.clone(), it.span));
        let stood: BTreeMap<String, Option<LineSpan>> = stood.collect();
        let paths = chunks.iter();
        let paths = paths.filter_map(|it| Some((it.id.clone(), it.path.clone()?)));
        let paths: BTreeMap<String, String> = paths.collect();
        let mut read = resolver.resolve(chunks);
        away.append(&mut read.away);
        let chances = weigh(&gathered.prose, &mut read, &weighed);
        read_recent(&gathered.recent, &mut read, &keywords);
        let is_unread = |it: &&Omitted| it.reason == OmittedReason::Unreadable;
        let left_out = read.omitted.iter().filter(is_unread);
        unread.extend(left_out.filter_map(|it| paths.get(&it.id).cloned()));
        note_clipped(clipped, &mut read.files);
        let mut candidates = Candidates {
            chunks: read.chunks,
            omitted: read.omitted,
            warnings: read.warnings,
            unresolved,
            files: read.files,
            unread,
            away,
            chances,
            ..Candidates::default()
        };
        let again = each_location_once(&mut candidates.chunks);
        candidates.account_for(again, &stood);
        candidates.take_out_named(&recalled);
        let (messages, masked) = exchanges(&gathered.history, asked);
        candidates.chunks.extend(messages);
        candidates.warnings.extend(masked);
        candidates
            .warnings
            .extend(gathered.warnings.iter().cloned());
        candidates.label_and_recall(&gathered.recalled, labels);
        candidates.unresolved.sort_unstable();
        candidates.unresolved.dedup();
        candidates
    }

    /// Takes the lines of named chunks out of others. A part that a label refers to keeps its
    /// lines, as the label depends on them.
    fn take_out_named(&mut self, recalled: &RecalledParts<'_>) {
        let cut = take_out_named(&mut self.chunks, |it| recalled.contain(it));
        let cut = cut.into_iter().map(|whole| Cut {
            id: whole.id.clone(),
            whole,
        });
        self.cut = cut.collect();
    }

    /// Labels all chunks. Of the parts that labels of earlier contexts refer to, removes those
    /// whose text has changed: they are no longer the ones that the labels were given to.
    fn label_and_recall(&mut self, recalled: &[Recalled], labels: &Labels<'_>) {
        let is_recalled = |it: &Chunk| it.id.starts_with(RECALLED);
        let is_recalled: Vec<bool> = self.chunks.iter().map(is_recalled).collect();
        self.label(labels);
        for it in recalled {
            let is_it = |chunk: &&Chunk| {
                let lines = (chunk.path.as_deref(), chunk.span);
                lines == (Some(&it.part.path), Some(it.part.lines)) && labels.gave(&it.label, chunk)
            };
            if let Some(chunk) = self.chunks.iter().find(is_it) {
                let (label, id) = (it.label.clone(), chunk.id.clone());
                self.recalled.insert(label, id);
            }
        }
        let mut is_recalled = is_recalled.into_iter();
        let ids: BTreeSet<&String> = self.recalled.values().collect();
        self.chunks
            .retain(|it| !is_recalled.next().unwrap_or(false) || ids.contains(&it.id));
    }

    /// Accounts for `again`, chunks removed because another one has the same location: the other
    /// one gets the greater chance of both. A removed chunk is reported only if the two `stood` in
    /// different locations before they were read.
    fn account_for(&mut self, mut again: Vec<Omitted>, stood: &BTreeMap<String, Option<LineSpan>>) {
        // A label that is not kept up to now names nothing.
        again.retain(|it| !it.id.starts_with(RECALLED));
        for (id, other) in again
            .iter()
            .filter_map(|it| Some((&it.id, it.other.as_ref()?)))
        {
            let chance = self.chances.remove(id).unwrap_or(0.0);
            let of_both = self.chances.entry(other.clone()).or_insert(0.0);
            *of_both = of_both.max(chance);
        }
        again.retain(|it| {
            let at = |id: &str| stood.get(id).copied().flatten();
            let other = it.other.as_deref().and_then(at);
            other.is_some_and(|other| at(&it.id).is_some_and(|it| it != other))
        });
        self.omitted.extend(again);
    }

    /// Replaces the id of each chunk by its label, and puts turns in order.
    fn label(&mut self, labels: &Labels<'_>) {
        let wholes = self.cut.iter().map(|it| &it.whole);
        let mut names = labels.of(self.chunks.iter().chain(wholes));
        let of_wholes = names.split_off(self.chunks.len());
        for (cut, label) in self.cut.iter_mut().zip(of_wholes) {
            cut.whole.id = label;
        }
        let mut by_id: BTreeMap<String, String> = BTreeMap::new();
        for (chunk, label) in self.chunks.iter_mut().zip(names) {
            let id = std::mem::replace(&mut chunk.id, label.clone());
            if let Some(chance) = self.chances.remove(&id) {
                self.chances.insert(label.clone(), chance);
            }
            by_id.insert(id, label);
        }
        for cut in &mut self.cut {
            if let Some(label) = by_id.get(&cut.id) {
                cut.id.clone_from(label);
            }
        }
        for other in self.omitted.iter_mut().filter_map(|it| it.other.as_mut()) {
            if let Some(label) = by_id.get(other) {
                other.clone_from(label);
            }
        }
        for warning in &mut self.warnings {
            if let Some(label) = warning.id.as_ref().and_then(|id| by_id.get(id)) {
                warning.id = Some(label.clone());
            }
        }
    }

    /// The text of each chunk, in order.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.chunks.iter().map(Chunk::full_text)
    }

    /// Sets the relevance of each chunk to the weighted mean of its signals, and returns the
    /// signals. Named chunks get relevance 1, and chunks that contain a quotation of the question
    /// as much as the best of the rest. `bags` are those of [`Candidates::texts`].
    ///
    /// If the request is cancelled, the remaining texts are not searched for quotations. O(terms of
    /// the texts).
    pub(crate) fn score(
        &mut self,
        bags: Vec<Arc<Bag>>,
        scoring: &Scoring<'_>,
        gathered: &Gathered,
        is_awaited: &dyn Fn() -> bool,
    ) -> BTreeMap<String, [Contribution; 5]> {
        let (corpus, texts) = Corpus::with_vectors(bags);
        let rater = Rater::new(&corpus, scoring, gathered.uses.as_ref());
        let ids = self.named_ids(gathered);
        let mut unlike = BTreeSet::new();
        let (mut signals_of, mut analyzer) = (BTreeMap::new(), Analyzer::default());
        for (chunk, text) in self.chunks.iter_mut().zip(texts) {
            let chance = self.chances.get(&chunk.id).copied().unwrap_or(0.0);
            let signals = rater.signals(chunk, &text, chance, &mut analyzer);
            let score = scoring.profile.score(&signals);
            let is_named = chunk.origin == Origin::Reference || ids.contains(&chunk.id);
            chunk.relevance = if is_named {
                Relevance::ONE
            } else {
                Relevance::new(score.total).unwrap_or(Relevance::ZERO)
            };
            let has_keywords = signals.keyword_match.is_some_and(|it| it > 0.0);
            let is_like = is_named || signals.text_similarity > 0.0 || has_keywords;
            if scoring.is_in_thread && chunk.origin == Origin::File {
                remove_mention(chunk);
                unlike.extend((!is_like).then(|| chunk.id.clone()));
            }
            signals_of.insert(chunk.id.clone(), score.contributions);
        }
        self.chunks.retain(|it| !unlike.contains(&it.id));
        let is_left = |id: &String| !unlike.contains(id);
        self.warnings
            .retain(|it| it.id.as_ref().is_none_or(is_left));
        self.raise(scoring.query, is_awaited);
        self.pin(&ids);
        self.called = ids;
        let mut ids = ids_of_exchanges(&gathered.history);
        let is_message = |it: &&mut Chunk| it.origin == Origin::Message;
        for chunk in self.chunks.iter_mut().filter(is_message) {
            let its = chunk.name.as_deref().and_then(|first| ids.remove(first));
            self.said.extend(its.map(|its| (chunk.id.clone(), its)));
        }
        let messages = self.chunks.iter_mut().filter(is_message);
        name_turns(messages, &gathered.history);
        signals_of
    }

    /// Raises chunks that contain what the question quotes to the relevance of the best chunk that
    /// is not named.
    fn raise(&mut self, query: &Query, is_awaited: &dyn Fn() -> bool) {
        let worths = self.chunks.iter().map(|it| it.relevance);
        let best = worths.filter(|it| *it < Relevance::ONE).max();
        let best = best.unwrap_or(Relevance::ZERO);
        verbatim::raise(query, best, &mut self.chunks, is_awaited);
    }

    /// Gives lines back to the chunks that lack them because a named chunk has them too, if the
    /// context does not show them in full: a named chunk may itself be shown in part. Pinned chunks
    /// stay as they are, since they would need more room. Returns whether a chunk has changed. Each
    /// changes once, so this ends. O(lines of these chunks × chunks shown).
    pub(crate) fn put_back(&mut self, included: &[Included]) -> bool {
        let full = included.iter();
        let full = full.filter(|it| it.rendition == RenditionKind::Full);
        let full: Vec<(Option<&String>, LineSpan)> = full
            .filter_map(|it| {
                let span = LineSpan::new(it.start_line?, it.end_line?).ok()?;
                Some((it.file_path.as_ref(), span))
            })
            .collect();
        let mut has_changed = false;
        let chunks = &mut self.chunks;
        let renamed = &mut self.renamed;
        self.cut.retain(|Cut { id, whole }| {
            let mut chunks = chunks.iter_mut();
            let Some(chunk) = chunks.find(|it| it.id == *id && !it.pinned) else {
                return true;
            };
            let is_shown = |line: u32| {
                let mut full = full.iter().filter(|it| it.0 == whole.path.as_ref());
                full.any(|(_, span)| span.contains_line(line))
            };
            if !has_lost(whole, chunk.span, is_shown) {
                return true;
            }
            let relevance = chunk.relevance;
            chunk.clone_from(whole);
            chunk.relevance = relevance;
            renamed.insert(id.clone(), (whole.id.clone(), whole.span));
            has_changed = true;
            false
        });
        if has_changed {
            let others = self.omitted.iter_mut().filter_map(|it| it.other.as_mut());
            let warned = self.warnings.iter_mut().filter_map(|it| it.id.as_mut());
            for id in others.chain(warned) {
                if let Some((new, _)) = self.renamed.get(id) {
                    id.clone_from(new);
                }
            }
        }
        has_changed
    }

    /// Removes each chunk in `again` in favour of the larger chunk that contains it. The larger one
    /// is pinned in full, which is affordable since it was shown in full beside the chunks it
    /// contains, and takes over their origin as a reference, their relevance and their labels.
    /// Chunks in `with`, whose lines are shown together with those of a larger one, are pinned too,
    /// as long as there are at most `max_chunks`.
    pub(crate) fn hold(
        &mut self,
        again: BTreeMap<String, String>,
        with: &BTreeSet<String>,
        max_chunks: Option<usize>,
    ) {
        let parts = self.chunks.extract_if(.., |it| again.contains_key(&it.id));
        let parts: Vec<Chunk> = parts.collect();
        for chunk in &mut self.chunks {
            let its = parts.iter().filter(|it| again[&it.id] == chunk.id);
            for part in its {
                chunk.renditions.clear();
                if part.pinned && !self.holding.contains(&part.id) {
                    self.holding.remove(&chunk.id);
                } else if !chunk.pinned {
                    self.holding.insert(chunk.id.clone());
                }
                chunk.pinned = true;
                if part.origin == Origin::Reference {
                    chunk.origin = Origin::Reference;
                }
                if part.relevance > chunk.relevance {
                    chunk.relevance = part.relevance;
                }
            }
        }
        let room = max_chunks.unwrap_or(usize::MAX);
        let room = room.saturating_sub(self.chunks.iter().filter(|it| it.pinned).count());
        let beside = self
            .chunks
            .iter_mut()
            .filter(|it| !it.pinned && with.contains(&it.id));
        for chunk in beside.take(room) {
            chunk.pinned = true;
            self.holding.insert(chunk.id.clone());
        }
        for whole in self.held.values_mut() {
            if let Some(larger) = again.get(whole) {
                whole.clone_from(larger);
            }
        }
        self.held.extend(again);
    }

    /// Adds a warning if the search found nothing for the message `asked` and nothing is named.
    pub(crate) fn warn_of_nothing(&mut self, asked: &str, gathered: &Gathered) {
        let is_there = self.chunks.iter().any(|it| it.pinned) || !self.called.is_empty();
        // References that do not resolve have their own warnings.
        let is_named = is_there || !self.unresolved.is_empty();
        if !asked.is_empty() && gathered.found.is_empty() && !is_named {
            let detail = "the search found nothing for the message";
            let warning = Warning::new(WarningCode::NothingFound, detail);
            self.warnings.push(warning);
        }
    }

    /// The first required reference that is missing because it could not be looked up or read for a
    /// transient reason, with that reason. To be called after scoring, which resolves references to
    /// ids.
    pub(crate) fn missed(&self, gathered: &Gathered) -> Option<(Required, PortError)> {
        if gathered.unavailable.is_empty() && self.away.is_empty() {
            return None;
        }
        let is_missing = |name: &String| self.unresolved.iter().any(|it| it.reference == *name);
        let unread = |name: &String| {
            let parts = gathered.named.parts.iter();
            let parts = parts.filter(|it| it.reference == *name).map(|it| &it.path);
            let recalled = gathered.recalled.iter().filter(|it| it.label == *name);
            let mut paths = parts.chain(recalled.map(|it| &it.part.path));
            let path = paths.find(|it| self.away.contains(*it))?;
            Some(PortError::new(format!("{path:?} cannot be read")).transient())
        };
        gathered.mentioned.required().find_map(|(what, mention)| {
            let name = &mention.text;
            let unavailable = gathered.unavailable.get(name).filter(|_| is_missing(name));
            let why = unavailable.cloned().or_else(|| unread(name))?;
            Some((what, why))
        })
    }

    /// The ids of the chunks that are named by their label, or by the id of a message.
    fn named_ids(&mut self, gathered: &Gathered) -> BTreeSet<String> {
        let mut named = BTreeSet::new();
        for mention in &gathered.mentioned.all {
            let first = beginning(&gathered.history, &mention.text);
            let is_it = |chunk: &&Chunk| {
                let is_message = chunk.origin == Origin::Message && first.is_some();
                chunk.id == mention.text
                    || self.recalled.get(&mention.text) == Some(&chunk.id)
                    || is_message && chunk.name.as_deref() == first
            };
            if let Some(chunk) = self.chunks.iter().find(is_it) {
                named.insert(chunk.id.clone());
                self.unresolved.retain(|it| it.reference != mention.text);
            }
        }
        named
    }

    /// Pins named chunks. A message gets relevance 1 but is not pinned: it would stand before its
    /// turn.
    fn pin(&mut self, named: &BTreeSet<String>) {
        for chunk in &mut self.chunks {
            let is_named = chunk.origin == Origin::Reference || named.contains(&chunk.id);
            chunk.pinned = is_named && chunk.origin != Origin::Message;
        }
    }
}

/// Computes the signals of chunks.
struct Rater<'s> {
    corpus: &'s Corpus,
    scoring: &'s Scoring<'s>,
    /// The vector of the question.
    question: Vector,
    /// The keywords of the question, with their weights.
    keywords: Vec<(&'s str, f64)>,
    /// How often files were useful, if known.
    uses: Option<&'s BTreeMap<String, u64>>,
}

impl<'s> Rater<'s> {
    fn new(
        corpus: &'s Corpus,
        scoring: &'s Scoring<'s>,
        uses: Option<&'s BTreeMap<String, u64>>,
    ) -> Self {
        let query = scoring.query;
        // The keywords are the first terms.
        let keywords = query.keywords().zip(&query.terms);
        let keywords =
            keywords.map(|(it, term)| (it, term.weight * corpus.inverse_document_frequency(it)));
        Rater {
            corpus,
            scoring,
            question: corpus.vector(scoring.asked),
            keywords: keywords.collect(),
            uses,
        }
    }

    /// The signals of `chunk`, whose text has the vector `text`, and to which the search gives
    /// `chance`.
    fn signals(
        &self,
        chunk: &Chunk,
        text: &Vector,
        chance: f64,
        analyzer: &mut Analyzer,
    ) -> Signals {
        let mut signals = Signals::default();
        signals.text_similarity = self.question.cosine(text).max(similarity(chance));
        let called = terms_of_name(chunk, analyzer);
        let degree = |word: &str| {
            if called.iter().any(|it| it == word) {
                1.0
            } else {
                self.corpus.saturation(text, text.count(word))
            }
        };
        let keywords = self.keywords.iter().copied();
        signals.keyword_match = Some(weighted_keyword_match(keywords, degree));
        let now = self.scoring.now.as_millis();
        let decay = self.scoring.profile.decay;
        signals.recency = recency_at(Some(now), chunk.created_at, decay);
        signals.source_priority = source_priority(chunk.origin);
        let uses = self.uses.zip(chunk.path.as_ref());
        let uses = uses.map(|(all, path)| all.get(path).copied().unwrap_or(0));
        signals.usage_frequency = uses.map(usage_frequency);
        signals
    }
}

/// Removes the mention of a file, which tells nothing of the message.
fn remove_mention(chunk: &mut Chunk) {
    let is_mention = |it: &Rendition| it.kind() == RenditionKind::Mention;
    chunk.renditions.retain(|it| !is_mention(it));
    if chunk.renditions.is_empty() {
        // The assembler would merge a chunk without renditions with parts of it.
        let all = Rendition::new(RenditionKind::Full, chunk.full_text(), LEAST_KEPT);
        chunk.renditions.extend(all);
    }
}

/// The text similarity of a part to which the search gives `chance`, by its logarithm: chances are
/// spread over orders of magnitude, scores are means.
fn similarity(chance: f64) -> f64 {
    (1.0 + chance.log10() / DECADES).max(0.0)
}

/// The terms of the path and of the names of a chunk of a file; none for other chunks.
fn terms_of_name(chunk: &Chunk, analyzer: &mut Analyzer) -> Vec<String> {
    let names = chunk_names(chunk);
    names.flat_map(|it| analyzer.terms(it)).collect()
}

/// The chunks that the search found, each dated by its file.
fn found_chunks(query: &Query, found: &[Found]) -> Vec<Chunk> {
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
struct RecalledParts<'g>(BTreeSet<(&'g str, LineSpan)>);

impl<'g> RecalledParts<'g> {
    fn of(recalled: &'g [Recalled]) -> Self {
        let parts = recalled.iter();
        let parts = parts.map(|it| (it.part.path.as_str(), it.part.lines));
        RecalledParts(parts.collect())
    }

    fn contain(&self, chunk: &Chunk) -> bool {
        let location = chunk.path.as_deref().zip(chunk.span);
        location.is_some_and(|it| self.0.contains(&it))
    }
}

/// Weighs those chunks of `read` that the search found, and removes the unlikely ones. Returns the
/// chance of each remaining one by id.
fn weigh(prose: &Prose, read: &mut Resolved, found: &BTreeSet<String>) -> BTreeMap<String, f64> {
    let is_found = |it: &Chunk| found.contains(&it.id);
    let unlikely = prose.weigh(&mut read.chunks, is_found);
    read.omitted.extend(unlikely.iter().map(below_min_chance));
    let of_search = read.chunks.iter().filter(|it| is_found(it));
    of_search
        .map(|it| (it.id.clone(), it.relevance.get()))
        .collect()
}

/// The chunks of the named parts.
#[derive(Default)]
struct NamedChunks {
    chunks: Vec<Chunk>,
    /// The references that have none.
    unresolved: Vec<Unresolved>,
    /// The hashes of the files of which lines are named.
    clipped: Vec<(String, [u8; 32])>,
    /// The files whose lines could not be counted.
    unread: BTreeSet<String>,
    /// Those of them that could not be read for a transient reason.
    away: BTreeSet<String>,
}

/// If the request is cancelled, the remaining parts are not read.
fn named_chunks(named: &Named, resolver: &Resolver, keywords: &Arc<[String]>) -> NamedChunks {
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
                all.unread.insert(part.path.clone());
                all.away
                    .extend(error.is_transient().then(|| part.path.clone()));
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
fn recalled_chunk(recalled: &Recalled, keywords: &Arc<[String]>) -> Chunk {
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
fn read_recent(recent: &[(String, UnixSeconds)], read: &mut Resolved, keywords: &Arc<[String]>) {
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
fn note_clipped(clipped: Vec<(String, [u8; 32])>, files: &mut BTreeMap<String, [u8; 32]>) {
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
fn recent_chunk((path, at): &(String, UnixSeconds)) -> Chunk {
    let mut chunk = Chunk::new(recent_id(path), "", Relevance::ZERO)
        .with_path(path.clone())
        .with_kind(file_kind(path, None));
    chunk.origin = Origin::File;
    chunk.created_at = Some(at.as_millis());
    chunk
}
