//! All strategies side by side, and what they found in one order.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ctx_model::{LineSpan, Origin};
use ctx_rank::{
    Contribution, Fused, List, Query, Role, Score, Signals, UNDATED, convex, keyword_match,
    recency, source_priority, usage_frequency,
};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::debug;

use crate::options::{Options, Strategy, Weights};
use crate::ports::{Answer, FileSearch, Hit, Key, PortError, Relations, Usage};
use crate::strategies;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// Where it is, and what.
    pub hit: Hit,
    /// What it is worth, 0..=1: the best is 1.
    pub score: f64,
    /// How likely it is needed, 0..=1, as far as its score, its rank and its length tell.
    pub chance: f64,
    /// What each strategy said for it, in the order of [`Strategy::ALL`].
    pub contributions: [f64; Strategy::COUNT],
    /// What its file is for.
    pub role: Role,
    /// The five signals.
    pub signals: [Contribution; 5],
}

/// How a strategy fared.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Which.
    pub strategy: Strategy,
    /// How many parts it found.
    pub found: usize,
    /// How long it took.
    pub took: Duration,
    /// Why it has no say, if that is so.
    pub failure: Option<String>,
}

/// The answer to a question.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Retrieved {
    /// What was found, the best first; equals in the order of their places.
    pub found: Vec<Found>,
    /// How each strategy fared, in the order of [`Strategy::ALL`].
    pub reports: Vec<Report>,
    /// Parts that fitted and are beyond the limit, below the least score, or of another kind.
    pub left_out: usize,
}

/// Looks for answers in stores.
#[derive(Clone)]
pub struct Retriever {
    search: Arc<dyn FileSearch>,
    relations: Option<Arc<dyn Relations>>,
    usage: Option<Arc<dyn Usage>>,
}

impl std::fmt::Debug for Retriever {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Retriever")
            .field("relations", &self.relations.is_some())
            .field("usage", &self.usage.is_some())
            .finish_non_exhaustive()
    }
}

impl Retriever {
    /// Looks in `search`.
    pub fn new(search: Arc<dyn FileSearch>) -> Self {
        Retriever {
            search,
            relations: None,
            usage: None,
        }
    }

    /// Follows these relations.
    #[must_use]
    pub fn with_relations(mut self, relations: Arc<dyn Relations>) -> Self {
        self.relations = Some(relations);
        self
    }

    /// Knows what was of use.
    #[must_use]
    pub fn with_usage(mut self, usage: Arc<dyn Usage>) -> Self {
        self.usage = Some(usage);
        self
    }

    /// The parts that fit `query` best. Strategies run side by side on the runtime, each for as long as the
    /// deadline; one that fails, panics or is late is reported and has no say. A question that says nothing
    /// finds nothing. Each strategy has one of the runtime's threads for what blocks, so that ports may
    /// compute. One that computes beyond the deadline keeps its thread until it next awaits something.
    pub async fn retrieve(&self, query: &Arc<Query>, options: &Options) -> Retrieved {
        let mut retrieved = Retrieved::default();
        if query.is_empty() {
            return retrieved;
        }
        let weights = Arc::new(options.weights.clone());
        let mut tasks: Vec<(Strategy, Task<Vec<Hit>>)> = Vec::new();
        let limit = options.deadline;
        let start = Instant::now();
        for strategy in Strategy::ALL.into_iter().filter(|&it| options.wants(it)) {
            let (search, query, weights) = (
                Arc::clone(&self.search),
                Arc::clone(query),
                Arc::clone(&weights),
            );
            let task = match strategy {
                Strategy::Text => run(limit, async move {
                    strategies::text(&*search, &query, &weights).await
                }),
                Strategy::Coverage => run(limit, async move {
                    strategies::coverage(&*search, &query, &weights).await
                }),
                Strategy::Files => run(limit, async move {
                    strategies::files(&*search, &query, &weights).await
                }),
                Strategy::Names => run(
                    limit,
                    async move { strategies::names(&*search, &query).await },
                ),
                Strategy::Places => {
                    run(
                        limit,
                        async move { strategies::places(&*search, &query).await },
                    )
                }
                Strategy::Similar => {
                    run(
                        limit,
                        async move { strategies::similar(&*search, &query).await },
                    )
                }
                // It needs what the others find.
                Strategy::Relations => continue,
            };
            tasks.push((strategy, task));
        }
        let mut pool = Pool::default();
        for (strategy, task) in tasks {
            let (answer, took) = in_time(start, limit, task).await;
            pool.take(strategy, answer, took, &mut retrieved.reports);
        }
        if let (Some(relations), true) = (&self.relations, options.wants(Strategy::Relations)) {
            self.expand(relations, options, &mut pool, &mut retrieved)
                .await;
        }
        self.score(query, options, pool, &mut retrieved).await;
        debug!(
            found = retrieved.found.len(),
            left_out = retrieved.left_out,
            "retrieved"
        );
        retrieved
    }

