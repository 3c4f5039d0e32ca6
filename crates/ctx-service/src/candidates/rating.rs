//! How relevant a candidate is: the signals of its chunk.

use std::collections::BTreeMap;

use ctx_model::{Chunk, Rendition, RenditionKind, UnixSeconds};
use ctx_rank::{
    Analyzer, Corpus, Profile, Query, Signals, Vector, chunk_names, recency_at, source_priority,
    usage_frequency, weighted_keyword_match,
};

/// A part that the search gives a chance of 10 to the power of minus this is as similar to the
/// question as one that it did not find.
const DECADES: f64 = 4.0;

/// The information of a rendition that must not be preferred to the full text.
const LEAST_KEPT: f64 = 0.01;

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

/// Computes the signals of chunks.
pub(super) struct Rater<'s> {
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
    pub(super) fn new(
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
    pub(super) fn signals(
        &self,
        chunk: &Chunk,
        text: &Vector,
        chance: f64,
        analyzer: &mut Analyzer,
    ) -> Signals {
        let mut signals = Signals::default();
        signals.text_similarity = self.question.cosine(text).max(similarity(chance));
        let called = self.called(chunk, analyzer);
        let degree = |word: &str| {
            if called.contains(&word) {
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

    /// The keywords in the path and the names of a chunk of a file; none for other chunks.
    fn called(&self, chunk: &Chunk, analyzer: &mut Analyzer) -> Vec<&'s str> {
        let words = || self.keywords.iter().map(|it| it.0);
        let mut called = Vec::new();
        for name in chunk_names(chunk) {
            analyzer.words(name, &mut |term, _, _| {
                called.extend(words().find(|it| *it == term));
            });
        }
        called
    }
}

/// Removes the mention of a file, which tells nothing of the message.
pub(super) fn remove_mention(chunk: &mut Chunk) {
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
