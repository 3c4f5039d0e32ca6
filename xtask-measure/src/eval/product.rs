//! How much of the answers `ctx query` and the server show: the texts of a set are written as files
//! to a folder and indexed, and each question is answered by the code that the products use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use ctx::assemble::Control;
use ctx::index::Index;
use ctx::model::{BuildOptions, BuiltContext, CounterName, Selection, Tokens};
use ctx::resolve::Resolver;
use ctx::retrieve::{self, Retriever};
use ctx::service::{Answer, OwnerId, Ports, PrimeOptions, Service};
use ctx::tokens::{TokenCounter as _, o200k_base};
use serde::Serialize;
use tokio::runtime::Runtime;

use super::sets::{Golden, Question, Set};
use super::shown::{Shown, shown, shown_by_text};
use crate::strategies;

/// How many passages count as the first that retrieval finds.
const FIRST: usize = 20;

/// A generous limit, so that no source is late on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// What answers a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "camelCase")]
pub(super) enum By {
    /// As `ctx query` does.
    #[default]
    Query,
    /// As the server does, for a message without a thread.
    Server,
}

/// The settings for a question.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Ask {
    pub(super) by: By,
    pub(super) budget: u32,
    /// The chance below which sentences are left out; `None` means the retriever's default.
    pub(super) min_chance: Option<f64>,
}

/// Means over the questions, of all and of those with an even and an odd number.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Figures {
    /// The share of the answer's characters that are shown.
    pub(super) recall: f64,
    /// The share of the answer's passages of which at least something is shown.
    pub(super) touched: f64,
    /// The share of the shown characters that belong to the answer.
    pub(super) precision: f64,
    /// Tokens of the contexts.
    pub(super) tokens: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct Cell {
    pub(super) ask: Ask,
    pub(super) all: Figures,
    pub(super) halves: [Figures; 2],
    /// Contexts over their budget, according to a recount.
    pub(super) over: usize,
    /// Contexts that differed the second time.
    pub(super) unstable: usize,
    /// Parts that the context cites but does not contain.
    pub(super) false_spans: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct Measured {
    pub(super) cells: Vec<Cell>,
    /// The share of golden passages among the first 20 that retrieval finds.
    pub(super) pass_at_20: Option<f64>,
}

/// Answers all questions of `set` in each of `ways`. Files and index are created anew below `work`.
pub(super) fn run(set: &Set, ways: &[Ask], work: &Path) -> Result<Measured> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()?;
    let service = service(set, &work.join(set.name))?;
    let mut found = Vec::new();
    let mut cells = Vec::new();
    for &ask in ways {
        let mut cell = Cell {
            ask,
            all: Figures::default(),
            halves: [Figures::default(); 2],
            over: 0,
            unstable: 0,
            false_spans: 0,
        };
        let mut rows = Vec::with_capacity(set.questions.len());
        for question in &set.questions {
            let text = &question.text;
            let (once, again, shown) = if ask.by == By::Server {
                let once = prime(&runtime, &service, text, ask)?;
                let shown = shown_by_text(&once, &set.files)?;
                (once, prime(&runtime, &service, text, ask)?, shown)
            } else {
                let answer = answer(&runtime, &service, text, ask)?;
                let again = self::answer(&runtime, &service, text, ask)?;
                if found.len() < set.questions.len() {
                    found.push(passed(set, question, &answer));
                }
                let shown = shown(&answer, &set.files);
                (Arc::new(answer.built), Arc::new(again.built), shown)
            };
            let total = o200k_base().count(&once.context);
            cell.over += usize::from(total.get() > ask.budget);
            cell.unstable += usize::from(again.context != once.context);
            cell.false_spans += shown.false_spans;
            rows.push(figures(set, question, &shown, f64::from(total.get())));
        }
        cell.all = mean(rows.iter());
        cell.halves = [
            mean(rows.iter().step_by(2)),
            mean(rows.iter().skip(1).step_by(2)),
        ];
        cells.push(cell);
    }
    let passed: Option<Vec<f64>> = found.into_iter().collect();
    Ok(Measured {
        cells,
        pass_at_20: passed.map(|it| it.iter().sum::<f64>() / count(it.len())),
    })
}

