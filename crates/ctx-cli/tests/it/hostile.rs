//! Trees that are made to hang, starve or crash the program: each run ends soon, names the reason,
//! and takes little memory.
//!
//! Some trees are smaller than they could be; `CTX_THOROUGH=1` makes them full size.
//! `CTX_FIGURES=1` prints what each took.
#![allow(
    clippy::print_stderr,
    reason = "figures are printed when they are asked for"
)]

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ctx_testkit::SetOnDrop;
use ctx_testkit::few::thorough;
use ctx_testkit::git::Repository;
use serde_json::json;

use crate::run::{Folder, command};

/// What waits for ever, or grows without end, is ended then.
const LATE: Duration = Duration::from_mins(1);
/// How long a tree may take: a second, and where nothing is optimized, so many times as long.
const SOON: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 1 });
/// A machine may be busy: the fastest of so many runs counts.
const TRIES: usize = 3;
/// What a tree may cost beyond one with a file in it, in KiB.
const MOST_GROWTH: u64 = 64 << 10;

/// What each of many files may take besides, in KiB.
const KIB_OF_FILE: u64 = 4;

/// A folder with one plain file in it, and a place for indexes beside it.
struct Tree {
    root: Folder,
    cache: Folder,
}

/// What a run came to.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    said: String,
    took: Duration,
    /// The most memory it had, in KiB.
    peak: u64,
}

impl Tree {
    fn new() -> Self {
        Tree {
            root: Folder::of([("a.rs", b"fn plain_function() {}\n")]),
            cache: Folder::new(),
        }
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join(name)
    }

    fn pipe(&self, name: &str) {
        let made = Command::new("mkfifo").arg(self.at(name)).status();
        assert!(made.unwrap().success());
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = command(args);
        command
            .current_dir(self.root.path())
            .env("CTX_CACHE_DIR", self.cache.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str]) -> Ended {
        let began = Instant::now();
        let mut child = self.command(args).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let mut err = child.stderr.take().unwrap();
        let (mut said, mut told) = (Vec::new(), Vec::new());
        let mut peak = 0;
        let status = thread::scope(|scope| {
            scope.spawn(|| out.read_to_end(&mut told));
            scope.spawn(|| err.read_to_end(&mut said));
            loop {
                peak = memory(&child).unwrap_or(peak);
                if let Some(status) = child.try_wait().unwrap() {
                    break status;
                }
                if began.elapsed() > LATE {
                    child.kill().unwrap();
                }
                thread::sleep(Duration::from_millis(1));
            }
        });
        said.extend(told);
        Ended {
            code: status.code(),
            said: String::from_utf8_lossy(&said).into_owned(),
            took: began.elapsed(),
            peak,
        }
    }

    /// What `context_outline` says of the folder, over standard input and output.
    fn outline(&self) -> Ended {
        let began = Instant::now();
        let mut child = self
            .command(&["mcp"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}});
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "context_outline", "arguments": {}}});
        writeln!(input, "{hello}\n{ready}\n{call}").unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let is_over = AtomicBool::new(false);
        let (said, peak) = thread::scope(|scope| {
            let child = &mut child;
            let over = &is_over;
            let watching = scope.spawn(move || {
                let mut peak = 0;
                while !over.load(Ordering::Relaxed) {
                    peak = memory(child).unwrap_or(peak);
                    if began.elapsed() > LATE {
                        let _ = child.kill();
                    }
                    thread::sleep(Duration::from_millis(1));
                }
                peak
            });
            let mut lines = lines.map_while(Result::ok);
            let said = lines.find(|it| it.contains("\"id\":2"));
            is_over.store(true, Ordering::Relaxed);
            (said, watching.join().unwrap())
        });
        let took = began.elapsed();
        drop(input);
        let code = said.is_some().then_some(0);
        let _ = child.wait();
        Ended {
            code,
            said: said.unwrap_or_default(),
            took,
            peak,
        }
    }
}

