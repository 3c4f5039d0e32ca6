//! Runs all strategies in parallel, and ranks what they found.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ctx_model::{LineSpan, Origin, UnixSeconds, Warning};
use ctx_rank::{
    Contribution, Intent, Query, Role, Signals, recency_at, source_priority, usage_frequency,
};
use futures_util::future::join_all;
use tracing::debug;

use crate::call::{PortCall, call_port};
use crate::options::{Options, Strategy, Weights};
use crate::pool::{Pool, Ranked, Ranking, keep_best};
use crate::ports::{
    Changes, FileSearch, Hit, Part, PortError, PortResult, Relations, Semantic, Usage,
};
use crate::strategies::{self, Contributions, Named, Noted};

/// The most parts kept for a possible quotation: those that have all of its words, whatever their
/// rank.
const QUOTING: usize = 8;
/// A question with fewer words is no quotation.
const FEW_WORDS: usize = 3;

/// A part that was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// The part.
    pub part: Arc<Part>,
    /// Its score, 0..=1. The best has 1 where only the similarity to the question has a weight, as
    /// is the default.
    pub score: f64,
    /// An estimate of the probability that it is needed, 0..=1, from its score, rank and length.
    pub chance: f64,
    /// The contribution of each strategy, by its index.
    contributions: [f64; Strategy::COUNT],
    /// The role of the part.
    pub role: Role,
    /// The five signals. Keyword match is not looked up, as the texts of parts are not read; usage
    /// frequency is looked up if it has a weight and there is a port for it that answers.
    pub signals: [Contribution; 5],
}

impl Found {
    /// What `strategy` contributed to the score.
    pub fn contribution(&self, strategy: Strategy) -> f64 {
        self.contributions[strategy.index()]
    }
}

/// The outcome of a strategy.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The strategy.
    pub strategy: Strategy,
    /// The number of parts it found.
    pub found: usize,
    /// The time it took.
    pub took: Duration,
    /// Why it contributed nothing, if it failed.
    pub failure: Option<PortError>,
}

/// The answer to a question.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Retrieved {
    /// The parts that were found, the best first; ties in the order of their [keys](Part::key).
    pub found: Vec<Found>,
    /// The outcome of each strategy, in the order of [`Strategy::ALL`].
    pub reports: Vec<Report>,
    /// The number of matching parts beyond the limit, below the least score, or of another kind.
    pub left_out: usize,
    /// For each call of stack traces, in the order of [`ctx_rank::Mentions::frames`], the parts
    /// that it may refer to. Empty if the strategy `places` was not used.
    pub traced: Vec<Vec<Arc<Part>>>,
    /// The lines that the question names, by file: those of mentioned files, and of calls that were
    /// found where the trace says. For a line that no part holds, the nearest ones of the parts
    /// before and after it, too.
    pub lines: BTreeMap<String, BTreeSet<u32>>,
    /// The documents that the question asks for, if it asks for nothing else
    /// ([`ctx_rank::Intent::Files`]); if none has such a name, those with the most similar names.
    /// Their parts come first, in order.
    pub whole: BTreeSet<String>,
    /// Warnings for a receipt: `no_such_line`, if a typed question names a line beyond the end of
    /// its file; `pattern_limited`, if more files may match a pattern than were inspected or taken;
    /// and `users_limited`, if more parts use a name than were taken.
    pub warnings: Vec<Warning>,
}

/// Answers questions from stores.
#[derive(Clone)]
pub struct Retriever {
    search: Arc<dyn FileSearch>,
    relations: Option<Arc<dyn Relations>>,
    usage: Option<Arc<dyn Usage>>,
    changes: Option<PortResult<Arc<dyn Changes>>>,
    semantic: Option<Arc<dyn Semantic>>,
}

impl std::fmt::Debug for Retriever {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Retriever")
            .field("relations", &self.relations.is_some())
            .field("usage", &self.usage.is_some())
            .field("changes", &self.changes.is_some())
            .field("semantic", &self.semantic.is_some())
            .finish_non_exhaustive()
    }
}

impl Retriever {
    /// Searches `search`.
    pub fn new(search: Arc<dyn FileSearch>) -> Self {
        Retriever {
            search,
            relations: None,
            usage: None,
            changes: None,
            semantic: None,
        }
    }

