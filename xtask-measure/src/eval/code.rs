//! Issues of real projects, and the lines that their fixes touched.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use ctx::assemble::Control;
use ctx::format::{Slot, neutralise};
use ctx::git::GitChanges;
use ctx::index::Index;
use ctx::model::{BuildOptions, BuiltContext, CounterName, Format, LineSpan, Selection, Tokens};
use ctx::resolve::Resolver;
use ctx::retrieve::{self, Near, Retriever, Strategy};
use ctx::service::{Answer, OwnerId, Ports, Service};
use ctx::syntax;
use ctx::tokens::{TokenCounter as _, o200k_base};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::runtime::Runtime;

use super::Faults;
use super::product::{self, Ask, By, PATIENCE};
use super::shown::{self, Files, shown_by_text};
use crate::strategies;

/// The budgets, in tokens of `o200k_base`.
pub(super) const BUDGETS: [u32; 5] = [2_000, 4_000, 8_000, 16_000, 32_000];

/// One issue, or one change.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Instance {
    pub(super) id: String,
    pub(super) repo: String,
    pub(super) base_commit: String,
    pub(super) query: String,
    pub(super) gold_lines: BTreeMap<String, Vec<u32>>,
    /// Hits of another search: path, first and last line, score.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) near: Vec<(String, u32, u32, f64)>,
}

impl Places<'_> {
    /// The folder with the tree of an instance's base commit.
    fn tree(&self, instance: &Instance) -> PathBuf {
        self.work.join("trees").join(&instance.id)
    }
}

impl Instance {
    /// The hits of another search, if there are any.
    fn near(&self) -> Result<Option<Arc<Vec<Near>>>> {
        let near = |(path, first, last, score): &(String, u32, u32, f64)| {
            Ok(Near::new(path, Some(LineSpan::new(*first, *last)?), *score))
        };
        let near: Vec<Near> = self.near.iter().map(near).collect::<Result<_>>()?;
        Ok((!near.is_empty()).then(|| Arc::new(near)))
    }
}

/// How much a context shows of the lines it should.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) repo: String,
    pub(super) budget: u32,
    /// The share of the files; the next field is the share of the lines.
    pub(super) files: f64,
    pub(super) lines: f64,
    /// The time of the question, in seconds.
    pub(super) took: f64,
}

/// The results of a run.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) shown: Vec<Shown>,
    pub(super) faults: Faults,
}

/// The folders of an evaluation.
#[derive(Debug)]
pub(super) struct Places<'p> {
    pub(super) repos: &'p Path,
    /// The folder below which trees and indexes are kept.
    pub(super) work: &'p Path,
}

/// The files to write.
#[derive(Debug)]
pub(super) struct Out<'p> {
    pub(super) predictions: &'p Path,
    /// A file for what was found for each issue, for fitting weights.
    pub(super) features: Option<&'p Path>,
}

pub(super) fn instances(path: &Path) -> Result<Vec<Instance>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| serde_json::from_str(line).context("an instance is not as expected"))
        .collect()
}

/// Path, first and last line.
type Span = (String, u32, u32);

/// What an instance's question comes to within one budget.
struct Asked {
    context: String,
    /// The lines that are shown.
    spans: Vec<Span>,
    /// How many blocks do not stand where they are cited.
    false_spans: usize,
    /// What retrieval found, where that is told.
    found: Vec<retrieve::Found>,
    /// The time until the context was there, in seconds.
    took: f64,
}

