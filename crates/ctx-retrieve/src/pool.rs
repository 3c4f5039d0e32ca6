//! What all strategies found, and one order of it.

use std::sync::Arc;

use ctx_rank::{Fused, List, Role, convex};
use rapidhash::RapidHashMap;

use crate::options::{Options, Strategy, Weights};
use crate::ports::{Hit, Part};

/// A question asks for a role of files where the best of it fits so many times as well as the best of the sources. With 1
/// reports whose words stand in tests show tests; with 2 questions about examples do not show them.
const ASKED: f64 = 1.4;
/// A run of lines that begins no later than this is the head of its file.
const HEAD: u32 = 30;

/// All that was found, each part and file once and under a number, in the order met.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    files: Vec<File>,
    /// Numbers of files by their paths.
    paths: RapidHashMap<String, usize>,
    parts: Vec<(usize, Arc<Part>)>,
    /// Numbers of parts by their files and lines.
    places: RapidHashMap<(usize, u32, u32), usize>,
    said: [Vec<(Subject, f64)>; Strategy::COUNT],
}

#[derive(Debug)]
struct File {
    path: String,
    role: Role,
}

/// What a strategy speaks of, by its number.
#[derive(Clone, Copy, Debug)]
enum Subject {
    File(usize),
    Part(usize),
}

/// A part, and what it came to.
#[derive(Debug)]
pub(crate) struct Ranked {
    pub(crate) part: Arc<Part>,
    pub(crate) role: Role,
    pub(crate) score: f64,
    pub(crate) contributions: [f64; Strategy::COUNT],
}

impl Pool {
    /// Takes what `strategy` found, and tells how many of it are parts of files.
    pub(crate) fn take(&mut self, strategy: Strategy, hits: Vec<Hit>) -> usize {
        let mut parts = 0;
        // A score that is no number was none to begin with.
        for hit in hits {
            let file = self.file(&hit.path);
            let subject = if hit.kind == "file" {
                Subject::File(file)
            } else {
                parts += 1;
                Subject::Part(self.part(file, &hit.part))
            };
            if hit.score.is_finite() {
                self.said[strategy.index()].push((subject, hit.score));
            }
        }
        parts
    }

    fn file(&mut self, path: &str) -> usize {
        if let Some(&known) = self.paths.get(path) {
            return known;
        }
        let number = self.files.len();
        self.paths.insert(path.to_owned(), number);
        self.files.push(File {
            path: path.to_owned(),
            role: Role::of(path),
        });
        number
    }

    fn part(&mut self, file: usize, part: &Arc<Part>) -> usize {
        let next = self.parts.len();
        let place = (file, part.span.start(), part.span.end());
        let number = *self.places.entry(place).or_insert(next);
        if number == next {
            self.parts.push((file, Arc::clone(part)));
        }
        number
    }

    /// All lists in one, by the weights of strategies and of the roles of files: the best part first, equals in
    /// the order of their places. O(n log n) of n found.
    pub(crate) fn ranked(&self, options: &Options) -> Vec<Ranked> {
        let weights = &options.weights;
        let order = Order::of(self);
        let is_mute = options.is_mute();
        let lists = Strategy::ALL.map(|strategy| List {
            weight: if is_mute {
                1.0
            } else {
                weights.strategies[strategy.index()]
            },
            items: order.items(&self.said[strategy.index()]),
        });
        // Scores are finite, and so are weights.
        let fused = convex(&lists).unwrap_or_default();
        let roles = self.asked(&fused, &order, weights);
        let mut scored: Vec<Scored> = fused
            .into_iter()
            .filter_map(|it| {
                let part = order.part(it.item)?;
                let role = self.files[self.parts[part].0].role;
                Some(Scored::new(part, roles.of_role(role), it.contributions))
            })
            .collect();
        self.lift(&mut scored, weights);
        for it in &mut scored {
            it.score += it.covered;
        }
        // Stable: equal scores stay in the order of their places.
        scored.sort_by(|a, b| b.score.total_cmp(&a.score));
        let ranked = scored.into_iter().map(|it| {
            let (file, part) = &self.parts[it.part];
            Ranked {
                part: Arc::clone(part),
                role: self.files[*file].role,
                score: it.score,
                contributions: it.contributions,
            }
        });
        ranked.collect()
    }

