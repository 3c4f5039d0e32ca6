//! Collects the results of all strategies, and ranks them.

use std::array::from_fn;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use ctx_model::PartKind;
use ctx_rank::{List, Role, convex_by_number};
use rapidhash::RapidHashMap;
use smallvec::SmallVec;

use crate::keys::ByPath;
use crate::options::{Options, Strategy, Weights};
use crate::ports::{Hit, Part};

/// A question asks for a role of files if the best file of that role matches this many times as
/// well as the best source. With 1, reports whose words occur in tests show tests; with 2,
/// questions about examples do not show examples.
const ASKED: f64 = 1.4;
/// The most documents whose weight is raised, the best ones.
const RAISED: usize = 32;
/// The rank, from 0, of the document whose weight is raised to half of that of the first.
const HALF_RANK: f64 = 8.0;
/// The rank, from 0, of the document whose score is raised to half of that of the first.
const HALF_FIRST: f64 = 2.0;
/// A document is not put first if its score is less than this share of the best other part.
const FITTING: f64 = 0.5;
/// A run of lines that begins at or before this line is the head of its file.
const HEAD: u32 = 30;

/// All hits: each file and each part once, numbered in the order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    files: Vec<File>,
    /// Indices in `files`, by path.
    paths: RapidHashMap<ByPath, usize>,
    /// Files and parts, by number.
    items: Vec<Item>,
    /// The numbers of parts, by file index and lines.
    numbers: RapidHashMap<(usize, u32, u32), usize>,
    /// The numbers of parts by their address: strategies mostly return the same shared parts, which
    /// then need not be dereferenced each time. The items keep all of them alive.
    held: RapidHashMap<usize, usize>,
    /// Item numbers and scores, by strategy.
    said: [Vec<(usize, f64)>; Strategy::COUNT],
}

#[derive(Debug)]
struct File {
    /// The item number of the file itself, and those of its parts.
    number: usize,
    parts: SmallVec<[usize; 4]>,
    /// Whether it [explains](Role::explains) the project, and whether it is a
    /// [changelog](Role::is_of_changes): by its path, which is examined once.
    explains: bool,
    is_of_changes: bool,
}

/// A file, or a part of it.
#[derive(Debug)]
struct Item {
    file: usize,
    role: Role,
    part: Option<Arc<Part>>,
}

/// All parts that were found, with their fused scores.
#[derive(Debug)]
pub(crate) struct Ranking<'p> {
    pool: &'p Pool,
    /// By item number.
    contributions: Vec<[f64; Strategy::COUNT]>,
    /// In no particular order.
    pub(crate) all: Vec<Ranked<'p>>,
}

/// A part with its fused score.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranked<'p> {
    pub(crate) part: &'p Arc<Part>,
    pub(crate) score: f64,
    number: usize,
}