/// Writes a context for each instance and budget.
pub(super) fn run(
    places: &Places<'_>,
    all: &[Instance],
    out: &Out<'_>,
    by: By,
    twice: bool,
) -> Result<Run> {
    let runtime = runtime()?;
    let mut predictions = fs::File::create(out.predictions)?;
    let mut features = out.features.map(fs::File::create).transpose()?;
    let mut run = Run::default();
    for (number, instance) in all.iter().enumerate() {
        tell(number, all.len(), instance);
        let (service, indexing) = service(places, instance, by)?;
        let tree = places.tree(instance);
        for budget in BUDGETS {
            let ask = || match by {
                By::Query => by_query(&runtime, &service, &tree, instance, budget),
                By::Server => by_server(&runtime, &service, &tree, instance, budget),
            };
            let asked = ask()?;
            run.shown
                .push(shown(instance, budget, &asked.spans, asked.took));
            run.faults.false_spans += asked.false_spans;
            let total = o200k_base().count(&asked.context);
            run.faults.over += usize::from(total.get() > budget);
            let line = json!({
                "id": instance.id, "budget": budget, "text": asked.context, "spans": asked.spans,
                "t_index": indexing, "t_query": asked.took,
            });
            writeln!(predictions, "{line}")?;
            if twice {
                run.faults.unstable += usize::from(ask()?.context != asked.context);
            }
            if let (Some(file), true) = (&mut features, budget == BUDGETS[2]) {
                write_features(file, instance, &asked.found)?;
            }
        }
    }
    println!();
    Ok(run)
}

pub(super) fn runtime() -> Result<Runtime> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    Ok(runtime.worker_threads(2).enable_time().build()?)
}

/// Shows the progress of a run on one line.
pub(super) fn tell(number: usize, of: usize, instance: &Instance) {
    #[expect(clippy::print_stderr, reason = "it is progress")]
    {
        eprint!("\r{}/{of} {:<50}", number + 1, instance.id);
    }
}

fn by_query(
    runtime: &Runtime,
    service: &Service,
    tree: &Path,
    instance: &Instance,
    budget: u32,
) -> Result<Asked> {
    let start = Instant::now();
    let asked = answer(service, instance, budget, retrieve::Options::default());
    let asked = runtime.block_on(asked)?;
    Ok(Asked {
        took: start.elapsed().as_secs_f64(),
        spans: spans(&asked),
        false_spans: spans_by_text(&asked.built, tree)?.1,
        context: asked.built.context,
        found: asked.material.retrieved.found,
    })
}

fn by_server(
    runtime: &Runtime,
    service: &Service,
    tree: &Path,
    instance: &Instance,
    budget: u32,
) -> Result<Asked> {
    let ask = Ask {
        by: By::Server,
        budget,
        min_chance: None,
    };
    let start = Instant::now();
    let built = product::prime(runtime, service, &instance.query, ask)?;
    let took = start.elapsed().as_secs_f64();
    let (spans, false_spans) = spans_by_text(&built, tree)?;
    Ok(Asked {
        spans,
        false_spans,
        context: built.context.clone(),
        found: Vec::new(),
        took,
    })
}

/// A service for questions about an instance's tree, and the seconds that indexing took. The server
/// does not read repositories.
pub(super) fn service(places: &Places<'_>, instance: &Instance, by: By) -> Result<(Service, f64)> {
    let (index, indexing) = index(places, instance)?;
    let sources = index.sources()?;
    let index = Arc::new(index);
    let resolver = Resolver::new(sources, syntax::Limits::default()).with_index(index.clone());
    let ports = Ports::of(&index);
    let mut retriever = Retriever::over(index);
    if by == By::Query {
        retriever = retriever.with_changes(Arc::new(changes(places, instance)?));
    }
    if let Some(near) = instance.near()? {
        retriever = retriever.with_semantic(near);
    }
    let service = Service::new(retriever, Arc::new(resolver));
    let service = match by {
        By::Query => service,
        // What one question was shown must not affect the next.
        By::Server => service
            .for_owner(OwnerId::new("eval"), ports)
            .without_recording(),
    };
    Ok((service, indexing))
}

pub(super) fn shown(instance: &Instance, budget: u32, spans: &[Span], took: f64) -> Shown {
    let is_shown = |path: &str, line: u32| {
        let mut spans = spans.iter();
        spans.any(|(of, first, last)| of == path && (*first..=*last).contains(&line))
    };
    let has_file = |path: &str| spans.iter().any(|(of, ..)| of == path);
    let gold = &instance.gold_lines;
    let lines = || {
        gold.iter()
            .flat_map(|(path, lines)| lines.iter().map(move |&line| (path.as_str(), line)))
    };
    let found = lines().filter(|&(path, line)| is_shown(path, line)).count();
    let files = gold.keys().filter(|it| has_file(it)).count();
    Shown {
        repo: instance.repo.clone(),
        budget,
        files: share(files, gold.len()),
        lines: share(found, lines().count()),
        took,
    }
}

pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), it| (sum + it, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}

pub(super) fn share(part: usize, of: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "there are some dozens")]
    let share = part as f64 / of.max(1) as f64;
    share
}

pub(super) async fn answer(
    service: &Service,
    instance: &Instance,
    budget: u32,
    mut retrieve: retrieve::Options,
) -> Result<Answer> {
    retrieve.deadline = PATIENCE;
    let build = BuildOptions::default()
        .with_max_tokens(Tokens::new(budget))
        .with_counter(CounterName::Named("o200k_base".to_owned()))
        .with_format(Format::Markdown)
        .with_selection(Selection::Optimal);
    let answer = service
        .answer(&instance.query, &retrieve, &build, &Control::default())
        .await?;
    strategies::none_failed(&answer.material.retrieved)?;
    Ok(answer)
}

/// The lines that a context shows.
pub(super) fn spans(answer: &Answer) -> Vec<Span> {
    let mut spans = Vec::new();
    for included in &answer.built.included {
        let mut chunks = answer.material.chunks.iter();
        let chunk = chunks.find(|it| it.id == included.id);
        let Some((chunk, path)) = chunk.and_then(|it| Some((it, it.path.clone()?))) else {
            continue;
        };
        let rendition = shown::rendition(chunk, included, &answer.built.context);
        // Of a block of several chunks, the lines of all.
        let block = included.start_line.zip(included.end_line);
        let lines: Vec<u32> = match (rendition, block) {
            (Some(rendition), _) => rendition.lines().iter().flatten().copied().collect(),
            (None, Some((first, last))) => (first..=last).collect(),
            (None, None) => continue,
        };
        for run in lines.chunk_by(|a, b| a + 1 == *b) {
            spans.push((path.clone(), run[0], run[run.len() - 1]));
        }
    }
    spans
}

/// The whole lines that a context shows whose chunks are not known, and how many of its blocks do
/// not stand where they are cited.
fn spans_by_text(built: &BuiltContext, tree: &Path) -> Result<(Vec<Span>, usize)> {
    let mut files = Files::new();
    for path in &built.files {
        let text = fs::read(tree.join(path))
            .with_context(|| format!("failed to read {path} below {}", tree.display()))?;
        // The context shows what is hidden in a text as escapes, on the same lines.
        let text = neutralise(&String::from_utf8_lossy(&text), Slot::Text).into_owned();
        files.insert(path.clone(), text);
    }
    let shown = shown_by_text(built, &files)?;
    let span = |(path, characters): &(String, Range<usize>)| {
        let (first, last) = whole_lines(&files[path], characters)?;
        Some((path.clone(), first, last))
    };
    let spans = shown.parts.iter().filter_map(span).collect();
    Ok((spans, shown.false_spans))
}

/// The first and the last of the lines of `text` that lie within `characters` as a whole, blanks at
/// their ends aside.
fn whole_lines(text: &str, characters: &Range<usize>) -> Option<(u32, u32)> {
    let mut start = 0;
    let mut whole = None;
    for (number, line) in (1..).zip(text.split('\n')) {
        let count = line.chars().count();
        let blanks = count - line.trim_start().chars().count();
        let end = start + line.trim_end().chars().count();
        let is_within = characters.start <= (start + blanks).min(end) && end <= characters.end;
        if is_within && characters.start < (start + count).max(start + 1) {
            whole = Some((whole.map_or(number, |(first, _)| first), number));
        }
        start += count + 1;
        if start > characters.end {
            break;
        }
    }
    whole
}