/// The most memory that a process has had, in KiB; `None` once it has ended.
fn memory(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What is read whole is refused where it does not end, with little more memory than it may have.
#[test]
fn inputs_without_end_are_refused() {
    let tree = Tree::new();
    tree.root.write("receipt.json", receipt(&tree));
    tree.pipe("pipe");
    let context = (256, "256 MiB");
    let question = (16, "16 MiB");
    // One line, and one whose next lines have no end.
    let chunks = [&b"[1,1,1,1"[..], b"[\n1,1,1,1"];
    for (args, begin, (most, told)) in [
        (&["verify"][..], &b"x"[..], context),
        (&["verify", "receipt.json", "--context"], b"x", context),
        (&["pack", ".", "--previous"], b"x", context),
        (&["query", "plain_function", "--hits"], b"x", question),
        (&["assemble"], chunks[0], context),
        (&["assemble"], chunks[1], context),
    ] {
        let refused = |input: &str, why: &str, most: u64| {
            let ended = tree.run(&[args, &[input]].concat());
            assert_eq!(ended.code, Some(3), "{args:?}: {ended:?}");
            let error = format!("error: failed to read {input}: {why}\n");
            assert!(ended.said.contains(&error), "{ended:?}");
            assert!(ended.said.contains("hint: "), "{ended:?}");
            let most = (most << 10) + MOST_GROWTH;
            assert!(ended.peak < most, "{args:?}: {ended:?}");
        };
        refused(
            "/dev/zero",
            "it begins with NUL bytes, so it is not text",
            0,
        );
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut pipe = File::options().write(true).open(tree.at("pipe")).unwrap();
                pipe.write_all(begin).unwrap();
                let endless = b",1".repeat(1 << 15);
                // Until nobody reads it any more.
                while pipe.write_all(&endless).is_ok() {}
            });
            refused("pipe", &format!("it has more than {told}"), most);
        });
    }
    // What is no text is not read on to find out what else it is.
    let mut noise = b"{\"id\": \"\xff".to_vec();
    noise.push(b'\n');
    tree.root.write("noise", noise);
    let noise = File::options().write(true).open(tree.at("noise")).unwrap();
    noise.set_len(200 << 20).unwrap();
    let ended = tree.run(&["assemble", "noise"]);
    assert!(
        ended.said.contains("noise:1: the input is not UTF-8"),
        "{ended:?}"
    );
    assert!(ended.peak < MOST_GROWTH, "{ended:?}");
    // Of a file that is too large, nothing is read.
    noise.set_len(1 << 40).unwrap();
    let ended = tree.run(&["assemble", "noise"]);
    assert!(
        ended.said.contains("noise: it has more than 256 MiB\n"),
        "{ended:?}"
    );
    for args in [
        &["verify", "-"][..],
        &["query", "-"],
        &["query", "plain_function", "--hits", "-"],
    ] {
        let mut command = tree.command(args);
        let output = command.stdin(File::open("/dev/zero").unwrap()).output();
        let said = String::from_utf8(output.unwrap().stderr).unwrap();
        let why = ": it begins with NUL bytes, so it is not text\n";
        assert!(said.contains(why), "{args:?}: {said}");
    }
}

fn receipt(tree: &Tree) -> Vec<u8> {
    let packed = tree.command(&["pack", ".", "--json"]).output();
    packed.unwrap().stdout
}

/// The ways in which a tree is walked and read.
const WAYS: [&str; 4] = ["pack", "index", "query", "outline"];

fn go(tree: &Tree, way: &str) -> Ended {
    match way {
        "pack" => tree.run(&["pack", "--verbose"]),
        "index" => tree.run(&["index", "--verbose"]),
        "query" => tree.run(&["query", "plain_function", "--verbose"]),
        "tokens" => tree.run(&["tokens", "--depth", "0"]),
        _ => tree.outline(),
    }
}

/// The fastest of some runs, as many as it takes to be soon.
fn soon(mut run: impl FnMut() -> Ended) -> Ended {
    let mut ended = run();
    for _ in 1..TRIES {
        if ended.took < SOON {
            break;
        }
        let next = run();
        if next.took < ended.took {
            ended = next;
        }
    }
    ended
}

/// The most memory that a tree with one plain file in it takes in each way, in KiB.
static PLAIN: LazyLock<[u64; WAYS.len()]> = LazyLock::new(|| {
    WAYS.map(|way| {
        let plain = go(&Tree::new(), way);
        assert_eq!(plain.code, Some(0), "{plain:?}");
        plain.peak
    })
});

/// Makes a tree anew for each way, and looks how it is walked and what is said. `told` is what must
/// be said in each way, by turns.
#[track_caller]
fn ends(name: &str, make: impl Fn(&Tree), told: [&str; 4]) {
    for ((way, told), plain) in WAYS.into_iter().zip(told).zip(*PLAIN) {
        let ended = soon(|| {
            let tree = Tree::new();
            make(&tree);
            go(&tree, way)
        });
        let grown = ended.peak.saturating_sub(plain);
        if std::env::var_os("CTX_FIGURES").is_some() {
            let milliseconds = ended.took.as_millis();
            eprintln!("{name:24} {way:8} {milliseconds:6} ms {grown:8} KiB more than {plain}");
        }
        assert_eq!(ended.code, Some(0), "{name}, {way}: {ended:?}");
        assert!(
            ended.said.contains(told),
            "{name}, {way}: {told:?} is not said: {ended:?}"
        );
        assert!(
            ended.said.contains("a.rs") || way == "index",
            "{name}, {way}: {ended:?}"
        );
        assert!(ended.took < SOON, "{name}, {way}: {:?}", ended.took);
        assert!(grown < MOST_GROWTH, "{name}, {way}: {grown} KiB more");
    }
}

