//! Uses the changes in a repository's history as questions: the commit message is the question, and
//! the touched lines are the answer.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ctx::rank::Role;
use ctx::syntax::{Language, is_prose, language_name};

use super::code::{self, BUDGETS, Instance, Out, Places, Shown, git_folder, mean};
use super::{History, work};
use xtask_call::workspace::Workspace;

/// The least bytes of a question: a headline alone is no report.
const SHORTEST: usize = 160;
/// The most bytes of a question: longer ones are release notes.
const LONGEST: usize = 6_000;
/// The most source files that a change may touch.
const MOST_SOURCES: usize = 4;
/// The most files of any kind that a change may touch.
const MOST_FILES: usize = 12;
/// How many lines of source a change may add and remove in total.
const LINES: std::ops::RangeInclusive<u32> = 2..=80;
/// The most lines of an answer.
const MOST_GOLD: usize = 60;

/// First words of changes that do not affect behaviour.
const CHORES: [&str; 14] = [
    "bump",
    "build",
    "changelog",
    "chore",
    "ci",
    "doc",
    "docs",
    "merge",
    "prepare",
    "refactor",
    "release",
    "revert",
    "style",
    "test",
];

/// First words of lines that say nothing about the change.
const TRAILERS: [&str; 10] = [
    "cc",
    "change-id",
    "closes",
    "co-authored-by",
    "fixes",
    "pr-url",
    "refs",
    "resolves",
    "reviewed-by",
    "signed-off-by",
];

/// Draws at most so many questions from the repository of a name below a folder.
pub(super) type OfRepository = fn(&Path, &str, usize) -> Result<Vec<Instance>>;

/// Writes the questions and a context for each, and prints how much the contexts show of their
/// answers.
pub(super) fn run(
    workspace: &Workspace,
    options: &History,
    of_repository: OfRepository,
) -> Result<()> {
    let (repos, only) = (&options.repos, options.only.as_deref());
    let all = instances(repos, only, options.each, of_repository)?;
    let work = work(workspace)?;
    let lines: Result<Vec<String>, _> = all.iter().map(serde_json::to_string).collect();
    fs::write(work.join("history.jsonl"), lines?.join("\n") + "\n")?;
    let predictions = work.join("history-predictions.jsonl");
    let places = Places {
        repos: &options.repos,
        work: &work,
    };
    let out = Out {
        predictions: &predictions,
        features: None,
    };
    let run = code::run(&places, &all, &out, options.by, options.twice)?;
    println!("{}", table(&run.shown));
    run.faults.none()
}

/// A row for each repository, and one for their mean: the share of lines at each budget, the share
/// of files at 8,000 tokens, and the milliseconds per question.
fn table(shown: &[Shown]) -> String {
    let mut repos: BTreeMap<&str, Vec<&Shown>> = BTreeMap::new();
    for it in shown {
        repos.entry(&it.repo).or_default().push(it);
    }
    let mut table = format!("{:<30} {:>4}", "lines shown at", "");
    for budget in BUDGETS {
        let _ = write!(table, " {budget:>6}");
    }
    let _ = writeln!(table, " {:>6} {:>6}", "files", "ms");
    let mut sums = [0.0; BUDGETS.len() + 2];
    for (repo, shown) in &repos {
        let mut row = [0.0; BUDGETS.len() + 2];
        for (cell, budget) in row.iter_mut().zip(BUDGETS) {
            let at = shown.iter().filter(|it| it.budget == budget);
            *cell = mean(at.map(|it| it.lines));
        }
        let middle = shown.iter().filter(|it| it.budget == BUDGETS[2]);
        row[BUDGETS.len()] = mean(middle.map(|it| it.files));
        row[BUDGETS.len() + 1] = mean(shown.iter().map(|it| it.took * 1e3));
        line(&mut table, repo, shown.len() / BUDGETS.len(), &row);
        for (sum, cell) in sums.iter_mut().zip(row) {
            *sum += cell;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "there are some dozens")]
    let count = repos.len().max(1) as f64;
    let means = sums.map(|it| it / count);
    line(&mut table, "mean", shown.len() / BUDGETS.len(), &means);
    table
}

fn line(table: &mut String, name: &str, count: usize, cells: &[f64]) {
    let _ = write!(table, "{name:<30} {count:>4}");
    let (last, shares) = cells.split_last().unwrap_or((&0.0, &[]));
    for share in shares {
        let _ = write!(table, " {share:>6.3}");
    }
    let _ = writeln!(table, " {last:>6.0}");
}

/// Up to `each` questions of each repository below `repos`, or of `only` one.
pub(super) fn instances(
    repos: &Path,
    only: Option<&str>,
    each: usize,
    of_repository: OfRepository,
) -> Result<Vec<Instance>> {
    let mut names = Vec::new();
    for entry in
        fs::read_dir(repos).with_context(|| format!("failed to read {}", repos.display()))?
    {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if only.is_none_or(|only| only == name) && git_folder(repos, &name).is_ok() {
            names.push(name);
        }
    }
    names.sort_unstable();
    ensure!(
        !names.is_empty(),
        "there is no git folder below {}",
        repos.display()
    );
    let mut all = Vec::new();
    for name in names {
        all.extend(of_repository(repos, &name, each)?);
    }
    Ok(all)
}

