//! `cargo xtask kill`: kills the server, or the database below it, while it is being written to,
//! and checks that everything it had acknowledged is still there. This simulates a crash of the
//! process, not a power failure: data that a process has written is in the system's memory, and
//! survives the process whether it was synced or not.

mod files;
mod look;
mod write;

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, ValueEnum};
use fastrand::Rng;
use tokio::task::JoinSet;

use self::look::look;
use self::write::{Acknowledged, Counts, Kind as What, Writer};
use crate::bench::machine;
use crate::record;
use crate::served::{self, Client, Keeps, Kind, Owner, Served, Store};
use xtask_call::workspace::Workspace;

/// The owners who write: each of them threads, messages to one thread, files, and votes.
const OWNERS: [&str; 2] = ["ada", "bob"];
/// The longest time between the first acknowledgement of each kind and the kill.
const LIFE: Duration = Duration::from_millis(500);
/// The longest time until something of each kind is acknowledged.
const PATIENCE: Duration = Duration::from_mins(1);

/// What to kill, and how often.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The number of runs
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: u32,
    /// The seed of the moments at which it is killed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// What is killed
    #[arg(long, value_enum, default_value_t = Victim::Server)]
    victim: Victim,
    #[command(flatten)]
    keeps: Keeps,
    /// Write the figures to docs/record/server.md
    #[arg(long)]
    record: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Victim {
    /// `ctx serve`, which is restarted.
    Server,
    /// The PostgreSQL that is started for the run, below a `ctx serve` that goes on.
    Database,
}

impl Options {
    /// The command that repeats the run.
    fn command(&self) -> String {
        let mut command = format!("cargo xtask kill --runs {} --seed {}", self.runs, self.seed);
        if self.victim == Victim::Database {
            command += " --victim database";
        }
        command + &self.keeps.flags() + " --record"
    }

    fn title(&self) -> String {
        match self.victim {
            Victim::Server => format!("Killed while it is written to, {}", self.keeps.kind.title()),
            Victim::Database => "PostgreSQL killed while it is written to".to_owned(),
        }
    }

    fn what(&self) -> &'static str {
        match (self.victim, self.keeps.kind) {
            (Victim::Server, Kind::Embedded) => "`ctx serve` with the embedded store",
            (Victim::Server, Kind::Postgres) => "`ctx serve` with the store in PostgreSQL",
            (Victim::Database, _) => {
                "All processes of the PostgreSQL that a `ctx serve` keeps its store in"
            }
        }
    }
}

/// Descriptions of what is missing.
type Faults = Vec<String>;

/// Writes, kills and checks, as many times as requested.
///
/// # Errors
/// Something that was acknowledged is gone, or counts twice.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    ensure!(
        options.victim == Victim::Server || options.keeps.is_started(),
        "--victim database is for --store postgres, with a database that is started for the run"
    );
    let tool = served::build(workspace, false)?;
    let folder = tempfile::tempdir().context("failed to make a folder")?;
    let owners = served::owners(&tool, folder.path(), &OWNERS)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let setup = Setup {
        tool: &tool,
        folder: folder.path(),
        store: runtime.block_on(options.keeps.store(&[]))?,
        victim: options.victim,
    };
    let mut random = Rng::with_seed(options.seed);
    let mut told: Vec<_> = owners.iter().map(|_| Acknowledged::default()).collect();
    let mut faults = Faults::new();
    for run in 0..options.runs {
        let life = random.f64() * LIFE.as_secs_f64();
        let life = Duration::from_secs_f64(life);
        let is_last = run + 1 == options.runs;
        let once = once(&setup, &owners, &mut told, (run, is_last), life);
        let local = tokio::task::LocalSet::new();
        let found = local.block_on(&runtime, once).with_context(|| {
            let log = std::fs::read_to_string(folder.path().join("log"));
            format!(
                "failed in run {run}; the server says: {}",
                log.unwrap_or_default()
            )
        })?;
        for fault in &found {
            println!("run {run}: {fault}");
        }
        faults.extend(found);
    }
    let section = section(workspace, options, &told, faults.len())?;
    println!("\n{section}");
    ensure!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
    if options.record {
        record::write(workspace, &options.title(), &section)?;
    }
    Ok(())
}

