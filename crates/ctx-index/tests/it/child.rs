//! Starts this test program again as another process.

use std::fs;
use std::io::{BufRead as _, BufReader, Lines, Read as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use ctx_index::{Index, Options};
use ctx_model::UnixSeconds;
use ctx_retrieve::{Message, Threads as _};

use crate::crash::step;
use crate::rebuilds::rebuild;
use crate::{block_on, contents, update};

/// What is to be done, and where.
const WHAT: &str = "CTX_INDEX_CHILD";
const ROOT: &str = "CTX_INDEX_CHILD_ROOT";
const FOLDER: &str = "CTX_INDEX_CHILD_FOLDER";
/// What it has to say begins with this.
const SAYS: &str = "child: ";

/// How to start it.
pub(crate) fn command(what: &str, root: &Path, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child::is_a_process_of_its_own", "--nocapture"])
        .env(WHAT, what)
        .env(ROOT, root)
        .env(FOLDER, folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// The same, of which no file may grow beyond some 200 kB: it is as if the disk were full.
pub(crate) fn command_without_room(what: &str, root: &Path, folder: &Path) -> Command {
    let program = command(what, root, folder);
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 256; exec \"$0\" \"$@\""])
        .arg(program.get_program())
        .args(program.get_args())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    for (name, value) in program.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command
}

/// What it says, line by line.
pub(crate) struct Said(Lines<BufReader<ChildStdout>>);

pub(crate) fn said(child: &mut Child) -> Said {
    Said(BufReader::new(child.stdout.take().unwrap()).lines())
}

impl Iterator for Said {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        loop {
            let line = self.0.next()?.ok()?;
            if let Some((_, said)) = line.split_once(SAYS) {
                return Some(said.to_owned());
            }
        }
    }
}

#[allow(clippy::print_stdout, reason = "the parent reads it")]
fn say(what: &str) {
    println!("{SAYS}{what}");
}

#[test]
fn is_a_process_of_its_own() {
    let Ok(what) = std::env::var(WHAT) else {
        return;
    };
    let root = PathBuf::from(std::env::var_os(ROOT).unwrap());
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let open = || Index::open(&root, &folder, Options::default()).unwrap();
    match what.as_str() {
        "hold" => {
            let result = open().update(&mut |_| {
                say("holding");
                let _ = std::io::stdin().read(&mut [0]);
                ControlFlow::Continue(())
            });
            say(&format!("{}", result.is_ok()));
        }
        "ask" => {
            let index = open();
            for line in contents(&index) {
                say(&line);
            }
        }
        "update" => match open().update(&mut |_| ControlFlow::Continue(())) {
            Ok(updated) => say(&format!("{updated:?}")),
            Err(error) => say(&error.to_string()),
        },
        "pending" => say(&format!("{:?}", open().pending().unwrap())),
        "steps" => {
            let mut number: u32 = fs::read_to_string(root.join("step.txt"))
                .map_or(0, |it| it.trim().parse().unwrap_or(0));
            loop {
                number += 1;
                step(&root, number);
                let index = open();
                update(&index);
                say(&format!("{number}"));
            }
        }
        "rebuilds" => {
            let index = open();
            loop {
                rebuild(&index).unwrap();
                say("rebuilt");
            }
        }
        "remember" => {
            let index = open();
            for number in 1_i64.. {
                let text = "x".repeat(usize::try_from(number % 5_000).unwrap());
                let message =
                    Message::new(number.to_string(), "user", text, UnixSeconds::new(number));
                block_on(index.append("thread", &message)).unwrap();
                say(&number.to_string());
            }
        }
        _ => unreachable!("no such thing to do: {what}"),
    }
}
