//! Tools written in Python, each in its own environment below the target folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use xtask_call::command::Call;

/// The folder with the programs of the environment in `folder`, which has `packages` in the given
/// versions. It is created if necessary, which needs `python3` and a package index.
///
/// # Errors
/// It cannot be created; the error says what is missing.
pub(crate) fn environment(folder: &Path, packages: &[&str]) -> Result<PathBuf> {
    let programs = folder.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let made = folder.join("made");
    let wanted = packages.join("\n");
    if fs::read_to_string(&made).is_ok_and(|it| it == wanted) {
        return Ok(programs);
    }
    let venv = Call::new("python3").args(["-m", "venv"]).args([folder]);
    let install = Call::new(programs.join("python"))
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .args(packages);
    for call in [venv, install] {
        call.output().with_context(|| {
            let packages = packages.join(" and ");
            format!("failed to install {packages}: that needs python3 with venv and pip, and a package index that can be reached")
        })?;
    }
    fs::write(&made, wanted).with_context(|| format!("failed to write {}", made.display()))?;
    Ok(programs)
}