    /// Searches `store`, and follows its relations.
    pub fn over<S: FileSearch + Relations + 'static>(store: Arc<S>) -> Self {
        Retriever::new(store.clone()).with_relations(store)
    }

    /// The [version](FileSearch::version) of what is searched.
    pub fn version(&self) -> u64 {
        self.search.version()
    }

    /// Sets the relations to follow.
    #[must_use]
    pub fn with_relations(mut self, relations: Arc<dyn Relations>) -> Self {
        self.relations = Some(relations);
        self
    }

    /// Sets the source of usage counts.
    #[must_use]
    pub fn with_usage(mut self, usage: Arc<dyn Usage>) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Sets the source of earlier changes.
    #[must_use]
    pub fn with_changes(mut self, changes: Arc<dyn Changes>) -> Self {
        self.changes = Some(Ok(changes));
        self
    }

    /// Reports the strategy of changes as failed, since they cannot be read, and `why`.
    #[must_use]
    pub fn without_changes(mut self, why: PortError) -> Self {
        self.changes = Some(Err(why));
        self
    }

    /// Adds a custom search, for example by embeddings.
    #[must_use]
    pub fn with_semantic(mut self, semantic: Arc<dyn Semantic>) -> Self {
        self.semantic = Some(semantic);
        self
    }

    /// Returns the parts that match `query` best. The strategies run in parallel, each within the
    /// deadline ([`call_port`]); one that fails, panics or is late is reported and contributes
    /// nothing. A question without content finds nothing, and a strategy for which it has nothing
    /// sends no requests. A strategy that computes beyond the deadline keeps the
    /// [`TaskScope`](crate::TaskScope) around this call until it ends.
    ///
    /// # Panics
    /// Outside a tokio runtime with its timers enabled.
    pub async fn retrieve(&self, query: &Arc<Query>, options: &Options) -> Retrieved {
        let mut retrieved = Retrieved::default();
        if query.is_empty() {
            return retrieved;
        }
        let options = &options.for_query(query);
        let weights = Arc::new(options.weights.clone());
        let noted = Arc::new(Noted::default());
        let wanted = Strategy::ALL
            .iter()
            .copied()
            .filter(|&it| options.wants(it));
        let wanted = wanted.filter(|&it| match it {
            // Relations need the results of the others.
            Strategy::Relations => false,
            Strategy::Changes => self.changes.is_some(),
            Strategy::Semantic => self.semantic.is_some(),
            _ => true,
        });
        let asked = wanted.map(|strategy| {
            let asked = strategies::has_a_say(strategy, query)
                .then(|| self.begin(strategy, query, (&weights, &noted), options));
            async move {
                let answer = match asked {
                    Some(asked) => asked.await,
                    None => (Ok(Vec::new()), Duration::ZERO),
                };
                (strategy, answer)
            }
        });
        let mut pool = Pool::default();
        for (strategy, (answer, took)) in join_all(asked).await {
            retrieved.note(strategy, answer, took, &mut pool);
        }
        Named {
            traced: retrieved.traced,
            lines: retrieved.lines,
            missed: retrieved.warnings,
        } = noted.named.get().cloned().unwrap_or_default();
        let cut = noted.warnings.get().into_iter().flatten();
        retrieved.warnings.extend(cut.cloned());
        // Whether words are misspelt does not depend on a history that cannot be read.
        let has_failed = |it: &Report| it.failure.is_some() && it.strategy != Strategy::Changes;
        let has_failed = retrieved.reports.iter().any(has_failed);
        if pool.is_empty() && !has_failed && options.wants(Strategy::Similar) {
            let (search, query) = (Arc::clone(&self.search), Arc::clone(query));
            // Words that nothing matches may be misspelt.
            let misspelt = async move { strategies::misspelt(&*search, &query).await };
            let (answer, took) = call_port(options.deadline, misspelt).await;
            retrieved.note_again(Strategy::Similar, answer, took, &mut pool);
        }
        if let (Some(relations), true) = (&self.relations, options.wants(Strategy::Relations)) {
            self.expand(
                relations,
                query,
                (options, &noted),
                &mut pool,
                &mut retrieved,
            )
            .await;
            retrieved.warnings.extend(noted.users.get().cloned());
        }
        self.score(query, options, &pool, &mut retrieved).await;
        debug!(
            found = retrieved.found.len(),
            left_out = retrieved.left_out,
            "retrieved"
        );
        retrieved
    }

    /// Starts the requests of `strategy`.
    fn begin(
        &self,
        strategy: Strategy,
        query: &Arc<Query>,
        (weights, noted): (&Arc<Weights>, &Arc<Noted>),
        options: &Options,
    ) -> PortCall<Vec<Hit>> {
        let (search, query) = (Arc::clone(&self.search), Arc::clone(query));
        let (changes, semantic) = (self.changes.clone(), self.semantic.clone());
        let (weights, depth) = (Arc::clone(weights), options.depth());
        let noted = Arc::clone(noted);
        call_port(options.deadline, async move {
            let search = &*search;
            match strategy {
                Strategy::Text => strategies::text(search, &query, &weights, &depth).await,
                Strategy::Coverage => strategies::coverage(search, &query, &weights, &depth).await,
                Strategy::Files => strategies::files(search, &query, &weights, &depth).await,
                Strategy::Names => strategies::names(search, &query).await,
                Strategy::Places => strategies::places(search, &query, &noted).await,
                Strategy::Similar => strategies::similar(search, &query).await,
                Strategy::Changes => match &changes {
                    Some(Ok(changes)) => strategies::changes(search, &**changes, &query).await,
                    Some(Err(why)) => Err(why.clone()),
                    None => Ok(Vec::new()),
                },
                Strategy::Semantic => match &semantic {
                    Some(semantic) => strategies::semantic(search, &**semantic, &query).await,
                    None => Ok(Vec::new()),
                },
                // It continues from the results of the others, in [`Retriever::expand`].
                Strategy::Relations => Ok(Vec::new()),
            }
        })
    }

    async fn expand(
        &self,
        relations: &Arc<dyn Relations>,
        query: &Arc<Query>,
        (options, noted): (&Options, &Arc<Noted>),
        pool: &mut Pool,
        retrieved: &mut Retrieved,
    ) {
        let best = pool.best(options, strategies::SEEDS).into_iter();
        let seeds: Vec<Hit> = best
            .map(|it| Hit::new(Arc::clone(it.part), it.score))
            .collect();
        let (search, relations) = (Arc::clone(&self.search), Arc::clone(relations));
        let (query, noted) = (Arc::clone(query), Arc::clone(noted));
        let (answer, took) = call_port(options.deadline, async move {
            if query.asks_for(Intent::Users) {
                strategies::users(&*search, &*relations, &query, &noted).await
            } else {
                strategies::relations(&*search, &*relations, &seeds).await
            }
        })
        .await;
        retrieved.note(Strategy::Relations, answer, took, pool);
    }

    async fn score(
        &self,
        query: &Query,
        options: &Options,
        pool: &Pool,
        retrieved: &mut Retrieved,
    ) {
        let mut ranking = pool.ranking(options);
        let found = ranking.all.len();
        let kinds = &options.kinds;
        let is_wanted = |it: &Ranked<'_>| kinds.is_empty() || kinds.contains(&it.part.kind);
        ranking.all.retain(is_wanted);
        retrieved.left_out += found - ranking.all.len();
        let best = ranking.all.iter().map(|it| it.score).fold(0.0, f64::max);
        if best <= 0.0 {
            retrieved.left_out += ranking.all.len();
            return;
        }
        let uses = self.uses(&ranking.all, options).await;
        let profile = &options.profile;
        let score = |it: Ranked<'_>| {
            let uses = uses.as_ref();
            let uses = uses.map(|all| all.get(&it.part.path).copied().unwrap_or(0));
            profile.score(&signals(it, best, uses, options))
        };
        let scored = ranking.all.iter().map(|&it| (score(it).total, it));
        let mut scored: Vec<Scored<'_>> = scored.collect();
        let all = scored.len();
        let highest = scored.iter().map(|it| it.0).fold(0.0, f64::max);
        let asked_for = AskedFor::of(query, &ranking);
        asked_for.raise(&mut scored, highest);
        scored.retain(|it| it.0 >= options.min_score * highest && it.0 > 0.0);
        let scored = keep_relevant(scored, query, &ranking, &asked_for, options.most());
        retrieved.left_out += all - scored.len();
        retrieved.whole = asked_for.whole.iter().map(|&it| it.to_owned()).collect();
        let found = (1..).zip(scored).map(|(rank, (worth, it))| Found {
            role: ranking.role(it),
            score: worth,
            chance: chance(rank, worth / highest, it.part.span),
            contributions: ranking.contributions(it),
            signals: score(it).contributions,
            part: Arc::clone(it.part),
        });
        retrieved.found = found.collect();
    }

    /// The usage count of each file, if that signal has a weight; `None` if unknown.
    async fn uses(
        &self,
        ranked: &[Ranked<'_>],
        options: &Options,
    ) -> Option<BTreeMap<String, u64>> {
        let usage = self.usage.clone()?;
        if options.profile.usage_frequency == 0.0 {
            return None;
        }
        let mut paths: Vec<String> = ranked.iter().map(|it| it.part.path.clone()).collect();
        paths.sort_unstable();
        paths.dedup();
        let counts = call_port(options.deadline, async move { usage.counts(&paths).await });
        // Missing usage counts are no reason to fail or to wait.
        counts.await.0.ok()
    }
}

