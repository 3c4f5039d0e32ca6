//! Runs the program in temporary folders.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

#[cfg(unix)]
use ctx_testkit::skip::skipped;
use serde_json::Value;

/// A folder that is gone when the test ends.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ctx-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// A folder of these files.
    pub(crate) fn of<const N: usize>(files: [(&str, &[u8]); N]) -> Self {
        let folder = Folder::new();
        for (path, bytes) in files {
            folder.write(path, bytes);
        }
        folder
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Runs the program in this folder.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        let mut command = command(args);
        command.current_dir(&self.0).stdin(Stdio::null());
        Ran::of(command.output().unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        Ran {
            code: output.status.code().expect("it was not killed"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Standard output of a run that went well.
    #[track_caller]
    pub(crate) fn ok(&self) -> &str {
        assert_eq!(self.code, 0, "{self:?}");
        &self.stdout
    }

    /// The same as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.ok()).unwrap()
    }

    /// Checks a run that failed: exit code, nothing on standard output, each of `parts` in an error
    /// that is one line, and a hint on a line of its own.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.stdout, "");
        let error = self
            .stderr
            .lines()
            .find(|line| line.starts_with("error: "))
            .unwrap_or_else(|| panic!("{self:?}"));
        for part in parts {
            assert!(error.contains(part), "{error:?} lacks {part:?}");
        }
        // Usage errors are the argument parser's own.
        let hinted = self
            .stderr
            .lines()
            .any(|line| line.starts_with("hint: ") || line.contains("--help"));
        assert!(hinted || code == 5, "no hint: {self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
    }
}

/// The program.
pub(crate) fn program() -> Command {
    by(env!("CARGO_BIN_EXE_ctx"))
}

/// The program `name`, which hears neither of a database nor of a repository that whoever runs the
/// tests has: a hook of git runs them with its own in the environment.
fn by(name: &str) -> Command {
    let mut program = Command::new(name);
    program.env_remove("CTX_DATABASE_URL");
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        program.env_remove(variable);
    }
    program
}

/// Git in the folder `at`, without anybody's settings.
pub(crate) fn git(at: &Path, args: &[&str]) -> Command {
    let mut git = by("git");
    git.args(args)
        .current_dir(at)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    git
}

pub(crate) fn command<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = program();
    command
        .args(args)
        // The folders of tests are in the checkout, whose history is not asked about.
        .env("GIT_CEILING_DIRECTORIES", env!("CARGO_TARGET_TMPDIR"))
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE");
    command
}

/// A pipe that nobody reads.
pub(crate) fn unread() -> Stdio {
    let (_, writer) = std::io::pipe().unwrap();
    writer.into()
}

/// The program by a shell that has the system bound it so (`ulimit`).
#[cfg(target_os = "linux")]
pub(crate) fn bounded(how: &str) -> Command {
    let mut shell = by("sh");
    let bounded = format!("ulimit {how} && exec \"$0\" \"$@\"");
    shell.args(["-c", &bounded, env!("CARGO_BIN_EXE_ctx")]);
    shell
}

/// The program by a shell that has `signals` ignored from the beginning (`trap`).
#[cfg(target_os = "linux")]
pub(crate) fn ignoring(signals: &str) -> Command {
    let mut shell = by("sh");
    let ignored = format!("trap '' {signals}; exec \"$0\" \"$@\"");
    shell.args(["-c", &ignored, env!("CARGO_BIN_EXE_ctx")]);
    shell
}

/// The program, which heeds signals though whoever runs the tests may have them ignored, where
/// `env` can have that: the one of busybox cannot.
#[cfg(unix)]
pub(crate) fn heeding() -> Command {
    let mut env = Command::new("env");
    env.args(["--default-signal=HUP,INT,TERM", "true"]);
    let can = env.stderr(Stdio::null()).status();
    if !can.is_ok_and(|it| it.success()) {
        return program();
    }
    let mut program = by("env");
    program.args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_ctx")]);
    program
}

/// The signals of which nothing comes to process `id`: the first bit is the first signal's.
#[cfg(target_os = "linux")]
pub(crate) fn ignored(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let ignored = status.lines().find_map(|it| it.strip_prefix("SigIgn:"));
    u64::from_str_radix(ignored.unwrap().trim(), 16).unwrap()
}

/// Sends process `id` a signal: `TERM`, `HUP`. The shell does it, as not every system has a program
/// for that.
#[cfg(unix)]
pub(crate) fn signal(id: u32, name: &str) {
    let kill = ["-c", "kill -\"$0\" \"$1\"", name, &id.to_string()];
    let sent = Command::new("sh").args(kill).status();
    assert!(sent.unwrap().success());
}

/// Sets who may do what with `path`.
#[cfg(unix)]
pub(crate) fn mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// What comes of it where permissions bind; `None`, after a report, if no such process can be
/// started.
#[cfg(unix)]
pub(crate) fn run_bound(mut command: Command) -> Option<Ran> {
    use std::os::unix::process::CommandExt as _;
    /// A user who may write nothing.
    const NOBODY: u32 = 65_534;
    let tried = Folder::of([("file", b"".as_slice())]);
    mode(&tried.path().join("file"), 0);
    if fs::read(tried.path().join("file")).is_ok() {
        command.uid(NOBODY).gid(NOBODY);
    }
    match command.output() {
        Ok(output) => Some(Ran::of(output)),
        Err(error) => {
            skipped(format_args!(
                "no process of another user can be started: {error}"
            ));
            None
        }
    }
}

/// Runs the program on `input`.
pub(crate) fn ctx<S: AsRef<OsStr>>(
    args: impl IntoIterator<Item = S>,
    input: impl AsRef<[u8]>,
) -> Ran {
    feed(command(args), input)
}

/// Runs `command` on `input`.
pub(crate) fn feed(mut command: Command, input: impl AsRef<[u8]>) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.as_ref();
    let output = thread::scope(|scope| {
        // The program may end before it has read everything.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    });
    Ran::of(output)
}

/// A `tokenizer.json` by which each run of letters or digits is a token.
#[cfg(feature = "tokenizer-json")]
pub(crate) const TOKENIZER: &str = r#"{
  "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
  "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
  "model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}
}"#;
