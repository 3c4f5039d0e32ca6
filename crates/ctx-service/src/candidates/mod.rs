//! The candidates of a prime context: where each is from, its text, and its relevance.

mod rating;
mod reading;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ctx_model::{
    Chunk, Included, LineSpan, Omitted, OmittedReason, Origin, Relevance, RenditionKind,
    UnixSeconds, Warning, WarningCode,
};
use ctx_rank::{Analyzer, Bag, Contribution, Corpus, Query};
use ctx_resolve::Resolver;
use ctx_retrieve::{Found, Message, PortError};

pub(crate) use self::rating::Scoring;
use self::rating::{Rater, remove_mention};
use self::reading::{
    NamedChunks, RECALLED, RecalledParts, found_chunks, named_chunks, note_clipped, read_recent,
    recalled_chunk, recent_chunk, weigh,
};
use crate::beside::{has_lost, take_out_named};
use crate::gather::{Named, Recalled, Required, Unresolved};
use crate::history::{beginning, exchanges, ids_of_exchanges, name_turns};
use crate::label::Labels;
use crate::memory::Memory;
use crate::mention::Mentioned;
use crate::prose::Prose;
use crate::service::{each_location_once, keywords};
use crate::verbatim;

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

/// The chunks that may be shown, what is known of each beside its text, and what the receipt tells
/// of the rest.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// The chunks, with their labels as ids. They are a slice of their own as the assembler takes
    /// one.
    pub(crate) chunks: Vec<Chunk>,
    /// What is known of each chunk, by its id; without the chunks of which nothing is.
    facts: BTreeMap<String, Facts>,
    /// Those without lines that a named one has too.
    cuts: Cuts,
    pub(crate) omitted: Vec<Omitted>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) unresolved: Vec<Unresolved>,
    /// The hashes of the texts of the files that were read.
    pub(crate) files: BTreeMap<String, [u8; 32]>,
    pub(crate) unread: UnreadFiles,
}

/// What is known of a candidate beside its chunk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// The chance that the search gives it, 0..=1; 0 if the search did not find it.
    chance: f64,
    /// The labels of earlier contexts that refer to it, if it still has the same text.
    earlier_labels: Vec<String>,
    /// The ids of the messages of the exchange that it is.
    pub(crate) message_ids: Vec<String>,
    /// Whether it is named by its label, or by the id of a message.
    pub(crate) is_called: bool,
    /// Whether nobody named it, and it is pinned because it contains others.
    pub(crate) is_holding: bool,
    /// The ids of the removed chunks whose lines it contains.
    pub(crate) held: BTreeSet<String>,
}

/// The files that could not be read.
#[derive(Debug, Default)]
pub(crate) struct UnreadFiles {
    /// All of them: they may be read another time.
    pub(crate) paths: BTreeSet<String>,
    /// Those that could not be read for a transient reason.
    transient: BTreeSet<String>,
}

/// The chunks without lines that a named chunk has too.
#[derive(Debug, Default)]
struct Cuts {
    /// Those that lack the lines.
    open: Vec<Cut>,
    /// The ids of those that got the lines back, each with its new id and lines.
    put_back: BTreeMap<String, (String, Option<LineSpan>)>,
}