fn section(
    workspace: &Workspace,
    options: &Options,
    told: &[Acknowledged],
    faults: usize,
) -> Result<String> {
    let sum = |count: fn(&Acknowledged) -> usize| told.iter().map(count).sum::<usize>();
    Ok(format!(
        "\
Written by `{}`. Measured {}.

A crash of processes, and no loss of power: what they had written and not synced, the system still has. {}, ended by SIGKILL {} times at a random moment within {} ms of when each of {} owners
had an acknowledgement of each kind, while they begin threads, pin to them, add messages, send files, replace two in turn, and vote. After each
restart every thread, pin and message that was ever acknowledged is looked for, and the files and votes of the run (after the last, all of
them): of each file the text is in a context that names it, and in one that is about a word of it; votes are sent again. Of a file, or of pins,
whose replacement was under way either the one or the other is there. Until the kill every request is answered as intended.

| acknowledged | | lost, or counted twice |
|---|--:|--:|
| threads, as they were pinned to last | {} | |
| messages | {} | |
| files, each at its path as it was last | {} | |
| files that took the place of another, each time | {} | |
| votes | {} | |
| all | | {faults} |
",
        options.command(),
        machine::describe(workspace)?,
        options.what(),
        options.runs,
        LIFE.as_millis(),
        told.len(),
        sum(|it| it.threads.len()),
        sum(|it| it.messages.len()),
        sum(|it| it.files.len()),
        sum(|it| *it.counts.get(&What::Replaced).unwrap_or(&0)),
        sum(|it| it.votes.len()),
    ))
}

/// The server, and the store that it uses.
struct Setup<'p> {
    tool: &'p Path,
    folder: &'p Path,
    store: Store,
    victim: Victim,
}

impl Setup<'_> {
    fn start(&self) -> Result<Served> {
        Served::start(self.tool, self.folder, &self.store, None)
    }

    /// Kills the victim, and restarts it once all writers have noticed.
    async fn kill(&self, served: &mut Served, writers: JoinSet<Result<()>>) -> Result<()> {
        if let (Victim::Database, Some(database)) = (self.victim, &self.store.database) {
            database.kill();
            writers.join_all().await;
            database.restart();
        } else {
            served.kill();
            writers.join_all().await;
            *served = self.start()?;
        }
        Ok(())
    }
}

/// One run until the kill, and the check after it.
async fn once(
    setup: &Setup<'_>,
    owners: &[Owner],
    told: &mut Vec<Acknowledged>,
    (run, is_last): (u32, bool),
    life: Duration,
) -> Result<Faults> {
    let mut served = setup.start()?;
    let client = Client::new(served.addr);
    let before: Vec<Counts> = told.iter().map(|it| it.counts.clone()).collect();
    let shared = Rc::new(RefCell::new(std::mem::take(told)));
    let mut writers = JoinSet::new();
    let mut all = Vec::new();
    for (at, owner) in owners.iter().enumerate() {
        let writer = Writer {
            client: client.clone(),
            owner: owner.clone(),
            at,
            run,
            told: Rc::clone(&shared),
        };
        // A writer ends when an answer does not come, which is after the kill.
        writers.spawn_local(writer.clone().files());
        writers.spawn_local(writer.clone().votes());
        all.push(writer);
    }
    // Many of the other kinds are written in the time of one of these, and all are checked.
    let slow = [What::File, What::Replaced, What::Vote];
    let lacking = |kinds: &[What]| lacking(owners, &before, &shared.borrow(), kinds);
    acknowledged(&mut writers, || lacking(&slow)).await?;
    for writer in all {
        writers.spawn_local(writer.clone().threads());
        writers.spawn_local(writer.messages());
    }
    acknowledged(&mut writers, || lacking(&What::ALL)).await?;
    tokio::time::sleep(life).await;
    all_go_on(&mut writers)?;
    setup.kill(&mut served, writers).await?;
    *told = shared.take();
    let client = Client::new(served.addr);
    let mut faults = Faults::new();
    for (owner, told) in owners.iter().zip(told) {
        look(&client, owner, told, (run, is_last), &mut faults).await?;
    }
    Ok(faults)
}

