//! What a shell sees: help, versions, pipes, signals, terminals.

#[cfg(unix)]
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Stdio;
#[cfg(unix)]
use std::process::{Child, ChildStdin, Command};
#[cfg(unix)]
use std::thread::{self, JoinHandle};

#[cfg(unix)]
use ctx_testkit::hostile::OBEYED;

#[cfg(unix)]
use crate::index::hold;
#[cfg(unix)]
use crate::query::{Asked, BUDGET};
#[cfg(unix)]
use crate::run;
use crate::run::{Folder, command, ctx};

#[test]
fn help_shows_examples_and_exit_codes() {
    let help = ctx(["--help"], "");
    for part in [
        "query",
        "index",
        "assemble",
        "pack",
        "tokens",
        "Exit codes",
        "cancelled",
    ] {
        assert!(help.ok().contains(part), "{part}");
    }
    for verb in ["query", "index", "assemble", "pack", "tokens"] {
        let help = ctx([verb, "--help"], "");
        assert!(
            help.ok().contains("Examples:") && help.ok().contains(&format!("ctx {verb}")),
            "{verb}"
        );
    }
    assert!(ctx(["-V"], "").ok().starts_with("ctx "));
}

#[test]
fn nothing_to_do_is_a_usage_error() {
    let run = ctx::<&str>([], "");
    assert_eq!((run.code, &*run.stdout), (2, ""));
}

#[test]
fn flags_that_have_no_say_are_refused() {
    let folder = Folder::of([("a.rs", b"fn a() {}\n")]);
    for args in [
        &["show", "a.rs", "--counter", "gpt-4o"][..],
        &["show", "a.rs", "--match", "1"],
        &["show", "a.rs", "--match", "1", "--rendition", "skeleton"],
        &["show", "a.rs", "--match", "1", "--max-tokens", "9"],
        &["query", "a", "--no-index-update", "--wait", "5"],
        &[
            "serve",
            "--data-dir",
            "d",
            "--database-url",
            "postgres://127.0.0.1:1/x",
        ],
    ] {
        folder.run(args).fails(2, &[]);
    }
    for args in [
        &["show", "a.rs", "--rendition", "full", "--counter", "gpt-4o"][..],
        &["show", "a.rs", "--rendition", "full", "--strategy", "head"],
        &["mcp", "--install", "cursor", "--allow-host", "a.example"],
        &[
            "mcp",
            "--install",
            "cursor",
            "--allow-origin",
            "http://a.example",
        ],
        &["mcp", "--http", "192.0.2.1:1", "--write"],
    ] {
        folder.run(args).fails(2, &["cannot be used with"]);
    }
    let excerpt = ["show", "a.rs", "--match", "1", "--rendition", "excerpt"];
    assert_eq!(folder.run(excerpt).ok(), "fn a() {}\n");
    folder.write("b.rs", "fn b() {\n    1;\n}\n\nfn c() {\n    2;\n}\n");
    for (place, line) in [
        ("b.rs", "8"),
        ("b.rs", "0"),
        ("b.rs#c", "2"),
        ("b.rs:5-9", "9"),
    ] {
        let args = ["show", place, "--match", line, "--rendition", "excerpt"];
        folder.run(args).fails(3, &["--match", line]);
    }
    let config = ["mcp", "--index", "kept", "--install", "cursor"];
    let kept = folder.path().canonicalize().unwrap().join("kept");
    let (config, kept) = (folder.run(config), kept.to_string_lossy().into_owned());
    let value: serde_json::Value = config.json();
    assert_eq!(value["mcpServers"]["ctx"]["args"][4], kept, "{value}");
}

#[test]
fn a_configuration_that_cannot_be_written_is_no_fault_of_what_was_given() {
    let folder = Folder::of([(".cursor", b"")]);
    let args = ["mcp", "--install", "cursor", "--write"];
    folder.run(args).fails(1, &["failed to write "]);
    let folder = Folder::of([(".cursor/mcp.json", b"[")]);
    folder.run(args).fails(3, &["failed to change "]);
}