/// Up to `each` changes, those with the lowest commit ids: these are as good as random, and always
/// the same.
pub(super) fn of_repository(repos: &Path, name: &str, each: usize) -> Result<Vec<Instance>> {
    let git = git_folder(repos, name)?;
    let format = "--format=%x01%H%x02%P%x02%B%x03";
    let log = ask(
        &git,
        &["log", "--no-merges", "--first-parent", format, "--numstat"],
    )?;
    let mut changes: Vec<Change> = log.split('\u{1}').filter_map(Change::of).collect();
    changes.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    let mut instances = Vec::new();
    for change in changes {
        if instances.len() == each {
            break;
        }
        let Some(gold_lines) = gold(&git, &change)? else {
            continue;
        };
        let id: String = change.id.chars().take(10).collect();
        instances.push(Instance {
            id: format!("{name}-{id}"),
            repo: name.to_owned(),
            base_commit: change.parent,
            query: change.said,
            gold_lines,
            near: Vec::new(),
        });
    }
    Ok(instances)
}

/// A change that may serve as a question.
struct Change {
    id: String,
    parent: String,
    said: String,
    sources: Vec<String>,
}

impl Change {
    /// Parses an entry of the log; `None` if it does not change source code, or its message is not
    /// usable.
    fn of(entry: &str) -> Option<Change> {
        let (head, files) = entry.split_once('\u{3}')?;
        let mut head = head.splitn(3, '\u{2}');
        let (id, parent, message) = (head.next()?, head.next()?, head.next()?);
        let said = said(message)?;
        let files: Vec<(u32, &str)> = files.lines().filter_map(file).collect();
        let sources: Vec<(u32, &str)> = files
            .iter()
            .copied()
            .filter(|(_, path)| is_source(path))
            .collect();
        let lines: u32 = sources.iter().map(|(lines, _)| lines).sum();
        let is_small = files.len() <= MOST_FILES && (1..=MOST_SOURCES).contains(&sources.len());
        let has_parent = !parent.is_empty() && !parent.contains(' ');
        (is_small && has_parent && LINES.contains(&lines)).then(|| Change {
            id: id.to_owned(),
            parent: parent.to_owned(),
            said,
            sources: sources.into_iter().map(|(_, it)| it.to_owned()).collect(),
        })
    }
}

/// The usable text of a commit message, if it is long enough.
fn said(message: &str) -> Option<String> {
    let first = |line: &str| {
        let word = line.trim_start_matches(['*', '-', ' ']);
        let end = word.find(|c: char| !c.is_alphanumeric() && c != '-');
        word[..end.unwrap_or(word.len())].to_lowercase()
    };
    let title = message.lines().find(|line| !line.trim().is_empty())?;
    let lines: Vec<&str> = message
        .lines()
        .filter(|line| !TRAILERS.contains(&first(line).as_str()))
        .collect();
    let said = lines.join("\n").trim().to_owned();
    let is_chore = CHORES.contains(&first(title).as_str());
    (!is_chore && (SHORTEST..=LONGEST).contains(&said.len())).then_some(said)
}

/// Parses a line of `--numstat`: the number of changed lines, and the path.
fn file(line: &str) -> Option<(u32, &str)> {
    let mut parts = line.split('\t');
    let (added, removed, path) = (parts.next()?, parts.next()?, parts.next()?);
    // The path of a rename contains an arrow; a binary file has no numbers.
    let lines = added.parse::<u32>().ok()? + removed.parse::<u32>().ok()?;
    (!path.contains(" => ")).then_some((lines, path))
}

pub(super) fn is_source(path: &str) -> bool {
    let has_grammar = Language::of(path, "").is_some();
    Role::of(path) == Role::Source && has_grammar && !is_prose(path, language_name(path, ""))
}

/// The lines before the change that it touched; an insertion counts as the line before it. `None`
/// if a file did not exist before, or there are too many lines.
fn gold(git: &Path, change: &Change) -> Result<Option<BTreeMap<String, Vec<u32>>>> {
    let mut arguments = vec!["diff", "-U0", "--no-renames", "--no-color"];
    arguments.extend([change.parent.as_str(), &change.id, "--"]);
    arguments.extend(change.sources.iter().map(String::as_str));
    let diff = ask(git, &arguments)?;
    let mut gold: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut path = None;
    // A removed line may look like a file name, but it comes after the first `@@`.
    let mut is_head = true;
    for line in diff.lines() {
        is_head = line.starts_with("diff ") || is_head && !line.starts_with("@@");
        if let (true, Some(before)) = (is_head, line.strip_prefix("--- ")) {
            path = before.strip_prefix("a/").map(str::to_owned);
            if path.is_none() {
                return Ok(None);
            }
        } else if let (Some(path), Some(lines)) = (&path, hunk(line)) {
            gold.entry(path.clone()).or_default().extend(lines);
        }
    }
    for lines in gold.values_mut() {
        lines.sort_unstable();
        lines.dedup();
    }
    let count: usize = gold.values().map(Vec::len).sum();
    Ok((1..=MOST_GOLD).contains(&count).then_some(gold))
}

/// The lines before the change, from a header such as `@@ -12,3 +12,4 @@`.
fn hunk(line: &str) -> Option<std::ops::Range<u32>> {
    let (before, _) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (start, count) = before.split_once(',').unwrap_or((before, "1"));
    let start: u32 = start.parse().ok()?;
    let count: u32 = count.parse().ok()?;
    let start = start.max(1);
    Some(start..start + count.max(1))
}

pub(super) fn ask(git: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .arg("--git-dir")
        .arg(git)
        .args(arguments)
        .output()
        .context("failed to run git")?;
    ensure!(
        output.status.success(),
        "git {} failed in {}: {}",
        arguments[0],
        git.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