    async fn expand(
        &self,
        relations: &Arc<dyn Relations>,
        options: &Options,
        pool: &mut Pool,
        retrieved: &mut Retrieved,
    ) {
        let best: Vec<(Hit, f64)> = pool
            .fused(options)
            .into_iter()
            .filter_map(|it| Some((pool.hits.get(&it.key)?.clone(), it.score)))
            .filter(|(hit, _)| hit.kind != "file")
            .take(16)
            .collect();
        let task = {
            let (search, relations) = (Arc::clone(&self.search), Arc::clone(relations));
            run(options.deadline, async move {
                strategies::relations(&*search, &*relations, &best).await
            })
        };
        let (answer, took) = in_time(Instant::now(), options.deadline, task).await;
        pool.take(Strategy::Relations, answer, took, &mut retrieved.reports);
    }

    async fn score(
        &self,
        query: &Query,
        options: &Options,
        mut pool: Pool,
        retrieved: &mut Retrieved,
    ) {
        let fused = pool.fused(options);
        let best = fused.first().map_or(0.0, |it| it.score);
        let mut found = Vec::new();
        for it in fused {
            let Some(hit) = pool.hits.remove(&it.key).filter(|hit| hit.kind != "file") else {
                continue;
            };
            let is_wanted = options.kinds.is_empty() || options.kinds.contains(&hit.kind);
            if !is_wanted || best <= 0.0 {
                retrieved.left_out += usize::from(!is_wanted);
                continue;
            }
            found.push((hit, it.score / best, it.contributions));
        }
        let uses = self.uses(&found, options.deadline).await;
        let hours = |at: i64| {
            #[expect(
                clippy::cast_precision_loss,
                reason = "seconds since 1970 are far below 2^52"
            )]
            let seconds = options.now.saturating_sub(at) as f64;
            seconds / 3600.0
        };
        let mut scored: Vec<Found> = found
            .into_iter()
            .map(|(hit, score, contributions)| {
                let mut signals = Signals::default();
                signals.text_similarity = score;
                signals.keyword_match =
                    keyword_match(query.names.iter().map(|it| it.last.as_str()), |name| {
                        hit.name.as_deref() == Some(name)
                            || hit.refers_to.iter().any(|it| it == name)
                    });
                signals.recency = hit
                    .modified_at
                    .map_or(UNDATED, |at| recency(hours(at), options.profile.decay));
                signals.source_priority = source_priority(Origin::Chunk);
                signals.usage_frequency =
                    usage_frequency(uses.get(&hit.path).copied().unwrap_or(0));
                let Score {
                    total,
                    contributions: signals,
                    ..
                } = options.profile.score(&signals);
                Found {
                    role: Role::of(&hit.path),
                    score: total,
                    chance: 0.0,
                    hit,
                    contributions,
                    signals,
                }
            })
            .collect();
        scored.sort_by(|a, b| {
            let place = |it: &Found| (it.hit.path.clone(), it.hit.span.start());
            b.score
                .total_cmp(&a.score)
                .then_with(|| place(a).cmp(&place(b)))
        });
        let best = scored.first().map_or(0.0, |it| it.score);
        let fit = scored
            .iter()
            .take_while(|it| it.score >= options.min_score * best && it.score > 0.0);
        let kept = fit.count().min(options.limit);
        retrieved.left_out += scored.len() - kept;
        scored.truncate(kept);
        for (index, it) in scored.iter_mut().enumerate() {
            it.chance = chance(index + 1, it.score / best, it.hit.span);
        }
        retrieved.found = scored;
    }

    async fn uses(&self, found: &[Scored], limit: Duration) -> BTreeMap<String, u64> {
        let Some(usage) = self.usage.clone() else {
            return BTreeMap::new();
        };
        let mut paths: Vec<String> = found.iter().map(|(hit, ..)| hit.path.clone()).collect();
        paths.sort_unstable();
        paths.dedup();
        let task = run(limit, async move { usage.counts(&paths).await });
        // What was of use before is no reason to fail now, or to wait.
        in_time(Instant::now(), limit, task)
            .await
            .0
            .unwrap_or_default()
    }
}