#[test]
fn without_a_terminal_there_are_no_escape_sequences() {
    let folder = Folder::of([
        ("a.rs", b"fn a() {}\n"),
        ("b.bin", b"\0"),
        ("big", &[b'a'; 4096]),
    ]);
    for args in [
        &["pack", "--explain", "--verbose", "--max-file-size", "1K"][..],
        &["tokens"],
        &["pack", "gone"],
        &["--help"],
        &["pack", "--max-tokens", "0"],
    ] {
        let run = folder.run(args);
        assert!(
            !run.stdout.contains('\u{1b}') && !run.stderr.contains('\u{1b}'),
            "{run:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::new();
    for n in 0..50 {
        folder.write(format!("f{n}.txt"), "word ".repeat(2000));
    }
    for args in [
        &["pack", "--max-tokens", "1000000"][..],
        &["pack", "--max-tokens", "1000000", "--json"],
    ] {
        let mut child = command(args)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 1];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(
            !String::from_utf8_lossy(&output.stderr).contains("error"),
            "{output:?}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let folder = Folder::of([("a.rs", b"fn a() {}\n")]);
    for args in [
        &["pack"][..],
        &["--help"],
        &["pack", "--help"],
        &["--version"],
    ] {
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let output = command(args)
            .current_dir(folder.path())
            .stdout(full)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stderr)
                .contains("error: failed to write to standard output"),
            "{output:?}"
        );
    }
}

/// What assembles, and has read so much that it hears signals.
#[cfg(unix)]
fn assembling(mut program: Command) -> (Child, ChildStdin) {
    let mut child = program
        .args(["assemble", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // More than a pipe holds: once that is written, it reads, and can be interrupted.
    let chunk = b"{\"id\": \"a\", \"content\": \"x\", \"relevance\": 1}\n";
    stdin.write_all(&chunk.repeat(10_000)).unwrap();
    (child, stdin)
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_it_with_nothing_on_standard_output() {
    for name in ["INT", "TERM", "HUP"] {
        let (child, stdin) = assembling(run::heeding());
        run::signal(child.id(), name);
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        assert_eq!(output.status.code(), Some(5), "{output:?}");
        assert!(output.stdout.is_empty());
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            "error: cancelled\n"
        );
    }
}

/// As at a terminal, where Ctrl-C ends both: what came before is not all of it.
#[cfg(unix)]
#[test]
fn an_interrupt_goes_before_the_end_of_the_input_that_comes_with_it() {
    for args in [
        &["tokens", "-"][..],
        &["assemble", "-"],
        &["query", "-"],
        &["verify", "-"],
    ] {
        for _ in 0..5 {
            let mut child = run::heeding()
                .args(args)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdin = child.stdin.take().unwrap();
            // More than a pipe holds: once that is written, it reads, and can be interrupted.
            stdin.write_all(&b" \n".repeat(200_000)).unwrap();
            run::signal(child.id(), "INT");
            drop(stdin);
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(5), "{args:?}: {output:?}");
            assert!(output.stdout.is_empty(), "{args:?}: {output:?}");
            assert_eq!(
                String::from_utf8_lossy(&output.stderr),
                "error: cancelled\n"
            );
        }
    }
}

/// As by `nohup`, and by a script for what it leaves in the background.
#[cfg(target_os = "linux")]
#[test]
fn signals_ignored_at_the_start_do_not_end_the_command() {
    let (child, stdin) = assembling(run::ignoring("HUP INT"));
    run::signal(child.id(), "HUP");
    run::signal(child.id(), "INT");
    assert_eq!(run::ignored(child.id()) & 0b11, 0b11);
    run::signal(child.id(), "TERM");
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
}

#[test]
fn the_front_page_and_the_help_agree() {
    let page = include_str!("../../README.md");
    let verbs = [
        "query",
        "index",
        "assemble",
        "pack",
        "tokens",
        "outline",
        "show",
        "relations",
        "verify",
        "serve",
        "mcp",
        "completions",
    ];
    let help = verbs.map(|verb| ctx([verb, "--help"], "").stdout).concat();
    let words = page.split(|c: char| !(c.is_ascii_lowercase() || c == '-'));
    for flag in words.filter(|word| word.starts_with("--") && word.ends_with(char::is_alphabetic)) {
        assert!(
            help.contains(flag),
            "{flag} is on the front page and not in the help"
        );
    }
    let codes = |text: &str, before: &str| -> Vec<char> {
        let rows = text
            .lines()
            .filter_map(|line| line.strip_prefix(before)?.chars().next());
        rows.filter(char::is_ascii_digit).collect()
    };
    let (_, table) = page.split_once("## Exit codes").unwrap();
    let (table, _) = table.split_once("##").unwrap();
    assert_eq!(codes(table, "| "), codes(&ctx(["--help"], "").stdout, "  "));
}

/// A terminal: our end of it, and the other.
#[cfg(unix)]
fn terminal() -> (File, File) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = File::options().write(true).open(name).unwrap();
    (ours.into(), theirs)
}

/// What is shown on our end, until nobody has the other any more.
#[cfg(unix)]
fn reading(mut ours: File) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut shown = Vec::new();
        // It ends in an error then.
        let _ = ours.read_to_end(&mut shown);
        String::from_utf8(shown).unwrap()
    })
}