/// Descriptions of the `kinds` that were not acknowledged since `before`, and for which owner.
fn lacking(
    owners: &[Owner],
    before: &[Counts],
    told: &[Acknowledged],
    kinds: &[What],
) -> Vec<String> {
    let mut lacking = Vec::new();
    for ((owner, before), told) in owners.iter().zip(before).zip(told) {
        let is_lacking = |kind: &&What| told.counts.get(kind) <= before.get(kind);
        let kinds = kinds.iter().filter(is_lacking);
        lacking.extend(kinds.map(|it| format!("a {} of {}", it.as_str(), owner.name)));
    }
    lacking
}

/// Waits until something of each kind was acknowledged.
///
/// # Errors
/// A writer has ended before that, or it takes too long; the error says what is lacking, and why.
async fn acknowledged(
    writers: &mut JoinSet<Result<()>>,
    lacking: impl Fn() -> Vec<String>,
) -> Result<()> {
    let wait = async {
        while !lacking().is_empty() {
            all_go_on(writers)?;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    };
    let waited = tokio::time::timeout(PATIENCE, wait).await;
    let waited = waited.context("it takes too long").and_then(|it| it);
    waited.with_context(|| format!("failed to have acknowledged: {}", lacking().join(", ")))
}

/// Checks that no writer has ended: until the kill there is an answer to everything, and each is as
/// intended.
///
/// # Errors
/// One has ended; the error says why.
fn all_go_on(writers: &mut JoinSet<Result<()>>) -> Result<()> {
    match writers.try_join_next() {
        None => Ok(()),
        Some(ended) => ended?
            .and_then(|()| bail!("it has written everything"))
            .context("a writer has ended"),
    }
}

#[cfg(test)]
mod tests {
    use std::future;

    use anyhow::anyhow;

    use super::*;

    #[tokio::test]
    async fn nobody_waits_for_those_who_write_no_more() {
        let mut writers = JoinSet::new();
        writers.spawn(future::pending());
        writers.spawn(future::ready(Err(anyhow!("it is refused"))));
        let soon = Duration::from_secs(5);
        let lacking = || vec!["a vote of ada".to_owned()];
        let waited = tokio::time::timeout(soon, acknowledged(&mut writers, lacking)).await;
        let told = format!("{:#}", waited.expect("it ends").unwrap_err());
        assert_eq!(
            told,
            "failed to have acknowledged: a vote of ada: a writer has ended: it is refused"
        );
    }

    #[tokio::test]
    async fn a_writer_that_ended_after_its_first_acknowledgement_is_told() {
        let mut writers = JoinSet::new();
        writers.spawn(future::pending());
        acknowledged(&mut writers, Vec::new).await.unwrap();
        all_go_on(&mut writers).unwrap();
        writers.spawn(future::ready(Err(anyhow!("it is refused"))));
        tokio::task::yield_now().await;
        let told = format!("{:#}", all_go_on(&mut writers).unwrap_err());
        assert_eq!(told, "a writer has ended: it is refused");
    }

    #[test]
    fn each_owner_has_an_acknowledgement_of_each_kind() {
        let owner = |name: &str| Owner {
            name: name.to_owned(),
            token: String::new(),
        };
        let owners = ["ada", "bob"].map(owner);
        let counts = |files: usize| Counts::from([(What::File, files), (What::Vote, 1)]);
        let told = |files: usize| Acknowledged {
            counts: counts(files),
            ..Acknowledged::default()
        };
        let (before, told) = ([counts(1), Counts::new()], [told(2), told(1)]);
        let kinds = [What::File, What::Replaced, What::Vote];
        let lacking = lacking(&owners, &before, &told, &kinds);
        let expected = [
            "a replaced file of ada",
            "a vote of ada",
            "a replaced file of bob",
        ];
        assert_eq!(lacking, expected);
    }
}
