//! `cargo xtask load`: how many contexts a server builds, and what it does when more are asked for.
//!
//! [`workload`] says what is asked; [`level`] has requests come when they come, by a Poisson process, and
//! measures from when each was due; [`sweep`] finds the knee and goes beyond it; [`goals`] says what was to be
//! reached, and [`page`] writes it down.

mod goals;
mod level;
mod page;
mod sweep;
pub(crate) mod workload;

use std::fs;
use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::{Args, ValueEnum};
use ctx_testkit::postgres;

use self::sweep::Sweep;
use self::workload::Corpus;
use crate::record;
use crate::served::{self, Client, Served, Store};
use crate::workspace::Workspace;

/// Of the questions of the second sweep, so many were asked a moment ago.
const REPEATS: f64 = 0.3;
/// How a database that is started for the run differs from one as it comes.
const DATABASE: [&str; 2] = ["-c", "shared_buffers=512MB"];
const OWNERS: [&str; 4] = ["ada", "bob", "cleo", "dan"];

/// What to measure, and how long.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Where the server keeps what it is sent
    #[arg(long, value_enum, default_value_t = Kind::Embedded)]
    store: Kind,
    /// The database of --store postgres; without it, one is started for the run
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Seconds of each level
    #[arg(long, value_name = "N", default_value_t = 10)]
    seconds: u64,
    /// So many builds at once, instead of as many as the server sees fit
    #[arg(long, value_name = "N")]
    builds: Option<NonZeroUsize>,
    /// Two seconds a level, one sweep, and nothing written under docs/
    #[arg(long)]
    quick: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// The data folder.
    Embedded,
    /// A PostgreSQL database.
    Postgres,
}

impl Options {
    /// The command that repeats the run.
    fn command(&self) -> String {
        let mut command = "cargo xtask load".to_owned();
        if self.store == Kind::Postgres {
            command += " --store postgres";
        }
        if self.database_url.is_some() {
            command += " --database-url URL";
        }
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
        match self.store {
            Kind::Embedded => "embedded",
            Kind::Postgres => "postgres",
        }
    }
}

/// Everything one run found.
struct Run {
    command: String,
    kind: Kind,
    machine: String,
    owners: usize,
    files: usize,
    bytes: usize,
    questions: usize,
    time: Duration,
    sweeps: Vec<Sweep>,
}

/// Measures, prints the goals, and writes them down.
///
/// # Errors
/// The server does not start, or refuses what it must not.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    if cfg!(debug_assertions) {
        // What the client takes of the processor, the server does not have.
        return crate::command::again_in_release(workspace);
    }
    let tool = served::build(workspace, true)?;
    let folder = tempfile::tempdir().context("failed to make a folder")?;
    let owners = served::owners(&tool, folder.path(), &OWNERS)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    // Ends with the run.
    let (store, _database) = runtime.block_on(store(options))?;
    let corpus = match options.store {
        Kind::Embedded => Corpus::of_workspace(workspace)?,
        Kind::Postgres => Corpus::of_dependencies(workspace)?,
    };
    let served = Served::start(&tool, folder.path(), &store, options.builds)?;
    let time = options.time();
    let sweeps = tokio::task::LocalSet::new().block_on(&runtime, async {
        let client = Client::new(served.addr);
        println!(
            "{} files, {} bytes for each of {} owners",
            corpus.files.len(),
            corpus.bytes,
            owners.len()
        );
        workload::seed(&client, &owners, &corpus).await?;
        let mut sweeps = Vec::new();
        for repeats in [0.0, REPEATS] {
            let sweep = sweep::run(&client, &served, &corpus, &owners, repeats, time).await?;
            sweeps.push(sweep);
            if options.quick {
                break;
            }
        }
        anyhow::Ok(sweeps)
    })?;
    let run = Run {
        command: options.command(),
        kind: options.store,
        machine: crate::bench::machine::describe(workspace)?,
        owners: owners.len(),
        files: corpus.files.len(),
        bytes: corpus.bytes,
        questions: corpus.questions(),
        time,
        sweeps,
    };
    report(workspace, options, &run)
}

/// Where the server keeps things; with the database that was started for it, if none was named.
async fn store(options: &Options) -> Result<(Store, Option<postgres::Server>)> {
    if options.store == Kind::Embedded {
        return Ok((Store::Embedded, None));
    }
    if let Some(url) = &options.database_url {
        return Ok((Store::Postgres(url.clone()), None));
    }
    let database = postgres::Server::start(&DATABASE).context("there is no PostgreSQL to start")?;
    Ok((Store::Postgres(database.database().await), Some(database)))
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
        record::write(workspace, page::title(run.kind), &page)?;
    }
    let levels = run.sweeps.iter().flat_map(Sweep::all);
    let errors: usize = levels.map(level::Level::errors).sum();
    ensure!(errors == 0, "{errors} answers were neither 200 nor 503");
    Ok(())
}
