//! The command line as its user sees it: whole processes, by elapsed time and peak memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use ctx::model::{BuiltContext, Omitted, OmittedReason};
use ctx::tokens::{TokenCounter as _, o200k_base};

use super::corpus::{self, Corpus};
use super::figures::median;
use super::peers::{self, Packer};
use super::{Options, Part};
use xtask_call::command::Call;
use xtask_call::workspace::Workspace;

/// GNU time, which reports a process's peak memory.
const GNU_TIME: &str = "/usr/bin/time";

/// The results.
#[derive(Debug)]
pub(super) struct Figures {
    pub(super) corpus: Corpus,
    /// How many times each program packed the corpus; its figures are medians.
    pub(super) rounds: usize,
    /// Ours first.
    pub(super) packers: Vec<Packed>,
    /// Nanoseconds of `ctx tokens` on a file of one line, from start to end.
    pub(super) start_up: f64,
    /// How many times it was started.
    pub(super) starts: usize,
}

/// How one program packed the corpus.
#[derive(Debug)]
pub(super) struct Packed {
    pub(super) name: String,
    pub(super) command: String,
    pub(super) seconds: f64,
    /// The largest resident set in bytes, if GNU time is installed.
    pub(super) peak: Option<f64>,
    /// The size of its output.
    pub(super) output: u64,
}

/// Builds the command line and times it, beside its peers if requested.
pub(super) fn run(workspace: &Workspace, options: &Options) -> Result<Option<Figures>> {
    if !options.wants(Part::Tool) {
        return Ok(None);
    }
    println!("\nctx-cli: packing a source tree");
    let program = build(workspace)?;
    let corpus = corpus::build(workspace, &corpus::PACKED)?;
    let mut packers = vec![Packer {
        name: "ctx".to_owned(),
        call: |program, _| {
            Call::new(program)
                .args(["pack", "--no-merge", ".", "--max-tokens", "4000000000"])
                .args(["--format", "markdown", "--quiet"])
        },
        program: program.clone(),
    }];
    if options.peers {
        packers.extend(peers::install(workspace)?);
    }
    check_whole(&program, &corpus)?;
    let rounds = if options.quick { 3 } else { 5 };
    let packed = pack_all(workspace, &packers, &corpus, rounds)?;
    let starts = if options.quick { 20 } else { 50 };
    let start_up = start_up(workspace, &program, starts)?;
    Ok(Some(Figures {
        corpus,
        rounds,
        packers: packed,
        start_up,
        starts,
    }))
}

/// Builds the command line, and returns its path.
pub(super) fn build(workspace: &Workspace) -> Result<PathBuf> {
    Call::cargo(["build", "--quiet", "--release", "--package", "ctx-cli"])
        .within(&workspace.root)
        .run()?;
    let name = format!("ctx{}", std::env::consts::EXE_SUFFIX);
    Ok(workspace.target.join("release").join(name))
}

/// Checks the context, since a bench must assert its answer.
fn check_whole(program: &Path, corpus: &Corpus) -> Result<()> {
    let receipt = Call::new(program)
        .args([
            "pack",
            "--no-merge",
            ".",
            "--max-tokens",
            "4000000000",
            "--json",
            "--quiet",
        ])
        .within(&corpus.folder)
        .output()?;
    check(&serde_json::from_str(&receipt)?, corpus.files)
}

/// Checks that every file is included, and that the reported number of tokens is that of the
/// context.
fn check(built: &BuiltContext, files: usize) -> Result<()> {
    let told = built.included.len() + built.omitted.len();
    ensure!(
        told == files,
        "{files} files went in, {told} are in the receipt"
    );
    // Only files without text, and duplicates, may be omitted from so large a budget.
    let is_lost = |it: &&Omitted| {
        use OmittedReason::{DuplicateOf, NearDuplicateOf, Unreadable};
        !matches!(it.reason, DuplicateOf | NearDuplicateOf | Unreadable)
    };
    let lost: Vec<&Omitted> = built.omitted.iter().filter(is_lost).collect();
    ensure!(lost.is_empty(), "something was left out: {lost:?}");
    let counted = o200k_base().count(&built.context);
    let total = built.tokens.total;
    ensure!(
        total == counted,
        "the receipt tells {total} tokens, the context has {counted}"
    );
    Ok(())
}

/// The programs take turns, so that a slow minute of the machine affects all of them.
fn pack_all(
    workspace: &Workspace,
    packers: &[Packer],
    corpus: &Corpus,
    rounds: usize,
) -> Result<Vec<Packed>> {
    let scratch = workspace.target.join("bench/out");
    fs::create_dir_all(&scratch)?;
    let mut times = vec![Vec::new(); packers.len()];
    let mut peaks = vec![Vec::new(); packers.len()];
    let mut sizes = vec![0; packers.len()];
    for round in 0..rounds {
        for (index, packer) in packers.iter().enumerate() {
            let output = scratch.join(format!("{index}.out"));
            let once = pack_once(packer, corpus, &output, &scratch.join("peak"))?;
            println!(
                "  {}/{rounds} {}: {:.2} s",
                round + 1,
                packer.name,
                once.seconds
            );
            times[index].push(once.seconds);
            peaks[index].extend(once.peak);
            sizes[index] = once.output;
        }
    }
    let figures = packers.iter().zip(times).zip(peaks).zip(sizes);
    figures
        .map(|(((packer, times), peaks), output)| {
            Ok(Packed {
                name: packer.name.clone(),
                command: shown(&packer.pack_to(Path::new("OUT")), &packer.program),
                seconds: median(times).context("no round was run")?,
                peak: median(peaks),
                output,
            })
        })
        .collect()
}