impl Retrieved {
    /// Like [`Retrieved::note`], for a strategy that found nothing the first time.
    fn note_again(
        &mut self,
        strategy: Strategy,
        answer: PortResult<Vec<Hit>>,
        took: Duration,
        pool: &mut Pool,
    ) {
        let before = self.reports.iter().position(|it| it.strategy == strategy);
        self.note(strategy, answer, took, pool);
        if let Some(before) = before {
            self.reports.swap_remove(before);
        }
    }

    /// Records the outcome of `strategy`, and adds its hits to `pool`.
    fn note(
        &mut self,
        strategy: Strategy,
        answer: PortResult<Vec<Hit>>,
        took: Duration,
        pool: &mut Pool,
    ) {
        let (found, failure) = match answer {
            Ok(hits) => (pool.take(strategy, hits), None),
            Err(why) => (0, Some(why)),
        };
        debug!(strategy = strategy.as_str(), found, ?took, "strategy");
        self.reports.push(Report {
            strategy,
            found,
            took,
            failure,
        });
    }
}

/// A part with its score.
type Scored<'p> = (f64, Ranked<'p>);

/// The files that a question asks for and for nothing else.
struct AskedFor<'p> {
    /// The documents, by path.
    whole: BTreeSet<&'p str>,
    /// For each part of the ranking, in a file that matches a pattern: how many parts of that file
    /// come before it.
    before: Vec<Option<usize>>,
    /// The files that match a pattern, by path.
    matching: BTreeSet<&'p str>,
}

