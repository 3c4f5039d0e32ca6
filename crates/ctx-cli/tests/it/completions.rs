//! `ctx completions`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::run::ctx;

const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "powershell", "elvish"];

/// The verbs that `ctx --help` lists.
fn verbs() -> Vec<String> {
    let help = ctx(["--help"], "").stdout;
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let lines = list.lines().take_while(|line| !line.is_empty());
    // A description may go on, further to the right.
    let verbs = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let verbs: Vec<String> = verbs.filter(|it| !it.is_empty()).map(Into::into).collect();
    for known in ["query", "mcp", "completions", "help"] {
        assert!(verbs.iter().any(|it| it == known), "{verbs:?}");
    }
    verbs
}

#[test]
fn the_script_of_every_shell_names_all_verbs_and_their_flags() {
    let verbs = verbs();
    for shell in SHELLS {
        let script = ctx(["completions", shell], "").stdout;
        let is_word = |it: char| it.is_ascii_alphanumeric() || it == '-';
        let words: Vec<&str> = script.split(|it| !is_word(it)).collect();
        for verb in &verbs {
            assert!(words.contains(&&**verb), "{shell} does not complete {verb}");
        }
        // Fish has flags without the dashes.
        for flag in ["max-tokens", "no-index-update", "allow-host"] {
            let is_there = words.iter().any(|it| it.trim_start_matches('-') == flag);
            assert!(is_there, "{shell} does not complete --{flag}");
        }
    }
}

#[test]
fn a_shell_that_is_installed_can_read_its_script() {
    for shell in ["bash", "zsh", "fish"] {
        let mut reading = Command::new(shell);
        reading.args(["-n", "/dev/stdin"]).stdin(Stdio::piped());
        let Ok(mut reading) = reading.spawn() else {
            continue;
        };
        let script = ctx(["completions", shell], "").stdout;
        let mut input = reading.stdin.take().unwrap();
        input.write_all(script.as_bytes()).unwrap();
        drop(input);
        assert!(reading.wait().unwrap().success(), "{shell}");
    }
}

#[test]
fn another_shell_is_refused_and_those_there_are_are_named() {
    let ran = ctx(["completions", "csh"], "");
    assert_eq!(ran.code, 2, "{ran:?}");
    for shell in SHELLS {
        assert!(ran.stderr.contains(shell), "{ran:?} lacks {shell}");
    }
    ctx(["completions"], "").fails(2, &["required"]);
}