impl Ranking<'_> {
    fn file(&self, it: Ranked<'_>) -> usize {
        self.pool.items[it.number].file
    }

    /// The role of a part.
    pub(crate) fn role(&self, it: Ranked<'_>) -> Role {
        self.pool.items[it.number].role
    }

    /// The contribution of each strategy to a part.
    pub(crate) fn contributions(&self, it: Ranked<'_>) -> [f64; Strategy::COUNT] {
        self.contributions[it.number]
    }

    /// Adds to all parts of a file a share of the score of its best part, and a larger one to its
    /// head: imports show what the best part depends on.
    fn lift(&mut self, weights: &Weights) {
        let mut best = vec![0.0_f64; self.pool.files.len()];
        for &it in &self.all {
            let of_file = &mut best[self.file(it)];
            *of_file = of_file.max(it.score);
        }
        let items = &self.pool.items;
        for it in &mut self.all {
            let of_file = best[items[it.number].file];
            it.score += weights.neighbour * of_file;
            if it.part.kind == PartKind::Lines && it.part.span.start() <= HEAD {
                let as_head = weights.head * of_file * (1.0 + weights.neighbour);
                it.score = it.score.max(as_head);
            }
        }
    }

    fn is_document(&self, it: Ranked<'_>) -> bool {
        self.role(it) == Role::Documentation
    }

    /// Whether it may get more than its role weight: it explains the project, or the question names
    /// it.
    fn may_lead(&self, it: Ranked<'_>, weights: &Weights) -> bool {
        let is_named = || self.contributions(it)[Strategy::Places.index()] > 0.0;
        let explains = || {
            let file = &self.pool.files[self.file(it)];
            file.explains && (weights.changelogs || !file.is_of_changes)
        };
        self.is_document(it) && (explains() || is_named())
    }

    /// The indices of the best documents, the best first.
    fn best_documents(&self, weights: &Weights) -> Vec<usize> {
        let all = 0..self.all.len();
        let may_lead = |at: &usize| self.may_lead(self.all[*at], weights);
        let mut documents: Vec<usize> = all.filter(may_lead).collect();
        keep_best(&mut documents, RAISED, |&a, &b| {
            best_first(&self.all[a], &self.all[b])
        });
        documents
    }

    /// Raises the role weights of the best documents to at least what [`Weights::documents`] says:
    /// `covered` has, for each part, the contribution of coverage, and the role weight.
    fn raise_documents(&self, weights: &Weights, covered: &mut [(f64, f64)]) {
        if weights.documents <= weights.role(Role::Documentation) {
            return;
        }
        let mut rank = 0.0;
        for at in self.best_documents(weights) {
            let worth = &mut covered[at].1;
            *worth = worth.max(weights.documents / (1.0 + rank / HALF_RANK));
            rank += 1.0;
        }
    }

    /// Raises the scores of the best documents to at least what [`Weights::first_document`] says.
    fn lead_documents(&mut self, weights: &Weights) {
        if weights.first_document <= 0.0 {
            return;
        }
        let others = self.all.iter().filter(|&&it| !self.is_document(it));
        let best = others.map(|it| it.score).fold(0.0, f64::max);
        let first = weights.first_document * best;
        let mut documents = self.best_documents(weights);
        documents.retain(|&at| self.all[at].score >= FITTING * best);
        let mut rank = 0.0;
        for at in documents {
            let score = &mut self.all[at].score;
            *score = score.max(first / (1.0 + rank / HALF_FIRST));
            rank += 1.0;
        }
    }

    /// Adjusts role weights to one question: a role has less weight unless the question asks for it
    /// ([`ASKED`]); the further the best part of the role is ahead, the nearer its weight is to 1.
    fn asked(&self, weights: &Weights) -> Weights {
        let mut best: BTreeMap<Role, f64> = BTreeMap::new();
        for &it in &self.all {
            let best = best.entry(self.role(it)).or_default();
            *best = best.max(it.score);
        }
        let source = best.get(&Role::Source).copied().unwrap_or_default();
        let mut weights = weights.clone();
        for (role, best) in best {
            let worth = weights.role_mut(role);
            if *worth < 1.0 && best > 0.0 {
                let asks = (1.0 - ASKED * source / best).max(0.0);
                *worth += (1.0 - *worth) * asks;
            }
        }
        weights
    }
}

impl Pool {
    /// Adds the hits of `strategy`, and returns how many of them are parts of files.
    pub(crate) fn take(&mut self, strategy: Strategy, hits: Vec<Hit>) -> usize {
        let mut parts = 0;
        self.held.reserve(hits.len());
        self.numbers.reserve(hits.len());
        self.items.reserve(hits.len());
        self.said[strategy.index()].reserve(hits.len());
        // Hits whose score is not finite are ignored.
        for hit in hits.into_iter().filter(|it| it.score.is_finite()) {
            let number = self.number(hit.part);
            parts += usize::from(self.items[number].part.is_some());
            self.said[strategy.index()].push((number, hit.score));
        }
        parts
    }

    fn number(&mut self, part: Arc<Part>) -> usize {
        if let Some(&known) = self.held.get(&Arc::as_ptr(&part).addr()) {
            return known;
        }
        let file = self.file(&part);
        if part.is_file() {
            return self.files[file].number;
        }
        self.part(file, part)
    }

    fn file(&mut self, part: &Arc<Part>) -> usize {
        if let Some(&known) = self.paths.get(&*part.path) {
            return known;
        }
        let file = self.files.len();
        self.paths.insert(ByPath(Arc::clone(part)), file);
        let (path, role) = (&part.path, Role::of(&part.path));
        let is_document = role == Role::Documentation;
        self.files.push(File {
            number: self.items.len(),
            parts: SmallVec::new(),
            explains: is_document && Role::explains(path),
            is_of_changes: is_document && Role::is_of_changes(path),
        });
        self.items.push(Item {
            file,
            role,
            part: None,
        });
        file
    }

    fn part(&mut self, file: usize, part: Arc<Part>) -> usize {
        let next = self.items.len();
        let lines = (file, part.span.start(), part.span.end());
        let number = *self.numbers.entry(lines).or_insert(next);
        if number == next {
            self.held.insert(Arc::as_ptr(&part).addr(), number);
            let of_file = self.items[self.files[file].number].role;
            self.files[file].parts.push(number);
            self.items.push(Item {
                file,
                role: part.role(of_file),
                part: Some(part),
            });
        }
        number
    }

