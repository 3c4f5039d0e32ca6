//! The server process: starting it, measuring its usage, ending it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::Store;
use xtask_call::command::Call;
use xtask_call::workspace::Workspace;

/// An owner who may send requests.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) name: String,
    pub(crate) token: String,
}

/// A server that runs until it is dropped, over a folder that remains.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) addr: SocketAddr,
    child: Child,
}

/// The resources that a process has used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Processor time.
    pub(crate) processor: Duration,
    /// Its present memory in bytes.
    pub(crate) resident: u64,
}

/// Builds the tool, and returns its path.
///
/// # Errors
/// It does not build.
pub(crate) fn build(workspace: &Workspace, is_release: bool) -> Result<PathBuf> {
    let mut call = Call::cargo(["build", "--quiet", "-p", "ctx-cli"]).within(&workspace.root);
    if is_release {
        call = call.args(["--release"]);
    }
    call.run()?;
    let profile = if is_release { "release" } else { "debug" };
    let name = format!("ctx{}", std::env::consts::EXE_SUFFIX);
    Ok(workspace.target.join(profile).join(name))
}

/// Makes a token for each name, and the file of tokens in `folder`. The first is an operator.
///
/// # Errors
/// The tool makes none, or the folder cannot be written.
pub(crate) fn owners(tool: &Path, folder: &Path, names: &[&str]) -> Result<Vec<Owner>> {
    let mut owners = Vec::new();
    let mut lines = String::new();
    for name in names {
        let said = Call::new(tool)
            .args(["serve", "--new-token", name])
            .output()?;
        let part = |word| {
            let line = said.lines().find_map(|it| it.strip_prefix(word));
            line.with_context(|| format!("`ctx serve --new-token` printed no {word:?}"))
        };
        lines += part("line: ")?;
        lines += if owners.is_empty() {
            " operator\n"
        } else {
            "\n"
        };
        owners.push(Owner {
            name: (*name).to_owned(),
            token: part("token: ")?.to_owned(),
        });
    }
    fs::write(folder.join("tokens"), lines)?;
    Ok(owners)
}

impl Served {
    /// Starts the tool over `folder`, which contains its token file, and waits until it listens. It
    /// runs the given number of `builds` at once, or the default.
    ///
    /// # Errors
    /// It ends instead.
    pub(crate) fn start(
        tool: &Path,
        folder: &Path,
        store: &Store,
        builds: Option<NonZeroUsize>,
    ) -> Result<Self> {
        let mut call = Call::new(tool)
            .args(["serve", "--addr", "127.0.0.1:0"])
            .args(["--tokens".as_ref(), folder.join("tokens").as_os_str()]);
        call = match &store.url {
            Some(url) => call.args(["--database-url", url]),
            None => call.args(["--data-dir".as_ref(), folder.join("data").as_os_str()]),
        };
        if let Some(builds) = builds {
            call = call.args(["--builds".to_owned(), builds.to_string()]);
        }
        let log = fs::File::create(folder.join("log"))?;
        let mut command = call.command();
        command.stdout(Stdio::piped()).stderr(log);
        let mut child = command
            .spawn()
            .with_context(|| format!("failed to start `{call}`"))?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let said = line.trim().strip_prefix("listening on http://");
        let addr = said.and_then(|it| it.parse().ok());
        let mut served = Served {
            addr: addr.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0))),
            child,
        };
        if addr.is_none() {
            served.kill();
        }
        let log = || fs::read_to_string(folder.join("log")).unwrap_or_default();
        ensure!(addr.is_some(), "`{call}` does not listen\n{}", log().trim());
        Ok(served)
    }

    /// Kills the process. Data that it wrote remains with the system.
    pub(crate) fn kill(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The resources used so far; zeros if the system does not report them.
    pub(crate) fn usage(&self) -> Usage {
        usage_of(&self.child.id().to_string())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What this process has used so far.
pub(crate) fn own_usage() -> Usage {
    usage_of("self")
}

/// The processor time that all processes of the machine have used together.
pub(crate) fn machine_busy() -> Duration {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let fields: Vec<u64> = line
        .split_whitespace()
        .skip(1)
        .filter_map(|it| it.parse().ok())
        .collect();
    // Without the fourth and fifth fields, which are idle time and waiting for the disk, and
    // without guests, which are counted twice.
    let busy = fields.iter().take(8).enumerate();
    ticks(
        busy.filter(|(at, _)| ![3, 4].contains(at))
            .map(|it| it.1)
            .sum(),
    )
}

fn usage_of(process: &str) -> Usage {
    let read = |file: &str| fs::read_to_string(format!("/proc/{process}/{file}"));
    let stat = read("stat").unwrap_or_default();
    // The name in brackets may contain spaces.
    let fields = stat.rsplit_once(')').map_or("", |it| it.1);
    let fields = fields.split_whitespace().skip(11).take(2);
    let used = fields.filter_map(|it| it.parse::<u64>().ok()).sum();
    let status = read("status").unwrap_or_default();
    let resident = status.lines().find_map(|it| it.strip_prefix("VmRSS:"));
    let resident = resident.and_then(|it| it.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Usage {
        processor: ticks(used),
        resident: resident.unwrap_or(0) * 1024,
    }
}

/// The kernel reports hundredths of a second, whatever its internal clock.
fn ticks(count: u64) -> Duration {
    Duration::from_millis(count * 10)
}