#[test]
fn pipes_links_to_devices_and_loops_are_passed_over() {
    let special = ["it is neither a file nor a folder", "", "", ""];
    ends("pipe", |it| it.pipe("pipe.rs"), special);
    let link = ["links are not followed", "", "", ""];
    let linked = |to: &'static str| move |it: &Tree| symlink(to, it.at("link.rs")).unwrap();
    ends("link to /dev/zero", linked("/dev/zero"), link);
    ends("link to /proc", linked("/proc"), link);
    ends("link to itself", linked("link.rs"), link);
    let around = |it: &Tree| {
        fs::create_dir(it.at("sub")).unwrap();
        symlink("..", it.at("sub/up")).unwrap();
        symlink("../sub", it.at("sub/again")).unwrap();
    };
    ends("links in a circle", around, link);
}

#[test]
fn files_without_end_are_left_out() {
    let sparse = |it: &Tree| {
        let file = File::create(it.at("sparse.rs")).unwrap();
        file.set_len(1 << 40).unwrap();
    };
    let told = [
        "larger than",
        "it is too large",
        "it is too large",
        "sparse.rs",
    ];
    ends("sparse file of 1 TiB", sparse, told);
    // What was read is counted as well, which takes its time where nothing is optimized.
    let most = thorough(16 << 20, 1 << 20).to_string();
    let log = Tree::new();
    let path = log.at("grows.log");
    fs::write(&path, "").unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = File::options().append(true).open(&path).unwrap();
            // Emptied now and then: it is the reader that is to end.
            while !is_over.load(Ordering::Relaxed) {
                for _ in 0..1024 {
                    file.write_all(&[b'x'; 4096]).unwrap();
                }
                file.set_len(0).unwrap();
            }
        });
        let _over = SetOnDrop(&is_over);
        for way in WAYS {
            let ended = soon(|| match way {
                "pack" => log.run(&["pack", "--verbose", "--max-file-size", &most]),
                _ => go(&log, way),
            });
            assert!(
                ended.code == Some(0) && ended.took < SOON,
                "{way}: {ended:?}"
            );
        }
    });
}

/// Its files have no size, some have no end, and some wait for what never comes.
#[test]
fn a_process_can_be_packed() {
    let tree = Tree::new();
    for folder in ["/proc/self", "/proc/sys/kernel"] {
        let tokens = &["tokens", folder, "--max-file-size", "100000"];
        let ended = soon(|| tree.run(tokens));
        assert!(ended.code.is_some() && ended.took < SOON, "{ended:?}");
        // Whether anything of the kernel's settings cannot be read hangs on the kernel and the
        // user.
        let is_told = ended.said.contains("is left out: ");
        assert!(is_told || folder != "/proc/self", "{ended:?}");
        let ended = soon(|| tree.run(&["index", folder]));
        assert!(ended.code.is_some() && ended.took < SOON, "{ended:?}");
    }
}

#[test]
fn folders_without_end_are_left_out() {
    let levels = thorough(4_000, 1_000);
    let deep = |it: &Tree| make_deep(it.root.path(), levels);
    ends("deep", deep, ["is more than 128 folders deep"; 4]);
}

/// Folders within each other, each made from within the one around it: their path is longer than
/// any that can be given.
fn make_deep(root: &Path, levels: usize) {
    let script = "import os,sys\nfor _ in range(int(sys.argv[1])):\n os.mkdir('d'); os.chdir('d')";
    let mut command = Command::new("python3");
    command
        .current_dir(root)
        .args(["-c", script])
        .arg(levels.to_string());
    if !command.status().is_ok_and(|it| it.success()) {
        fs::create_dir_all(root.join("d/".repeat(levels.min(1_500)))).unwrap();
    }
}

#[test]
fn many_small_files_are_no_matter() {
    let count = thorough(100_000, 4_000);
    let tree = Tree::new();
    for number in 0..count {
        let folder = format!("d{}", number / 1_000);
        if number % 1_000 == 0 {
            fs::create_dir(tree.at(&folder)).unwrap();
        }
        fs::write(tree.at(&folder).join(format!("{number}.txt")), "one\n").unwrap();
    }
    // A file of any size takes its time, and so much memory besides what a tree may take: a name, a
    // hash, a line.
    let time = SOON * u32::try_from(1 + count / 4_000).unwrap();
    let most = MOST_GROWTH + u64::try_from(count).unwrap() * KIB_OF_FILE;
    let plain = PLAIN.iter().max().unwrap();
    for way in ["tokens"].into_iter().chain(WAYS) {
        let ended = soon(|| go(&tree, way));
        let grown = ended.peak.saturating_sub(*plain);
        if std::env::var_os("CTX_FIGURES").is_some() {
            let milliseconds = ended.took.as_millis();
            eprintln!("{count} files {way:8} {milliseconds:6} ms {grown:8} KiB more");
        }
        assert_eq!(ended.code, Some(0), "{way}: {ended:?}");
        let is_named = matches!(way, "index" | "tokens") || ended.said.contains("a.rs");
        assert!(is_named, "{way}: {ended:?}");
        assert!(ended.took < time, "{way}: {:?}", ended.took);
        assert!(grown < most, "{way}: {grown} KiB more");
    }
}