/// What a run shows on a terminal, and what it says on standard error.
#[cfg(unix)]
fn on_a_terminal(mut command: Command) -> (String, String) {
    let (ours, theirs) = terminal();
    let child = command.stdout(theirs).spawn().unwrap();
    // The other end is the child's alone from here on.
    drop(command);
    let reader = reading(ours);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    // A terminal makes two characters of a line feed.
    let shown = reader.join().unwrap().replace("\r\n", "\n");
    (shown, String::from_utf8(output.stderr).unwrap())
}

#[cfg(unix)]
#[test]
fn a_terminal_obeys_nothing_that_documents_say() {
    let name = format!("a{OBEYED}.md");
    let text = format!("# Head {OBEYED}\n\nBody {OBEYED} of it.\n");
    let passed_over = format!("b{OBEYED}.bin");
    let symbol = format!("Head {OBEYED}");
    let asked = Asked::of([(&*name, text.as_bytes()), (&*passed_over, b"\0")]);
    for args in [
        &["show", &name][..],
        &["show", &name, "--numbers"],
        &["show", &name, "--json"],
        &["outline", "-v"],
        &["outline", "--json"],
        &["relations", &symbol, "."],
        &["relations", &symbol, ".", "--json"],
        &["tokens", "-v"],
        &["tokens", "--json"],
        &["pack", "-v"],
        &["pack", "--explain"],
        &["pack", "--json"],
        &["query", "body", "-v"],
        &["query", "body", "--explain"],
        &["query", "body", "--json"],
        &["index", "--status"],
        &["index", "--json"],
    ] {
        let (shown, told) = on_a_terminal(asked.command(args));
        assert!(!shown.is_empty(), "{args:?} {told}");
        for text in [&shown, &told] {
            let is_obeyed = |c: &char| OBEYED.contains(*c) && !c.is_ascii_graphic();
            assert_eq!(text.chars().find(is_obeyed), None, "{args:?} {text:?}");
        }
        if args.contains(&"--json") {
            let is_json = serde_json::from_str::<serde_json::Value>(&shown).is_ok();
            assert!(is_json, "{args:?} {shown}");
        }
    }
    // A program has the bytes as they are.
    assert_eq!(asked.run(&["show", &name]).ok(), text);
}

#[cfg(unix)]
#[test]
fn who_asks_for_quiet_is_shown_no_progress() {
    let asked = Asked::small();
    asked.run(&["index"]).ok();
    let _lock = hold(&asked.folder());
    // There is something to write, which it waits for.
    asked.root.write("late.rs", BUDGET);
    for (flags, is_shown) in [(&[][..], true), (&["--quiet"], false)] {
        let (ours, theirs) = terminal();
        let mut index = asked.command(&[&["index", "--wait", "1"], flags].concat());
        let mut child = index.env("TERM", "xterm").stderr(theirs).spawn().unwrap();
        drop(index);
        let shown = reading(ours);
        assert_eq!(child.wait().unwrap().code(), Some(1));
        let shown = shown.join().unwrap();
        assert!(shown.contains("process 4711"), "{shown:?}");
        assert_eq!(shown.contains("indexing"), is_shown, "{shown:?}");
    }
}