/// An estimate of the chance that a part is needed: 0.4 × score × rank^-0.9 × (lines / 25)^0.45, as a logistic
/// regression over 150 issues has it, simplified. Ranks tell more than scores.
fn chance(rank: usize, score: f64, span: LineSpan) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "ranks are small")]
    let rank = rank as f64;
    let lines = f64::from(span.end() - span.start() + 1);
    let by_length = (lines / 25.0).powf(0.45);
    (0.4 * score * rank.powf(-0.9) * by_length).clamp(0.0, 1.0)
}

/// A part, its score, and what each strategy said for it.
type Scored = (Hit, f64, [f64; Strategy::COUNT]);

/// A port at work: its answer, and how long that took.
type Task<T> = JoinHandle<(Answer<T>, Duration)>;

/// Runs `work` on a thread of its own. On those that serve the runtime, two ports that compute would keep two
/// of them from noticing that anything is late.
fn run<T: Send + 'static>(
    limit: Duration,
    work: impl Future<Output = Answer<T>> + Send + 'static,
) -> Task<T> {
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || {
        let start = Instant::now();
        let answer = runtime.block_on(async { tokio::time::timeout(limit, work).await });
        (answer.unwrap_or_else(|_| late()), start.elapsed())
    })
}

/// What `task` came to, if it ends within `limit` from `start`.
async fn in_time<T>(start: Instant, limit: Duration, task: Task<T>) -> (Answer<T>, Duration) {
    let left = limit.saturating_sub(start.elapsed());
    match tokio::time::timeout(left, task).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => (Err(PortError("it panicked".to_owned())), start.elapsed()),
        Err(_) => (late(), start.elapsed()),
    }
}

fn late<T>() -> Answer<T> {
    Err(PortError("it was late".to_owned()))
}

/// A question asks for a role of files where the best of it fits so many times as well as the best of the sources. With 1
/// reports whose words stand in tests show tests; with 2 questions about examples do not show them.
const ASKED: f64 = 1.4;

/// `weights` with roles for one question: a role is worth less unless the question asks for it ([`ASKED`]), and the
/// further the best of it is ahead, the nearer it is to all of its worth.
fn asked(fused: &[Fused<Key>], weights: &Weights) -> Weights {
    let mut best = [0.0; Weights::ROLES.len()];
    for it in fused.iter().filter(|it| it.item.1 > 0) {
        let role = Role::of(&it.item.0);
        let at = Weights::ROLES.iter().position(|&known| known == role);
        if let Some(best) = at.and_then(|at| best.get_mut(at)) {
            *best = f64::max(*best, it.score);
        }
    }
    let source = best[0];
    let mut weights = weights.clone();
    for (worth, best) in weights.roles.iter_mut().zip(best) {
        if *worth < 1.0 && best > 0.0 {
            let asks = (1.0 - ASKED * source / best).max(0.0);
            *worth += (1.0 - *worth) * asks;
        }
    }
    weights
}

/// What all strategies found.
#[derive(Default)]
struct Pool {
    hits: BTreeMap<Key, Hit>,
    lists: [Vec<(Key, f64)>; Strategy::COUNT],
}