impl<'p> AskedFor<'p> {
    fn of(query: &Query, ranking: &Ranking<'p>) -> Self {
        let parts = ranking.all.iter().map(|it| &**it.part);
        let before = strategies::before_in_file(query, parts);
        let matching = ranking.all.iter().zip(&before);
        let matching = matching.filter(|(_, before)| before.is_some());
        AskedFor {
            whole: documents_asked_for(query, ranking),
            matching: matching.map(|(it, _)| it.part.path.as_str()).collect(),
            before,
        }
    }

    /// Gives the parts of these files their scores: of documents, `highest`; of files that match a
    /// pattern, the less, the more parts of the file come before. `scored` is in the order of the
    /// ranking.
    fn raise(&self, scored: &mut [Scored<'p>], highest: f64) {
        for ((score, it), before) in scored.iter_mut().zip(&self.before) {
            if self.whole.contains(it.part.path.as_str()) {
                *score = highest;
            }
            if let Some(before) = *before {
                *score = highest / (1.0 + number(before));
            }
        }
    }

    /// By descending score; of equals those that are asked for come first, each by key.
    fn order(&self, (a_score, a): &Scored<'_>, (b_score, b): &Scored<'_>) -> Ordering {
        let is_asked_for = |it: &Ranked<'_>| {
            let path = it.part.path.as_str();
            self.whole.contains(path) || self.matching.contains(path)
        };
        let by_key = || a.part.key().cmp(&b.part.key());
        let asked_for_first = || is_asked_for(b).cmp(&is_asked_for(a)).then_with(by_key);
        b_score.total_cmp(a_score).then_with(asked_for_first)
    }
}

