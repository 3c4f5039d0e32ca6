//! Measures how long building and updating the index takes, compared with plain tantivy.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::thread::available_parallelism;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use ctx::index::{Index, Options, Updated};
use serde::{Deserialize, Serialize};

use super::super::figures::median;
use super::bare;

/// The results; times are medians, in seconds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Indexed {
    pub(crate) rounds: usize,
    pub(crate) files: usize,
    pub(crate) parts: u64,
    pub(crate) lines: u64,
    /// The size of the indexed files.
    pub(crate) source_bytes: u64,
    pub(crate) index_bytes: u64,
    /// Building from nothing.
    pub(crate) cold: f64,
    /// Plain tantivy, with as many threads as there are cores.
    pub(crate) bare: f64,
    /// Plain tantivy, with one thread.
    pub(crate) bare_alone: f64,
    pub(crate) threads: usize,
    /// An update without changes; the next field is one with a changed file.
    pub(crate) unchanged: f64,
    pub(crate) changed: f64,
}

/// Builds the index of `corpus` in `folder` `rounds` times, and leaves it there.
pub(super) fn measure(corpus: &Path, folder: &Path, rounds: usize) -> Result<Indexed> {
    let paths = bare::paths(corpus)?;
    let threads = available_parallelism()?.get();
    let (mut cold, mut bare_all, mut bare_alone) = (Vec::new(), Vec::new(), Vec::new());
    let beside = folder.with_extension("bare");
    for round in 1..=rounds {
        // The programs take turns, so that a slow minute of the machine affects all of them.
        cold.push(timed(folder, || {
            let updated = update(&open(corpus, folder)?)?;
            ensure!(updated.files == paths.len(), "{} files", updated.files);
            Ok(())
        })?);
        bare_all.push(timed(&beside, || {
            bare::index(corpus, &paths, &beside, threads)
        })?);
        bare_alone.push(timed(&beside, || bare::index(corpus, &paths, &beside, 1))?);
        let last = |times: &[f64]| times.last().copied().unwrap_or_default();
        println!(
            "  {round}/{rounds} ctx {:.2} s, bare tantivy {:.2} s, on one thread {:.2} s",
            last(&cold),
            last(&bare_all),
            last(&bare_alone)
        );
    }
    fs::remove_dir_all(&beside)?;
    let index = open(corpus, folder)?;
    let status = index.status()?;
    let sizes = paths
        .iter()
        .map(|it| Ok(fs::metadata(corpus.join(it))?.len()));
    let middle = |times| median(times).context("no round was run");
    Ok(Indexed {
        rounds,
        files: paths.len(),
        parts: status.parts,
        lines: status.lines,
        source_bytes: sizes.sum::<Result<u64>>()?,
        index_bytes: status.bytes,
        cold: middle(cold)?,
        bare: middle(bare_all)?,
        bare_alone: middle(bare_alone)?,
        threads,
        unchanged: middle(unchanged(&index, rounds)?)?,
        changed: middle(changed(&index, &paths, rounds)?)?,
    })
}

/// The seconds that `work` takes, starting without `folder`.
fn timed(folder: &Path, work: impl FnOnce() -> Result<()>) -> Result<f64> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

pub(super) fn open(corpus: &Path, folder: &Path) -> Result<Index> {
    Ok(Index::open(corpus, folder, Options::default())?)
}

pub(super) fn update(index: &Index) -> Result<Updated> {
    Ok(index.update(&mut |_| ControlFlow::Continue(()))?)
}

fn unchanged(index: &Index, rounds: usize) -> Result<Vec<f64>> {
    // Files that were written recently are checked once more.
    update(index)?;
    let mut times = Vec::new();
    for _ in 0..rounds * 2 {
        let start = Instant::now();
        let updated = update(index)?;
        times.push(start.elapsed().as_secs_f64());
        ensure!(updated.changed == 0, "{} files changed", updated.changed);
    }
    Ok(times)
}

/// Adds a line to the file in the middle, several times.
fn changed(index: &Index, paths: &[String], rounds: usize) -> Result<Vec<f64>> {
    let path = index.root().join(&paths[paths.len() / 2]);
    let before = fs::read_to_string(&path)?;
    let mut times = Vec::new();
    for round in 0..rounds * 2 {
        fs::write(&path, format!("{before}\n// round {round}\n"))?;
        let start = Instant::now();
        let updated = update(index)?;
        times.push(start.elapsed().as_secs_f64());
        ensure!(updated.changed == 1, "{} files changed", updated.changed);
    }
    fs::write(&path, before)?;
    update(index)?;
    Ok(times)
}