struct Once {
    seconds: f64,
    peak: Option<f64>,
    output: u64,
}

fn pack_once(packer: &Packer, corpus: &Corpus, output: &Path, peak: &Path) -> Result<Once> {
    if output.exists() {
        fs::remove_file(output)?;
    }
    let call = packer.pack_to(output);
    let call = with_peak(call, peak);
    // Ours writes to standard output, the peers to the given file; no other output is kept.
    let stdout = output.with_extension("stdout");
    let start = Instant::now();
    let result = call
        .within(&corpus.folder)
        .command()
        .stdout(fs::File::create(&stdout)?)
        .stderr(Stdio::piped())
        .output()?;
    let seconds = start.elapsed().as_secs_f64();
    if !result.status.success() {
        let said = String::from_utf8_lossy(&result.stderr);
        bail!(
            "{} ended with {}\n{}",
            packer.name,
            result.status,
            said.trim_end()
        );
    }
    let written: PathBuf = if output.exists() {
        output.to_owned()
    } else {
        stdout
    };
    let size = fs::metadata(written)?.len();
    // A program that packs less has less to do; the peers drop a little white space, and add
    // headings.
    ensure!(
        size >= corpus.bytes / 100 * 98,
        "{} wrote {size} of {} bytes",
        packer.name,
        corpus.bytes
    );
    Ok(Once {
        seconds,
        peak: peak_of(peak)?,
        output: size,
    })
}

/// Wraps `call` so that its peak memory is written to `peak`, if GNU time is installed.
pub(super) fn with_peak(call: Call, peak: &Path) -> Call {
    if !Path::new(GNU_TIME).exists() {
        return call;
    }
    let prefix: [&std::ffi::OsStr; 4] =
        ["-f".as_ref(), "%M".as_ref(), "-o".as_ref(), peak.as_ref()];
    call.under(GNU_TIME, prefix)
}

/// The largest resident set in bytes of a call that was wrapped by [`with_peak`].
pub(super) fn peak_of(peak: &Path) -> Result<Option<f64>> {
    if !Path::new(GNU_TIME).exists() {
        return Ok(None);
    }
    let kibibytes = fs::read_to_string(peak)?.trim().parse::<f64>().ok();
    Ok(kibibytes.map(|k| k * 1024.0))
}

/// The command without this machine's folders.
fn shown(call: &Call, program: &Path) -> String {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    call.to_string().replace(&*program.to_string_lossy(), &name)
}

/// The median time of `ctx tokens` on one line, from start to end, in nanoseconds.
fn start_up(workspace: &Workspace, program: &Path, starts: usize) -> Result<f64> {
    let file = workspace.target.join("bench/one-line.txt");
    fs::write(&file, "One line, to be counted.\n")?;
    let call = Call::new(program).args(["tokens".as_ref(), file.as_os_str()]);
    let mut times = Vec::with_capacity(starts);
    for _ in 0..=starts {
        let start = Instant::now();
        call.output()?;
        times.push(start.elapsed().as_secs_f64() * 1e9);
    }
    times.remove(0); // the first start reads the program from the disk
    median(times).context("nothing was started")
}

#[cfg(test)]
mod tests {
    use ctx::model::{Exactness, Format, Included, RenditionKind, TokenSplit, Tokens};

    use super::*;

    #[test]
    fn a_pack_that_leaves_files_out_or_counts_amiss_is_found() {
        let context = "one, two and three";
        let total = o200k_base().count(context);
        let built = |total: Tokens, reasons: &[OmittedReason]| {
            let tokens = TokenSplit {
                total,
                ..TokenSplit::default()
            };
            let (format, exactness) = (Format::Markdown, Exactness::Exact);
            let mut built = BuiltContext::new(context, "", format, "o200k_base", exactness, tokens);
            let included = Included::new("a", RenditionKind::Full, total, "a");
            built.included.push(included);
            let omitted = reasons.iter().map(|it| Omitted::new("b", *it));
            built.omitted.extend(omitted);
            built
        };
        let few = [OmittedReason::Unreadable, OmittedReason::DuplicateOf];
        check(&built(total, &few), 3).unwrap();
        for (total, reasons, files, said) in [
            (total, &few[..], 4, "4 files went in, 3 are in the receipt"),
            (total + Tokens::new(1), &few, 3, "the receipt tells"),
            (
                total,
                &[OmittedReason::OverBudget],
                2,
                "something was left out",
            ),
            (
                total,
                &[OmittedReason::MaxChunks],
                2,
                "something was left out",
            ),
        ] {
            let told = check(&built(total, reasons), files).unwrap_err();
            assert!(told.to_string().starts_with(said), "{told}");
        }
    }
}