/// The `most` best of `scored` in their order. Some that may contain a quotation take the positions
/// at the end if they rank behind all others.
fn keep_relevant<'p>(
    mut scored: Vec<Scored<'p>>,
    query: &Query,
    ranking: &Ranking<'p>,
    asked_for: &AskedFor<'p>,
    most: usize,
) -> Vec<Scored<'p>> {
    let order = |a: &Scored<'p>, b: &Scored<'p>| asked_for.order(a, b);
    let mut quoting = Vec::new();
    if may_quote(query) && asked_for.matching.is_empty() && scored.len() > most {
        quoting = covering_most(ranking, &scored);
        keep_best(&mut quoting, QUOTING.min(most / 4), order);
    }
    keep_best(&mut scored, most, order);
    quoting.retain(|it| scored.last().is_some_and(|last| order(last, it).is_lt()));
    scored.truncate(scored.len() - quoting.len());
    scored.append(&mut quoting);
    scored
}

/// The documents that `query` asks for and for nothing else, by path.
fn documents_asked_for<'p>(query: &Query, ranking: &Ranking<'p>) -> BTreeSet<&'p str> {
    let documents = ranking.all.iter();
    let documents = documents.filter(|&&it| ranking.role(it) == Role::Documentation);
    let documents = documents.map(|it| it.part.path.as_str());
    let asked_for = strategies::asked_for_alone(query, documents);
    if !asked_for.is_empty() {
        return asked_for;
    }
    let parts: Vec<Contributions<'p>> = ranking
        .all
        .iter()
        .map(|&it| contributions_by_kind(ranking, it))
        .collect();
    strategies::mistyped_alone(query, &parts)
}

/// Those of `scored` that have as many of the question's words as any of them.
fn covering_most<'p>(ranking: &Ranking<'p>, scored: &[Scored<'p>]) -> Vec<Scored<'p>> {
    let covered = |it: Ranked<'_>| ranking.contributions(it)[Strategy::Coverage.index()];
    let highest = scored.iter().map(|it| covered(it.1)).fold(0.0, f64::max);
    let has_all = |it: &&Scored<'_>| highest > 0.0 && covered(it.1) >= highest;
    scored.iter().filter(has_all).copied().collect()
}

/// The contributions to `it`, by kind.
fn contributions_by_kind<'p>(ranking: &Ranking<'_>, it: Ranked<'p>) -> Contributions<'p> {
    let all = ranking.contributions(it);
    let by_name = [Strategy::Similar, Strategy::Places];
    let [similar, mentions] = by_name.map(|it| all[it.index()]);
    let others = Strategy::ALL.iter().filter(|it| !by_name.contains(it));
    Contributions {
        path: &it.part.path,
        is_document: ranking.role(it) == Role::Documentation,
        similar,
        mentions,
        others: others.map(|it| all[it.index()]).sum(),
    }
}

/// Whether `query` may quote a text word by word, or be such a quotation: an error message or the
/// name of a setting occurs in one part, which may rank far behind parts that repeat its words.
fn may_quote(query: &Query) -> bool {
    let is_typed = query.words().nth(FEW_WORDS - 1).is_some();
    is_typed
        || query.setting().is_some()
        || !query.mentions.phrases.is_empty()
        || !query.failures.is_empty()
}

/// The signals of `ranked`; `best` is the highest fused score.
fn signals(ranked: Ranked<'_>, best: f64, uses: Option<u64>, options: &Options) -> Signals {
    let mut signals = Signals::default();
    signals.text_similarity = ranked.score / best;
    signals.recency = recency_at(
        options.now.map(UnixSeconds::as_millis),
        ranked.part.modified_at.map(UnixSeconds::as_millis),
        options.profile.decay,
    );
    signals.source_priority = source_priority(Origin::Chunk);
    signals.usage_frequency = uses.map(usage_frequency);
    signals
}

#[expect(clippy::cast_precision_loss, reason = "what is counted are parts")]
fn number(count: usize) -> f64 {
    count as f64
}

/// An estimate of the probability that a part is needed: 0.4 × score × rank^-0.9 × (lines /
/// 25)^0.45, simplified from a logistic regression over 150 issues. Ranks are better evidence than
/// scores.
fn chance(rank: usize, score: f64, span: LineSpan) -> f64 {
    let rank = number(rank);
    let lines = f64::from(span.end() - span.start() + 1);
    let by_length = (lines / 25.0).powf(0.45);
    (0.4 * score * rank.powf(-0.9) * by_length).clamp(0.0, 1.0)
}
