//! A store in memory, whose ports can be made to misbehave.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use ctx_model::{LineSpan, UnixSeconds};
use ctx_rank::{Analyzer, Query};
use ctx_retrieve::{
    Changes, FileSearch, Hit, Near, Part, PartQuery, PortError, PortResult, Relations, Semantic,
    TextQuery, Touched, Usage,
};
use tokio::sync::{Barrier, Semaphore};

/// What a port does before it answers.
#[derive(Debug)]
pub(crate) enum Mood {
    Fails,
    Panics,
    /// Waits for what never comes.
    Waits,
    /// Keeps its thread until the other end is dropped.
    Blocks(Mutex<Receiver<()>>),
    /// Waits for a permit.
    After(Arc<Semaphore>),
    /// Gives a permit.
    Before(Arc<Semaphore>),
    /// Waits, the first time, for the others that meet there.
    Meets(Arc<Barrier>),
    /// Answers all but the last question.
    Short,
}

#[derive(Debug, Default)]
pub(crate) struct Store {
    pub(crate) parts: Vec<(Part, String)>,
    pub(crate) uses: BTreeMap<String, u64>,
    /// What earlier changes touched, whatever is asked: path, names and score.
    pub(crate) touched: Vec<Touched>,
    /// What another search found, whatever is asked.
    pub(crate) near: Vec<Near>,
    /// What parts of these files score, whatever is asked.
    pub(crate) scores: BTreeMap<String, f64>,
    /// Whether it answers a part of a file where what stands for the file is asked for.
    pub(crate) has_parts_for_files: bool,
    pub(crate) calls: Arc<AtomicUsize>,
    moods: BTreeMap<&'static str, Mood>,
    met: Mutex<BTreeSet<&'static str>>,
}

impl Store {
    /// Parts as path, first line, kind, name and text.
    pub(crate) fn of(parts: &[(&str, u32, &str, &str, &str)]) -> Store {
        let mut store = Store::default();
        for &(path, line, kind, name, text) in parts {
            let mut part = Part::new(path, LineSpan::new(line, line + 5).unwrap());
            part.kind = kind.parse().unwrap();
            part.name = (!name.is_empty()).then(|| name.to_owned());
            store.parts.push((part, text.to_owned()));
        }
        store
    }

    pub(crate) fn with(mut self, port: &'static str, mood: Mood) -> Store {
        self.moods.insert(port, mood);
        self
    }

    async fn enter(&self, port: &'static str) -> PortResult<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        match self.moods.get(port) {
            None | Some(Mood::Short) => {}
            Some(Mood::Fails) => {
                return Err(PortError::with_source(
                    "read",
                    io::Error::other("the disk is gone"),
                ));
            }
            Some(Mood::Panics) => panic!("a port panics, as it is told to"),
            Some(Mood::Waits) => std::future::pending().await,
            Some(Mood::Blocks(gate)) => {
                let _ = gate.lock().unwrap().recv();
            }
            Some(Mood::After(permits)) => permits.acquire().await.unwrap().forget(),
            Some(Mood::Before(permits)) => permits.add_permits(9),
            Some(Mood::Meets(barrier)) => {
                let is_first = self.met.lock().unwrap().insert(port);
                if is_first {
                    barrier.wait().await;
                }
            }
        }
        Ok(())
    }

    /// The answers that `port` gives.
    fn given<T>(&self, port: &str, mut answers: Vec<T>) -> Vec<T> {
        if matches!(self.moods.get(port), Some(Mood::Short)) {
            answers.pop();
        }
        answers
    }

    /// The parts that `score` finds something in, the best first.
    fn best(&self, score: impl Fn(&Part, &str) -> f64, limit: usize) -> Vec<Hit> {
        let parts = self.parts.iter().map(|(part, text)| {
            let set = self.scores.get(&part.path).copied();
            Hit::new(part.clone(), set.unwrap_or_else(|| score(part, text)))
        });
        let mut hits: Vec<Hit> = parts.filter(|it| it.score != 0.0).collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(limit);
        hits
    }
}

fn score(wanted: &TextQuery, text: &str) -> f64 {
    let terms = Analyzer::default().terms(text);
    let found = wanted.terms.iter().filter(|(term, _)| terms.contains(term));
    found.map(|(_, weight)| f64::from(*weight)).sum()
}

fn is_one(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}

#[async_trait]
impl FileSearch for Store {
    async fn passages(&self, wanted: &TextQuery) -> PortResult<Vec<Hit>> {
        self.enter("passages").await?;
        let is_in = |hit: &Part| wanted.paths.is_empty() || wanted.paths.contains(&hit.path);
        let score = |hit: &Part, text: &str| is_one(is_in(hit)) * score(wanted, text);
        Ok(self.best(score, wanted.limit))
    }

