//! Other programs that pack a source tree, and how each is called for the same task.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use xtask_call::command::Call;
use xtask_call::workspace::Workspace;

const CODE2PROMPT: &str = "4.3.0";
const REPOMIX: &str = "1.18.1";

/// A program that packs the current folder into a file, counting tokens by `o200k_base`.
#[derive(Debug)]
pub(super) struct Packer {
    pub(super) name: String,
    /// The call that writes to the given file.
    pub(super) call: fn(&Path, &Path) -> Call,
    /// The program.
    pub(super) program: std::path::PathBuf,
}

impl Packer {
    /// The call that packs into `output`.
    pub(super) fn pack_to(&self, output: &Path) -> Call {
        (self.call)(&self.program, output)
    }
}

/// Installs the peers below the target folder, where they are found again, and returns them.
pub(super) fn install(workspace: &Workspace) -> Result<Vec<Packer>> {
    // A folder for each version, so that no version is mistaken for another.
    let peers = workspace.target.join("peers");
    Ok(vec![code2prompt(&peers)?, repomix(&peers)?])
}

fn code2prompt(peers: &Path) -> Result<Packer> {
    let folder = peers.join(format!("code2prompt-{CODE2PROMPT}"));
    let program = folder.join("bin/code2prompt");
    if !program.exists() {
        println!("installing code2prompt {CODE2PROMPT}");
        Call::cargo([
            "install",
            "--quiet",
            "--locked",
            "code2prompt",
            "--version",
            CODE2PROMPT,
        ])
        .args(["--root".as_ref(), folder.as_os_str()])
        .args(["--target-dir".as_ref(), folder.join("build").as_os_str()])
        .run()
        .context("failed to install code2prompt")?;
    }
    Ok(Packer {
        name: format!("code2prompt {CODE2PROMPT}"),
        call: |program, output| {
            Call::new(program)
                .args([
                    "--encoding",
                    "o200k",
                    "--token-format",
                    "raw",
                    "--output-file",
                ])
                .args([output])
                .args(["."])
        },
        program,
    })
}

fn repomix(peers: &Path) -> Result<Packer> {
    let folder = peers.join(format!("repomix-{REPOMIX}"));
    let program = folder.join("node_modules/.bin/repomix");
    if !program.exists() {
        println!("installing repomix {REPOMIX}");
        fs::create_dir_all(&folder)?;
        Call::new("npm")
            .args([
                "install",
                "--no-audit",
                "--no-fund",
                "--loglevel=error",
                "--prefix",
            ])
            .args([&folder])
            .args([format!("repomix@{REPOMIX}")])
            .run()
            .context("failed to install repomix")?;
    }
    Ok(Packer {
        name: format!("repomix {REPOMIX}"),
        // Its search for secrets is off, since the others have none. Ignore files are off because
        // the project's own ignore the folder of the corpus.
        call: |program, output| {
            Call::new(program)
                .args([
                    "--style",
                    "markdown",
                    "--token-count-encoding",
                    "o200k_base",
                ])
                .args([
                    "--no-security-check",
                    "--no-default-patterns",
                    "--no-gitignore",
                    "--quiet",
                    "--output",
                ])
                .args([output])
        },
        program,
    })
}