#[test]
fn names_of_many_symbols_that_reach_all_others_are_no_matter() {
    let tree = Tree::new();
    let plain = tree.run(&["relations", "plain_function"]).peak;
    let same = "fn same() {}\n".repeat(400);
    let others: Vec<String> = (0..2_000).map(|it| format!("fn f{it}() {{}}\n")).collect();
    tree.root.write("many.rs", same + &others.concat());
    for format in [&[][..], &["--json"]] {
        let ended = tree.run(&[&["relations", "same", "--depth", "2"], format].concat());
        assert_eq!(ended.code, Some(0), "{format:?}");
        assert_eq!(ended.said.matches("f1999").count(), 400, "{format:?}");
        let grown = ended.peak.saturating_sub(plain);
        assert!(grown < MOST_GROWTH, "{format:?}: {grown} KiB more");
    }
}

#[test]
fn ignore_files_that_are_none_are_named() {
    let told = ["put a plain file in its place"; 4];
    for name in [".gitignore", ".ignore", ".ctxignore"] {
        ends(&format!("{name} is a pipe"), |it| it.pipe(name), told);
        let linked = |it: &Tree| symlink("/dev/zero", it.at(name)).unwrap();
        ends(&format!("{name} -> /dev/zero"), linked, told);
    }
    let exclude = |it: &Tree| {
        fs::create_dir_all(it.at(".git/info")).unwrap();
        it.pipe(".git/info/exclude");
    };
    ends("exclude is a pipe", exclude, told);
    let worktree = |it: &Tree| {
        let (root, own) = (it.root.path().display(), it.at("own"));
        fs::create_dir(&own).unwrap();
        fs::write(it.at(".git"), format!("gitdir: {root}/own\n")).unwrap();
        fs::write(own.join("gitdir"), format!("{root}/.git\n")).unwrap();
        it.pipe("own/commondir");
    };
    ends("commondir is a pipe", worktree, [""; 4]);
}

#[test]
fn files_of_git_that_are_none_are_named_and_the_rest_answers() {
    let history = |name: &str, why: &str| format!(".git/{name}: it is {why}, not a file");
    for name in ["HEAD", "config", "packed-refs", "objects/info/alternates"] {
        let make = |it: &Tree| {
            Repository::init(it.root.path()).commit("Begin", &[("a.rs", Some("fn a() {}\n"))]);
            it.root.write("a.rs", "fn plain_function() {}\n");
            let _ = fs::remove_file(it.at(".git").join(name));
            fs::create_dir_all(it.at(".git/objects/info")).unwrap();
        };
        let piped = |it: &Tree| {
            make(it);
            it.pipe(&format!(".git/{name}"));
        };
        let told = &*history(name, "a pipe");
        ends(&format!("{name} is a pipe"), piped, ["", told, told, ""]);
        let linked = |it: &Tree| {
            make(it);
            symlink("/dev/zero", it.at(".git").join(name)).unwrap();
        };
        let told = &*history(name, "a device");
        ends(
            &format!("{name} -> /dev/zero"),
            linked,
            ["", told, told, ""],
        );
    }
}

#[test]
fn rules_without_end_are_named() {
    let rules = |text: String| move |it: &Tree| it.root.write(".gitignore", &text);
    let braces = ["{".repeat(100_000), "a".to_owned(), "}".repeat(100_000)].concat();
    ends(
        "100,000 braces",
        rules(braces),
        ["larger than 65536 bytes"; 4],
    );
    let braces = ["{".repeat(30_000), "a".to_owned(), "}".repeat(30_000)].concat();
    ends("30,000 braces", rules(braces), ["more than 1024 bytes"; 4]);
    let braces = ["{".repeat(500), "a".to_owned(), "}".repeat(500)].concat();
    ends("500 braces", rules(braces), ["more than 32 braces"; 4]);
    let wild = "*x*b?c[d-f]*g\n".repeat(4_500);
    ends("22,500 wildcards", rules(wild), ["8192 wildcards"; 4]);
    let wild = "*x*b?c[d-f]*g\n".repeat(1_600);
    ends("8,000 wildcards", rules(wild), [""; 4]);
    ends("30,000 rules", rules("ab\n".repeat(20_000)), [""; 4]);
    ends(
        "6 MB of rules",
        rules("ab\n".repeat(2_000_000)),
        ["larger than 65536 bytes"; 4],
    );
}