struct Ranked {
    key: Key,
    score: f64,
    contributions: [f64; Strategy::COUNT],
    /// What coverage adds: it tells one part of a file from another, and says nothing for the others.
    covered: f64,
}

impl Pool {
    fn take(
        &mut self,
        strategy: Strategy,
        answer: Answer<Vec<Hit>>,
        took: Duration,
        reports: &mut Vec<Report>,
    ) {
        let mut report = Report {
            strategy,
            found: 0,
            took,
            failure: None,
        };
        match answer {
            Err(error) => report.failure = Some(error.0),
            Ok(hits) => {
                report.found = hits.iter().filter(|hit| hit.kind != "file").count();
                for hit in hits {
                    let key = if hit.kind == "file" {
                        (Arc::from(hit.path.as_str()), 0, 0)
                    } else {
                        hit.key()
                    };
                    self.lists[strategy.index()].push((key.clone(), hit.score));
                    self.hits.entry(key).or_insert(hit);
                }
            }
        }
        debug!(
            strategy = strategy.as_str(),
            found = report.found,
            ?took,
            "strategy"
        );
        reports.push(report);
    }

    /// All lists in one, by the weights of strategies and of the roles of files.
    fn fused(&self, options: &Options) -> Vec<Ranked> {
        let weights = &options.weights;
        let is_mute = options.is_mute();
        let lists: Vec<List<Key>> = Strategy::ALL
            .into_iter()
            .map(|strategy| List {
                weight: if is_mute {
                    1.0
                } else {
                    weights.strategies[strategy.index()]
                },
                items: self.with_parts(&self.lists[strategy.index()]),
            })
            .collect();
        // Scores of ports that are no numbers were none to begin with.
        let fused = convex(&lists).unwrap_or_default();
        let roles = asked(&fused, weights);
        let mut ranked: Vec<Ranked> = fused
            .into_iter()
            .map(|it| {
                let role = roles.of_role(Role::of(&it.item.0));
                let mut contributions = [0.0; Strategy::COUNT];
                contributions.copy_from_slice(&it.contributions);
                let covered = contributions[Strategy::Coverage.index()];
                Ranked {
                    key: it.item,
                    score: (it.score - covered) * role,
                    contributions,
                    covered: covered * role,
                }
            })
            .collect();
        self.lift(&mut ranked, weights);
        for it in &mut ranked {
            it.score += it.covered;
        }
        // Stable: equal scores stay in the order of their places.
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
        ranked
    }

    /// What its best part says for a file is said in part for all of it, and more for its imports, which tell
    /// what the best is made of.
    fn lift(&self, ranked: &mut [Ranked], weights: &Weights) {
        let mut best: BTreeMap<Arc<str>, f64> = BTreeMap::new();
        for it in ranked.iter().filter(|it| it.key.1 > 0) {
            let of_file = best.entry(Arc::clone(&it.key.0)).or_default();
            *of_file = of_file.max(it.score);
        }
        for it in ranked.iter_mut() {
            let of_file = best.get(&it.key.0).copied().unwrap_or(0.0);
            let is_head = self
                .hits
                .get(&it.key)
                .is_some_and(|hit| hit.kind == "lines" && it.key.1 <= 30);
            it.score += weights.neighbour * of_file;
            if is_head {
                it.score = it
                    .score
                    .max(weights.head * of_file * (1.0 + weights.neighbour));
            }
        }
    }

    /// A list in which what is said of a file is said of all parts of it that were found.
    fn with_parts(&self, list: &[(Key, f64)]) -> Vec<(Key, f64)> {
        let mut items = Vec::with_capacity(list.len());
        for (key, score) in list.iter().filter(|(_, score)| score.is_finite()) {
            items.push((key.clone(), *score));
            if key.1 == 0 {
                let parts = self
                    .hits
                    .range((Arc::clone(&key.0), 1, 0)..=(Arc::clone(&key.0), u32::MAX, u32::MAX));
                items.extend(parts.map(|(part, _)| (part.clone(), *score)));
            }
        }
        items
    }
}