    async fn files(&self, wanted: &TextQuery) -> PortResult<Vec<Hit>> {
        self.enter("files").await?;
        let is_in = |hit: &Part| wanted.paths.is_empty() || wanted.paths.contains(&hit.path);
        let score = |hit: &Part, text: &str| is_one(is_in(hit)) * score(wanted, text);
        let hits = self.best(score, wanted.limit);
        let mut files: Vec<Hit> = Vec::new();
        for hit in hits {
            if files.iter().any(|it| it.path == hit.path) {
                continue;
            }
            files.push(if self.has_parts_for_files {
                hit
            } else {
                Hit::new(Part::of_file(hit.path.clone()), hit.score)
            });
        }
        Ok(files)
    }

    async fn definitions(&self, names: &[String], limit: usize) -> PortResult<Vec<Vec<Hit>>> {
        self.enter("definitions").await?;
        let is_named = |name| move |hit: &Part, _: &str| is_one(hit.name.as_ref() == Some(name));
        let hits = names.iter().map(|name| self.best(is_named(name), limit));
        Ok(self.given("definitions", hits.collect()))
    }

    async fn similar(&self, names: &[String], limit: usize) -> PortResult<Vec<Hit>> {
        self.enter("similar").await?;
        let is_like = |hit: &Part| {
            let name = hit.name.as_deref().unwrap_or_default();
            names.iter().any(|it| !name.is_empty() && it.contains(name))
        };
        Ok(self.best(|hit, _| 0.9 * is_one(is_like(hit)), limit))
    }

    async fn ending_with(&self, ends: &[String], limit: usize) -> PortResult<Vec<Vec<String>>> {
        self.enter("ending_with").await?;
        let paths: BTreeSet<&str> = self
            .parts
            .iter()
            .map(|(hit, _)| hit.path.as_str())
            .collect();
        let of = |end: &String| {
            let end = format!("/{}", end.to_lowercase());
            let ends = |it: &&str| format!("/{}", it.to_lowercase()).ends_with(&end);
            let found = paths.iter().copied().filter(ends).take(limit);
            found.map(str::to_owned).collect()
        };
        Ok(self.given("ending_with", ends.iter().map(of).collect()))
    }

    async fn below(&self, folders: &[String], limit: usize) -> PortResult<Vec<Vec<String>>> {
        self.enter("below").await?;
        let paths: BTreeSet<String> = self.parts.iter().map(|it| it.0.path.clone()).collect();
        let of = |folder: &String| {
            let is_below = |it: &&String| format!("/{it}").contains(&format!("/{folder}/"));
            paths.iter().filter(is_below).take(limit).cloned().collect()
        };
        Ok(self.given("below", folders.iter().map(of).collect()))
    }

    async fn parts_of(&self, wanted: &[PartQuery], limit: usize) -> PortResult<Vec<Vec<Hit>>> {
        self.enter("parts_of").await?;
        let of = |query: &PartQuery| {
            let is_there = |hit: &Part, _: &str| is_one(query.is_met_by(hit));
            self.best(is_there, limit)
        };
        Ok(self.given("parts_of", wanted.iter().map(of).collect()))
    }
}

#[async_trait]
impl Relations for Store {
    async fn users_of(&self, names: &[String], limit: usize) -> PortResult<Vec<Vec<Hit>>> {
        self.enter("users_of").await?;
        let uses = |name| move |hit: &Part, _: &str| is_one(hit.refers_to.contains(name));
        let hits = names.iter().map(|it| self.best(uses(it), limit));
        Ok(self.given("users_of", hits.collect()))
    }
}

#[async_trait]
impl Changes for Store {
    async fn touched(&self, terms: &[(String, f32)], limit: usize) -> PortResult<Vec<Touched>> {
        self.enter("touched").await?;
        assert!(!terms.is_empty());
        Ok(self.touched.iter().take(limit).cloned().collect())
    }
}

#[async_trait]
impl Semantic for Store {
    async fn nearest(&self, _: &Query, _: usize) -> PortResult<Vec<Near>> {
        self.enter("nearest").await?;
        Ok(self.near.clone())
    }
}

#[async_trait]
impl Usage for Store {
    async fn counts(&self, _paths: &[String]) -> PortResult<BTreeMap<String, u64>> {
        self.enter("counts").await?;
        Ok(self.uses.clone())
    }

    async fn shown(&self, _paths: &[String], _now: UnixSeconds) -> PortResult<()> {
        Ok(())
    }

    async fn recent(&self, _limit: usize) -> PortResult<Vec<(String, UnixSeconds)>> {
        Ok(Vec::new())
    }
}
