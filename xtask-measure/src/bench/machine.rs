//! Where and when the figures were measured.

use std::fs;
use std::thread::available_parallelism;

use anyhow::Result;

use super::figures;
use xtask_call::command::Call;
use xtask_call::workspace::Workspace;

/// One line: date, commit, processor, memory, compiler.
pub(crate) fn describe(workspace: &Workspace) -> Result<String> {
    let date = Call::new("date").args(["-u", "+%F"]).output()?;
    let git = |arguments: &[&str]| {
        Call::new("git")
            .args(arguments)
            .within(&workspace.root)
            .output()
            .ok()
    };
    let commit = git(&["rev-parse", "--short", "HEAD"]).unwrap_or_default();
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])
        .is_none_or(|list| !list.trim().is_empty());
    let rustc = Call::new("rustc").args(["--version"]).output()?;
    let cores = available_parallelism()?;
    Ok(format!(
        "{}, commit {}{}; {}, {cores} cores, {} of memory, {}; {}",
        date.trim(),
        commit.trim(),
        if changed { " with changes" } else { "" },
        field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".to_owned()),
        memory().unwrap_or_else(|| "an unknown amount".to_owned()),
        std::env::consts::OS,
        rustc.trim(),
    ))
}

fn memory() -> Option<String> {
    let total = field("/proc/meminfo", "MemTotal")?;
    let kibibytes: f64 = total.strip_suffix(" kB")?.parse().ok()?;
    Some(figures::bytes(kibibytes * 1024.0))
}

/// The value of the first `name: value` in a file of such lines.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
