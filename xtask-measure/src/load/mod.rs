//! `cargo xtask load`: how many contexts a server builds, and how it behaves when more are
//! requested.
//!
//! [`workload`] makes the requests; [`level`] sends them as a Poisson process, and measures from
//! when each was due; [`sweep`] finds the knee and goes beyond it; [`goals`] lists the goals, and
//! [`page`] records the results.

mod goals;
mod level;
mod page;
mod sweep;
pub(crate) mod workload;

use std::fs;
use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use ctx_testkit::postgres;

use self::sweep::Sweep;
use self::workload::Corpus;
use crate::record;
use crate::served::{self, Client, Keeps, Kind, Served, Store};
use xtask_call::workspace::Workspace;

/// The share of questions in the second sweep that were asked a moment ago.
const REPEATS: f64 = 0.3;
/// The settings of a database that is started for the run, where they differ from the defaults.
const DATABASE: [&str; 2] = ["-c", "shared_buffers=512MB"];
const OWNERS: [&str; 4] = ["ada", "bob", "cleo", "dan"];

/// Why a run over a named database does not begin.
const UNREACHED: &str = "failed to connect to the database of --database-url without TLS, which is how its parts are counted: \
    name one that this machine reaches so, or leave it out to have one started";

/// What to measure, and how long.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    keeps: Keeps,
    /// Seconds per level
    #[arg(long, value_name = "N", default_value_t = 10)]
    seconds: u64,
    /// The number of builds at once, instead of the server's default
    #[arg(long, value_name = "N")]
    builds: Option<NonZeroUsize>,
    /// Two seconds per level, one sweep, and nothing written under docs/
    #[arg(long)]
    quick: bool,
}

impl Options {
    /// The command that repeats the run.
    fn command(&self) -> String {
        let mut command = format!("cargo xtask load{}", self.keeps.flags());
        let builds = self.builds.map(|it| format!(" --builds {it}"));
        command += builds.as_deref().unwrap_or_default();
        if self.quick {
            return command + " --quick";
        }
        format!("{command} --seconds {}", self.seconds)
    }

    fn time(&self) -> Duration {
        Duration::from_secs(if self.quick { 2 } else { self.seconds.max(1) })
    }

    fn name(&self) -> &'static str {
        match self.keeps.kind {
            Kind::Embedded => "embedded",
            Kind::Postgres => "postgres",
        }
    }
}

/// The results of one run.
struct Run {
    command: String,
    kind: Kind,
    machine: String,
    owners: usize,
    files: usize,
    bytes: usize,
    /// The number of parts of all owners together, if known.
    parts: Option<i64>,
    questions: usize,
    time: Duration,
    sweeps: Vec<Sweep>,
}

/// Measures, prints the goals, and records the results.
///
/// # Errors
/// The server does not start, or rejects what it must accept.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let tool = served::build(workspace, true)?;
    let folder = tempfile::tempdir().context("failed to make a folder")?;
    let owners = served::owners(&tool, folder.path(), &OWNERS)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let store = runtime.block_on(options.keeps.store(&DATABASE))?;
    // A run whose parts could not be counted afterwards is not begun.
    runtime.block_on(can_count(&store))?;
    let corpus = match options.keeps.kind {
        Kind::Embedded => Corpus::of_workspace(workspace)?,
        Kind::Postgres => Corpus::of_dependencies(workspace)?,
    };
    let served = Served::start(&tool, folder.path(), &store, options.builds)?;
    let time = options.time();
    let (parts, sweeps) = tokio::task::LocalSet::new().block_on(&runtime, async {
        let client = Client::new(served.addr);
        println!(
            "{} files, {} bytes for each of {} owners",
            corpus.files.len(),
            corpus.bytes,
            owners.len()
        );
        workload::seed(&client, &owners, &corpus).await?;
        let parts = parts(&store).await?;
        let mut sweeps = Vec::new();
        for repeats in [0.0, REPEATS] {
            let sweep = sweep::run(&client, &served, &corpus, &owners, repeats, time).await?;
            sweeps.push(sweep);
            if options.quick {
                break;
            }
        }
        anyhow::Ok((parts, sweeps))
    })?;
    let run = Run {
        command: options.command(),
        kind: options.keeps.kind,
        machine: crate::bench::machine::describe(workspace)?,
        owners: owners.len(),
        files: corpus.files.len(),
        bytes: corpus.bytes,
        parts,
        questions: corpus.questions(),
        time,
        sweeps,
    };
    report(workspace, options, &run)
}

/// How many parts all owners have together, by the database; the embedded store is not asked.
async fn parts(store: &Store) -> Result<Option<i64>> {
    let Some(url) = &store.url else {
        return Ok(None);
    };
    let database = postgres::connect(url).await.context(UNREACHED)?;
    let row = database.query_one("SELECT count(*) FROM ctx.parts", &[]);
    Ok(Some(row.await?.get(0)))
}

/// Checks that [`parts`] will be able to connect to the database, if there is one.
async fn can_count(store: &Store) -> Result<()> {
    if let Some(url) = &store.url {
        postgres::connect(url).await.context(UNREACHED)?;
    }
    Ok(())
}

fn report(workspace: &Workspace, options: &Options, run: &Run) -> Result<()> {
    let page = page::section(run);
    println!("\n{page}");
    let folder = workspace.target.join("load");
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{}.json", options.name()));
    fs::write(&path, format!("{:#}\n", page::json(run)))?;
    println!("wrote {}", path.display());
    if !options.quick {
        record::write(workspace, &page::title(run.kind), &page)?;
    }
    let levels = run.sweeps.iter().flat_map(Sweep::all);
    let errors: usize = levels.map(level::Level::errors).sum();
    ensure!(errors == 0, "{errors} answers were neither 200 nor 503");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        let store = Store {
            url: Some(url.to_owned()),
            database: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let refused = runtime.block_on(can_count(&store)).unwrap_err();
        format!("{refused:#}")
    }

    #[test]
    fn a_database_that_cannot_be_reached_without_tls_is_refused_before_the_run() {
        let nobody = "postgres://u:canary@127.0.0.1:1/d?connect_timeout=5";
        let with_tls = "postgres://u:canary@127.0.0.1:1/d?sslmode=require";
        for url in [nobody, with_tls] {
            let said = refusal(url);
            assert!(
                said.starts_with("failed to connect to the database"),
                "{said}"
            );
            assert!(!said.contains("canary"), "{said}");
        }
    }
}