/// A chunk without lines that a named chunk has too.
#[derive(Debug)]
struct Cut {
    /// The id of the chunk without them.
    id: String,
    /// The chunk with them. Its label differs, as it depends on the lines.
    whole: Chunk,
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
        memory: &Memory,
    ) -> Self {
        resolver.sources().prepare(&gathered.paths());
        let keywords = keywords(query);
        let NamedChunks {
            mut chunks,
            unresolved,
            clipped,
            mut unread,
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
        unread.transient.append(&mut read.away);
        let facts = weigh(&gathered.prose, &mut read, &weighed, &mut memory.analyzer());
        read_recent(&gathered.recent, &mut read, &keywords);
        let is_unread = |it: &&Omitted| it.reason == OmittedReason::Unreadable;
        let left_out = read.omitted.iter().filter(is_unread);
        let left_out = left_out.filter_map(|it| paths.get(&it.id).cloned());
        unread.paths.extend(left_out);
        note_clipped(clipped, &mut read.files);
        let mut candidates = Candidates {
            chunks: read.chunks,
            omitted: read.omitted,
            warnings: read.warnings,
            unresolved,
            files: read.files,
            unread,
            facts,
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
        self.cuts.open = cut.collect();
    }

    /// Labels all chunks. Of the parts that labels of earlier contexts refer to, removes those
    /// whose text has changed, and reports that: they are no longer the ones that the labels were
    /// given to.
    fn label_and_recall(&mut self, recalled: &[Recalled], labels: &Labels<'_>) {
        let is_recalled = |it: &Chunk| it.id.starts_with(RECALLED);
        let is_recalled: Vec<bool> = self.chunks.iter().map(is_recalled).collect();
        self.label(labels);
        let mut named: BTreeSet<String> = BTreeSet::new();
        for it in recalled {
            let is_it = |chunk: &&Chunk| {
                let lines = (chunk.path.as_deref(), chunk.span);
                lines == (Some(&it.part.path), Some(it.part.lines)) && labels.gave(&it.label, chunk)
            };
            if let Some(chunk) = self.chunks.iter().find(is_it) {
                let facts = self.facts.entry(chunk.id.clone()).or_default();
                facts.earlier_labels.push(it.label.clone());
                named.insert(chunk.id.clone());
            } else if !self.unread.paths.contains(&it.part.path) {
                let mut unresolved = self.unresolved.iter_mut();
                if let Some(label) = unresolved.find(|label| label.reference == it.label) {
                    let (lines, path) = (it.part.lines, &it.part.path);
                    label.why = format!("lines {lines} of {path} have changed since");
                }
            }
        }
        let mut is_recalled = is_recalled.into_iter();
        self.chunks
            .retain(|it| !is_recalled.next().unwrap_or(false) || named.contains(&it.id));
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
            let chance = self.facts.remove(id).map_or(0.0, |it| it.chance);
            let of_both = self.facts.entry(other.clone()).or_default();
            of_both.chance = of_both.chance.max(chance);
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
        let wholes = self.cuts.open.iter().map(|it| &it.whole);
        let mut names = labels.of(self.chunks.iter().chain(wholes));
        let of_wholes = names.split_off(self.chunks.len());
        for (cut, label) in self.cuts.open.iter_mut().zip(of_wholes) {
            cut.whole.id = label;
        }
        let mut by_id: BTreeMap<String, String> = BTreeMap::new();
        for (chunk, label) in self.chunks.iter_mut().zip(names) {
            let id = std::mem::replace(&mut chunk.id, label.clone());
            if let Some(facts) = self.facts.remove(&id) {
                self.facts.insert(label.clone(), facts);
            }
            by_id.insert(id, label);
        }
        for cut in &mut self.cuts.open {
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
        analyzer: &mut Analyzer,
        is_awaited: &dyn Fn() -> bool,
    ) -> BTreeMap<String, [Contribution; 5]> {
        let (corpus, texts) = Corpus::with_vectors(bags);
        let rater = Rater::new(&corpus, scoring, gathered.uses.as_ref());
        self.mark_called(gathered);
        let mut unlike = BTreeSet::new();
        let mut signals_of = BTreeMap::new();
        for (chunk, text) in self.chunks.iter_mut().zip(texts) {
            let facts = self.facts.get(&chunk.id);
            let chance = facts.map_or(0.0, |it| it.chance);
            let signals = rater.signals(chunk, &text, chance, analyzer);
            let score = scoring.profile.score(&signals);
            let is_called = facts.is_some_and(|it| it.is_called);
            let is_named = chunk.origin == Origin::Reference || is_called;
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
        self.pin();
        let mut ids = ids_of_exchanges(&gathered.history);
        let is_message = |it: &&mut Chunk| it.origin == Origin::Message;
        for chunk in self.chunks.iter_mut().filter(is_message) {
            if let Some(its) = chunk.name.as_deref().and_then(|first| ids.remove(first)) {
                self.facts.entry(chunk.id.clone()).or_default().message_ids = its;
            }
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
        let Cuts { open, put_back } = &mut self.cuts;
        open.retain(|Cut { id, whole }| {
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
            put_back.insert(id.clone(), (whole.id.clone(), whole.span));
            has_changed = true;
            false
        });
        if has_changed {
            let others = self.omitted.iter_mut().filter_map(|it| it.other.as_mut());
            let warned = self.warnings.iter_mut().filter_map(|it| it.id.as_mut());
            for id in others.chain(warned) {
                if let Some((new, _)) = self.cuts.put_back.get(id) {
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
                let facts = self.facts.get(&part.id);
                let is_named = part.pinned && !facts.is_some_and(|it| it.is_holding);
                if is_named || !chunk.pinned {
                    let facts = self.facts.entry(chunk.id.clone()).or_default();
                    facts.is_holding = !is_named;
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
            self.facts.entry(chunk.id.clone()).or_default().is_holding = true;
        }
        // What a removed chunk held before is held by the larger one; all of it is taken first, as
        // that one may be removed too.
        let held = |(part, whole): (String, String)| {
            let facts = self.facts.get_mut(&part);
            let mut held = facts.map_or_else(BTreeSet::new, |it| std::mem::take(&mut it.held));
            held.insert(part);
            (whole, held)
        };
        let held: Vec<(String, BTreeSet<String>)> = again.into_iter().map(held).collect();
        for (whole, mut its) in held {
            self.facts.entry(whole).or_default().held.append(&mut its);
        }
    }

    /// What is known of the chunk with this id.
    pub(crate) fn facts(&self, id: &str) -> Option<&Facts> {
        self.facts.get(id)
    }

    /// Whether the chunk with this id is named by its label, or by the id of a message.
    pub(crate) fn is_called(&self, id: &str) -> bool {
        self.facts(id).is_some_and(|it| it.is_called)
    }

    /// Whether nobody named the chunk with this id, and it is pinned because it contains others.
    pub(crate) fn is_holding(&self, id: &str) -> bool {
        self.facts(id).is_some_and(|it| it.is_holding)
    }

    /// The new id and lines of the chunk that had this id, if it got lines back.
    pub(crate) fn put_back_as(&self, id: &str) -> Option<&(String, Option<LineSpan>)> {
        self.cuts.put_back.get(id)
    }

    /// Adds a warning if the search found nothing for the message `asked` and nothing is named.
    pub(crate) fn warn_of_nothing(&mut self, asked: &str, gathered: &Gathered) {
        let is_there =
            self.chunks.iter().any(|it| it.pinned) || self.facts.values().any(|it| it.is_called);
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
        if gathered.unavailable.is_empty() && self.unread.transient.is_empty() {
            return None;
        }
        let is_missing = |name: &String| self.unresolved.iter().any(|it| it.reference == *name);
        let unread = |name: &String| {
            let parts = gathered.named.parts.iter();
            let parts = parts.filter(|it| it.reference == *name).map(|it| &it.path);
            let recalled = gathered.recalled.iter().filter(|it| it.label == *name);
            let mut paths = parts.chain(recalled.map(|it| &it.part.path));
            let path = paths.find(|it| self.unread.transient.contains(*it))?;
            Some(PortError::new(format!("{path:?} cannot be read")).transient())
        };
        gathered.mentioned.required().find_map(|(what, mention)| {
            let name = &mention.text;
            let unavailable = gathered.unavailable.get(name).filter(|_| is_missing(name));
            let why = unavailable.cloned().or_else(|| unread(name))?;
            Some((what, why))
        })
    }

    /// Notes which chunks are named by their label, or by the id of a message.
    fn mark_called(&mut self, gathered: &Gathered) {
        for mention in &gathered.mentioned.all {
            let first = beginning(&gathered.history, &mention.text);
            let is_it = |chunk: &&Chunk| {
                let is_message = chunk.origin == Origin::Message && first.is_some();
                let facts = self.facts.get(&chunk.id);
                chunk.id == mention.text
                    || facts.is_some_and(|it| it.earlier_labels.contains(&mention.text))
                    || is_message && chunk.name.as_deref() == first
            };
            if let Some(chunk) = self.chunks.iter().find(is_it) {
                self.facts.entry(chunk.id.clone()).or_default().is_called = true;
                self.unresolved.retain(|it| it.reference != mention.text);
            }
        }
    }

    /// Pins named chunks. A message gets relevance 1 but is not pinned: it would stand before its
    /// turn.
    fn pin(&mut self) {
        for chunk in &mut self.chunks {
            let is_called = self.facts.get(&chunk.id).is_some_and(|it| it.is_called);
            let is_named = chunk.origin == Origin::Reference || is_called;
            chunk.pinned = is_named && chunk.origin != Origin::Message;
        }
    }
}
