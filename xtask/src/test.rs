//! `cargo xtask test`: everything that a contribution must pass.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use ctx_testkit::skip;

use crate::{deny, layers, postgres, tidy};
use xtask_call::command::Call;
use xtask_call::workspace::Workspace;

/// How thorough to be.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Run the tests optimised, and each law on at least this many cases instead of 256; laws that
    /// create an index or a folder, or make a call, for each case use at most eight times as many
    /// as usual.
    #[arg(long, value_name = "CASES", num_args = 0..=1, default_missing_value = "100000")]
    thorough: Option<u32>,
}

/// One thing that must hold.
struct Step {
    name: &'static str,
    what: &'static str,
    check: Check,
}

enum Check {
    /// A program checks it, by its exit code.
    Call(Call),
    /// The chore of this name checks it.
    Chore(&'static str, fn(&Workspace) -> Result<()>),
}

impl Step {
    /// Runs the step; parts that cannot run are written to `skips`, with the reason.
    fn run(&self, workspace: &Workspace, skips: &Path) -> Result<()> {
        match &self.check {
            Check::Call(call) => {
                let call = call.clone().within(&workspace.root);
                call.env(skip::FILE, skips).run()
            }
            Check::Chore(_, chore) => chore(workspace),
        }
    }

    /// The command that runs this step alone.
    fn command(&self) -> String {
        match &self.check {
            Check::Call(call) => call.to_string(),
            Check::Chore(verb, _) => format!("cargo xtask {verb}"),
        }
    }
}

/// Runs every step up to the first that fails, and prints how long each took, and which tests could
/// not run.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let skips =
        tempfile::NamedTempFile::new().context("failed to make a file of what is skipped")?;
    let steps = steps(options);
    let start = Instant::now();
    let mut times: Vec<Duration> = Vec::new();
    let mut failure = None;
    for (index, step) in steps.iter().enumerate() {
        let number = index + 1;
        println!("\n[{number}/{}] {}: {}", steps.len(), step.name, step.what);
        println!("      $ {}", step.command());
        let begun = Instant::now();
        let outcome = step.run(workspace, skips.path());
        times.push(begun.elapsed());
        if let Err(error) = outcome {
            failure = Some((step, error));
            break;
        }
    }
    print_summary(&steps, &times, failure.is_some(), start.elapsed());
    let skips = fs::read_to_string(skips.path()).context("failed to read what is skipped")?;
    print!("{}", skips_of(&skips));
    match failure {
        None => Ok(()),
        Some((step, error)) => Err(anyhow!(
            "{} failed: {error:#}\nrun it again: {}",
            step.name,
            step.command()
        )),
    }
}

/// The steps, cheap ones first, so that a slip is found in seconds.
fn steps(options: &Options) -> Vec<Step> {
    let all = ["--workspace", "--all-features"];
    let call = |name, what, call| Step {
        name,
        what,
        check: Check::Call(call),
    };
    vec![
        call(
            "format",
            "every file is as rustfmt leaves it",
            Call::cargo(["fmt", "--all", "--check"]),
        ),
        Step {
            name: "tidy",
            what: "comments are as wide as code",
            check: Check::Chore("tidy", tidy::run),
        },
        call(
            "lock",
            "Cargo.lock is complete, and what it names is downloaded",
            Call::cargo(["fetch", "--quiet", "--locked"]),
        ),
        Step {
            name: "deny",
            what: "licences, bans and sources of every dependency",
            check: Check::Chore("deny", deny::run),
        },
        call(
            "clippy",
            "no lint has anything to say",
            Call::cargo(["clippy", "--quiet", "--all-targets"])
                .args(all)
                .args(["--", "-D", "warnings"]),
        ),
        Step {
            name: "postgres",
            what: "root installs what tests of the shared store want",
            check: Check::Chore("postgres", postgres::run),
        },
        call("tests", "every test passes", tests(options)),
        call(
            "doc tests",
            "every example in the documentation runs",
            Call::cargo(["test", "--quiet", "--doc"]).args(all),
        ),
        call(
            "docs",
            "the documentation builds without a warning",
            Call::cargo(["doc", "--quiet", "--no-deps"])
                .args(all)
                .env("RUSTDOCFLAGS", "-D warnings"),
        ),
        Step {
            name: "layers",
            what: "no crate names one above it; each core crate builds alone, and each other without features",
            check: Check::Chore("layers", |w| layers::run(w, &layers::Options::default())),
        },
    ]
}

