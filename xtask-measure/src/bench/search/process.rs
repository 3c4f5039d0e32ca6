//! Time and memory of the command line's processes, as a user sees them.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::super::Options;
use super::super::corpus::Corpus;
use super::super::figures::median;
use super::super::tool::{self, build};
use super::bare;
use super::questions::Material;
use xtask_call::command::Call;
use xtask_call::workspace::Workspace;

/// The results; memory in bytes, if it could be measured.
#[derive(Debug)]
pub(in super::super) struct Processes {
    /// Peak memory of building the index.
    pub(in super::super) index_peak: Option<f64>,
    /// The median of `ctx query` in nanoseconds, from start to end.
    pub(in super::super) query: f64,
    pub(in super::super) query_peak: Option<f64>,
    pub(in super::super) queries: usize,
}

/// Indexes `corpus` with the command line, and asks questions.
pub(super) fn measure(
    workspace: &Workspace,
    corpus: &Corpus,
    options: &Options,
) -> Result<Processes> {
    let program = build(workspace)?;
    let cache = workspace.target.join("bench/cache");
    let peak = workspace.target.join("bench/peak");
    let call = |arguments: &[&str]| {
        Call::new(&program)
            .args(arguments)
            .env("CTX_CACHE_DIR", &cache)
            .within(&corpus.folder)
    };
    let (_, index_peak) = run(call(&["index", "--rebuild", "--quiet", "."]), &peak)?;
    let queries = if options.quick { 12 } else { 40 };
    let material = Material::read(&corpus.folder, &bare::paths(&corpus.folder)?)?;
    let (mut times, mut peaks) = (Vec::new(), Vec::new());
    for number in 0..=queries {
        let (_, question) = material.question(3, number);
        let ask = call(&["query", "--quiet", "--max-tokens", "8000", "--", &question]);
        let (took, peak) = run(ask, &peak)?;
        times.push(took);
        peaks.extend(peak);
    }
    times.remove(0); // the first reads the index from the disk
    Ok(Processes {
        index_peak,
        query: median(times).context("nothing was asked")?,
        query_peak: peaks.into_iter().max_by(f64::total_cmp),
        queries,
    })
}

/// Nanoseconds from start to end, and the largest resident set.
fn run(call: Call, peak: &Path) -> Result<(f64, Option<f64>)> {
    let call = tool::with_peak(call, peak);
    let start = Instant::now();
    let output = call.command().output()?;
    let took = start.elapsed().as_secs_f64() * 1e9;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{call} failed: {said}");
    Ok((took, tool::peak_of(peak)?))
}
