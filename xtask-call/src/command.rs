//! Other programs: calling, showing and timing them, and checking their results.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The cargo that started this program, so that a toolchain override also applies to what it
/// starts.
pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// A program with its arguments; its `Display` is the command line that one would type.
#[derive(Clone, Debug)]
#[must_use]
pub struct Call {
    program: OsString,
    arguments: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
    folder: Option<PathBuf>,
}

impl Call {
    /// `cargo` with `arguments`.
    pub fn cargo<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Self {
        Call::new(cargo()).args(arguments)
    }

    /// `program`, without arguments yet.
    pub fn new(program: impl Into<OsString>) -> Self {
        Call {
            program: program.into(),
            arguments: Vec::new(),
            variables: Vec::new(),
            folder: None,
        }
    }

    /// More arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        let arguments = arguments.into_iter().map(|a| a.as_ref().to_owned());
        self.arguments.extend(arguments);
        self
    }

    /// The same call as arguments of another program, such as one that times it.
    pub fn under<A: AsRef<OsStr>>(
        mut self,
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let program = std::mem::replace(&mut self.program, program.into());
        let before = arguments.into_iter().map(|a| a.as_ref().to_owned());
        self.arguments = before.chain([program]).chain(self.arguments).collect();
        self
    }

    /// Adds an environment variable.
    pub fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Sets the folder that it runs in.
    pub fn within(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// The command, to be started as the caller likes; its standard input is empty.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }

    /// Runs it with our output streams; anything but success is an error.
    pub fn run(&self) -> Result<()> {
        let status = self.command().status().with_context(|| self.failure())?;
        if !status.success() {
            bail!("`{self}` ended with {status}");
        }
        Ok(())
    }

    /// Runs it and returns its standard output; anything but success is an error that ends with its
    /// standard error.
    pub fn output(&self) -> Result<String> {
        let output = self.command().output().with_context(|| self.failure())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("`{self}` ended with {}\n{}", output.status, said.trim_end());
        }
        String::from_utf8(output.stdout).with_context(|| format!("`{self}` printed no UTF-8"))
    }

    fn failure(&self) -> String {
        format!("failed to start `{self}`")
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.variables {
            write!(f, "{name}={} ", quoted(value))?;
        }
        if self.program == cargo() {
            f.write_str("cargo")?;
        } else {
            f.write_str(&quoted(&self.program))?;
        }
        for argument in &self.arguments {
            write!(f, " {}", quoted(argument))?;
        }
        Ok(())
    }
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