/// A service over the files of `set`, written and indexed below `work`.
fn service(set: &Set, work: &Path) -> Result<Service> {
    if work.exists() {
        fs::remove_dir_all(work).with_context(|| format!("failed to remove {}", work.display()))?;
    }
    let tree = work.join("tree");
    for (path, text) in &set.files {
        let path = tree.join(path);
        fs::create_dir_all(path.parent().context("a file has a folder")?)?;
        fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
    }
    let index = Index::open(&tree, &work.join("index"), ctx::index::Options::default())?;
    index.update(&mut |_| ControlFlow::Continue(()))?;
    let sources = index.sources()?;
    let index = Arc::new(index);
    let resolver = Resolver::new(sources, ctx::syntax::Limits::default()).with_index(index.clone());
    let ports = Ports::of(&index);
    let service = Service::new(Retriever::over(index), Arc::new(resolver));
    // What one question was shown must not affect the next.
    let owner = OwnerId::new("eval");
    Ok(service.for_owner(owner, ports).without_recording())
}

fn build_within(budget: u32, build: BuildOptions) -> BuildOptions {
    build
        .with_max_tokens(Tokens::new(budget))
        .with_counter(CounterName::Named("o200k_base".to_owned()))
}

/// The answer to a message without a thread, with no reserve.
pub(super) fn prime(
    runtime: &Runtime,
    service: &Service,
    message: &str,
    ask: Ask,
) -> Result<Arc<BuiltContext>> {
    let options = PrimeOptions::default();
    let build = build_within(ask.budget, options.build.clone()).with_reserve(Tokens::ZERO);
    let mut options = options.with_build(build).with_deadline(PATIENCE);
    options.retrieve.deadline = PATIENCE;
    options.retrieve.min_chance = ask.min_chance.unwrap_or(options.retrieve.min_chance);
    let control = Control::default();
    let primed = runtime.block_on(service.prime(None, message, &options, &control))?;
    let failures = &primed.context.failures;
    ensure!(failures.is_empty(), "{failures:?} for {message:?}");
    Ok(Arc::clone(&primed.context.built))
}

fn answer(runtime: &Runtime, service: &Service, question: &str, ask: Ask) -> Result<Answer> {
    let mut retrieve = retrieve::Options::default();
    retrieve.deadline = PATIENCE;
    retrieve.min_chance = ask.min_chance.unwrap_or(retrieve.min_chance);
    let build =
        build_within(ask.budget, BuildOptions::default()).with_selection(Selection::Optimal);
    let control = Control::default();
    let answer = runtime.block_on(service.answer(question, &retrieve, &build, &control))?;
    strategies::none_failed(&answer.material.retrieved)?;
    Ok(answer)
}

/// The places of the answer, passage by passage: file and characters.
fn golden<'s>(set: &'s Set, question: &'s Question) -> Vec<(String, Range<usize>)> {
    match &question.golden {
        Golden::Spans(document, spans) => spans
            .iter()
            .map(|span| (format!("{document}.md"), span.clone()))
            .collect(),
        Golden::Passages(ids) => {
            let passages = set.passages.iter().filter(|it| ids.contains(&it.id));
            passages
                .map(|it| (it.file.clone(), it.range.clone()))
                .collect()
        }
    }
}

fn figures(set: &Set, question: &Question, shown: &Shown, tokens: f64) -> Figures {
    let mut characters: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (path, range) in &shown.parts {
        characters.entry(path).or_default().extend(range.clone());
    }
    let all: usize = characters.values().map(BTreeSet::len).sum();
    let golden = golden(set, question);
    let says = says(set, &golden);
    let (mut shares, mut touched, mut hits) = (0.0, 0, 0);
    let mut found_of_all = 0;
    let mut of_all = 0;
    for ((path, range), says) in golden.iter().zip(&says) {
        let none = BTreeSet::new();
        let here = characters.get(path.as_str()).unwrap_or(&none);
        hits += here.range(range.clone()).count();
        let found = says.iter().filter(|at| here.contains(at)).count();
        found_of_all += found;
        of_all += says.len();
        shares += count(found) / count(says.len()).max(1.0);
        touched += usize::from(found > 0);
    }
    let passages = count(golden.len()).max(1.0);
    let is_spans = matches!(question.golden, Golden::Spans(..));
    Figures {
        // Counted as in the literature: all characters of spans together, but each passage by
        // itself.
        recall: if is_spans {
            count(found_of_all) / count(of_all).max(1.0)
        } else {
            shares / passages
        },
        touched: count(touched) / passages,
        precision: count(hits) / count(all).max(1.0),
        tokens,
    }
}