fn write_features(
    file: &mut fs::File,
    instance: &Instance,
    found: &[retrieve::Found],
) -> Result<()> {
    for (rank, it) in found.iter().enumerate() {
        let (first, last) = (it.part.span.start(), it.part.span.end());
        let gold = instance.gold_lines.get(&it.part.path).map_or(0, |lines| {
            lines
                .iter()
                .filter(|line| (first..=last).contains(line))
                .count()
        });
        let contributions = Strategy::ALL
            .iter()
            .map(|&strategy| it.contribution(strategy));
        let contributions: Vec<f64> = contributions.collect();
        let line = json!({
            "id": instance.id, "repo": instance.repo, "rank": rank, "path": it.part.path, "first": first, "last": last,
            "kind": it.part.kind.as_str(), "name": it.part.qualified_name, "role": it.role.as_str(), "score": it.score,
            "contributions": contributions, "gold": gold,
        });
        writeln!(file, "{line}")?;
    }
    Ok(())
}

/// The up-to-date index of an instance's tree, and the seconds that took.
fn index(places: &Places<'_>, instance: &Instance) -> Result<(Index, f64)> {
    let tree = places.tree(instance);
    if !tree.exists() {
        check_out(places, instance, &tree)?;
    }
    let folder = places.work.join("indexes").join(&instance.id);
    let start = Instant::now();
    let options = ctx::index::Options::default();
    let index = Index::open(&tree, &folder, options)?;
    index.update(&mut |_| ControlFlow::Continue(()))?;
    Ok((index, start.elapsed().as_secs_f64()))
}

/// The changes up to the base commit.
fn changes(places: &Places<'_>, instance: &Instance) -> Result<GitChanges> {
    let folder = places.work.join("changes");
    fs::create_dir_all(&folder)?;
    let git = git_folder(places.repos, &instance.repo)?;
    let kept = folder.join(&instance.id);
    // Otherwise data written by another version of this program might be measured.
    if kept.exists() {
        fs::remove_file(&kept)?;
    }
    let changes = GitChanges::at(&git, &instance.base_commit, &kept)?;
    changes.update(&mut |_| ControlFlow::Continue(()))?;
    Ok(changes)
}

/// Checks out the tree of the base commit.
fn check_out(places: &Places<'_>, instance: &Instance, tree: &Path) -> Result<()> {
    let git = git_folder(places.repos, &instance.repo)?;
    let unfinished = tree.with_extension("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    fs::create_dir_all(&unfinished)?;
    let mut archive = Command::new("git")
        .arg("--git-dir")
        .arg(&git)
        .args(["archive", "--format=tar", &instance.base_commit])
        .stdout(Stdio::piped())
        .spawn()
        .context("failed to run git")?;
    let output = archive.stdout.take().context("git has no output")?;
    let status = Command::new("tar")
        .arg("-x")
        .arg("-C")
        .arg(&unfinished)
        .stdin(output)
        .status()?;
    ensure!(
        archive.wait()?.success() && status.success(),
        "failed to write the tree of {}",
        instance.id
    );
    fs::rename(&unfinished, tree)?;
    Ok(())
}

pub(super) fn git_folder(repos: &Path, repo: &str) -> Result<PathBuf> {
    let wanted = repo.to_lowercase().replace('/', "+");
    for entry in
        fs::read_dir(repos).with_context(|| format!("failed to read {}", repos.display()))?
    {
        let entry = entry?;
        if entry.file_name().to_string_lossy().to_lowercase() != wanted {
            continue;
        }
        let at = ["", "repo", ".git", "repo/.git"].map(|below| entry.path().join(below));
        if let Some(found) = at.into_iter().find(|it| it.join("HEAD").exists()) {
            return Ok(found);
        }
    }
    bail!(
        "there is no git folder for {repo} below {}",
        repos.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_counts_where_all_that_it_says_is_shown() {
        let text = "one\n  two é\n\nthree\n";
        for (characters, lines) in [
            (0..3, Some((1, 1))),
            (0..4, Some((1, 1))),
            (0..2, None),
            (6..11, Some((2, 2))),
            (7..11, None),
            (0..11, Some((1, 2))),
            (0..18, Some((1, 4))),
            (13..18, Some((4, 4))),
            (14..18, None),
        ] {
            assert_eq!(whole_lines(text, &characters), lines, "{characters:?}");
        }
    }
}
