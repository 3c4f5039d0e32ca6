//! Indexes and searches a million lines.
//!
//! Figures must come from optimised code, and this program usually is not optimised: so it is
//! started again in release mode as [`Worker`], which writes its results as JSON. [`index`] builds
//! the index, compared with plain tantivy ([`bare`]); [`query`] searches it for the [`questions`];
//! whole processes of the command line are timed from here.

mod bare;
mod index;
mod process;
mod query;
mod questions;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use serde::de::DeserializeOwned;

pub(super) use index::Indexed;
pub(super) use process::Processes;
pub(super) use query::{Asked, Spread};

use super::corpus::{self, Corpus};
use super::{Options, Part};
use xtask_call::command::Call;
use xtask_call::workspace::Workspace;

/// The results.
#[derive(Debug)]
pub(super) struct Figures {
    pub(super) corpus: Corpus,
    pub(super) indexed: Option<Indexed>,
    pub(super) asked: Option<Asked>,
    pub(super) processes: Option<Processes>,
}

/// Measures one part in its own process.
#[derive(Debug, Args)]
pub(crate) struct Worker {
    part: Work,
    /// The folder to index. One of its files is changed, and restored.
    corpus: PathBuf,
    /// Where the index is kept.
    folder: PathBuf,
    /// Where the figures are written.
    out: PathBuf,
    /// The number of rounds, or of questions.
    count: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Work {
    Index,
    Query,
}

impl Worker {
    /// Measures, and writes the results.
    pub(crate) fn run(&self) -> Result<()> {
        let (corpus, folder) = (&self.corpus, &self.folder);
        let text = match self.part {
            Work::Index => serde_json::to_string(&index::measure(corpus, folder, self.count)?)?,
            Work::Query => serde_json::to_string(&query::measure(corpus, folder, self.count)?)?,
        };
        fs::write(&self.out, text).with_context(|| self.out.display().to_string())
    }
}

/// Makes the corpus, and measures the requested parts.
pub(super) fn run(workspace: &Workspace, options: &Options) -> Result<Option<Figures>> {
    let wanted = |part| options.wants(part);
    if !wanted(Part::Index) && !wanted(Part::Query) {
        return Ok(None);
    }
    println!("\na million lines, indexed and asked");
    let corpus = corpus::build(workspace, &corpus::SEARCHED)?;
    let started = Started {
        workspace,
        corpus: &corpus,
    };
    let rounds = if options.quick { 3 } else { 5 };
    let questions = if options.quick { 500 } else { 1000 };
    let indexed = wanted(Part::Index)
        .then(|| started.worker("index", rounds))
        .transpose()?;
    let asked = wanted(Part::Query)
        .then(|| started.worker("query", questions))
        .transpose()?;
    let processes = Some(process::measure(workspace, &corpus, options)?);
    Ok(Some(Figures {
        corpus,
        indexed,
        asked,
        processes,
    }))
}

struct Started<'s> {
    workspace: &'s Workspace,
    corpus: &'s Corpus,
}

impl Started<'_> {
    fn worker<T: DeserializeOwned>(&self, part: &str, count: usize) -> Result<T> {
        let bench = self.workspace.target.join("bench");
        let out = bench.join(format!("{part}.json"));
        let program = std::env::current_exe().context("failed to find this program")?;
        Call::new(program)
            .args(["bench-worker", part])
            .args([&self.corpus.folder, &bench.join("index"), &out])
            .args([count.to_string()])
            .within(&self.workspace.root)
            .run()?;
        let text = fs::read_to_string(&out).with_context(|| out.display().to_string())?;
        Ok(serde_json::from_str(&text)?)
    }
}