    /// `weights` with roles for one question: a role is worth less unless the question asks for it ([`ASKED`]), and the
    /// further the best of it is ahead, the nearer it is to all of its worth.
    fn asked(
        &self,
        fused: &[Fused<usize, { Strategy::COUNT }>],
        order: &Order,
        weights: &Weights,
    ) -> Weights {
        let mut best = [0.0; Weights::ROLES.len()];
        for it in fused {
            let Some(part) = order.part(it.item) else {
                continue;
            };
            let role = self.files[self.parts[part].0].role;
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

    /// What its best part says for a file is said in part for all of it, and more for its imports, which tell
    /// what the best is made of.
    fn lift(&self, scored: &mut [Scored], weights: &Weights) {
        let mut best = vec![0.0_f64; self.files.len()];
        for it in scored.iter() {
            let of_file = &mut best[self.parts[it.part].0];
            *of_file = of_file.max(it.score);
        }
        for it in scored {
            let (file, part) = &self.parts[it.part];
            let of_file = best[*file];
            it.score += weights.neighbour * of_file;
            if part.kind == "lines" && part.span.start() <= HEAD {
                let as_head = weights.head * of_file * (1.0 + weights.neighbour);
                it.score = it.score.max(as_head);
            }
        }
    }
}

struct Scored {
    part: usize,
    score: f64,
    contributions: [f64; Strategy::COUNT],
    /// What coverage adds: it tells one part of a file from another, and says nothing for the others.
    covered: f64,
}

impl Scored {
    fn new(part: usize, role: f64, contributions: [f64; Strategy::COUNT]) -> Self {
        let covered = contributions[Strategy::Coverage.index()];
        let all: f64 = contributions.iter().sum();
        Scored {
            part,
            score: (all - covered) * role,
            contributions,
            covered: covered * role,
        }
    }
}

/// Files and parts in the order of their places, each file before its parts.
struct Order {
    /// Numbers of parts in the pool; none for a file.
    items: Vec<Option<usize>>,
    /// Where each file and its parts stand in it.
    files: Vec<std::ops::Range<usize>>,
    /// Where each part stands in it.
    parts: Vec<usize>,
}

impl Order {
    fn of(pool: &Pool) -> Self {
        let mut by_path: Vec<usize> = (0..pool.files.len()).collect();
        by_path.sort_unstable_by_key(|&it| pool.files[it].path.as_str());
        let mut parts_of: Vec<Vec<usize>> = vec![Vec::new(); pool.files.len()];
        for (number, (file, _)) in pool.parts.iter().enumerate() {
            parts_of[*file].push(number);
        }
        let mut order = Order {
            items: Vec::with_capacity(pool.files.len() + pool.parts.len()),
            files: vec![0..0; pool.files.len()],
            parts: vec![0; pool.parts.len()],
        };
        for file in by_path {
            let start = order.items.len();
            order.items.push(None);
            let parts = &mut parts_of[file];
            parts.sort_unstable_by_key(|&it| {
                let span = pool.parts[it].1.span;
                (span.start(), span.end())
            });
            for &part in parts.iter() {
                order.parts[part] = order.items.len();
                order.items.push(Some(part));
            }
            order.files[file] = start..order.items.len();
        }
        order
    }

    /// A list in which what is said of a file is said of all parts of it that were found.
    fn items(&self, said: &[(Subject, f64)]) -> Vec<(usize, f64)> {
        let mut items = Vec::with_capacity(said.len());
        for &(subject, score) in said {
            match subject {
                Subject::Part(part) => items.push((self.parts[part], score)),
                Subject::File(file) => {
                    items.extend(self.files[file].clone().map(|place| (place, score)));
                }
            }
        }
        items
    }

    /// The part at `place`, if it is not a file that stands there.
    fn part(&self, place: usize) -> Option<usize> {
        self.items[place]
    }
}