/// For each golden place the indexes of the characters that are not blank.
fn says(set: &Set, golden: &[(String, Range<usize>)]) -> Vec<Vec<usize>> {
    let of = |(path, range): &(String, Range<usize>)| {
        let text = set.files.get(path).map_or("", String::as_str);
        let characters = text.chars().enumerate().skip(range.start).take(range.len());
        characters
            .filter(|(_, c)| !c.is_whitespace())
            .map(|(at, _)| at)
            .collect()
    };
    golden.iter().map(of).collect()
}

/// The share of the golden passages among the first in the ranking, part by part.
fn passed(set: &Set, question: &Question, answer: &Answer) -> Option<f64> {
    let Golden::Passages(ids) = &question.golden else {
        return None;
    };
    let mut first: Vec<&str> = Vec::new();
    for found in &answer.material.retrieved.found {
        let text = set.files.get(&found.part.path)?;
        let lines = found.part.span.start()..=found.part.span.end();
        let here = set.passages.iter().filter(|it| it.file == found.part.path);
        for passage in here {
            let before: String = text.chars().take(passage.range.start).collect();
            let start = before.matches('\n').count() + 1;
            let end = start + passage.text.trim_end().matches('\n').count();
            let meets =
                (start..=end).any(|it| u32::try_from(it).is_ok_and(|it| lines.contains(&it)));
            if meets && !first.contains(&passage.id.as_str()) {
                first.push(&passage.id);
            }
        }
    }
    first.truncate(FIRST);
    let found = ids.iter().filter(|id| first.contains(&id.as_str())).count();
    Some(count(found) / count(ids.len()))
}

fn mean<'f>(rows: impl Iterator<Item = &'f Figures>) -> Figures {
    let mut mean = Figures::default();
    let mut rows_seen = 0;
    for row in rows {
        mean.recall += row.recall;
        mean.touched += row.touched;
        mean.precision += row.precision;
        mean.tokens += row.tokens;
        rows_seen += 1;
    }
    let all = count(rows_seen).max(1.0);
    Figures {
        recall: mean.recall / all,
        touched: mean.touched / all,
        precision: mean.precision / all,
        tokens: mean.tokens / all,
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^52")]
fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use ctx::model::LineSpan;
    use ctx::rank::Query;
    use ctx::retrieve::{Near, PortError, PortResult, Semantic, async_trait};

    use super::*;

    /// A search that fails, or finds a line.
    struct Search {
        fails: bool,
    }

    #[async_trait]
    impl Semantic for Search {
        async fn nearest(&self, _: &Query, _: usize) -> PortResult<Vec<Near>> {
            if self.fails {
                return Err(PortError::new("the model is not there"));
            }
            Ok(vec![Near::new("a.md", LineSpan::new(1, 1).ok(), 1.0)])
        }
    }

    #[test]
    fn what_a_failed_search_is_not_in_is_no_answer() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join("a.md"), "# Budgets\n\nThey are kept.\n").unwrap();
        let options = ctx::index::Options::default();
        let index = Index::open(&tree, &folder.path().join("index"), options).unwrap();
        index.update(&mut |_| ControlFlow::Continue(())).unwrap();
        let index = Arc::new(index);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_time()
            .build()
            .unwrap();
        let ask = Ask {
            by: By::Query,
            budget: 1_000,
            min_chance: None,
        };
        let asked = |fails| {
            let search = Arc::new(Search { fails });
            let retriever = Retriever::over(index.clone()).with_semantic(search);
            let sources = index.sources().unwrap();
            let resolver = Resolver::new(sources, ctx::syntax::Limits::default());
            let service = Service::new(retriever, Arc::new(resolver));
            answer(&runtime, &service, "which budgets are kept?", ask)
        };
        let answer = asked(false).unwrap();
        assert!(answer.built.context.contains("They are kept."));
        let told = asked(true).unwrap_err().to_string();
        assert_eq!(told, "the strategy semantic failed: the model is not there");
    }
}
