//! `ctx serve`: what it prints, whom it accepts, and how it ends.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ctx_testkit::disk;

use crate::query::Asked;
use crate::run::{self, Folder};

struct Serving {
    child: Child,
    addr: String,
    token: String,
}

impl Serving {
    /// A request that was let in, and has ten seconds for its body.
    #[cfg(unix)]
    fn unfinished(&self) -> TcpStream {
        let mut stream = TcpStream::connect(&self.addr).unwrap();
        let head = format!(
            "POST /v1/threads HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: 99\r\nExpect: 100-continue\r\n\r\n",
            self.addr, self.token
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.read_exact(&mut [0; 25]).unwrap();
        stream
    }

    fn start(folder: &Folder) -> Self {
        Serving::telling(folder, &[], Stdio::null())
    }

    /// Its errors go there.
    fn telling(folder: &Folder, flags: &[&str], errors: Stdio) -> Self {
        let program = run::program();
        Serving::by(program, folder, flags, errors)
    }

    /// The same, of a program that is to ignore hang-ups.
    #[cfg(target_os = "linux")]
    fn ignoring_hangups(folder: &Folder, flags: &[&str], errors: Stdio) -> Self {
        Serving::by(run::ignoring("HUP"), folder, flags, errors)
    }

    /// The same, of one that ignores no signal, though whoever runs the tests may.
    #[cfg(unix)]
    fn heeding_signals(folder: &Folder) -> Self {
        Serving::by(run::heeding(), folder, &[], Stdio::null())
    }

    fn by(program: Command, folder: &Folder, flags: &[&str], errors: Stdio) -> Self {
        let flags = [&["--data-dir", "data"], flags].concat();
        Serving::flagged(program, folder, &flags, errors)
    }

    /// With these flags and no other.
    fn flagged(mut program: Command, folder: &Folder, flags: &[&str], errors: Stdio) -> Self {
        program.args(["serve", "--addr", "127.0.0.1:0"]).args(flags);
        // Those of a file are not told.
        let is_told = !flags.contains(&"--tokens");
        Serving::begun(program.current_dir(folder.path()).stderr(errors), is_told)
    }

    /// What `program` begins, which tells its token or not.
    fn begun(program: &mut Command, is_told: bool) -> Self {
        let mut child = program
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut next = |before: &str| {
            let line = lines.next().unwrap().unwrap();
            line.strip_prefix(before).unwrap().to_owned()
        };
        Serving {
            addr: next("listening on http://"),
            token: if is_told {
                next("token: ")
            } else {
                String::new()
            },
            child,
        }
    }

    /// Sends it a signal: `TERM`, `HUP`.
    #[cfg(unix)]
    fn signal(&self, name: &str) {
        run::signal(self.child.id(), name);
    }

    /// The status of what is answered.
    fn status(&self, line: &str, token: &str) -> String {
        let answer = self.ask(line, token, "");
        answer.get(9..12).unwrap_or_default().to_owned()
    }

    fn ask(&self, line: &str, token: &str, body: &str) -> String {
        self.try_ask(line, token, body).unwrap()
    }

    /// Fails when the server has gone.
    fn try_ask(&self, line: &str, token: &str, body: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(&self.addr)?;
        stream.set_read_timeout(Some(Duration::from_mins(2)))?;
        let length = body.len();
        write!(
            stream,
            "{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}",
            self.addr
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// Sends what `next` makes of 0, 1, … until the server is gone, or as many messages as one page
    /// lists; what was acknowledged is noted.
    fn write(&self, line: &str, noted: &Mutex<Vec<String>>, next: impl Fn(usize) -> String) {
        for number in 0..200 {
            let body = next(number);
            // The server is gone.
            let Ok(answer) = self.try_ask(line, &self.token, &body) else {
                return;
            };
            let status = answer.get(..12).unwrap_or(&answer);
            match status {
                "HTTP/1.1 200" | "HTTP/1.1 201" => noted.lock().unwrap().push(body),
                // Late or turned away, on a machine that is busy: that is no acknowledgement.
                "HTTP/1.1 503" | "HTTP/1.1 504" => {}
                // Cut off while it was answering.
                "" => return,
                _ => panic!("{line} {body}: {answer}"),
            }
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_serves_until_it_is_told_to_stop() {
    let folder = Folder::new();
    let mut serving = Serving::start(&folder);
    assert!(
        serving
            .ask("GET /healthz", "", "")
            .starts_with("HTTP/1.1 200")
    );
    assert!(
        serving
            .ask("GET /v1/threads", "", "")
            .starts_with("HTTP/1.1 401")
    );
    let token = serving.token.clone();
    assert_eq!(token.len(), 64);
    let files = r#"{"files": [{"path": "a.rs", "content": "fn alpha() {}\n"}]}"#;
    assert!(
        serving
            .ask("POST /v1/files", &token, files)
            .starts_with("HTTP/1.1 200")
    );
    let answer = serving.ask("POST /v1/context/build", &token, r#"{"message": "alpha"}"#);
    assert!(answer.contains("fn alpha() {}"), "{answer}");
    assert!(
        serving
            .ask("GET /metrics", &token, "")
            .starts_with("HTTP/1.1 200")
    );
    #[cfg(unix)]
    {
        serving.signal("TERM");
        assert!(serving.child.wait().unwrap().success());
    }
}

/// `ctx mcp --http` tells where it is, and whom it lets in, as `ctx serve` does.
#[test]
fn agents_are_awaited_and_let_in_as_others_are() {
    let folder = Folder::of([("a.md", b"alpha\n"), ("told", b"")]);
    let told = folder.path().join("told");
    let (serve, mcp): (&[&str], &[&str]) = (&["serve", "--addr"], &["mcp", "--http"]);
    for (verb, path) in [(serve, "/v1/threads"), (mcp, "/mcp")] {
        let mut program = run::program();
        program
            .args(verb)
            .args(["127.0.0.1:0", "--allow-host", "ctx.example"])
            .env("CTX_CACHE_DIR", folder.path().join(".cache"))
            .current_dir(folder.path())
            .stderr(File::create(&told).unwrap());
        let mut serving = Serving::begun(&mut program, true);
        if let Some(addr) = serving.addr.strip_suffix("/mcp") {
            serving.addr = addr.to_owned();
        }
        assert_eq!(serving.token.len(), 64);
        let status = |host: &str, token: &str| {
            let mut stream = TcpStream::connect(&serving.addr).unwrap();
            let head = format!(
                "PATCH {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
                 Authorization: Bearer {token}\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer.get(9..12).unwrap_or_default().to_owned()
        };
        for (host, wanted) in [
            ("ctx.example", "405"),
            ("ctx.example:1", "405"),
            ("localhost", "405"),
            ("127.0.0.1:1", "405"),
            ("evil.example", "421"),
            ("ctx.example.evil.example", "421"),
        ] {
            assert_eq!(status(host, &serving.token), wanted, "{verb:?} {host}");
        }
        assert_eq!(status("localhost", "none"), "401", "{verb:?}");
        assert_eq!(status("evil.example", "none"), "421", "{verb:?}");
        let told = std::fs::read_to_string(&told).unwrap();
        assert!(!told.contains(&serving.token), "{told}");
        // Others reach it: by which name is to be said.
        let open = [verb, &["0.0.0.0:0"]].concat();
        folder
            .run(open)
            .fails(2, &["0.0.0.0 is not a loopback address"]);
    }
    let cache = folder.path().join("unused");
    for (flag, given, said) in [
        ("--allow-host", "a:80", "\"a:80\" is no name"),
        ("--allow-origin", "a:80", "\"a:80\" is no site"),
    ] {
        let mut program = run::program();
        program.args(["mcp", "--http", "127.0.0.1:0", flag, given]);
        program.env("CTX_CACHE_DIR", &cache);
        let ran = program.current_dir(folder.path()).output().unwrap();
        let told = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{told}");
        assert!(
            told.contains(said) && told.contains(&format!("hint: give {flag} ")),
            "{told}"
        );
        assert!(!cache.exists(), "{flag}");
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for verb in [["serve", "--addr"], ["mcp", "--http"]] {
        let refused = folder.run([verb[0], verb[1], &taken]);
        refused.fails(1, &["in use"]);
    }
}

/// Whoever made the folder that it is started in may have made the link.
#[cfg(unix)]
#[test]
fn nothing_is_kept_where_a_link_in_the_folder_leads() {
    for link in [".ctx", ".ctx/serve"] {
        let (folder, other) = (Folder::new(), Folder::new());
        let at = folder.path().join(link);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(other.path(), &at).unwrap();
        let in_full = folder.path().join(".ctx/serve");
        let names = [".ctx/serve", "./.ctx//serve/", in_full.to_str().unwrap()];
        for flag in names.map(|it| format!("--data-dir={it}")) {
            let refused = folder.run(["serve", "--addr=127.0.0.1:0", &flag]);
            refused.fails(1, &["by a link"]);
        }
        let refused = folder.run(["serve", "--addr", "127.0.0.1:0"]);
        refused.fails(1, &["by a link"]);
        assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 0);
    }
}

/// What it keeps there is for no repository, and is no index.
#[test]
fn a_project_that_is_served_is_committed_and_asked_as_before() {
    let asked = Asked::small();
    let (root, own) = (&asked.root, asked.root.path().join(".ctx"));
    let ignore = own.join("serve/.gitignore");
    drop(Serving::flagged(run::program(), root, &[], Stdio::null()));
    assert!(own.join("serve/secret").is_file());
    assert_eq!(std::fs::read(&ignore).unwrap(), b"*\n");
    let git = |args: &[&str]| {
        let run = run::git(root.path(), args).output();
        run.is_ok_and(|it| it.status.success())
    };
    if git(&["init", "-q"]) {
        assert!(git(&["add", "."]));
        assert!(git(&["ls-files", "--error-unmatch", "notes.md"]));
        assert!(!git(&["ls-files", "--error-unmatch", ".ctx"]));
    }
    asked.run(&["query", "budget"]).ok();
    assert_eq!(std::fs::read_dir(&own).unwrap().count(), 1);
    assert!(asked.folder().starts_with(asked.cache.path()));
    // Somebody has made it for more.
    root.write(".ctx/.gitignore", "*\n");
    asked.run(&["query", "budget"]).ok();
    assert!(own.join("manifest.db").is_file());
    // Somebody wants it in a repository after all.
    std::fs::write(&ignore, "").unwrap();
    drop(Serving::flagged(run::program(), root, &[], Stdio::null()));
    assert_eq!(std::fs::read(&ignore).unwrap(), b"");
}

/// Waits until `is` holds, for a minute at most.
#[cfg(unix)]
#[track_caller]
fn wait_until(mut is: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is() {
        assert!(started.elapsed() < Duration::from_mins(1), "it never does");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A new token of `owner`, and its line.
#[cfg(unix)]
fn new_token(owner: &str) -> (String, String) {
    let made = run::program()
        .args(["serve", "--new-token", owner])
        .output()
        .unwrap();
    let told = String::from_utf8(made.stdout).unwrap();
    let after = |name: &str| {
        let mut lines = told.lines();
        lines
            .find_map(|it| it.strip_prefix(name))
            .unwrap()
            .to_owned()
    };
    (after("token: "), after("line: "))
}

#[test]
#[cfg(target_os = "linux")]
fn it_opens_as_many_files_as_it_may_and_keeps_within_that() {
    let soft = |serving: &Serving| {
        let limits = format!("/proc/{}/limits", serving.child.id());
        let limits = std::fs::read_to_string(limits).unwrap();
        let line = limits.lines().find(|it| it.starts_with("Max open files"));
        let soft = line.unwrap().split_whitespace().nth(3);
        soft.unwrap().parse::<usize>().unwrap()
    };
    let folder = Folder::new();
    let raised = Serving::by(run::bounded("-S -n 256"), &folder, &[], Stdio::null());
    assert!(soft(&raised) > 256);
    drop(raised);
    // Owners whose folders would have more open together.
    let folder = Folder::new();
    let tokens: Vec<_> = (0..24).map(|it| new_token(&format!("owner{it}"))).collect();
    let lines: Vec<&str> = tokens.iter().map(|it| &*it.1).collect();
    std::fs::write(folder.path().join("tokens"), lines.join("\n")).unwrap();
    let flags = ["--tokens", "tokens"];
    let bounded = Serving::by(run::bounded("-n 256"), &folder, &flags, Stdio::null());
    assert_eq!(soft(&bounded), 256);
    let files = r#"{"files": [{"path": "a.rs", "content": "fn alpha() {}\n"}]}"#;
    for (token, _) in &tokens {
        let answer = bounded.ask("POST /v1/files", token, files);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let open = std::fs::read_dir(format!("/proc/{}/fd", bounded.child.id()));
    let open = open.unwrap().count();
    assert!(open < 180, "{open} files are open");
}

#[test]
#[cfg(unix)]
fn a_hang_up_lets_the_tokens_in_that_the_file_has_by_then() {
    let folder = Folder::new();
    let (tokens, told) = (folder.path().join("tokens"), folder.path().join("told"));
    let ((old, old_line), (new, new_line)) = (new_token("ada"), new_token("ada"));
    std::fs::write(&tokens, &old_line).unwrap();
    let errors = File::create(&told).unwrap();
    let mut serving = Serving::telling(&folder, &["--tokens", "tokens"], errors.into());
    let is_told = |word: &str| std::fs::read_to_string(&told).unwrap().contains(word);
    let statuses =
        |serving: &Serving| [&old, &new].map(|token| serving.status("GET /v1/threads", token));
    assert_eq!(statuses(&serving), ["200", "401"]);
    // What has a fault changes nothing, and is told.
    for (text, said) in [
        (
            format!("{new_line}\nbob none\n"),
            "line 2 of the tokens in tokens: ",
        ),
        (
            format!("{new_line}\n{new_line}\n"),
            "it has the same hash as line 1",
        ),
        (
            "# none yet\n".to_owned(),
            "the tokens in tokens: there is none",
        ),
    ] {
        std::fs::write(&tokens, text).unwrap();
        serving.signal("HUP");
        wait_until(|| is_told(said));
        assert_eq!(statuses(&serving), ["200", "401"], "{said}");
    }
    std::fs::write(&tokens, &new_line).unwrap();
    serving.signal("HUP");
    wait_until(|| is_told("read the tokens in tokens again: 1 are accepted now"));
    assert_eq!(statuses(&serving), ["401", "200"]);
    serving.signal("TERM");
    assert!(serving.child.wait().unwrap().success());
}

#[test]
#[cfg(unix)]
fn a_hang_up_ends_it_as_a_termination_does_where_there_is_no_file_of_tokens() {
    let folder = Folder::new();
    let mut serving = Serving::heeding_signals(&folder);
    serving.signal("HUP");
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
}

/// As by `nohup`.
#[test]
#[cfg(target_os = "linux")]
fn a_hang_up_that_is_ignored_from_the_beginning_does_not_end_it() {
    let folder = Folder::new();
    let mut serving = Serving::ignoring_hangups(&folder, &[], Stdio::null());
    serving.signal("HUP");
    assert_eq!(run::ignored(serving.child.id()) & 1, 1);
    assert_eq!(serving.status("GET /v1/threads", &serving.token), "200");
    serving.signal("TERM");
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
}

#[test]
#[cfg(target_os = "linux")]
fn with_a_file_of_tokens_a_hang_up_has_it_read_again_also_where_it_is_ignored_from_the_beginning() {
    let folder = Folder::new();
    let (tokens, told) = (folder.path().join("tokens"), folder.path().join("told"));
    let (token, line) = new_token("ada");
    std::fs::write(&tokens, new_token("ada").1).unwrap();
    let errors = File::create(&told).unwrap();
    let serving = Serving::ignoring_hangups(&folder, &["--tokens", "tokens"], errors.into());
    assert_eq!(serving.status("GET /v1/threads", &token), "401");
    std::fs::write(&tokens, &line).unwrap();
    serving.signal("HUP");
    let said = "read the tokens in tokens again: 1 are accepted now";
    wait_until(|| std::fs::read_to_string(&told).unwrap().contains(said));
    assert_eq!(serving.status("GET /v1/threads", &token), "200");
}

#[test]
#[cfg(unix)]
fn a_second_signal_does_not_wait_for_requests() {
    let folder = Folder::new();
    for (first, second) in [("TERM", "TERM"), ("INT", "TERM"), ("TERM", "INT")] {
        let mut serving = Serving::heeding_signals(&folder);
        let _stream = serving.unfinished();
        serving.signal(first);
        // It takes no more.
        wait_until(|| TcpStream::connect(&serving.addr).is_err());
        serving.signal(second);
        let ended = serving.child.wait().unwrap();
        assert_eq!(ended.code(), Some(5), "{first} {second}");
    }
}

/// The end of a pipe that has no room, for as long as the other one, which nobody reads, is there.
#[cfg(unix)]
fn full() -> (std::io::PipeReader, Stdio) {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    let (reader, mut writer) = std::io::pipe().unwrap();
    let errors = writer.try_clone().unwrap().into();
    let written = Arc::new(AtomicUsize::new(0));
    let filling = Arc::clone(&written);
    std::thread::spawn(move || {
        while writer.write_all(b"x").is_ok() {
            filling.fetch_add(1, Ordering::Relaxed);
        }
    });
    let mut before = 0;
    wait_until(|| {
        std::thread::sleep(Duration::from_millis(50));
        let now = written.load(Ordering::Relaxed);
        std::mem::replace(&mut before, now) == now && now > 0
    });
    (reader, errors)
}

#[test]
#[cfg(unix)]
fn a_standard_error_that_nobody_reads_keeps_nobody_waiting() {
    for is_told_twice in [false, true] {
        let folder = Folder::new();
        let (reader, errors) = full();
        let mut serving = Serving::by(run::heeding(), &folder, &[], errors);
        std::fs::remove_dir_all(folder.path().join("data")).unwrap();
        let files = r#"{"files": [{"path": "a.rs", "content": "fn a() {}\n"}]}"#;
        for _ in 0..3 {
            let answer = serving.ask("POST /v1/files", &serving.token, files);
            assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
            assert_eq!(serving.status("GET /healthz", ""), "200");
        }
        let mut streams = Vec::new();
        if is_told_twice {
            streams.push(serving.unfinished());
        }
        serving.signal("TERM");
        wait_until(|| TcpStream::connect(&serving.addr).is_err());
        if is_told_twice {
            serving.signal("TERM");
        }
        let told = Instant::now();
        let mut ended = None;
        wait_until(|| {
            ended = serving.child.try_wait().unwrap();
            ended.is_some() || told.elapsed() > Duration::from_secs(9)
        });
        let code = if is_told_twice { 5 } else { 0 };
        let ended = ended.unwrap_or_else(|| panic!("it runs on, told twice: {is_told_twice}"));
        assert_eq!(ended.code(), Some(code));
        drop(reader);
    }
}

#[test]
#[cfg(unix)]
fn it_is_told_to_be_about_to_end_for_as_long_as_is_said() {
    let folder = Folder::new();
    let mut serving = Serving::telling(&folder, &["--grace", "3"], Stdio::null());
    assert_eq!(serving.status("GET /readyz", ""), "200");
    serving.signal("TERM");
    let told = Instant::now();
    wait_until(|| serving.status("GET /readyz", "") == "503");
    assert_eq!(serving.status("GET /v1/threads", &serving.token), "200");
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
    assert!(told.elapsed() >= Duration::from_secs(3));
}

#[test]
fn nothing_of_a_request_or_a_document_is_on_standard_error() {
    const WORD: &str = "canaryofstderr";
    let folder = Folder::new();
    let told = folder.path().join("told");
    let log = File::create(&told).unwrap();
    let fill = |text: &str| text.replace("WORD", WORD);
    let mut kept = String::new();
    let mut ids = Vec::new();
    let mut failed = 0;
    for run in 0..2 {
        let errors = log.try_clone().unwrap();
        let serving = Serving::telling(&folder, &[], errors.into());
        let ask = |line: &str, body: &str| serving.ask(&fill(line), &serving.token, &fill(body));
        let requests = [
            (
                "POST /v1/threads",
                r#"{"id": "WORD", "title": "WORD", "pinned": ["WORD.rs"]}"#,
            ),
            (
                "POST /v1/threads/WORD/messages",
                r#"{"role": "user", "content": "WORD"}"#,
            ),
            // Before it is sent anew, which makes it whole.
            (
                "POST /v1/context/build",
                r#"{"message": "WORD", "threadId": "WORD", "references": ["WORD.rs"]}"#,
            ),
            (
                "POST /v1/files",
                r#"{"files": [{"path": "WORD.rs", "content": "fn WORD() {}\n"}]}"#,
            ),
            (
                "POST /v1/files",
                r#"{"files": [{"path": "WORDRUN.rs", "content": "fn WORD() {}\n"}]}"#,
            ),
            (
                "POST /v1/files",
                r#"{"files": [{"path": "../WORD", "content": "WORD"}]}"#,
            ),
            (
                "POST /v1/context/build",
                r#"{"message": "WORD", "threadId": "WORDless", "WORD": 1}"#,
            ),
            (
                "POST /v1/context/feedback",
                r#"{"handle": "WORD", "useful": true}"#,
            ),
            ("GET /v1/threads/WORD/messages", ""),
            ("GET /v1/WORD", ""),
        ];
        if run == 1 {
            // The file says something else, and nothing can be added to the index.
            for path in disk::files_below(&folder.path().join("data/owners")) {
                if path.ends_with(fill("files/WORD.rs")) {
                    std::fs::write(&path, fill("fn WORDS() {}\n")).unwrap();
                }
            }
        }
        let index = disk::files_below(&folder.path().join("data/owners"));
        let lock = index.iter().find(|it| it.ends_with("index/writer.lock"));
        let writer = lock.map(|it| File::options().write(true).open(it).unwrap());
        if let Some(writer) = &writer {
            writer.lock().unwrap();
        }
        let mut answers =
            requests.map(|(line, body)| ask(line, &body.replace("RUN", &run.to_string())));
        failed += answers
            .iter()
            .filter(|it| it.starts_with("HTTP/1.1 500"))
            .count();
        for answer in &answers {
            let header = answer
                .lines()
                .find_map(|it| it.strip_prefix("x-request-id: "));
            ids.push(header.unwrap().to_owned());
        }
        kept.push_str(&std::mem::take(&mut answers[2]));
    }
    assert!(
        failed > 0 && kept.contains("does not match its hash"),
        "{kept}"
    );
    let told = std::fs::read_to_string(told).unwrap();
    for line in told.lines().filter(|it| it.contains("the store failed")) {
        let words: Vec<&str> = line.split(' ').collect();
        // 2026-02-03T04:05:06.789Z ERROR POST /v1/files status=500 request=…
        let digits = words[0].replace(|it: char| it.is_ascii_digit(), "0");
        assert_eq!(digits, "0000-00-00T00:00:00.000Z", "{line}");
        assert_eq!(
            words[1..5],
            ["ERROR", "POST", "/v1/files", "status=500"],
            "{line}"
        );
        let id = words[5].strip_prefix("request=").unwrap();
        assert!(ids.iter().any(|it| it == id), "{line} of {ids:?}");
    }
    for wanted in ["the store failed", "a file that is kept is damaged"] {
        assert!(told.contains(wanted), "{told}");
    }
    assert!(!told.contains(WORD), "{told}");
}

#[test]
fn each_run_has_a_token_of_its_own_and_the_same_data() {
    let folder = Folder::new();
    let first = Serving::start(&folder);
    let token = first.token.clone();
    assert!(
        first
            .ask("POST /v1/threads", &token, r#"{"id": "kept"}"#)
            .starts_with("HTTP/1.1 201")
    );
    // Killed: what was acknowledged is kept.
    drop(first);
    let second = Serving::start(&folder);
    assert_ne!(token, second.token);
    assert!(
        second
            .ask("GET /v1/threads", &token, "")
            .starts_with("HTTP/1.1 401")
    );
    assert!(
        second
            .ask("GET /v1/threads", &second.token, "")
            .contains("\"kept\"")
    );
}

/// The short form of `cargo xtask kill`.
#[test]
#[cfg(unix)]
fn acknowledged_writes_outlive_each_kill() {
    let folder = Folder::new();
    let mut votes = Vec::new();
    let vote = |serving: &Serving, handle: &str| {
        let body = format!(r#"{{"handle": "{handle}", "useful": true}}"#);
        serving.ask("POST /v1/context/feedback", &serving.token, &body)
    };
    for run in 0..3 {
        let serving = Serving::start(&folder);
        serving.ask(
            "POST /v1/threads",
            &serving.token,
            &format!(r#"{{"id": "t{run}"}}"#),
        );
        let files = format!(r#"{{"files": [{{"path": "a.md", "content": "alpha {run}"}}]}}"#);
        serving.ask("POST /v1/files", &serving.token, &files);
        let built = serving.ask(
            "POST /v1/context/build",
            &serving.token,
            r#"{"message": "alpha"}"#,
        );
        let handle = built.split_once(r#""handle":""#).unwrap().1;
        votes.push(handle.split('"').next().unwrap().to_owned());
        assert!(
            vote(&serving, &votes[run]).contains(r#""counted":true"#),
            "run {run}"
        );
        let (messages, files) = (Mutex::default(), Mutex::default());
        std::thread::scope(|scope| {
            let saying = scope.spawn(|| {
                serving.write(
                    &format!("POST /v1/threads/t{run}/messages"),
                    &messages,
                    |number| {
                        format!(r#"{{"role": "user", "content": "run {run} number {number}."}}"#)
                    },
                );
            });
            let sending = scope.spawn(|| {
                serving.write("POST /v1/files", &files, |number| {
                    format!(r#"{{"files": [{{"path": "{run}/{number}.md", "content": "x"}}]}}"#)
                });
            });
            let count = |noted: &Mutex<Vec<String>>| noted.lock().unwrap().len();
            loop {
                let has_said = count(&messages) >= 3 + run;
                let has_sent = count(&files) > run;
                if has_said && has_sent {
                    break;
                }
                let has_given_up =
                    saying.is_finished() && !has_said || sending.is_finished() && !has_sent;
                assert!(!has_given_up, "{messages:?} {files:?}");
                std::thread::sleep(Duration::from_millis(1));
            }
            serving.signal("KILL");
        });
        drop(serving);
        let serving = Serving::start(&folder);
        let kept = serving.ask(
            &format!("GET /v1/threads/t{run}/messages?limit=200"),
            &serving.token,
            "",
        );
        for message in messages.into_inner().unwrap() {
            let message: serde_json::Value = serde_json::from_str(&message).unwrap();
            let content = message["content"].as_str().unwrap();
            assert_eq!(kept.matches(content).count(), 1, "{content}");
        }
        // One that took the place of another is there as well.
        let replaced = format!(r#"{{"files": [{{"path": "a.md", "content": "alpha {run}"}}]}}"#);
        for file in files.into_inner().unwrap().into_iter().chain([replaced]) {
            let again = serving.ask("POST /v1/files", &serving.token, &file);
            assert!(again.contains(r#""status":"unchanged""#), "{file}: {again}");
        }
        for handle in &votes {
            let again = vote(&serving, handle);
            assert!(again.contains(r#""counted":false"#), "run {run}: {again}");
        }
    }
}

#[test]
fn receipts_are_kept_for_as_long_as_flags_say() {
    let folder = Folder::of([("file", b"")]);
    let more = ["--receipt-hours", "2", "--receipt-mib", "3"];
    let serving = Serving::telling(&folder, &more, Stdio::null());
    let answer = serving.ask("GET /v1/context/ctx-0", &serving.token, "");
    let told = "receipts are kept for 2 hours, or shorter if they exceed 3 MiB";
    assert!(answer.contains(told), "{answer}");
    for flag in ["--receipt-hours=0", "--receipt-mib=0", "--receipt-mib=x"] {
        let ran = run::program()
            .args(["serve", flag, "--new-token", "ada"])
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(2), "{flag}");
    }
}

#[test]
fn as_many_builds_at_once_are_taken_as_make_sense() {
    for builds in ["0", "65", "-1", "x", "99999999999999999999"] {
        let ran = run::program()
            .args(["serve", &format!("--builds={builds}"), "--new-token", "ada"])
            .output()
            .unwrap();
        let told = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{builds}: {told}");
        assert!(told.contains("it must be a number from 1 to 64"), "{told}");
    }
}

#[test]
fn a_server_that_cannot_start_gives_the_reason_and_a_hint() {
    let folder = Folder::of([("tokens", b"ada nohash\n"), ("file", b"")]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (args, code, said) in [
        (
            vec!["--addr", "0.0.0.0:0"],
            2,
            "0.0.0.0 is not a loopback address",
        ),
        (
            vec!["--addr", "0.0.0.0:0", "--tokens", "tokens"],
            2,
            "0.0.0.0 is not a loopback address",
        ),
        (
            vec!["--addr", "127.0.0.1:0", "--allow-host", "ctx.example:80"],
            2,
            "\"ctx.example:80\" is no name",
        ),
        (
            vec!["--addr", "127.0.0.1:0", "--allow-origin", "ctx.example"],
            2,
            "\"ctx.example\" is no site",
        ),
        (vec!["--addr", &taken], 1, "in use"),
        // What it was called before.
        (
            vec!["--addr", "127.0.0.1:0", "--host", "ctx.example:80"],
            2,
            "\"ctx.example:80\" is no name",
        ),
        (
            vec![
                "--addr",
                "127.0.0.1:0",
                "--database-url",
                "postgres://ada:sesame@127.0.0.1:1/x",
            ],
            1,
            "use the database at 127.0.0.1:1",
        ),
        (
            vec!["--addr", "127.0.0.1:0", "--tokens", "tokens"],
            3,
            "line 1 of the tokens",
        ),
        (
            vec!["--addr", "127.0.0.1:0", "--tokens", "none"],
            3,
            "read the tokens in none",
        ),
        (
            vec!["--addr", "127.0.0.1:0", "--data-dir", "file/x"],
            1,
            "use the data folder file/x",
        ),
        (
            vec!["--new-token", "a b"],
            2,
            "is not a valid name of an owner",
        ),
        (vec!["--new-token", "#ada"], 2, "not beginning with #"),
    ] {
        let ran = run::program()
            .arg("serve")
            .args(&args)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let told = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(code), "{args:?}: {told}");
        assert!(
            told.contains(said) && told.contains("hint: "),
            "{args:?}: {told}"
        );
        assert!(ran.stdout.is_empty());
        assert!(!told.contains("sesame"), "{told}");
        // Nothing is left of it.
        assert!(!folder.path().join(".ctx").exists(), "{args:?}");
    }
}

#[test]
fn what_is_intact_of_a_damaged_folder_is_salvaged() {
    let folder = Folder::new();
    let salvage = || {
        let mut program = run::program();
        program.args(["serve", "--data-dir", "data", "--salvage"]);
        run::Ran::of(program.current_dir(folder.path()).output().unwrap())
    };
    salvage().fails(1, &["use the data folder data"]);
    assert!(!folder.path().join("data").exists());
    let serving = Serving::start(&folder);
    let token = serving.token.clone();
    for (place, body) in [
        ("threads", r#"{"id": "t"}"#),
        (
            "threads/t/messages",
            r#"{"role": "user", "content": "the zebra of ada"}"#,
        ),
        (
            "threads/t/messages",
            r#"{"role": "user", "content": "the horse of ada"}"#,
        ),
    ] {
        serving.ask(&format!("POST /v1/{place}"), &token, body);
    }
    salvage().fails(1, &["use the data folder data: process", "has it"]);
    drop(serving);
    assert_eq!(salvage().ok(), "nothing is damaged in data\n");
    let owner = folder.path().join("data/owners");
    let owner = owner.read_dir().unwrap().next().unwrap().unwrap();
    let state = owner.path().join("state.db");
    let mut bytes = std::fs::read(&state).unwrap();
    let word = b"zebra of ada";
    let at = bytes.windows(word.len()).position(|it| it == word);
    bytes[at.unwrap()] ^= 1;
    std::fs::write(&state, bytes).unwrap();
    let name = owner.file_name();
    assert_eq!(
        salvage().ok(),
        format!(
            "data/owners/{}: kept 0 files, 1 threads, 1 messages (1 lost), 0 votes, 0 usage; the damaged data is kept as state.db.damaged-1\n",
            name.display()
        )
    );
    let serving = Serving::start(&folder);
    let answer = serving.ask("GET /v1/threads/t/messages", &serving.token, "");
    assert!(
        answer.contains("the horse of ada") && !answer.contains("ebra"),
        "{answer}"
    );
}

#[test]
fn an_invalid_database_address_is_a_usage_error_and_not_echoed() {
    let folder = Folder::new();
    for (url, said) in [
        ("sesame", "it is neither postgres://"),
        ("mysql://u:sesame@h/db?a=b", "it is neither postgres://"),
        (
            "postgres://u:sesame@h/db?sslmode=some",
            "sslmode is require or verify-full",
        ),
        (
            "host=db password=sesame sslrootcert=/a",
            "sslrootcert is of use with",
        ),
        (
            "postgres://u:sesame@h/db?sesame=1",
            "it has an option that is not known",
        ),
        ("user=u password=sesame", "it names no host"),
    ] {
        for by_flag in [true, false] {
            let mut program = run::program();
            program.args(["serve", "--addr", "127.0.0.1:0"]);
            let what = if by_flag {
                program.args(["--database-url", url]);
                "--database-url"
            } else {
                program.env("CTX_DATABASE_URL", url);
                "CTX_DATABASE_URL"
            };
            let ran = program.current_dir(folder.path()).output().unwrap();
            let ran = run::Ran::of(ran);
            ran.fails(2, &[what, "failed to read the address", said]);
            assert!(!ran.stderr.contains("sesame"), "{ran:?}");
            assert!(!folder.path().join(".ctx").exists(), "{ran:?}");
        }
    }
}

#[test]
fn a_database_can_be_named_where_no_list_of_processes_shows_it() {
    let folder = Folder::of([("file", b"")]);
    for (args, said) in [
        (vec![], "use the database at 127.0.0.1:1"),
        (vec!["--data-dir", "file/x"], "use the data folder file/x"),
        (
            vec!["--database-url", "host=127.0.0.2 port=2"],
            "use the database at 127.0.0.2:2",
        ),
    ] {
        let ran = run::program()
            .args(["serve", "--addr", "127.0.0.1:0"])
            .args(&args)
            .env("CTX_DATABASE_URL", "postgres://ada:sesame@127.0.0.1:1/x")
            .current_dir(folder.path())
            .output()
            .unwrap();
        let told = String::from_utf8(ran.stderr).unwrap();
        assert!(
            told.contains(said) && !told.contains("sesame"),
            "{args:?}: {told}"
        );
    }
}

#[test]
#[cfg(feature = "tokenizer-json")]
fn a_request_may_count_by_a_tokenizer_that_was_named() {
    let folder = Folder::new();
    folder.write("words.json", run::TOKENIZER);
    let flags = ["--tokenizer", "mine=words.json"];
    let serving = Serving::telling(&folder, &flags, Stdio::null());
    for (route, more) in [
        ("assemble", r#""chunks": []"#),
        ("build", r#""message": "alpha""#),
    ] {
        let body = format!(r#"{{{more}, "options": {{"tokenEstimation": "mine"}}}}"#);
        let answer = serving.ask(&format!("POST /v1/context/{route}"), &serving.token, &body);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains(r#""counter":"mine""#), "{answer}");
    }
    let run = |flag| folder.run(["serve", "--tokenizer", flag]);
    assert_eq!(run("words.json").code, 2);
    assert_eq!(run("mine.json=words.json").code, 2);
    assert_eq!(run("mine=missing.json").code, 3);
}