    /// Whether there are no hits.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The `most` best parts, the best first, ties in the order of their keys. O(number of hits).
    pub(crate) fn best(&self, options: &Options, most: usize) -> Vec<Ranked<'_>> {
        let mut best = self.ranking(options).all;
        keep_best(&mut best, most, best_first);
        best
    }

    /// All parts with scores by the weights of strategies and roles, in no particular order.
    /// O(number of hits).
    pub(crate) fn ranking(&self, options: &Options) -> Ranking<'_> {
        let weights = &options.weights;
        let is_mute = options.is_mute();
        let lists: [_; Strategy::COUNT] = from_fn(|index| List {
            weight: if is_mute {
                1.0
            } else {
                weights.strategy(Strategy::ALL[index])
            },
            items: self.spread(&self.said[index]),
        });
        let contributions = convex_by_number(&lists, self.items.len())
            .expect("weights of options for a query, and scores taken, are finite");
        let items = self.items.iter().zip(&contributions).enumerate();
        let all = items.filter_map(|(number, (item, contributions))| {
            Some(Ranked {
                part: item.part.as_ref()?,
                score: contributions.iter().sum(),
                number,
            })
        });
        let all = all.collect();
        let mut ranking = Ranking {
            pool: self,
            contributions,
            all,
        };
        let roles = ranking.asked(weights);
        // Coverage distinguishes parts within a file, so it must not count for the others of the
        // file. A question that names a test asks for that test, so names do not get the role
        // weight.
        let mut covered: Vec<(f64, f64)> = (ranking.all.iter())
            .map(|&it| {
                let covered = ranking.contributions(it)[Strategy::Coverage.index()];
                (covered, roles.role(ranking.role(it)))
            })
            .collect();
        ranking.raise_documents(&roles, &mut covered);
        for (it, (covered, worth)) in ranking.all.iter_mut().zip(&covered) {
            let named = ranking.contributions[it.number][Strategy::Names.index()];
            it.score = (it.score - covered - named) * worth + named;
        }
        ranking.lift(weights);
        for (it, (covered, worth)) in ranking.all.iter_mut().zip(&covered) {
            it.score += covered * worth;
        }
        ranking.lead_documents(weights);
        ranking
    }

    /// A list in which the score of a file also applies to all parts of it that were found.
    fn spread(&self, said: &[(usize, f64)]) -> Vec<(usize, f64)> {
        let mut items = Vec::with_capacity(said.len());
        for &(number, score) in said {
            items.push((number, score));
            let item = &self.items[number];
            if item.part.is_none() {
                let parts = self.files[item.file].parts.iter();
                items.extend(parts.map(|&part| (part, score)));
            }
        }
        items
    }
}

/// Compares by score, then by key.
fn best_first(a: &Ranked<'_>, b: &Ranked<'_>) -> Ordering {
    let by_key = || a.part.key().cmp(&b.part.key());
    b.score.total_cmp(&a.score).then_with(by_key)
}

/// Keeps the `most` first elements of `all` by `order`, sorted. O(n + `most` log `most`).
pub(crate) fn keep_best<T>(
    all: &mut Vec<T>,
    most: usize,
    mut order: impl FnMut(&T, &T) -> Ordering,
) {
    if (1..all.len()).contains(&most) {
        all.select_nth_unstable_by(most - 1, &mut order);
    }
    all.truncate(most);
    all.sort_unstable_by(order);
}

#[cfg(test)]
mod tests {
    use ctx_model::{LineSpan, SymbolKind};

    use super::*;

    #[test]
    fn the_best_are_those_that_come_first_in_order() {
        let all: Vec<usize> = (0..50).map(|it| it * 37 % 50).collect();
        let mut sorted = all.clone();
        sorted.sort_unstable();
        for most in [0, 1, 2, 49, 50, 51, usize::MAX] {
            let mut best = all.clone();
            keep_best(&mut best, most, Ord::cmp);
            assert_eq!(best, sorted[..most.min(50)], "{most}");
        }
        keep_best(&mut Vec::<usize>::new(), 3, Ord::cmp);
    }

    #[test]
    fn a_part_is_one_whether_it_is_shared_or_a_copy() {
        let part = |line: u32, kind: PartKind| {
            let mut part = Part::new(
                format!("{}.rs", line / 10),
                LineSpan::new(line, line + 3).unwrap(),
            );
            part.kind = kind;
            Arc::new(part)
        };
        let parts: Vec<Arc<Part>> = (1..60)
            .map(|it| part(it, SymbolKind::Function.into()))
            .collect();
        let file = part(11, PartKind::File);
        let told = |is_shared: bool| {
            let mut pool = Pool::default();
            for strategy in [Strategy::Text, Strategy::Coverage, Strategy::Files] {
                let hit = |(score, it): (u32, &Arc<Part>)| {
                    let its = if is_shared {
                        Arc::clone(it)
                    } else {
                        Arc::new((**it).clone())
                    };
                    Hit::new(its, f64::from(score % 7))
                };
                let mut hits: Vec<Hit> = (1..).zip(&parts).map(hit).collect();
                hits.push(hit((3, &file)));
                assert_eq!(pool.take(strategy, hits), parts.len());
            }
            let best = pool.best(&Options::default(), 20).into_iter();
            let best: Vec<_> = best
                .map(|it| (Arc::clone(it.part), it.score.to_bits()))
                .collect();
            assert!(best.len() == 20 && pool.ranking(&Options::default()).all.len() == parts.len());
            best
        };
        assert_eq!(told(true), told(false));
    }
}