/// The amounts of other thorough tests: seconds of races, kills, flipped bits, histories of an
/// index, texts for everything in the shared store that accepts one (20 per second: 100,000 would
/// take 80 minutes), everything else that a usual run has less of (among it 100,000 queries of
/// everything that the shared store reads, and 10,000 requests of two owners), and files written by
/// others.
const THOROUGH: [(&str, &str); 7] = [
    ("CTX_RACE_SECONDS", "10"),
    ("CTX_KILLS", "100"),
    ("CTX_FLIPS", "60"),
    ("CTX_HISTORIES", "20"),
    ("CTX_FUZZ", "1000"),
    ("CTX_THOROUGH", "1"),
    ("CTX_REAL_FILES", "6000"),
];

/// Runs the tests by nextest if it is installed, which runs the binaries concurrently.
fn tests(options: &Options) -> Call {
    let nextest = Call::cargo(["nextest", "--version"]).output().is_ok();
    let mut call = if nextest {
        // One more than there are cores: at any time some test waits, for a server or a time limit.
        let threads = available_parallelism().map_or(1, usize::from) + 1;
        Call::cargo(["nextest", "run", "--no-tests=pass", "--test-threads"])
            .args([threads.to_string()])
    } else {
        Call::cargo(["test", "--lib", "--bins", "--tests", "--examples"])
    };
    call = call.args(["--workspace", "--all-features"]);
    if let Some(cases) = options.thorough {
        // Nextest has its own profiles: its time limits, in `.config/nextest.toml`, are for runs of
        // this size.
        let profiles: &[&str] = if nextest {
            &["--cargo-profile", "thorough", "--profile", "thorough"]
        } else {
            &["--profile", "thorough"]
        };
        call = call.args(profiles).env("PROPTEST_CASES", cases.to_string());
        for (variable, value) in THOROUGH {
            call = call.env(variable, value);
        }
    }
    call
}

fn print_summary(steps: &[Step], times: &[Duration], failed: bool, total: Duration) {
    println!("\n{:<10} {:>9}", "step", "seconds");
    for (index, step) in steps.iter().enumerate() {
        let time = times.get(index).map(|t| format!("{:.1}", t.as_secs_f64()));
        let verdict = match &time {
            None => "not run",
            Some(_) if failed && index + 1 == times.len() => "FAILED",
            Some(_) => "ok",
        };
        let time = time.as_deref().unwrap_or("-");
        println!("{:<10} {time:>9}  {verdict}", step.name);
    }
    println!("{:<10} {:>9.1}", "all", total.as_secs_f64());
}

/// The reasons why tests were skipped, each once, with the number of tests.
fn skips_of(written: &str) -> String {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for why in written.lines() {
        *reasons.entry(why).or_default() += 1;
    }
    let line = |(why, count): (&str, usize)| format!("  {count:>4} \u{d7} {why}\n");
    let lines: String = reasons.into_iter().map(line).collect();
    if lines.is_empty() {
        return lines;
    }
    format!("\nskipped, as they cannot run here:\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_tests_are_listed_once_with_their_number() {
        assert_eq!(skips_of(""), "");
        assert_eq!(
            skips_of("no disk\nno tool\nno disk\n"),
            "\nskipped, as they cannot run here:\n     2 \u{d7} no disk\n     1 \u{d7} no tool\n"
        );
    }

    /// Otherwise `cargo xtask test` itself would complete it, and no step of it could fail.
    #[test]
    fn an_incomplete_lock_file_fails_before_a_chore_completes_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let alias = Workspace::find().unwrap().root.join(".cargo/config.toml");
        write(".cargo/config.toml", &fs::read_to_string(alias).unwrap());
        let package = |name: &str| format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n");
        write("new/Cargo.toml", &package("new"));
        write("new/src/lib.rs", "");
        let needs = "[workspace]\n[dependencies]\nnew.path = \"new\"\n";
        write("Cargo.toml", &(package("xtask") + needs));
        write("src/main.rs", "fn main() {}");
        let lock = "version = 4\n\n[[package]]\nname = \"xtask\"\nversion = \"0.0.0\"\n";
        write("Cargo.lock", lock);
        let chore = Call::cargo(["--offline", "xtask"]).within(folder.path());
        let refused = chore.output().unwrap_err().to_string();
        assert!(refused.contains("--locked"), "{refused}");
        let left = fs::read_to_string(folder.path().join("Cargo.lock")).unwrap();
        assert_eq!(left, lock);
    }

    #[cfg(unix)]
    #[test]
    fn a_step_knows_where_to_write_what_it_skips() {
        let skips = tempfile::NamedTempFile::new().unwrap();
        let workspace = Workspace::find().unwrap();
        let said = "echo no disk >>\"$CTX_SKIPPED\"";
        let step = Step {
            name: "",
            what: "",
            check: Check::Call(Call::new("sh").args(["-c", said])),
        };
        step.run(&workspace, skips.path()).unwrap();
        let told = fs::read_to_string(skips.path()).unwrap();
        assert_eq!(
            skips_of(&told).lines().last(),
            Some("     1 \u{d7} no disk")
        );
    }
}
