//! How long a question takes, from its words to a context of 8,000 tokens, in a warm process.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ctx::assemble::Control;
use ctx::model::{BuildOptions, CounterName, Format, Selection, Tokens};
use ctx::resolve::Resolver;
use ctx::retrieve::{self, Retriever};
use ctx::service::{Answer, Service};
use serde::{Deserialize, Serialize};

use super::bare;
use super::index::{open, update};
use super::questions::{Kind, Material};
use crate::strategies;

const BUDGET: u32 = 8_000;
/// How many other questions are asked first, to warm up code and caches, but not with the answers.
const BEFORE: usize = 50;
/// The seeds of the questions for warming up, and of the timed ones.
const SEEDS: [u64; 2] = [1, 2];

/// The results.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) questions: usize,
    /// Questions whose contexts were not empty.
    pub(crate) answered: usize,
    /// Times of the first round.
    pub(crate) first: Spread,
    /// Times of a second round with the same questions.
    pub(crate) again: Spread,
    /// The mean processor time per question in the first round, in nanoseconds, if it could be
    /// measured.
    pub(crate) processor: Option<f64>,
    /// Times of the first round, by kind of question.
    pub(crate) kinds: Vec<(String, Spread)>,
    /// Times of the first round, by stage; strategies run concurrently within retrieval.
    pub(crate) stages: Vec<(String, Spread)>,
}

/// The distribution of times, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spread {
    pub(crate) half: f64,
    pub(crate) ninety: f64,
    pub(crate) ninety_nine: f64,
    pub(crate) most: f64,
}

impl Spread {
    /// The distribution of `times`, which may be in any order: the least time that each percentage
    /// is within.
    pub(crate) fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let within = |share: usize| {
            let rank = (times.len() * share).div_ceil(100).max(1);
            times.get(rank - 1).copied().unwrap_or_default()
        };
        Spread {
            half: within(50),
            ninety: within(90),
            ninety_nine: within(99),
            most: within(100),
        }
    }
}

/// Asks `count` questions about `corpus`, using the index in `folder`, which is built if there is
/// none.
pub(super) fn measure(corpus: &Path, folder: &Path, count: usize) -> Result<Asked> {
    let index = open(corpus, folder)?;
    update(&index)?;
    let material = Material::read(corpus, &bare::paths(corpus)?)?;
    let sources = index.sources()?;
    let index = Arc::new(index);
    let resolver = Resolver::new(sources, ctx::syntax::Limits::default()).with_index(index.clone());
    let retriever = Retriever::over(index.clone());
    let client = Client {
        service: Service::new(retriever, Arc::new(resolver)),
        runtime: tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build()?,
    };
    for number in 0..BEFORE {
        client.ask(&material.question(SEEDS[0], number).1)?;
    }
    let questions: Vec<_> = (0..count)
        .map(|it| material.question(SEEDS[1], it))
        .collect();
    let mut times = Times::default();
    let mut asked = Asked {
        questions: count,
        ..Asked::default()
    };
    let before = processor();
    for (kind, question) in &questions {
        let (answer, took) = client.ask(question)?;
        asked.answered += usize::from(!answer.built.included.is_empty());
        times.note(*kind, took, &answer);
    }
    let of_all = processor().zip(before).map(|(now, before)| now - before);
    #[expect(clippy::cast_precision_loss, reason = "there are some hundred")]
    let each = of_all.map(|it| it / count as f64);
    asked.processor = each;
    // Questions are made from the corpus, so nearly all must find something.
    ensure!(
        asked.answered * 10 > count * 9,
        "{} were answered",
        asked.answered
    );
    let again = questions
        .iter()
        .map(|(_, it)| Ok(nanoseconds(client.ask(it)?.1)));
    asked.again = Spread::of(again.collect::<Result<_>>()?);
    times.write(&mut asked);
    Ok(asked)
}

struct Client {
    service: Service,
    runtime: tokio::runtime::Runtime,
}

impl Client {
    fn ask(&self, question: &str) -> Result<(Answer, Duration)> {
        let mut retrieve = retrieve::Options::default();
        // A search that is cut off would look fast.
        retrieve.deadline = Duration::from_mins(1);
        let build = BuildOptions::default()
            .with_max_tokens(Tokens::new(BUDGET))
            .with_counter(CounterName::Named("o200k_base".to_owned()))
            .with_format(Format::Markdown)
            .with_selection(Selection::Optimal);
        let control = Control::default();
        let start = Instant::now();
        let answer = self.service.answer(question, &retrieve, &build, &control);
        let answer = self.runtime.block_on(answer).context("a question")?;
        let took = start.elapsed();
        ensure!(
            answer.built.tokens.total.get() <= BUDGET,
            "a context is over budget"
        );
        strategies::none_failed(&answer.material.retrieved)?;
        Ok((answer, took))
    }
}

/// The processor time of this process so far in nanoseconds, on Linux, where a tick is 10 ms.
fn processor() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the name of the program, in brackets.
    let fields = stat.rsplit_once(") ")?.1.split_whitespace();
    let ticks = fields.skip(11).take(2).map(str::parse::<f64>);
    let ticks: f64 = ticks.collect::<Result<Vec<_>, _>>().ok()?.into_iter().sum();
    Some(ticks * 1e7)
}

#[derive(Default)]
struct Times {
    all: Vec<f64>,
    kinds: BTreeMap<Kind, Vec<f64>>,
    stages: BTreeMap<(u8, &'static str), Vec<f64>>,
}

impl Times {
    fn note(&mut self, kind: Kind, took: Duration, answer: &Answer) {
        self.all.push(nanoseconds(took));
        self.kinds.entry(kind).or_default().push(nanoseconds(took));
        let it = &answer.material.timings;
        let stages = [
            (0, "analyse", it.analyse),
            (1, "retrieve", it.retrieve),
            (3, "resolve", it.resolve),
            (4, "assemble", it.assemble),
        ];
        let strategies = answer.material.retrieved.reports.iter();
        let strategies = strategies.map(|it| (2, it.strategy.as_str(), it.took));
        for (order, name, took) in stages.into_iter().chain(strategies) {
            self.stages
                .entry((order, name))
                .or_default()
                .push(nanoseconds(took));
        }
    }

    fn write(self, asked: &mut Asked) {
        asked.first = Spread::of(self.all);
        let kinds = self.kinds.into_iter();
        asked.kinds = kinds
            .map(|(kind, times)| (kind.as_str().to_owned(), Spread::of(times)))
            .collect();
        let stages = self.stages.into_iter();
        asked.stages = stages
            .map(|((order, name), times)| {
                let name = if order == 2 {
                    format!("retrieve: {name}")
                } else {
                    name.to_owned()
                };
                (name, Spread::of(times))
            })
            .collect();
    }
}

#[expect(clippy::cast_precision_loss, reason = "a second has 2^30 nanoseconds")]
fn nanoseconds(time: Duration) -> f64 {
    time.as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_hundred_times_the_last_but_one_is_the_99th() {
        let spread = Spread::of((1..=100).rev().map(f64::from).collect());
        assert_eq!(
            (spread.half, spread.ninety_nine, spread.most),
            (50.0, 99.0, 100.0)
        );
        assert_eq!(Spread::of(vec![7.0; 3]), Spread::of(vec![7.0]));
        assert_eq!(Spread::of(vec![]), Spread::default());
    }
}
