//! `cargo xtask bench`: measures, compares the results with the goals, and records them.
//!
//! [`criterion`] runs the workspace's benches and reads their results; [`tool`] times the command
//! line as a whole, beside its [`peers`], on a [`corpus`] of real source; [`search`] indexes a
//! million lines of it and searches them; [`goals`] lists the goals; [`report`] writes the page.

pub(crate) mod corpus;
mod criterion;
pub(crate) mod figures;
pub(crate) mod goals;
pub(crate) mod machine;
mod peers;
mod report;
mod search;
mod search_report;
mod tool;

use std::fs;

use anyhow::{Context, Result};
use clap::Args;

use xtask_call::workspace::Workspace;

pub(crate) use search::Worker;

/// What to measure, and how carefully.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Install the peers of the command line from the public registries, and time them beside it.
    #[arg(long)]
    peers: bool,
    /// Take fewer samples: some five minutes instead of fifteen. The page says so.
    #[arg(long)]
    quick: bool,
    /// Run only the benches of this package, or only the part `tool`, `search`, or one of its
    /// halves `index` and `query`; the results are printed, and recorded only if they fill a page,
    /// as those of `search` do.
    #[arg(long, value_name = "PACKAGE|PART")]
    only: Option<String>,
}

/// A part of the run that belongs to no package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Packing with the command line.
    Tool,
    /// Indexing a million lines.
    Index,
    /// Searching a million lines.
    Query,
}

impl Part {
    fn as_str(self) -> &'static str {
        match self {
            Part::Tool => "tool",
            Part::Index => "index",
            Part::Query => "query",
        }
    }
}

/// Both parts about a million lines, which have their own page.
const SEARCH: &str = "search";

impl Options {
    fn wants(&self, part: Part) -> bool {
        let is_search = matches!(part, Part::Index | Part::Query);
        let is_it = |only: &String| only == part.as_str() || is_search && only == SEARCH;
        self.only.as_ref().is_none_or(is_it)
    }

    /// Whether everything on `page` is measured.
    fn fills(&self, page: &str) -> bool {
        let is_it = |only: &String| only == SEARCH && page == SEARCH_PAGE;
        self.only.as_ref().is_none_or(is_it)
    }

    /// The command that repeats the run.
    fn command(&self) -> String {
        let peers = if self.peers { " --peers" } else { "" };
        let quick = if self.quick { " --quick" } else { "" };
        let only = self.only.iter().map(|name| format!(" --only {name}"));
        format!(
            "cargo xtask bench{peers}{quick}{}",
            only.collect::<String>()
        )
    }
}

/// The results of one run.
struct Run {
    command: String,
    benches: criterion::Benches,
    /// Tables printed by packages' examples, with the commands that print them.
    tables: Vec<(String, String)>,
    tool: Option<tool::Figures>,
}

const BENCH_PAGE: &str = "docs/record/bench.md";
const SEARCH_PAGE: &str = "docs/record/search.md";

/// Measures, then writes `docs/record/bench.md` and `docs/record/search.md`; results that do not
/// fill a page are printed.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let benches = criterion::run(workspace, options)?;
    let tables = criterion::tables(workspace, options)?;
    let tool = tool::run(workspace, options)?;
    let search = search::run(workspace, options)?;
    let machine = machine::describe(workspace)?;
    let command = options.command();
    if let Some(search) = &search {
        let page = search_report::page(&command, search, &machine);
        put(workspace, options, SEARCH_PAGE, &page)?;
    }
    if benches.is_empty() && tool.is_none() {
        return Ok(());
    }
    let run = Run {
        command,
        benches,
        tables,
        tool,
    };
    put(
        workspace,
        options,
        BENCH_PAGE,
        &report::page(&run, &machine),
    )
}

/// Writes `page` to its file, or prints it if the file has more.
fn put(workspace: &Workspace, options: &Options, name: &str, page: &str) -> Result<()> {
    println!("\n{page}");
    if !options.fills(name) {
        return Ok(());
    }
    let path = workspace.root.join(name);
    fs::create_dir_all(path.with_file_name(""))?;
    fs::write(&path, page).with_context(|| format!("failed to write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}
