//! `cargo xtask fuzz`: the laws of whatever takes the text of others, on inputs that coverage
//! guides.
//!
//! The targets are functions of `ctx_testkit::fuzz`, whose tests run each on seeds and changes of
//! these; the package in `fuzz/` makes a program of each. What is found between runs is kept in
//! `fuzz/corpus`, and an input that fails in `fuzz/artifacts`; neither is committed.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use xtask_call::command::Call;
use xtask_call::workspace::Workspace;

/// The folder of the package, below the root.
const PACKAGE: &str = "fuzz";
/// The compiler's instrumentation is unstable.
const TOOLCHAIN: &str = "+nightly";
/// The longest that an input may take, in seconds: nothing takes one.
const SLOWEST: u32 = 20;

/// What to fuzz, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The target; all of them, one after another, where none is given.
    target: Option<String>,
    /// Seconds for each target.
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u32,
}

/// Fuzzes, up to the first input that fails.
///
/// # Errors
/// There is such an input, or cargo-fuzz or a nightly toolchain is missing.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let package = workspace.root.join(PACKAGE);
    let all = targets(&package)?;
    let targets = match &options.target {
        None => all,
        Some(name) => {
            let known = all.join(", ");
            ensure!(all.contains(name), "there is no target {name}, but {known}");
            vec![name.clone()]
        }
    };
    ensure!(
        fuzz(["--version"]).output().is_ok(),
        "fuzzing needs cargo-fuzz and a nightly toolchain: \
         `rustup toolchain install nightly && cargo install cargo-fuzz`"
    );
    // The same versions as in the workspace; cargo adds what is missing, and drops the rest.
    let lock = |folder: &Path| folder.join("Cargo.lock");
    fs::copy(lock(&workspace.root), lock(&package)).context("failed to copy Cargo.lock")?;
    for target in &targets {
        println!("{target}: {} s", options.seconds);
        fs::create_dir_all(package.join("corpus").join(target))?;
        let call = call(target, options.seconds);
        call.within(&workspace.root).run()?;
    }
    Ok(())
}

/// The names of the targets, in order.
fn targets(package: &Path) -> Result<Vec<String>> {
    let folder = package.join("fuzz_targets");
    let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry?.path();
        names.extend(path.file_stem().map(|it| it.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

fn fuzz<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Call {
    // Not the cargo that started this program: that one takes no toolchain.
    Call::new("cargo").args([TOOLCHAIN, "fuzz"]).args(arguments)
}

/// The call that fuzzes `target` for so many `seconds`, in the root.
fn call(target: &str, seconds: u32) -> Call {
    // No crate here has `unsafe` code, so that a sanitizer would find little and halve the speed.
    fuzz(["run", "--sanitizer", "none", target])
        .args(["corpus", "seeds"].map(|it| format!("{PACKAGE}/{it}/{target}")))
        .args([
            "--".to_owned(),
            format!("-max_total_time={seconds}"),
            format!("-timeout={SLOWEST}"),
        ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_read_and_what_is_found_is_kept_beside_them() {
        assert_eq!(
            call("parse", 9).to_string(),
            "cargo +nightly fuzz run --sanitizer none parse fuzz/corpus/parse fuzz/seeds/parse \
             -- -max_total_time=9 -timeout=20"
        );
    }

    #[test]
    fn each_target_is_found_by_its_program() {
        let workspace = Workspace::find().unwrap();
        let targets = targets(&workspace.root.join(PACKAGE)).unwrap();
        assert!(targets.is_sorted() && targets.contains(&"parse".to_owned()));
    }
}
