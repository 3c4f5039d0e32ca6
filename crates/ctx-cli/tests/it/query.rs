//! Questions about a folder, the index that answers them, and settings. Each test has its own cache
//! and settings.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use ctx_testkit::git::Repository;
use serde_json::{Value, json};

use crate::run::{Folder, Ran, command, feed};

const PARSER: &[u8] = b"/// Reads one token after the other.\npub struct Parser;\n\nimpl Parser {\n    /// The next token, if there is one.\n    pub fn next_token(&mut self) -> Option<u8> {\n        None\n    }\n}\n";
pub(crate) const BUDGET: &[u8] = b"//! Budgets.\n\n/// Whether `cost` fits into the budget.\npub fn fits(cost: u32, budget: u32) -> bool {\n    cost <= budget\n}\n";
const NOTES: &[u8] =
    b"# Notes\n\n## Retries\n\nA request is sent again after a pause that doubles each time.\n";

/// A folder that is asked about, and where its index and the user's settings are.
pub(crate) struct Asked {
    pub(crate) root: Folder,
    pub(crate) cache: Folder,
    pub(crate) config: Folder,
}

impl Asked {
    /// Files that were changed a minute ago. The index keeps no time of a file that changed within
    /// the last two seconds, so a later question would write it.
    pub(crate) fn of<const N: usize>(files: [(&str, &[u8]); N]) -> Self {
        let root = Folder::of(files);
        let before = SystemTime::now() - Duration::from_mins(1);
        for (path, _) in files {
            let path = root.path().join(path);
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(before).unwrap();
        }
        Asked {
            root,
            cache: Folder::new(),
            config: Folder::new(),
        }
    }

    pub(crate) fn small() -> Self {
        Asked::of([
            ("src/parser.rs", PARSER),
            ("src/budget.rs", BUDGET),
            ("notes.md", NOTES),
        ])
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = command(args);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CTX_") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(self.root.path())
            .env("CTX_CACHE_DIR", self.cache.path())
            .env("XDG_CONFIG_HOME", self.config.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// Asks what stands on standard input.
    pub(crate) fn pipe(&self, input: &[u8], args: &[&str]) -> Ran {
        let args = [&["query", "-"], args].concat();
        feed(self.command(&args), input)
    }

    /// Where the index is.
    pub(crate) fn folder(&self) -> PathBuf {
        let status = self.run(&["index", "--status", "--json"]).json();
        PathBuf::from(status["folder"].as_str().unwrap())
    }
}

pub(crate) fn paths(result: &Value) -> Vec<&str> {
    let items = result["retrieval"]["items"].as_array().unwrap();
    items
        .iter()
        .map(|it| it["path"].as_str().unwrap())
        .collect()
}

/// What was picked for `key`, and from where.
pub(crate) fn setting<'r>(result: &'r Value, key: &str) -> (&'r str, &'r str) {
    let settings = result["retrieval"]["settings"].as_array().unwrap();
    let found = settings.iter().find(|it| it["key"] == key).unwrap();
    (
        found["value"].as_str().unwrap(),
        found["origin"].as_str().unwrap(),
    )
}

#[test]
fn a_question_is_answered_with_nothing_set_up_before() {
    let asked = Asked::small();
    let run = asked.run(&["query", "does the cost fit the budget?"]);
    assert!(run.ok().starts_with("### src/budget.rs"), "{run:?}");
    assert!(run.stderr.contains("indexed 3 of 3 files"), "{run:?}");
    let again = asked.run(&["query", "does", "the", "cost", "fit the budget?"]);
    assert_eq!(again.ok(), run.stdout, "the words are one question");
    assert!(!again.stderr.contains("indexed"), "{again:?}");
    let piped = asked.pipe(b"does the cost fit the budget?", &[]);
    assert_eq!(piped.ok(), run.stdout);
}

#[test]
fn another_search_has_a_say() {
    let asked = Asked::small();
    let question = "who checks what it may cost";
    let plain = asked.run(&["query", question, "--json"]).json();
    assert!(!paths(&plain).contains(&"src/parser.rs"), "{plain}");
    let hits = [
        r#"{"id": "v1", "filePath": "src/parser.rs", "startLine": 6, "endLine": 8, "relevance": 0.61, "content": "x"}"#,
        r#"{"filePath": "gone.rs", "relevance": 0.6}"#,
    ];
    asked.root.write("hits.jsonl", hits.join("\n"));
    let run = asked.run(&["query", question, "--hits", "hits.jsonl", "--json"]);
    let result = run.json();
    let items = result["retrieval"]["items"].as_array().unwrap().iter();
    let item = items.rev().find(|it| it["path"] == "src/parser.rs");
    let item = item.unwrap();
    assert!(item["startLine"].as_u64() <= Some(8), "{item}");
    assert_eq!(item["contributions"][0]["strategy"], "semantic");
    assert_eq!(item["contributions"].as_array().unwrap().len(), 1);
    assert!(
        run.stderr
            .contains("1 of 2 hits is in files that are not indexed, such as gone.rs"),
        "{run:?}"
    );
    let semantic = &["query", question, "--hits", "-", "--strategies", "semantic"];
    let beyond = r#"{"filePath": "notes.md", "startLine": 6, "endLine": 9, "relevance": 1}"#;
    let ran = feed(asked.command(semantic), beyond.as_bytes());
    let told = "1 of 1 hit has lines beyond the end of its file, such as hit 1, lines 6-9 of notes.md, which has 5 lines";
    assert!(ran.stderr.contains(told), "{ran:?}");
    let piped = asked.command(semantic);
    let ran = feed(piped, hits[0].as_bytes());
    assert!(ran.ok().starts_with("### src/parser.rs"), "{ran:?}");
    for (args, code, why) in [
        (
            &["query", "-", "--hits", "-"][..],
            2,
            "the question and --hits",
        ),
        (
            &["query", "x", "--strategies", "semantic"],
            2,
            "needs --hits",
        ),
        (&["query", "x", "--hits", "no.json"], 3, "no.json"),
        (
            &["query", "x", "--hits", "src/budget.rs"],
            3,
            "src/budget.rs, line 1",
        ),
    ] {
        asked.run(args).fails(code, &[why]);
    }
}

const TAKE: &str = "pub fn take() -> u32 {\n    1\n}\n";

#[test]
fn in_a_git_repository_what_commits_tell_has_a_say() {
    let asked = Asked::small();
    let mut repository = Repository::init(asked.root.path());
    repository.commit("Begin", &[("src/pool.rs", Some(TAKE))]);
    let mended = TAKE.replace('1', "2");
    let message = "Mend the leak that timeouts of connections left";
    repository.commit(message, &[("src/pool.rs", Some(&mended))]);
    let question = "it leaks when a connection has a timeout";
    let commits = |asked: &Asked| {
        let status = asked.run(&["index", "--status"]);
        let mut lines = status.ok().lines().map(str::trim);
        let line = lines.find(|it| it.starts_with("git commits"));
        line.unwrap_or_default().to_owned()
    };
    let without = ["query", question, "--strategies", "text"];
    asked.run(&without).ok();
    assert_eq!(
        commits(&asked),
        "git commits  not read yet; the next question reads them"
    );
    let status = asked.run(&["index", "--status", "--json"]).json();
    assert_eq!(
        (&status["changes"], &status["changesComplete"]),
        (&json!(0), &json!(false))
    );
    let result = asked.run(&["query", question, "--json"]).json();
    assert_eq!(paths(&result), ["src/pool.rs"]);
    let item = &result["retrieval"]["items"][0];
    assert_eq!(item["name"], "take");
    assert_eq!(item["contributions"][0]["strategy"], "changes");
    let context = result["context"].as_str().unwrap();
    assert!(
        !context.contains("Mend"),
        "messages are not shown: {context}"
    );
    let status = asked.run(&["index", "--status", "--json"]).json();
    assert_eq!(
        (&status["changes"], &status["changesComplete"]),
        (&json!(1), &json!(true))
    );
    assert_eq!(commits(&asked), "git commits  1");
    let told = asked.run(&["index"]);
    assert!(told.ok().contains(", 1 git commit in "), "{told:?}");
    asked
        .root
        .write("ctx.toml", b"[query]\nstrategies = [\"text\"]\n");
    assert!(!asked.run(&["index"]).ok().contains("git"));
    fs::remove_file(asked.root.path().join("ctx.toml")).unwrap();
    // What is committed since has its say at once, and what is kept answers without a look.
    repository.commit("Tell of a timeout", &[("notes.md", Some("# Notes\n"))]);
    assert_eq!(
        commits(&asked),
        "git commits  1 so far; the next question reads more"
    );
    asked.run(&["query", question]).ok();
    assert_eq!(
        asked.run(&["index", "--status", "--json"]).json()["changes"],
        2
    );
    let as_it_is = asked.run(&["query", question, "--no-index-update", "--json"]);
    assert_eq!(paths(&as_it_is.json()), ["src/pool.rs"]);
    let without = asked.run(&["query", question, "--strategies", "text,files", "--json"]);
    assert!(paths(&without.json()).is_empty());
}

#[test]
fn a_repository_that_cannot_be_read_is_told_to_people_and_to_programs() {
    let asked = Asked::small();
    asked.root.write(".git", b"gitdir: nowhere\n");
    history_is_unread(&asked, "failed to read the git repository");
    let status = asked.run(&["index", "--status"]);
    assert!(
        status
            .ok()
            .contains("git commits  not searched: failed to "),
        "{status:?}"
    );
    let without = asked.run(&["query", "budget", "--strategies", "text", "--json"]);
    assert!(!without.stderr.contains("git"), "{without:?}");
    assert_eq!(fared(&without.json(), "changes"), None);
    let alone = asked.run(&["query", "budget", "--strategies", "changes"]);
    alone.fails(1, &["all strategies failed"]);
    let hint = "hint: name other strategies";
    assert!(alone.stderr.contains(hint), "{alone:?}");
}

/// What was known before is no answer from a repository that is damaged now: how it fares tells
/// nothing of what was asked when.
#[test]
fn a_repository_that_was_damaged_since_is_told() {
    let asked = Asked::small();
    let mut repository = Repository::init(asked.root.path());
    repository.commit("Begin", &[("src/pool.rs", Some(TAKE))]);
    let message = "Keep the cost within the budget";
    repository.commit(message, &[("src/pool.rs", Some(&TAKE.replace('1', "2")))]);
    let question = ["query", "does the cost fit the budget?", "--json"];
    let whole = asked.run(&question).json();
    let fared = fared(&whole, "changes").unwrap();
    assert!(fared["found"] == 1 && fared["failure"].is_null(), "{fared}");
    repository.set_head("0123456789012345678901234567890123456789");
    history_is_unread(&asked, "failed to ");
}

/// Files are found, and `why` is told.
#[track_caller]
fn history_is_unread(asked: &Asked, why: &str) {
    let run = asked.run(&["query", "does the cost fit the budget?", "--json"]);
    let result = run.json();
    assert_eq!(paths(&result)[0], "src/budget.rs");
    let fared = fared(&result, "changes").expect("it was asked");
    assert_eq!(fared["found"], 0);
    let failure = fared["failure"].as_str().unwrap();
    assert!(failure.starts_with(why), "{failure}");
    let warning = format!("warning: the strategy changes failed: {failure}");
    assert_eq!(run.stderr.matches(&*warning).count(), 1, "{run:?}");
    assert!(
        asked
            .run(&["index"])
            .stderr
            .contains("git history is not used: failed to ")
    );
    let told = asked.run(&["index", "--json"]).json();
    assert_eq!(told["changesFailure"], failure, "{told}");
    assert!(told["changes"].is_null(), "{told}");
}

/// `Left out: 2 of 5 chunks`, in any context.
fn noticed(context: &str) -> (usize, usize) {
    let (_, told) = context.split_once("Left out: ").unwrap();
    let (left_out, rest) = told.split_once(" of ").unwrap();
    let all = rest.split(' ').next().unwrap();
    (left_out.parse().unwrap(), all.parse().unwrap())
}

#[test]
fn shown_and_omitted_chunks_add_up_to_all_candidates() {
    let asked = Asked::small();
    let parts = (1..9).map(|it| format!("## Part {it}\n\nMills grind corn.\n\n"));
    let notes: Vec<String> = parts.collect();
    let notes = notes.concat();
    let budget = "## The budget\n\nThe cost fits the budget where it is no more.\n";
    asked
        .root
        .write("docs/mills.md", format!("# Mills\n\n{notes}{budget}"));
    let question = "does the cost fit the budget of mills?";
    let asks = |more: &[&str]| {
        let args = ["query", question, "--max-tokens", "80"];
        asked.run(&[&args, more].concat())
    };
    let result = asks(&["--json"]).json();
    let unlikely = result["omitted"].as_array().unwrap().iter();
    let unlikely = unlikely
        .filter(|it| it["reason"] == "below_min_chance")
        .count();
    assert!(unlikely > 1, "{result}");
    let run = asks(&[]);
    let (left_out, all) = noticed(run.ok());
    assert!(left_out > 0 && left_out < all, "{run:?}");
    let shown = all - left_out;
    let summary = format!("\n{shown} of {all} chunks");
    assert!(format!("\n{}", run.stderr).contains(&summary), "{run:?}");
    let more = format!("; {unlikely} parts below --min-chance\n");
    assert!(run.stderr.ends_with(&more), "{run:?}");
    let table = asks(&["--explain"]).stderr;
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|it| it.trim().splitn(2, "  ").collect())
        .collect();
    for (count, what) in [
        (shown, "chunks shown, in "),
        (left_out, "chunks left out"),
        (unlikely, "left out before selection: below_min_chance"),
    ] {
        let is_it = |it: &Vec<&str>| it[0] == count.to_string() && it[1].starts_with(what);
        assert!(
            rows.iter().any(|it| it.len() == 2 && is_it(it)),
            "{what}: {table}"
        );
    }
}

#[test]
fn words_that_may_name_folders_files_and_options_are_reported() {
    let asked = Asked::small();
    let question = "how does `src/**/*.rs` use the LICENSE with --no-color?";
    let result = asked.run(&["query", question, "--json"]).json();
    let query = &result["retrieval"]["query"];
    assert_eq!(query["folders"], json!(["src"]));
    assert_eq!(query["fileNames"], json!(["LICENSE"]));
    assert_eq!(query["options"], json!(["--no-color"]));
    let table = asked.run(&["query", question, "--explain"]).stderr;
    let row = |what: &str, item: &str| {
        let rows = table.lines().map(str::trim);
        let mut rows = rows.map(|it| it.split_once("  ").unwrap_or((it, "")));
        rows.any(|(it, items)| it == what && items == item)
    };
    assert!(
        row("folders", "src") && row("file names", "LICENSE") && row("options", "--no-color"),
        "{table}"
    );
}

/// How the strategy `name` fared.
fn fared<'r>(result: &'r Value, name: &str) -> Option<&'r Value> {
    let all = result["retrieval"]["strategies"].as_array().unwrap();
    all.iter().find(|it| it["name"] == name)
}

#[test]
fn decoded_files_of_an_answer_are_reported_as_by_pack() {
    let asked = Asked::small();
    asked.root.write(
        "old.txt",
        b"A budget of caf\xe9 prices, and what is over budget.\n",
    );
    let note = "decoded 1 file that is not UTF-8";
    let run = asked.run(&["query", "budget", "--json"]);
    assert!(run.stderr.contains(note), "{run:?}");
    let result = run.json();
    let warnings = result["warnings"].as_array().unwrap();
    let decoded = warnings.iter().filter(|it| it["code"] == "decoded");
    let decoded: Vec<_> = decoded.collect();
    let detail = "decoded from windows-1252";
    assert!(
        decoded.len() == 1 && decoded[0]["detail"] == detail,
        "{result}"
    );
    let packed = asked.run(&["pack", "."]);
    assert!(packed.ok().contains("café") && packed.stderr.contains(note));
    let run = asked.run(&["query", "next_token", "--limit", "1"]);
    assert!(run.ok().contains("parser.rs"), "{run:?}");
    assert!(
        !run.stderr.contains("decoded"),
        "what is not shown is not told: {run:?}"
    );
}

/// A minified file is one line, which no budget has room for.
#[test]
fn of_a_long_line_what_is_asked_about_is_shown() {
    let users = (0..4_000).map(|it| format!("{{\"user\":\"u{it}\",\"role\":\"reader\"}},"));
    let users: String = users.collect();
    let (before, after) = users.split_at(users.len() / 2);
    let policy = "\"retryPolicy\":{\"maxAttempts\":5},";
    let config = format!(
        "{{\"a\":[{before}{{}}],{policy}\"b\":[{}{{}}]}}",
        &after[1..]
    );
    let asked = Asked::of([
        ("config.json", config.as_bytes()),
        ("src/budget.rs", BUDGET),
    ]);
    let run = asked.run(&[
        "query",
        "retryPolicy maxAttempts",
        "--max-tokens",
        "2000",
        "--json",
    ]);
    let result = run.json();
    let context = result["context"].as_str().unwrap();
    assert!(context.contains(policy), "{context}");
    let shown = &result["included"][0];
    assert_eq!(
        (&shown["id"], &shown["rendition"]),
        (&"config.json:1-1".into(), &"excerpt".into())
    );
    asked.root.write("receipt.json", &run.stdout);
    asked.run(&["verify", "receipt.json", "--root", "."]).ok();
    asked.root.write(
        "config.json",
        config.replace("Attempts\":5", "Attempts\":6"),
    );
    let changed = asked.run(&["verify", "receipt.json", "--root", "."]);
    assert_eq!(changed.code, 6, "{changed:?}");
    assert!(changed.stdout.contains("config.json"), "{changed:?}");
    // Nothing of it is asked about: it is shown from its beginning.
    let run = asked.run(&["query", "config.json", "--max-tokens", "2000"]);
    assert!(run.ok().contains("{\"a\":[{\"user\":\"u0\""), "{run:?}");
}

#[test]
fn of_a_long_sentence_or_row_what_is_asked_about_is_shown() {
    let said = "and then we went on to say that ".repeat(60);
    let row = "1234,5678.9,".repeat(5_000);
    let cell = "0.25, 0.75, ".repeat(3_000);
    let notebook = |text: &str| format!("{{\"cells\": [{{\"source\": [\"{text}\"]}}, {cell}]}}");
    let thai = "สวัสดีครับทุกคน".repeat(150);
    let digits = "0123456789;".repeat(1_000);
    for (path, text) in [
        ("meeting.txt", format!("{said}the zebra walks {said}")),
        ("table.csv", format!("{row}zebra walks,{row}")),
        ("book.ipynb", notebook("the zebra walks")),
        ("thai.md", format!("{thai} zebra walks {thai}")),
        ("a.xml", format!("<a>{digits}zebra walks{digits}</a>")),
    ] {
        let asked = Asked::of([(path, text.as_bytes()), ("src/budget.rs", BUDGET)]);
        let run = asked.run(&["query", "zebra walks", "--max-tokens", "1000", "--json"]);
        let result = run.json();
        let context = result["context"].as_str().unwrap();
        assert!(context.contains("zebra walks"), "{path}: {context}");
        assert!(result["tokens"]["total"].as_u64().unwrap() <= 1000);
        asked.root.write("receipt.json", &run.stdout);
        asked.run(&["verify", "receipt.json", "--root", "."]).ok();
    }
}

/// Whatever a document is written in, what stands under a heading is shown with it, and without
/// what stands under others.
#[test]
fn documents_are_shown_by_their_sections() {
    let title = |name: &str, by: &str| match by {
        "rst" => format!("{name}\n{}\n", "-".repeat(name.len())),
        "adoc" => format!("== {name}\n"),
        "org" => format!("* {name}\n"),
        _ => format!("## {name}\n"),
    };
    for by in ["md", "rst", "adoc", "org"] {
        let sections = [
            (
                "Installing",
                "Run the installer and follow what it says on the screen until it ends.",
            ),
            (
                "Upgrading",
                "Stop the service first. Then replace the binary and start it again.",
            ),
            (
                "Backups",
                "The archive is written every night to the second disk.",
            ),
        ];
        let sections = sections.map(|(name, text)| format!("{}\n{text}\n\n", title(name, by)));
        let asked = Asked::of([]);
        let path = format!("guide.{by}");
        asked.root.write(&path, sections.concat());
        let run = asked.run(&["query", "upgrading", "--types", "section"]);
        let shown = run.ok();
        assert!(shown.contains("Then replace the binary"), "{by}: {run:?}");
        assert!(!shown.contains("installer"), "{by}: {run:?}");
        let outline = asked.run(&["outline", &path]);
        assert!(outline.ok().contains("section Upgrading:"), "{outline:?}");
    }
}

#[test]
fn an_answer_is_of_the_files_as_they_are_now() {
    let asked = Asked::small();
    assert!(
        asked
            .run(&["query", "next_token"])
            .ok()
            .contains("parser.rs")
    );
    fs::remove_file(asked.root.path().join("src/parser.rs")).unwrap();
    asked
        .root
        .write("src/lexer.rs", b"pub fn next_token() {}\n");
    let run = asked.run(&["query", "next_token"]);
    assert!(run.ok().starts_with("### src/lexer.rs"), "{run:?}");
    assert!(!run.stdout.contains("parser.rs"), "{run:?}");
}

/// A carriage return ends a line before a line feed, and is a character anywhere else.
#[test]
fn the_lines_of_an_answer_are_those_that_are_shown_by_their_numbers() {
    let text =
        "fn first() {\n    open();\r    close();\n}\n\r\nfn tariff() {\r\n    due();\r\r\n}\n";
    let asked = Asked::of([("a.rs", text.as_bytes())]);
    let result = asked.run(&["query", "tariff", "--json"]).json();
    let parts = result["included"].as_array().unwrap();
    let part = parts.iter().find(|it| it["id"] == "a.rs:5-7").unwrap();
    assert_eq!(
        (&part["startLine"], &part["endLine"]),
        (&5.into(), &7.into())
    );
    let show = |place: &str| asked.run(&["show", place, "--json"]).json()["lines"].clone();
    let expected = json!([
        {"number": 5, "text": "fn tariff() {"},
        {"number": 6, "text": "    due();\r"},
        {"number": 7, "text": "}"},
    ]);
    assert_eq!(show("a.rs:5-7"), expected);
    assert_eq!(show("a.rs#tariff"), expected);
    assert_eq!(show("a.rs:2")[0]["text"], "    open();\r    close();");
    let context = result["context"].as_str().unwrap();
    assert!(
        context.contains("fn tariff() {\r\n    due();\\u{d}\r\n}\n"),
        "{context:?}"
    );
}

#[test]
fn without_an_update_the_index_answers_as_it_is() {
    let asked = Asked::small();
    asked
        .run(&["query", "budget", "--no-index-update"])
        .fails(3, &["is not indexed"]);
    assert_eq!(fs::read_dir(asked.cache.path()).unwrap().count(), 0);
    asked.run(&["index"]).ok();
    asked.root.write("late.rs", b"pub fn budget_late() {}\n");
    let run = asked.run(&["query", "budget", "--no-index-update", "--json"]);
    assert!(!paths(&run.json()).contains(&"late.rs"));
    let run = asked.run(&["query", "budget", "--json"]);
    assert!(paths(&run.json()).contains(&"late.rs"));
}

#[test]
fn an_indexed_folder_without_files_is_answered_without_an_update() {
    let asked = Asked::of([("budget.rs", BUDGET)]);
    asked.run(&["index"]).ok();
    fs::remove_file(asked.root.path().join("budget.rs")).unwrap();
    asked.run(&["index"]).ok();
    let run = asked.run(&["query", "budget", "--no-index-update"]);
    assert_eq!(run.ok(), "");
    assert!(run.stderr.contains("nothing in"), "{run:?}");
}

#[test]
fn moved_code_is_shown_at_its_new_place_and_missing_code_reported() {
    let asked = Asked::small();
    let pay = "def charge_card(card, amount):\n    check(card)\n    return amount * 2\n";
    asked.root.write("pay.py", pay.as_bytes());
    asked.run(&["index"]).ok();
    let above = "import os\nSECRET = 1\ndef unrelated():\n    return 42\n\n";
    let ask = |content: &str| {
        asked.root.write("pay.py", content.as_bytes());
        asked.run(&["query", "charge card", "--no-index-update", "--limit", "1"])
    };
    let moved = ask(&format!("{above}{pay}"));
    assert!(moved.ok().contains(pay), "{moved:?}");
    assert!(!moved.stdout.contains("SECRET"), "{moved:?}");
    assert!(moved.stdout.contains("Lines 6-8"), "{moved:?}");
    let gone = ask(above);
    assert!(!gone.ok().contains("unrelated"), "{gone:?}");
    let note = "left out 1 part of files that have changed or cannot be read (-v names them)";
    assert!(gone.stderr.contains(note), "{gone:?}");
    let told = asked.run(&["query", "charge card", "--no-index-update", "-v"]);
    let why = "pay.py has changed since it was indexed, and no longer has \"charge_card\"";
    assert!(told.stderr.contains(why), "{told:?}");
}

#[test]
fn the_receipt_tells_how_things_were_found_and_holds() {
    let asked = Asked::small();
    let run = asked.run(&["query", "Parser::next_token in src/parser.rs", "--json"]);
    let result = run.json();
    let retrieval = &result["retrieval"];
    assert_eq!(retrieval["query"]["names"][0], "Parser::next_token");
    assert_eq!(retrieval["query"]["places"][0]["path"], "src/parser.rs");
    let strategies = retrieval["strategies"].as_array().unwrap();
    let names: Vec<_> = strategies.iter().map(|it| &it["name"]).collect();
    assert_eq!(
        names,
        [
            "text",
            "coverage",
            "files",
            "names",
            "places",
            "similar",
            "relations"
        ]
    );
    let best = &retrieval["items"][0];
    assert_eq!(best["path"], "src/parser.rs");
    assert_eq!(best["score"], 1.0);
    let signals = best["signals"].as_array().unwrap();
    let valued = signals.iter().map(|it| it.get("value").is_some());
    assert_eq!(valued.collect::<Vec<_>>(), [true, true, true, true, false]);
    assert_eq!(signals[4], json!({"name": "usageFrequency", "weight": 0.0}));
    assert!(!best["contributions"].as_array().unwrap().is_empty());
    asked.root.write("receipt.json", &run.stdout);
    asked.run(&["verify", "receipt.json", "--root", "."]).ok();
}

#[test]
fn the_share_of_the_keywords_is_of_what_a_part_says() {
    let asked = Asked::of([
        (
            "src/sign.py",
            b"def seal(value):\n    # Signs a cookie.\n    return value\n",
        ),
        (
            "src/jar.py",
            b"def keep(value):\n    # A cookie.\n    return value\n",
        ),
    ]);
    let result = asked
        .run(&["query", "how are cookies signed", "--json"])
        .json();
    let share = |path: &str| {
        let signal = &item(&result, path)["signals"][1];
        assert_eq!(signal["name"], "keywordMatch");
        signal["value"].as_f64()
    };
    assert_eq!(share("src/sign.py"), Some(1.0), "{result}");
    assert_eq!(share("src/jar.py"), Some(0.5), "{result}");
}

#[test]
fn the_line_of_a_long_table_that_answers_is_shown() {
    let answer = "the zorblatt variables that the tool reads for a token";
    let lines: Vec<String> = (0..120)
        .map(|n| match n {
            70 => format!("    \"{answer}\",\n"),
            n => {
                format!("    \"a topic number {n} of the help that is told to people who ask\",\n")
            }
        })
        .collect();
    let lines = lines.concat();
    for (path, head, end) in [
        ("help.js", "export const TOPICS = [\n", "]\n"),
        ("help.py", "TOPICS = [\n", "]\n"),
        ("help.rs", "pub const TOPICS: &[&str] = &[\n", "];\n"),
        ("help.go", "package help\n\nvar Topics = []string{\n", "}\n"),
    ] {
        let text = format!("{head}{lines}{end}");
        let asked = Asked::of([(path, text.as_bytes())]);
        let question = "which zorblatt variables does the tool read for a token";
        let run = asked.run(&["query", question, "-t", "1500"]);
        assert!(run.ok().contains(answer), "{path}: {run:?}");
    }
}

#[test]
fn without_content_a_context_tells_where_things_are() {
    let asked = Asked::small();
    for (format, block) in [
        ("markdown", "\n\nLines 3-6\nShown: nothing\n\n"),
        ("plain", "File: src/budget.rs (lines 3-6)\nShown: nothing\n"),
        (
            "xml",
            "<code-context file=\"src/budget.rs\" lines=\"3-6\" language=\"rust\"/>\n",
        ),
        (
            "json",
            "{\"file\":\"src/budget.rs\",\"startLine\":3,\"endLine\":6,\"language\":\"rust\"}\n",
        ),
    ] {
        let args = ["query", "budget", "--no-content", "--format", format];
        let told = asked.run(&args);
        assert!(told.ok().contains(block), "{told:?}");
        let small = asked.run(&[&args[..], &["--max-tokens", "60", "--json"]].concat());
        let tokens = small.json()["tokens"]["total"].as_u64().unwrap();
        assert!((1..=60).contains(&tokens), "{small:?}");
        asked.root.write("receipt.json", &small.stdout);
        asked.run(&["verify", "receipt.json", "--root", "."]).ok();
    }
}

#[test]
fn explain_tells_question_settings_strategies_and_parts() {
    let asked = Asked::small();
    let run = asked.run(&["query", "token budget", "--explain", "--limit", "1"]);
    run.ok();
    for part in [
        "question\n",
        "terms  budget",
        "limit  1",
        "the command line",
        "strategies\n",
        "textSimilarity 1.00",
        "more matched: beyond --limit",
        "included\n",
        "src/budget.rs:",
    ] {
        assert!(run.stderr.contains(part), "{part:?} is not in {run:?}");
    }
}

#[test]
fn a_place_is_told_with_all_that_was_read_of_it() {
    let asked = Asked::small();
    for (question, place, told) in [
        (
            "src/budget.rs:2-4",
            json!({"path": "src/budget.rs", "line": 2, "end": 4}),
            "src/budget.rs:2-4",
        ),
        (
            "src/budget.rs#fits",
            json!({"path": "src/budget.rs", "name": "fits"}),
            "src/budget.rs#fits",
        ),
    ] {
        let run = asked.run(&["query", question, "--json", "--explain"]);
        assert_eq!(run.json()["retrieval"]["query"]["places"][0], place);
        assert!(run.stderr.contains(&format!("places  {told}")), "{run:?}");
    }
}

#[test]
fn the_calls_of_a_trace_are_told_with_what_they_were_taken_for() {
    let asked = Asked::small();
    let question = "It fails:\n\nTraceback (most recent call last):\n  \
        File \"/srv/app/src/budget.rs\", line 4, in fits\n    x\n  \
        File \"/srv/app/elsewhere.py\", line 9, in missing_one\n    y\n";
    let result = asked.run(&["query", question, "--json"]).json();
    let frames = &result["retrieval"]["query"]["frames"];
    assert_eq!(frames[0]["path"], "/srv/app/src/budget.rs", "{frames}");
    assert_eq!(
        (&frames[0]["line"], &frames[0]["function"]),
        (&4.into(), &"fits".into())
    );
    assert_eq!(frames[0]["found"][0]["path"], "src/budget.rs", "{frames}");
    assert_eq!(frames[1]["found"], json!([]), "{frames}");
    let explained = asked.run(&["query", question, "--explain"]).stderr;
    for part in [
        "trace\n",
        "/srv/app/src/budget.rs:4  fits",
        "  src/budget.rs:",
        "missing_one  (nothing)",
    ] {
        assert!(explained.contains(part), "{part:?} is not in {explained}");
    }
}

#[test]
fn a_raised_part_is_explained_with_its_relevance_before() {
    let said = "fn check() {\n    panic!(\"the walrus has no tusk\");\n}\n";
    let files = [
        ("src/sea.rs", said.as_bytes()),
        (
            "src/zoo.rs",
            b"/// The walrus, the tusk, a walrus.\npub fn walrus_tusk() {}\n",
        ),
        ("src/budget.rs", BUDGET),
    ];
    let asked = Asked::of(files);
    let question = "who says \"the walrus has no tusk\"?";
    let run = asked.run(&["query", question, "--json", "--explain"]);
    let result = run.json();
    let raised = item(&result, "src/sea.rs");
    assert_eq!(raised["raised"]["by"], "quotation", "{raised}");
    assert_eq!(raised["raised"]["to"], raised["worth"], "{raised}");
    assert!(
        raised["raised"]["from"].as_f64() < raised["worth"].as_f64(),
        "{raised}"
    );
    let other = item(&result, "src/zoo.rs");
    assert!(
        other["raised"].is_null() && other["worth"].is_number(),
        "{other}"
    );
    assert!(run.stderr.contains("quotation 0.4000, not 0."), "{run:?}");
    assert!(run.stderr.contains("  worth: 0.4 × score"), "{run:?}");
}

#[test]
fn a_line_is_told_to_be_shown_where_it_is_and_not_where_another_of_its_part_is() {
    let lines: String = (0..250)
        .map(|it| match it {
            200 => "    \"the zorblatt variables that the tool reads\",\n".to_owned(),
            _ => format!("    \"topic {it} of the help, at some length and to no end\",\n"),
        })
        .collect();
    let text = format!("pub fn topics() {{\n    let all = [\n{lines}    ];\n    show(all);\n}}\n");
    let asked = Asked::of([("src/help.rs", text.as_bytes())]);
    let told = |tokens: &str| {
        let question = "zorblatt variables";
        let run = asked.run(&["query", question, "--json", "--explain", "-t", tokens]);
        let result = run.json();
        let item = item(&result, "src/help.rs");
        let context = result["context"].as_str().unwrap();
        let is_there = context.contains("zorblatt variables that");
        assert_eq!(item["snippet"]["shown"], is_there, "{run:?}");
        let row = run.stderr.lines().find(|it| it.contains("\"the zorblatt"));
        let row = row.unwrap_or_default().trim().split("  ").next();
        (
            item["shown"].as_bool().unwrap(),
            is_there,
            row.unwrap_or_default().to_owned(),
        )
    };
    let (mut all, budgets) = (Vec::new(), ["50", "70", "100", "200", "4000", "20000"]);
    for tokens in budgets {
        let (is_shown, is_there, row) = told(tokens);
        let expected = match (is_shown, is_there) {
            (_, true) => "yes",
            (true, false) => "part",
            (false, false) => "no",
        };
        assert_eq!(row, expected, "{tokens}");
        all.push(row);
    }
    assert!(
        all.contains(&"part".to_owned()) && all.contains(&"yes".to_owned()),
        "{all:?}"
    );
}

/// The items of a result that have this path.
fn item<'r>(result: &'r Value, path: &str) -> &'r Value {
    let items = result["retrieval"]["items"].as_array().unwrap();
    items.iter().find(|it| it["path"] == path).unwrap()
}

#[test]
fn each_part_is_told_with_the_line_that_answers_best() {
    let asked = Asked::small();
    let question = "does the cost fit into the budget?";
    let result = asked.run(&["query", question, "--json"]).json();
    let best = item(&result, "src/budget.rs");
    assert_eq!(best["shown"], true);
    let snippet = &best["snippet"];
    let text = "/// Whether `cost` fits into the budget.";
    assert_eq!(
        (&snippet["text"], &snippet["line"]),
        (&text.into(), &3.into())
    );
    let matches = snippet["matches"].as_array().unwrap().iter();
    let at = |it: &Value| usize::try_from(it.as_u64().unwrap()).unwrap();
    let words: Vec<&str> = matches
        .map(|it| &text[at(&it["start"])..at(&it["end"])])
        .collect();
    assert_eq!(words, ["cost", "fits", "budget"]);
    let explained = asked.run(&["query", question, "--explain"]);
    let line = format!("yes  src/budget.rs:3  {text}");
    assert!(explained.stderr.contains(&line), "{explained:?}");
    let plain = asked.run(&["query", question]);
    assert!(!plain.stderr.contains(text), "{plain:?}");
}

#[test]
fn omitted_sentences_are_listed_with_their_line() {
    let body = "    let total = total + 1;\n".repeat(60);
    let source = format!("fn budget_of(total: u32) -> u32 {{\n{body}    total\n}}\n");
    let asked = Asked::of([
        ("src/long.rs", source.as_bytes()),
        ("src/budget.rs", BUDGET),
    ]);
    let args = ["query", "budget of", "--max-tokens", "70", "--json"];
    let result = asked.run(&args).json();
    let left_out = item(&result, "src/long.rs");
    assert_eq!(left_out["shown"], false, "{result}");
    assert_eq!(left_out["snippet"]["line"], 1);
    // A passage that is left out for its sentences is told as well.
    let asked = Asked::small();
    let args = ["query", "pause token", "--min-chance", "1", "--json"];
    let result = asked.run(&args).json();
    let unlikely = item(&result, "notes.md");
    assert_eq!(unlikely["shown"], false);
    let text = unlikely["snippet"]["text"].as_str().unwrap();
    assert!(text.contains("after a pause"), "{result}");
}

#[test]
fn a_duplicate_is_reported_as_shown_by_the_other_part() {
    let body = "    let total = total + 1;\n".repeat(9);
    let source = format!("fn budget_of(total: u32) -> u32 {{\n{body}    total\n}}\n");
    let asked = Asked::of([
        ("src/a.rs", source.as_bytes()),
        ("src/b.rs", source.as_bytes()),
    ]);
    let run = asked.run(&["query", "budget of", "--json", "--explain"]);
    let result = run.json();
    assert_eq!(result["omitted"][0]["reason"], "duplicate_of");
    for path in ["src/a.rs", "src/b.rs"] {
        assert_eq!(item(&result, path)["shown"], true, "{run:?}");
    }
}

#[test]
fn a_part_without_a_word_of_the_question_says_so() {
    let asked = Asked::of([("src/alpha.rs", b"pub fn beta() {}\n".as_slice())]);
    let result = asked.run(&["query", "src/alpha.rs", "--json"]).json();
    assert!(item(&result, "src/alpha.rs").get("snippet").is_none());
    let explained = asked.run(&["query", "src/alpha.rs", "--explain"]);
    let line = "yes  src/alpha.rs:1  (has no word of the question)";
    assert!(explained.stderr.contains(line), "{explained:?}");
}

#[test]
fn a_line_that_is_told_has_no_secret_and_nothing_that_a_terminal_obeys() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let text = format!("// budget \u{1b}]0;x\u{7} \u{202e}\nconst BUDGET: &str = \"{token}\";\n");
    let asked = Asked::of([("src/a.rs", text.as_bytes())]);
    let run = asked.run(&["query", "budget", "--explain", "--json"]);
    for said in [&run.stdout, &run.stderr] {
        assert!(!said.contains(&token), "{run:?}");
        for hidden in ['\u{1b}', '\u{7}', '\u{202e}'] {
            assert!(!said.contains(hidden), "{run:?}");
        }
    }
    assert!(run.stderr.contains("src/a.rs:1  // budget ]0;x"), "{run:?}");
}

#[test]
fn invisible_characters_of_a_quoted_line_are_escaped() {
    let text = "// \u{202e} the budget \u{e0041} of tokens\n";
    let asked = Asked::of([("src/a.rs", text.as_bytes())]);
    let result = asked.run(&["query", "budget tokens", "--json"]).json();
    let snippet = &item(&result, "src/a.rs")["snippet"];
    let shown = r"// \u{202e} the budget \u{e0041} of tokens";
    assert_eq!(snippet["text"], shown);
    let words = snippet["matches"].as_array().unwrap().iter();
    let at = |it: &Value| usize::try_from(it.as_u64().unwrap()).unwrap();
    let words: Vec<&str> = words
        .map(|it| &shown[at(&it["start"])..at(&it["end"])])
        .collect();
    assert_eq!(words, ["budget", "tokens"]);
}

#[test]
fn a_search_can_be_narrowed() {
    let asked = Asked::small();
    let all = asked.run(&["query", "token budget pause", "--json"]).json();
    assert!(paths(&all).len() > 2);
    let limited = asked.run(&["query", "token budget pause", "--limit", "1", "--json"]);
    assert_eq!(paths(&limited.json()).len(), 1);
    let scored = asked.run(&["query", "token budget pause", "--min-score", "1", "--json"]);
    assert_eq!(paths(&scored.json()).len(), 1);
    let sections = asked.run(&[
        "query",
        "token budget pause",
        "--types",
        "section",
        "--json",
    ]);
    assert_eq!(paths(&sections.json()), ["notes.md"]);
    let text = asked.run(&["query", "budget", "--strategies", "text", "--json"]);
    let strategies = &text.json()["retrieval"]["strategies"];
    assert_eq!(strategies.as_array().unwrap().len(), 1);
    let any = ["query", "token budget pause", "--types", "all", "--json"];
    assert_eq!(paths(&asked.run(&any).json()), paths(&all));
    let none = asked.run(&["query", "budget", "--types", "macro"]);
    assert_eq!(none.ok(), "");
    assert!(none.stderr.contains("not of the types macro"), "{none:?}");
}

#[test]
fn a_file_is_found_by_a_name_that_is_nearly_its_own() {
    let asked = Asked::small();
    for question in ["what does parsr.rs do?", "crates/ctx/src/budgt.rs fails"] {
        let run = asked.run(&["query", question, "--json"]);
        let result = run.json();
        let is_budget = question.contains("budgt");
        let wanted = if is_budget {
            "src/budget.rs"
        } else {
            "src/parser.rs"
        };
        assert_eq!(paths(&result)[0], wanted, "{question}");
    }
}

#[test]
fn a_file_is_found_by_a_name_with_two_letters_in_the_wrong_order() {
    let asked = Asked::of([
        ("src/lock.rs", b"pub fn take() {}\n".as_slice()),
        ("src/log.rs", b"pub fn tell() {}\n"),
        ("src/lib.rs", b"//! See lib.rs, and log.rs.\nmod log;\n"),
        ("src/retrieve.rs", b"pub fn find() {}\n"),
        ("src/retry.rs", b"pub fn again() {}\n"),
    ]);
    for other in 0..30 {
        let text = format!("//! What lo{other}.rs has of rs.\npub fn f{other}() {{}}\n");
        asked.root.write(format!("src/lo{other}.rs"), text);
    }
    for (question, wanted) in [
        ("lokc.rs", "src/lock.rs"),
        ("lcok.rs", "src/lock.rs"),
        ("olck.rs", "src/lock.rs"),
        ("what does lcok.rs take?", "src/lock.rs"),
        ("retreive.rs", "src/retrieve.rs"),
        ("retreive", "src/retrieve.rs"),
    ] {
        let result = asked.run(&["query", question, "--json"]).json();
        assert_eq!(paths(&result).first(), Some(&wanted), "{question}");
    }
}

#[test]
fn a_document_whose_name_was_mistyped_is_shown() {
    let asked = Asked::of([
        (
            "docs/installation.rst",
            b"Owls\n====\n\nThey hunt at night.\n".as_slice(),
        ),
        ("docs/other.rst", b"Rst\n===\n\nOf rst and docs.\n"),
        ("src/rst.rs", b"//! Reads rst of docs.\npub fn rst() {}\n"),
    ]);
    for question in [
        "installaton.rst",
        "docs/instalation.rst",
        "what does installaton.rst say",
        "installatoin",
    ] {
        let result = asked.run(&["query", question, "--json"]).json();
        let first = paths(&result).first().copied();
        assert_eq!(first, Some("docs/installation.rst"), "{question}");
        let context = result["context"].as_str().unwrap();
        assert!(
            context.contains("They hunt at night."),
            "{question}: {context}"
        );
    }
}

#[test]
fn folders_and_files_are_found_by_the_names_that_are_typed() {
    let speaks =
        "//! What README, Makefile and docs of a design are: see README.md.\npub fn readme() {}\n";
    let asked = Asked::of([
        ("README.md", b"# Owls\n\nThey hunt at night.\n".as_slice()),
        ("Makefile", b"all:\n\techo owls\n"),
        ("docs/design/0001-owls.md", b"# Owls\n\nWhy they hunt.\n"),
        ("src/front.rs", speaks.as_bytes()),
        ("src/back.rs", speaks.as_bytes()),
    ]);
    for (question, wanted) in [
        ("README", "README.md"),
        ("README.md", "README.md"),
        ("@README.md", "README.md"),
        ("@README.md:3", "README.md"),
        ("Makefile", "Makefile"),
        ("docs/design", "docs/design/0001-owls.md"),
        ("docs/", "docs/design/0001-owls.md"),
    ] {
        let result = asked.run(&["query", question, "--json"]).json();
        assert_eq!(paths(&result).first(), Some(&wanted), "{question}");
    }
    let run = asked.run(&["query", "@README.md:3"]);
    assert!(run.ok().contains("They hunt at night."), "{run:?}");
    assert!(!run.stderr.contains("warning"), "{run:?}");
    // Of what is no folder here nothing is said.
    let result = asked
        .run(&["query", "owls and/or docs/night", "--json"])
        .json();
    let items = result["retrieval"]["items"].as_array().unwrap().iter();
    let mut said = items.flat_map(|it| it["contributions"].as_array().unwrap());
    assert!(!said.any(|it| it["strategy"] == "places"), "{result}");
}

#[test]
fn a_question_about_the_project_is_answered_by_its_readme() {
    let source = "//! This repo, this project: what it does, and how to get started with the library.\npub fn project() {}\n";
    for front in ["README.md", "Readme.md", "readme.markdown", "README"] {
        let asked = Asked::of([
            (front, b"# Owls\n\nThey hunt at night.\n".as_slice()),
            ("src/a.rs", source.as_bytes()),
            ("tests/project.rs", source.as_bytes()),
            ("docs/conduct.md", source.as_bytes()),
        ]);
        for question in [
            "What does this repo do?",
            "what is this project about",
            "how do I get started?",
            "overview",
        ] {
            let run = asked.run(&["query", question, "--json"]);
            assert_eq!(run.stderr.matches("warning").count(), 0, "{run:?}");
            let result = run.json();
            assert_eq!(paths(&result).first(), Some(&front), "{question}");
            let context = result["context"].as_str().unwrap();
            assert!(context.contains("They hunt at night."), "{context}");
        }
    }
    // Of many, the one at the root; and where there is none, what has the words.
    let other = b"# An owl\n\nOf this project.\n".as_slice();
    let many = Asked::of([
        ("README.md", b"# Owls\n\nThey hunt at night.\n".as_slice()),
        ("a/README.md", other),
        ("b/README.md", other),
        ("c/README.md", other),
        ("d/README.md", other),
    ]);
    let result = many
        .run(&["query", "What does this project do?", "--json"])
        .json();
    assert_eq!(paths(&result).first(), Some(&"README.md"));
    let none = Asked::of([("src/a.rs", source.as_bytes())]);
    let result = none
        .run(&["query", "What does this project do?", "--json"])
        .json();
    assert_eq!(paths(&result), ["src/a.rs"]);
}

#[test]
fn files_are_found_by_a_pattern_of_their_names() {
    let speaks =
        "//! What toml and sql files have, and test_ files of py.\npub fn toml_sql_py_test() {}\n";
    let asked = Asked::of([
        ("Cargo.toml", b"[package]\nname = \"owls\"\n".as_slice()),
        ("deny.toml", b"[bans]\nowls = 1\n"),
        ("db/1.sql", b"CREATE TABLE owls (id int);\n"),
        ("tests/test_owls.py", b"def test_flight():\n    pass\n"),
        ("tests/owls.py", b"def flight():\n    pass\n"),
        ("src/toml.rs", speaks.as_bytes()),
        ("src/sql.rs", speaks.as_bytes()),
        ("docs/sql.md", speaks.as_bytes()),
        ("src/c.c", b"int owls;\n"),
    ]);
    for (question, wanted) in [
        ("*.toml", &["Cargo.toml", "deny.toml"][..]),
        ("what is in **/*.sql", &["db/1.sql"]),
        ("which test_*.py are there?", &["tests/test_owls.py"]),
        ("*.c", &["src/c.c"]),
    ] {
        let result = asked.run(&["query", question, "--json"]).json();
        let mut first: Vec<&str> = paths(&result).into_iter().take(wanted.len()).collect();
        first.sort_unstable();
        assert_eq!(first, wanted, "{question}");
    }
    // What nothing fits names nothing.
    let result = asked.run(&["query", "toml in *.yaml", "--json"]).json();
    let items = result["retrieval"]["items"].as_array().unwrap().iter();
    let mut said = items.flat_map(|it| it["contributions"].as_array().unwrap());
    assert!(!said.any(|it| it["strategy"] == "places"), "{result}");
    let query = &result["retrieval"]["query"];
    assert_eq!(query["patterns"], json!(["*.yaml"]));
}

#[test]
fn a_line_that_is_typed_is_first_whatever_is_said_of_it() {
    let speaks = "/// An argument of type string is no parameter of type number.\nfunction error(argument, parameter) { return 'type string number'; }\n";
    let source = format!("function owl() {{\n  return 1;\n}}\n\n{}", speaks.repeat(3));
    let asked = Asked::of([
        ("src/app.ts", source.as_bytes()),
        ("src/error.ts", speaks.as_bytes()),
        ("docs/error.md", speaks.as_bytes()),
    ]);
    let said =
        "error TS2345: Argument of type 'string' is not assignable to parameter of type 'number'";
    for place in ["src/app.ts (2,5)", "src/app.ts(2,5)", "src/app.ts:2:5"] {
        let question = format!("{place}: {said}");
        let result = asked.run(&["query", &question, "--json"]).json();
        let first = &result["retrieval"]["items"][0];
        let found = (first["path"].as_str(), first["startLine"].as_u64());
        assert_eq!(found, (Some("src/app.ts"), Some(1)), "{question}");
    }
}

#[test]
fn a_question_about_news_is_answered_by_the_start_of_the_changelog() {
    let source = "//! What is new in the last release: the release of a last lock.\npub fn new_release() {}\n";
    for name in ["CHANGELOG.md", "History.md", "NEWS", "docs/changes.rst"] {
        let asked = Asked::of([
            (
                name,
                b"# 2.0\n\nOwls hunt by day.\n\n# 1.0\n\nOwls hunt.\n".as_slice(),
            ),
            ("README.md", b"# Owls\n\nThey hunt.\n"),
            ("src/lock.rs", source.as_bytes()),
            ("docs/release.md", source.as_bytes()),
        ]);
        for question in ["what is new in the last release", "What's new?"] {
            let result = asked.run(&["query", question, "--json"]).json();
            assert_eq!(paths(&result).first(), Some(&name), "{question}");
            let context = result["context"].as_str().unwrap();
            assert!(context.contains("Owls hunt by day."), "{context}");
        }
    }
}

#[test]
fn a_document_that_is_asked_for_has_one_row() {
    let section = |name: &str| {
        let line = format!("Of {name} there is much to say, and all of it is said here.\n\n");
        format!("## {name}\n\n{}", line.repeat(30))
    };
    let text = format!("# Owls\n\n{}{}", section("Night"), section("Day"));
    let asked = Asked::of([
        ("README.md", text.as_bytes()),
        ("src/front.rs", b"//! README.md\n"),
    ]);
    let explained = |budget: &str| {
        let run = asked.run(&["query", "README.md", "--explain", "--max-tokens", budget]);
        let table = run.stderr;
        let rows = table.lines().filter(|it| it.contains("README.md:"));
        let rows = rows.map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "));
        rows.collect::<Vec<String>>()
    };
    let json = asked.run(&["query", "README.md", "--json"]).json();
    let all = json["included"].as_array().unwrap().iter();
    let of_file: Vec<&Value> = all.filter(|it| it["filePath"] == "README.md").collect();
    let parts = of_file.len();
    assert!(parts > 1, "{json}");
    let tokens: u64 = of_file
        .iter()
        .map(|it| it["tokens"].as_u64().unwrap())
        .sum();
    let tokens = tokens.to_string();
    let tokens = match tokens.split_at_checked(tokens.len().saturating_sub(3)) {
        Some((thousands, rest)) if !thousands.is_empty() => format!("{thousands},{rest}"),
        _ => tokens,
    };
    let last = text.trim_end().lines().count();
    let rows = explained("8000");
    assert_eq!(rows.len(), 3, "{rows:?}");
    let all = format!(" README.md:1-{last} all of it, {parts} parts documentation");
    assert!(rows[0].starts_with("1.0000 "), "{rows:?}");
    assert!(rows[0].contains(&all), "{rows:?}");
    assert_eq!(rows[1], "yes README.md:1 (requested as a whole)");
    assert!(rows[2].starts_with(&tokens), "{rows:?}");
    let why = format!("README.md README.md:1-{last} requested as a whole, {parts} parts");
    assert!(rows[2].ends_with(&why), "{rows:?}");
    // What there is no room for is told by itself.
    let rows = explained("400");
    let some = format!(" of {parts} README.md:1 (requested as a whole)");
    assert!(rows[1].ends_with(&some), "{rows:?}");
}

#[test]
fn a_letter_finds_what_is_called_so_and_nothing_else() {
    let asked = Asked::of([
        (
            "src/axes.py",
            b"def x(point):\n    return point[0]\n".as_slice(),
        ),
        ("src/other.py", b"def other(x, y):\n    return x + x + y\n"),
        ("bin/q", b"echo done\n"),
    ]);
    let found = |question: &str| {
        let run = asked.run(&["query", question, "--json", "--strategies", "names,places"]);
        let result = run.json();
        paths(&result).join(" ")
    };
    assert_eq!(found("x"), "src/axes.py");
    assert_eq!(found("q"), "bin/q");
    let first = asked.run(&["query", "x", "--json"]).json();
    assert_eq!(paths(&first)[0], "src/axes.py");
    let none = asked.run(&["query", "z"]);
    assert_eq!(none.ok(), "");
    assert!(none.stderr.contains("warning: nothing in"), "{none:?}");
    asked
        .run(&["query", "a"])
        .fails(3, &["nothing to search for"]);
}

#[test]
fn a_name_that_is_a_common_word_is_found() {
    let asked = Asked::of([
        ("src/api.py", b"def get(url):\n    return url\n".as_slice()),
        (
            "src/session.py",
            b"class Session:\n    def get(self):\n        return 1\n",
        ),
        ("docs/api.md", b"# Session\n\nA session has much to get.\n"),
    ]);
    for (question, wanted) in [
        ("get", "src/api.py"),
        ("what does get do", "src/api.py"),
        ("api.get()", "src/api.py"),
        ("Session.get", "src/session.py"),
    ] {
        let result = asked.run(&["query", question, "--json"]).json();
        let first = &result["retrieval"]["items"][0];
        assert_eq!(first["path"], wanted, "{question}");
        let context = result["context"].as_str().unwrap();
        assert!(context.contains("def get("), "{context}");
    }
    let none = asked.run(&["query", "use"]);
    assert_eq!(none.ok(), "");
    assert!(none.stderr.contains("warning: nothing in"), "{none:?}");
}

/// Runs it in a terminal that `script` makes.
#[cfg(target_os = "linux")]
#[test]
fn colours_are_for_a_terminal_that_wants_them() {
    let asked = Asked::small();
    let plain = asked.run(&["query", "zebra"]);
    assert!(plain.stderr.contains("warning: nothing in"), "{plain:?}");
    assert!(!plain.stderr.contains('\u{1b}'), "{plain:?}");
    let in_terminal = |no_color: bool| {
        let program = asked.command(&[]);
        let mut command = Command::new("script");
        let line = format!("'{}' query zebra", program.get_program().to_str().unwrap());
        command.args(["-qec", &line, "/dev/null"]);
        command.current_dir(asked.root.path()).env("TERM", "xterm");
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if no_color {
            command.env("NO_COLOR", "1");
        }
        command.stdin(Stdio::null()).output()
    };
    let coloured = match in_terminal(false) {
        Ok(coloured) => Ran::of(coloured),
        Err(error) => {
            ctx_testkit::skip::skipped(format_args!("`script` makes no terminal: {error}"));
            return;
        }
    };
    assert!(
        coloured.ok().contains("\u{1b}[1m\u{1b}[33mwarning: "),
        "{coloured:?}"
    );
    let refused = Ran::of(in_terminal(true).unwrap());
    assert!(refused.ok().contains("warning: nothing in"), "{refused:?}");
    assert!(!refused.stdout.contains("\u{1b}[33m"), "{refused:?}");
}

/// Fields that programs rely on.
#[test]
fn the_receipt_has_what_the_help_says() {
    let asked = Asked::small();
    let help = asked.run(&["query", "--help"]);
    let result = asked.run(&["query", "Parser budget", "--json"]).json();
    let retrieval = result["retrieval"].as_object().unwrap();
    for (key, value) in retrieval {
        assert!(help.ok().contains(key.as_str()), "{key}");
        let first = value.get(0).unwrap_or(value);
        for key in first.as_object().into_iter().flatten().map(|(key, _)| key) {
            let is_told = help.stdout.contains(key.as_str());
            let is_of_times = matches!(&**key, "analyse" | "retrieve" | "resolve" | "assemble");
            assert!(is_told || is_of_times || key.ends_with("LeftOut"), "{key}");
        }
    }
}

#[test]
fn a_repository_and_a_folder_without_one_are_asked_alike() {
    let asked = Asked::small();
    let without = asked.run(&["query", "does the cost fit the budget?"]);
    asked.root.write(".git/HEAD", "ref: refs/heads/main\n");
    asked.root.write(".git/objects/budget.rs", BUDGET);
    asked.root.write(".gitignore", "build/\n");
    asked.root.write("build/budget.rs", BUDGET);
    let with = asked.run(&["query", "does the cost fit the budget?"]);
    assert_eq!(with.ok(), without.ok());
}

#[test]
fn a_question_of_which_nothing_has_changed_writes_nothing() {
    let asked = Asked::small();
    asked.run(&["index"]).ok();
    let written = || {
        let files = fs::read_dir(asked.folder()).unwrap();
        let mut files: Vec<_> = files.map(|it| it.unwrap().path()).collect();
        files.sort_unstable();
        // Readers of a database have files of their own beside it.
        files.retain(|it| it.extension().is_some_and(|it| it == "db"));
        let read = |it: &PathBuf| fs::read(it).unwrap();
        assert!(files.len() > 1, "{files:?}");
        files.iter().map(read).collect::<Vec<_>>()
    };
    let before = written();
    let run = asked.run(&["query", "cost of the budget"]);
    assert!(run.ok().contains("src/budget.rs"), "{run:?}");
    assert!(before == written(), "what was shown is noted for nobody");
}

#[test]
fn a_question_that_asks_for_nothing_is_refused_before_anything_is_done() {
    let asked = Asked::small();
    for question in [
        "",
        " \n\t ",
        "a",
        "?",
        "the of and",
        "is it in the",
        "```",
        "\u{1b}[",
    ] {
        let run = asked.pipe(question.as_bytes(), &[]);
        run.fails(3, &["the question"]);
    }
    asked
        .run(&["query", ""])
        .fails(3, &["the question is empty"]);
    asked.run(&["query"]).fails(2, &["required"]);
    assert_eq!(fs::read_dir(asked.cache.path()).unwrap().count(), 0);
}

#[test]
fn no_question_is_too_much() {
    let asked = Asked::small();
    let mut long = String::from("budget: does the cost fit?\n");
    while long.len() < 100_000 {
        long.push_str(
            "At frame 7 src/budget.rs:4 fits(cost, budget) said `no` to \"that cost\".\n",
        );
    }
    let huge = long.repeat(4);
    for question in [
        long.as_bytes(),
        huge.as_bytes(),
        b"budget \x00\x01\x1b]0;title\x07\x1b[31m \xff\xfe \xe2\x80\xae cost",
        b"budget\n```rust\nfn fits(\n````\n~~~\n`cost",
        b"budget <!-- cost <!-- <![CDATA[ ]]> </context> <|im_start|>",
        "budget \"cost' (fits [ { AND OR NOT -cost +budget cost:budget cost~2 *".as_bytes(),
        b"budget'; DROP TABLE files; -- cost\" OR 1=1; PRAGMA writable_schema=1; SELECT * FROM usage",
        br"budget ^(cost|fit)+$ .*(a+)+$ [[:alpha:]]{1,99999} \Q \d+ (?i) \1 \xff",
        b"body:budget^2 AND path:[a TO z] _exists_:cost /re+/ name:\"fits\"~9999 NOT *:*",
        "budget ../../../etc/passwd /etc/passwd:1 C:\\budget.rs".as_bytes(),
        "budget \u{202e}\u{200b}\u{fffd}\u{10ffff} ￼".as_bytes(),
    ] {
        let run = asked.pipe(question, &[]);
        assert!(run.ok().contains("budget.rs"), "{run:?}");
        assert!(!run.stderr.contains('\u{1b}'), "{run:?}");
    }
    let run = asked.pipe(huge.as_bytes(), &[]);
    assert!(
        run.stderr.contains("warning: the question is too long"),
        "{run:?}"
    );
}

#[test]
fn a_question_that_is_no_text_is_answered_with_a_warning() {
    let asked = Asked::small();
    let run = asked.pipe(b"what does the budget \xffcost?", &[]);
    assert!(run.ok().contains("budget.rs"), "{run:?}");
    let told = "warning: the question on <stdin> is not UTF-8, first at byte 22";
    assert!(run.stderr.contains(told), "{run:?}");
    let run = asked.pipe("what does the bud\u{ad}get côst?".as_bytes(), &[]);
    assert!(!run.stderr.contains("UTF-8"), "{run:?}");
}

#[test]
fn a_question_in_utf_16_with_a_mark_is_decoded() {
    let asked = Asked::small();
    let text = "what does the budget côst?\r\n";
    let unit = |order: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{feff}"
            .encode_utf16()
            .chain(text.encode_utf16())
            .flat_map(order)
            .collect()
    };
    let plain = asked.pipe(text.as_bytes(), &[]);
    for bytes in [
        unit(u16::to_le_bytes),
        unit(u16::to_be_bytes),
        format!("\u{feff}{text}").into_bytes(),
    ] {
        let run = asked.pipe(&bytes, &[]);
        assert_eq!(run.ok(), plain.ok());
        assert!(!run.stderr.contains("UTF-8"), "{run:?}");
    }
    let run = asked.pipe(b"\xff\xfea\0\0\0", &[]);
    run.fails(3, &["UTF-16"]);
}

#[test]
fn a_character_a_hundred_thousand_times_is_answered() {
    let asked = Asked::small();
    for unit in [
        "a",
        "aB",
        "1",
        "`",
        "[",
        "\\",
        "a::",
        "\u{1f600}",
        "\n",
        "a/",
    ] {
        let question = format!("budget {}", unit.repeat(100_000 / unit.len()));
        let run = asked.pipe(question.as_bytes(), &["--explain"]);
        assert!(run.ok().contains("budget.rs"), "{unit:?}: {}", run.stderr);
    }
}

#[test]
fn a_question_of_words_that_are_too_long_is_refused_as_such() {
    let asked = Asked::small();
    for question in [
        "q".repeat(300),
        "a".repeat(100_000),
        format!("what is {}", "é".repeat(300)),
    ] {
        let refused = asked.pipe(question.as_bytes(), &[]);
        refused.fails(3, &["nothing to search for", "those of more than 64 bytes"]);
    }
    let short = asked.run(&["query", "a"]);
    short.fails(3, &["no words but very common ones"]);
    assert!(!short.stderr.contains("bytes"), "{short:?}");
    for (question, why) in [
        ("\u{1f389}", "no letter or digit"),
        ("0 7", "no words but single digits"),
        ("the 0", "no words but very common ones and single digits"),
    ] {
        let refused = asked.run(&["query", question]);
        refused.fails(3, &["nothing to search for", why]);
    }
}

#[test]
fn a_repository_without_a_work_tree_is_told_where_nothing_is_found() {
    let asked = Asked::of([
        ("HEAD", b"ref: refs/heads/main\n".as_slice()),
        ("config", b"[core]\n"),
    ]);
    for folder in ["objects", "refs"] {
        fs::create_dir(asked.root.path().join(folder)).unwrap();
    }
    let run = asked.run(&["query", "zebra"]);
    let told = "it is a git repository without a work tree";
    assert!(run.stderr.contains(told), "{run:?}");
    assert!(!run.stderr.contains("other words"), "{run:?}");
}

#[test]
fn nothing_found_is_an_empty_context_and_a_warning() {
    let asked = Asked::small();
    let run = asked.run(&["query", "zebra"]);
    assert_eq!(run.ok(), "");
    assert!(run.stderr.contains("warning: nothing in"), "{run:?}");
    let nowhere = Asked::of([]);
    let run = nowhere.run(&["query", "zebra"]);
    assert_eq!(run.ok(), "");
    assert!(
        run.stderr.contains("there are no files with text"),
        "{run:?}"
    );
    let binary = Asked::of([("a.bin", b"\0\0\0"), ("empty.rs", b"")]);
    assert_eq!(binary.run(&["query", "zebra"]).ok(), "");
}

#[test]
fn a_budget_that_holds_nothing_is_told() {
    let asked = Asked::small();
    asked
        .run(&[
            "query",
            "budget",
            "-t",
            "1",
            "--header",
            "Read this first, please.",
        ])
        .fails(4, &["1"]);
    asked
        .run(&["query", "budget", "-t", "0"])
        .fails(2, &["at least 1"]);
    let run = asked.run(&["query", "budget", "--max-tokens", "12", "--no-notice"]);
    assert_eq!(run.ok(), "");
    assert!(run.stderr.contains("warning: no chunk fits"), "{run:?}");
}

#[test]
fn flags_and_folders_that_make_no_sense_are_refused() {
    let asked = Asked::small();
    for (flags, part) in [
        (
            ["--strategies", "luck"],
            "\"luck\" is not one of text, coverage, files, names, places, similar, changes, semantic, relations",
        ),
        (
            ["--strategies", ","],
            "at least one of text, coverage, files,",
        ),
        (
            ["--types", "klass"],
            "\"klass\" is not one of function, method, class,",
        ),
        (["--types", "function,klass"], "klass"),
        (["--min-score", "2"], "from 0 to 1"),
        (["--min-score", "-1"], "from 0 to 1"),
        (["--min-score", "NaN"], "from 0 to 1"),
        (["--min-chance", "2"], "from 0 to 1"),
        (["--min-chance", "-0.1"], "from 0 to 1"),
        (["--limit", "0"], "at least 1"),
        (["--limit", "-1"], "whole number"),
        (["--limit", "many"], "whole number"),
        (["--max-file-size", "9Q"], "not a size"),
        (["--max-file-size", "0"], "0 would skip every file"),
        (["--max-file-size", "65M"], "give at most 64M"),
        (["--wait", "soon"], "seconds"),
        (["--wait", "-1"], "seconds"),
    ] {
        asked
            .run(&[&["query", "budget"], &flags[..]].concat())
            .fails(2, &[part]);
    }
    asked
        .run(&["query", "budget", "--root", "gone"])
        .fails(3, &["gone"]);
    asked
        .run(&["query", "budget", "--root", "notes.md"])
        .fails(3, &["notes.md", "not a folder"]);
    asked
        .run(&["query", "budget", "--counter", "gpt-4oo"])
        .fails(2, &["--counter", "gpt-4oo", "gpt-4o"]);
    asked.run(&["index", "gone"]).fails(3, &["gone"]);
    asked
        .run(&["index", "--status", "--rebuild"])
        .fails(2, &["--rebuild"]);
    assert_eq!(fs::read_dir(asked.cache.path()).unwrap().count(), 0);
}

#[test]
fn a_question_that_begins_with_a_dash_is_told_how_to_be_asked() {
    let asked = Asked::small();
    for (question, begin) in [
        ("-zeta is lost", "-zeta …"),
        ("-zeta", "-zeta"),
        ("--budget does not fit", "--budget …"),
        ("--budget", "--budget"),
        // Letters that are flags, with what is no value of theirs.
        ("-fits the budget?", "-fits …"),
        ("-t is the budget", "-t …"),
    ] {
        let tip = format!(
            "tip: a question that begins with - comes after all flags and --: ctx query -- \"{begin}\"\n"
        );
        for args in [
            &["query", question][..],
            &["-q", "query", "--limit", "3", question],
        ] {
            let run = asked.run(args);
            run.fails(2, &[]);
            assert!(run.stderr.contains(&tip), "{run:?}");
        }
    }
    let run = asked.run(&["query", "--", "-fits the budget?"]);
    assert!(run.ok().contains("budget.rs"), "{run:?}");
    // Of a flag that is meant as one, nothing is said of questions.
    for args in [
        &["query", "budget", "--limit", "many"][..],
        &["pack", "--budget does not fit"],
    ] {
        let run = asked.run(args);
        run.fails(2, &[]);
        assert!(!run.stderr.contains("a question"), "{run:?}");
    }
}

#[test]
fn a_flag_is_before_the_environment_the_folder_and_the_user() {
    let asked = Asked::small();
    let picked = |variable: Option<&str>, flags: &[&str]| {
        let args = [&["query", "budget", "--json"], flags].concat();
        let mut command = asked.command(&args);
        if let Some(value) = variable {
            command.env("CTX_MAX_TOKENS", value);
        }
        let result = Ran::of(command.output().unwrap()).json();
        let (value, origin) = setting(&result, "max-tokens");
        (value.to_owned(), origin.to_owned())
    };
    let is = |(value, origin): (String, String), expected: &str, from: &str| {
        assert!(
            value == expected && origin.ends_with(from),
            "{value} {origin}"
        );
    };
    is(picked(None, &[]), "8000", "the default");
    asked.config.write(
        "ctx/ctx.toml",
        "[query]\nmax-tokens = 1000\n[output]\nformat = \"xml\"\n",
    );
    is(picked(None, &[]), "1000", "ctx/ctx.toml");
    asked
        .root
        .write("ctx.toml", "[query]\nmax-tokens = 2_000\n");
    is(picked(None, &[]), "2000", "/ctx.toml");
    is(picked(Some("3000"), &[]), "3000", "CTX_MAX_TOKENS");
    is(
        picked(Some("3000"), &["-t", "4000"]),
        "4000",
        "the command line",
    );
    let run = asked.run(&["query", "budget"]);
    assert!(
        run.ok().starts_with("<context>"),
        "each key has its own origin: {run:?}"
    );
}

#[test]
fn settings_of_a_project_hold_in_its_folders() {
    let asked = Asked::small();
    asked
        .root
        .write("ctx.toml", "[query]\nmax-tokens = 2_000\n");
    let picked = || {
        let result = asked.run(&["query", "budget", "--json", "--root", "src"]);
        let result = result.json();
        let (value, origin) = setting(&result, "max-tokens");
        (value.to_owned(), origin.to_owned())
    };
    assert_eq!(picked(), ("8000".to_owned(), "the default".to_owned()));
    asked.root.write(".git", "gitdir: elsewhere\n");
    let file = asked.root.path().canonicalize().unwrap().join("ctx.toml");
    let file = file.to_string_lossy().replace('\\', "/");
    assert_eq!(picked(), ("2000".to_owned(), file.clone()));
    asked.root.write("ctx.toml", "[query]\nlimits = 1\n");
    let run = asked.run(&["index", "src"]);
    run.fails(3, &[&format!("{file}:2"), "limits"]);
    asked.root.write("src/ctx.toml", "[query]\nlimit = 7\n");
    assert_eq!(picked().0, "8000", "the nearest is read alone");
    fs::remove_file(asked.root.path().join("src/ctx.toml")).unwrap();
    asked.root.write("src/.git", "gitdir: elsewhere\n");
    assert_eq!(picked().0, "8000", "it is another repository");
}

#[test]
fn a_folder_behind_the_question_is_a_word_of_it_and_a_hint_says_so() {
    let asked = Asked::small();
    let hint =
        "hint: the folder ./src was read as a word of the question; give --root ./src to search it";
    let run = asked.run(&["query", "does the cost fit", "./src", "--json"]);
    assert!(run.json()["context"].is_string());
    assert!(run.stderr.contains(hint), "{run:?}");
    let joined = asked.run(&["query", "does the cost fit ./src"]);
    let apart = asked.run(&["query", "does the cost fit", "./src"]);
    assert_eq!(apart.ok(), joined.ok(), "the answer is what it was");
    for args in [
        &["query", "does the cost fit ./src"][..],
        &["query", "./src"],
        &["query", "./src", "does the cost fit"],
        &["query", "does the cost fit", "src/budget.rs"],
        // It is asked about anyway.
        &["query", "does the cost fit", "."],
        &["query", "does the cost fit", "src", "--root", "src"],
        &["query", "does the cost fit", "src", "--quiet"],
    ] {
        let run = asked.run(args);
        run.ok();
        assert!(!run.stderr.contains("hint"), "{args:?}: {run:?}");
    }
}

#[test]
fn the_first_question_in_a_folder_of_an_indexed_repository_is_told_of_its_index() {
    let asked = Asked::small();
    let root = asked.root.path().canonicalize().unwrap();
    let ask = |args: &[&str]| {
        let mut command = asked.command(&[&["query", "does the cost fit"], args].concat());
        command.current_dir(root.join("src"));
        let ran = Ran::of(command.output().unwrap());
        (ran.stderr.contains("hint"), ran)
    };
    asked.run(&["index"]).ok();
    let forget = || {
        let index = asked.run(&["index", "src", "--status", "--json"]).json();
        fs::remove_dir_all(index["folder"].as_str().unwrap()).unwrap();
    };
    assert!(!ask(&[]).0, "it is in no repository");
    forget();
    asked.root.write(".git", "gitdir: elsewhere\n");
    assert!(!ask(&["--root", "../src"]).0, "it was named");
    forget();
    let (is_told, ran) = ask(&["--json"]);
    assert!(is_told, "{ran:?}");
    assert_eq!(ran.json()["files"], json!(["budget.rs"]));
    let all = root.to_string_lossy().replace('\\', "/");
    let hint = format!("hint: {all} is already indexed; give --root {all} to search all of it\n");
    assert!(ran.stderr.contains(&hint), "{ran:?}");
    assert!(!ask(&[]).0, "it has its own by now");
}

#[test]
fn standard_input_beside_a_question_is_refused() {
    let asked = Asked::small();
    for words in [&["query", "-", "budget"][..], &["query", "budget", "-"]] {
        asked.run(words).fails(2, &["standard input"]);
    }
    asked.run(&["query", "cost", "-", "budget"]).ok();
    asked.run(&["query", "--", "- budget"]).ok();
}

#[test]
fn relations_alone_are_refused() {
    let asked = Asked::small();
    let why = "only extends the results of others";
    let run = asked.run(&["query", "budget", "--strategies", "relations"]);
    run.fails(2, &["--strategies", why]);
    asked
        .root
        .write("ctx.toml", "[query]\nstrategies = [\"relations\"]\n");
    let run = asked.run(&["query", "budget"]);
    run.fails(3, &["ctx.toml:2", "query.strategies", why]);
    asked.root.write("ctx.toml", "");
    let run = asked.run(&["query", "budget", "--strategies", "names,relations"]);
    run.ok();
}

#[test]
fn settings_that_nobody_understands_are_named() {
    let asked = Asked::small();
    for (text, parts) in [
        (
            "[query]\n\nmax-token = 1\n",
            &["ctx.toml:3", "query", "max-token"][..],
        ),
        ("[search]\nlimit = 1\n", &["ctx.toml:1", "search"]),
        (
            "[output]\nformat = \"pdf\"\n",
            &["ctx.toml:2", "output.format", "xml"],
        ),
        (
            "[output]\ncounter = \"nope\"\n",
            &["ctx.toml:2", "output.counter", "nope", "o200k_base"],
        ),
        (
            "[query]\nmax-tokens = 0\n",
            &["ctx.toml:2", "query.max-tokens", "at least 1"],
        ),
        ("[query\n", &["ctx.toml:1"]),
    ] {
        asked.root.write("ctx.toml", text);
        asked.run(&["query", "budget"]).fails(3, parts);
        asked.run(&["index"]).fails(3, parts);
    }
    asked.root.write("ctx.toml", b"[query]\nlimit = \"\xff\"\n");
    asked
        .run(&["query", "budget"])
        .fails(3, &["ctx.toml:2", "UTF-8"]);
    asked.root.write("ctx.toml", "");
    asked.config.write("ctx/ctx.toml", "[query]\nlimits = 1\n");
    asked
        .run(&["query", "budget"])
        .fails(3, &["ctx/ctx.toml:2", "limits"]);
    asked.config.write("ctx/ctx.toml", "");
    let run = asked
        .command(&["query", "budget"])
        .env("CTX_LIMIT", "many")
        .output();
    Ran::of(run.unwrap()).fails(2, &["CTX_LIMIT", "many"]);
    for args in [&["query", "budget"][..], &["index"]] {
        let run = asked.command(args).env("CTX_COUNTER", "nope").output();
        Ran::of(run.unwrap()).fails(2, &["CTX_COUNTER", "nope"]);
    }
}

#[cfg(unix)]
#[test]
fn settings_that_are_no_file_do_not_hold_it_up() {
    let asked = Asked::small();
    let made = Command::new("mkfifo")
        .arg(asked.root.path().join("ctx.toml"))
        .status();
    if made.is_ok_and(|it| it.success()) {
        asked
            .run(&["query", "budget"])
            .fails(3, &["ctx.toml", "pipe"]);
    }
    let users = Asked::small();
    users.config.write("ctx/ctx.toml", "");
    let path = users.config.path().join("ctx/ctx.toml");
    fs::remove_file(&path).unwrap();
    let made = Command::new("mkfifo").arg(&path).status();
    if made.is_ok_and(|it| it.success()) {
        users
            .run(&["query", "budget"])
            .fails(3, &["ctx/ctx.toml", "it is a pipe"]);
    }
    let linked = Asked::small();
    std::os::unix::fs::symlink("/etc/passwd", linked.root.path().join("ctx.toml")).unwrap();
    linked.run(&["query", "budget"]).fails(3, &["ctx.toml"]);
}

#[test]
fn where_nothing_fits_files_without_readable_text_are_told() {
    let folder = Folder::of([
        ("a.txt", b"words\n".as_slice()),
        ("b.pdf", b"%PDF-1.4\0\x01\x02"),
    ]);
    let ran = folder.run(["query", "zebra crossing"]);
    assert!(
        ran.stderr
            .contains("1 file without readable text, such as a PDF, not searched"),
        "{ran:?}"
    );
}

#[test]
fn rows_that_do_not_answer_and_images_take_no_room() {
    let rows = (0..2_000).map(|n| format!("{n},customer {n},{}\n", n * 7));
    let rows = "id,customer,total\n".to_owned() + &rows.collect::<String>();
    let latency = "week,what,p99\n1,before the queue migration,900\n2,p99 latency after the queue migration,340\n";
    let image = "iVBORw0KGgo".repeat(600);
    let notebook =
        format!("{{\n \"source\": \"queue migration plot\",\n \"image/png\": \"{image}\"\n}}\n");
    let folder = Folder::of([
        ("orders.csv", rows.as_bytes()),
        ("latency.csv", latency.as_bytes()),
        ("plot.ipynb", notebook.as_bytes()),
    ]);
    let ran = folder.run(["query", "p99 latency after the queue migration"]);
    let context = ran.ok();
    assert!(
        context.contains("after the queue migration,340"),
        "{context}"
    );
    assert!(
        !context.contains("customer 77,") && !context.contains("iVBOR"),
        "{context}"
    );
    assert!(context.len() < 2_000, "{}", context.len());
}

#[test]
fn a_row_is_shown_with_the_headings_of_its_columns() {
    let rows = |from: u32| -> Vec<String> {
        let rows = from..from + 15;
        rows.map(|n| format!("X{n},town {n},{}\n", n * 1_001))
            .collect()
    };
    let towns = format!(
        "code,town,inhabitants\n{}NO1,Trondheim,212660\n{}",
        rows(0).concat(),
        rows(20).concat()
    );
    let folder = Folder::of([("towns.csv", towns.as_bytes())]);
    let ran = folder.run(["query", "Trondheim", "--json"]);
    let result = ran.json();
    let context = result["context"].as_str().unwrap();
    assert!(
        context.contains("\ncode,town,inhabitants\n…\n"),
        "{context}"
    );
    assert!(context.contains("\nNO1,Trondheim,212660\n"), "{context}");
    assert!(!context.contains("town 3,"), "{context}");
    folder.write("receipt.json", ran.stdout.as_bytes());
    folder.run(["verify", "receipt.json", "--root", "."]).ok();
}

#[test]
fn the_entry_of_a_log_that_answers_is_shown_with_its_trace() {
    let entry = |n: u32| {
        format!(
            "2024-05-01T12:{:02}:{:02}Z INFO request id={n}\n",
            n / 60,
            n % 60
        )
    };
    let entries = |from: u32| (from..from + 1_000).map(entry).collect::<String>();
    let failure = "2024-05-01T12:16:40Z ERROR PaymentDeclined: the card was declined by the gateway\n    at com.acme.pay.Gateway.charge(Gateway.java:88)\n";
    let log = format!("{}{failure}{}", entries(0), entries(1_000));
    for name in ["server.log", "server.log.1"] {
        let folder = Folder::of([(name, log.as_bytes())]);
        for question in ["PaymentDeclined", "card was declined by gateway"] {
            let ran = folder.run(["query", question, "-t", "300"]);
            let context = ran.ok();
            assert!(context.contains(failure), "{context}");
            assert!(!context.contains("id=77\n"), "{context}");
        }
    }
}

#[test]
fn a_line_behind_the_end_of_its_file_is_told() {
    for flags in [&[][..], &["-v"]] {
        let args = [&["query", "what is src/budget.rs:9000?"], flags].concat();
        let run = Asked::small().run(&args);
        run.ok();
        let told = "no part of src/budget.rs has line 9000";
        assert_eq!(run.stderr.matches(told).count(), 1, "{run:?}");
    }
}

#[test]
fn why_a_file_that_a_question_names_is_not_searched_is_told() {
    let asked = Asked::small();
    asked
        .root
        .write(".github/workflows/ci.yml", b"name: budget\n");
    asked.root.write(".gitignore", b"/ignored.py\n");
    asked.root.write("ignored.py", b"def budget(): pass\n");
    asked
        .root
        .write("big/module.py", "# budget\n".repeat(200_000));
    asked.root.write(".editorconfig", b"root = true\n");
    asked.root.write(".env", b"BUDGET=1\n");
    asked.root.write("empty.py", b"");
    asked.root.write("image.json", b"\x00\x01\x02\x00budget");
    let told = |question: &str| {
        let run = asked.run(&["query", question, "--json"]);
        let result = run.json();
        let warnings = result["warnings"].as_array().into_iter().flatten();
        let told: Vec<String> = warnings
            .filter(|it| {
                ["file_not_searched", "no_such_file"].contains(&it["code"].as_str().unwrap())
            })
            .map(|it| it["detail"].as_str().unwrap().to_owned())
            .collect();
        let is_said = |it: &String| run.stderr.contains(&format!("warning: {it}"));
        assert!(told.iter().all(is_said), "{run:?}");
        told
    };
    for (question, expected) in [
        (
            "what does .github/workflows/ci.yml do",
            ".github/workflows/ci.yml is not searched: .github is hidden; the line !/.github at the end of .ctxignore includes that folder",
        ),
        (
            "ignored.py",
            "ignored.py is not searched: the rule /ignored.py in .gitignore excludes it; the line !/ignored.py at the end of .ctxignore includes it",
        ),
        (
            "module.py:100",
            "big/module.py is not searched: it is too large, max-file-size is 1048576 (the default); a larger --max-file-size includes it",
        ),
        (
            "what does empty.py do",
            "empty.py is not searched: it is empty",
        ),
        (
            "what does image.json hold",
            "image.json is not searched: it holds no text; convert it to text to have it searched",
        ),
        (
            "what is in .editorconfig?",
            ".editorconfig is not searched: it is hidden; the line !/.editorconfig at the end of .ctxignore includes it",
        ),
        (
            "why is `.env` there",
            ".env is not searched: its name says that it holds secrets; `ctx pack .env --keep-secrets` shows it",
        ),
    ] {
        assert_eq!(told(question), [expected]);
    }
    let shown = asked.run(&["pack", ".env", "--keep-secrets"]);
    assert!(shown.ok().starts_with("### .env"), "{shown:?}");
    assert!(told("does the cost fit in src/budget.rs?").is_empty());
    asked.root.write(".ctxignore", b"!/.github\n");
    assert!(told("what does .github/workflows/ci.yml do").is_empty());
}

#[test]
fn names_of_files_are_found_in_any_normal_form() {
    // Composed and decomposed: `é`, `ü`, `ñ`.
    let [menu, overview, signal] = [
        "caf\u{e9}/menu.txt",
        "U\u{308}bersicht.md",
        "sen\u{303}al.py",
    ];
    let asked = Asked::of([
        (menu, b"soup\n"),
        (overview, b"# Alpha\n\nbeta\n"),
        (signal, b"def f():\n    pass\n"),
        ("other.md", b"# Other\n"),
    ]);
    let large = "gro\u{308}\u{df}e.md";
    asked.root.write(large, "large\n".repeat(200_000));
    for (name, path) in [
        ("caf\u{e9}/menu.txt", menu),
        ("cafe\u{301}/menu.txt", menu),
        ("what is in caf\u{e9}/", menu),
        ("what is in cafe\u{301}/", menu),
        ("cafe\u{301}/*.txt", menu),
        ("\u{dc}bersicht.md", overview),
        ("U\u{308}bersicht.md", overview),
        ("\u{dc}bersicht", overview),
        ("U\u{308}bersicht", overview),
        ("se\u{f1}al.py:2", signal),
        ("sen\u{303}al", signal),
    ] {
        let result = asked.run(&["query", name, "--json"]).json();
        assert_eq!(paths(&result).first(), Some(&path), "{name:?}: {result}");
    }
    for name in [large, "gr\u{f6}\u{df}e.md"] {
        let run = asked.run(&["query", &format!("{name}:3")]);
        let told = format!("warning: {large} is not searched: it is too large");
        assert!(run.stderr.contains(&told), "{run:?}");
        assert!(!run.stderr.contains("no file called"), "{run:?}");
    }
}

#[test]
fn files_and_folders_with_names_of_several_words_are_found() {
    let [notes, plan, day, list] = [
        "Projects/Big Thing/Meeting Notes.md",
        "Projects/Big Thing/Plan (draft).md",
        "Daily/2024-01-05.md",
        "To do.md",
    ];
    let asked = Asked::of([
        (notes, b"# Kitchen\n\nBuy tiles.\n"),
        (plan, b"# Idea\n\nQuick ones.\n"),
        (day, b"# Standup\n\nThe roof leaks.\n"),
        (list, b"# Errands\n\nPost the letter.\n"),
        ("\u{1f4dd}inbox.md", b"# Empty\n"),
        (
            "index.md",
            b"See [[Meeting Notes]] of [[2024-01-05]], the Plan, a draft, and the inbox of notes.\n",
        ),
    ]);
    for (question, path) in [
        ("Meeting Notes.md", notes),
        ("meeting notes", notes),
        ("[[Meeting Notes]]", notes),
        ("Projects/Big Thing/Meeting Notes.md", notes),
        ("@Projects/Big\\ Thing/Meeting\\ Notes.md", notes),
        ("what is in \"Meeting Notes\"?", notes),
        ("what do I buy by Meeting Notes.md:3", notes),
        ("Plan (draft)", plan),
        ("Plan (draft).md", plan),
        ("2024-01-05", day),
        // Words that questions are made of, and nothing else.
        ("[[to do]]", list),
        ("what is in \"To do\"?", list),
        ("\u{1f4dd}inbox.md", "\u{1f4dd}inbox.md"),
    ] {
        let run = asked.run(&["query", question, "--json"]);
        let result = run.json();
        assert_eq!(paths(&result).first(), Some(&path), "{question}: {result}");
        assert!(!run.stderr.contains("warning: no file"), "{run:?}");
    }
    let dated = asked.run(&["query", "what happened on 2024-01-05?", "--json"]);
    assert!(paths(&dated.json()).contains(&day), "{dated:?}");
    let below = asked
        .run(&["query", "summarise Big Thing/", "--json"])
        .json();
    let found = paths(&below);
    assert!(found.contains(&notes) && found.contains(&plan), "{below}");
    let gone = asked.run(&["query", "what is in Lost Notes.md:3?"]);
    assert!(gone.stderr.contains("no file called Notes.md"), "{gone:?}");
}

#[test]
fn a_text_that_asks_the_same_as_an_example_comes_behind_the_answer() {
    let code = b"/// Enforces the budget.\npub fn enforce(budget: u32, used: u32) -> bool {\n    used <= budget\n}\n";
    let guide = b"# Tool\n\nIt counts.\n\n## Use\n\n    tool \"where is the budget enforced?\"\n";
    let list = b"# Questions\n\n## Where is the budget enforced?\n\nIn the limits.\n";
    let asked = Asked::of([("src/limits.rs", code.as_slice()), ("README.md", guide)]);
    let first = |asked: &Asked| {
        let run = asked.run(&["query", "where is the budget enforced?"]);
        run.stdout.lines().next().unwrap().to_owned()
    };
    assert_eq!(first(&asked), "### src/limits.rs");
    asked.root.write("FAQ.md", list);
    assert_eq!(first(&asked), "### FAQ.md");
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_and_is_asked_for_is_told_once() {
    use crate::run::{mode, run_bound};
    let asked = Asked::small();
    asked.root.write("locked.rs", b"fn b() {}\n");
    mode(&asked.root.path().join("locked.rs"), 0);
    mode(asked.cache.path(), 0o777);
    let question = ["query", "what is in locked.rs:1?", "--json"];
    let Some(run) = run_bound(asked.command(&question)) else {
        return;
    };
    assert_eq!(run.stderr.matches("locked.rs").count(), 1, "{run:?}");
    let warning = run.json()["warnings"][0].clone();
    assert_eq!(warning["code"], "file_not_searched");
    assert_eq!(
        warning["detail"],
        "locked.rs is not searched: it cannot be read"
    );
}

#[test]
fn a_short_question_about_a_file_that_is_not_there_is_told_so() {
    let asked = Asked::small();
    let told = |question: &str, flags: &[&str]| {
        let run = asked.run(&[&["query", question, "--json"], flags].concat());
        let result = run.json();
        let mut warnings = result["warnings"].as_array().into_iter().flatten();
        let found = warnings.find(|it| it["code"] == "no_such_file");
        let detail = found.map(|it| it["detail"].as_str().unwrap().to_owned());
        let said = detail.as_deref().unwrap_or("no file");
        assert_eq!(run.stderr.contains(said), detail.is_some(), "{run:?}");
        detail
    };
    for question in ["src/gone.rs", "what does gone.rs:7 do with the budget?"] {
        let detail = told(question, &[]);
        assert_eq!(
            detail.as_deref(),
            Some("no file called gone.rs is searched")
        );
    }
    let detail = told("what of src/gone.rs, src/budget.rs and lost.rs:3?", &[]);
    assert_eq!(
        detail.as_deref(),
        Some("no files called gone.rs, lost.rs are searched")
    );
    for question in [
        "budget.rs:4",
        "/home/me/project/src/Budget.rs:4",
        // It may be the name of something else,
        "budget in Node.js",
        // and reports name files of others.
        "The budget is wrong\n\nsee gone.rs:7",
    ] {
        assert_eq!(told(question, &[]), None, "{question}");
    }
    // Whatever is left out of what was found.
    let flags = [
        "--strategies",
        "text",
        "--limit",
        "1",
        "--types",
        "function",
    ];
    assert_eq!(told("the next token, in budget.rs:4", &flags), None);
}

#[test]
fn a_line_that_is_asked_about_is_shown() {
    let line = |number| format!("    let total_{number} = total + {number};\n");
    let body: String = (2..400).map(line).collect();
    let source = format!("pub fn sum(total: u32) -> u32 {{\n{body}    total\n}}\n");
    let asked = Asked::of([("src/sum.rs", source.as_bytes())]);
    let trace = "Sums are wrong\n\nTraceback (most recent call last):\n  File \"src/sum.rs\", line 300, in sum\n";
    for question in [
        "src/sum.rs:300",
        "why is the total wrong in sum.rs on line 300?",
        "src\\sum.rs(300,5): error",
        trace,
    ] {
        let run = asked.run(&["query", question, "--max-tokens", "400"]);
        assert!(run.ok().contains("let total_300 ="), "{question}: {run:?}");
    }
}

/// Its words are said again and again elsewhere, in more parts than are looked at.
#[test]
fn a_message_is_found_where_it_stands_word_by_word() {
    let message = "MISCONF Redis is configured to save RDB snapshots";
    let said = "Redis is configured to save RDB snapshots: configured to save snapshots of redis RDB, save RDB.";
    let saves = |it| format!("/// {said}\npub fn save_rdb_snapshot_{it}() {{}}\n\n");
    let saves: String = (0..150).map(saves).collect();
    let name = |it| format!("pub fn misconf_{it}() {{}}\n\n");
    let names: String = (0..5).map(name).collect();
    // With words of it here and there, which excerpts could show instead.
    let other = "    let count = others.len() + 1;\n    save(rdb);\n".repeat(150);
    let script = format!("pub fn run() {{\n{other}    refuse(\"{message}, but cannot\");\n}}\n");
    let asked = Asked::of([
        ("src/rdb.rs", saves.as_bytes()),
        ("src/names.rs", names.as_bytes()),
        ("src/script.rs", script.as_bytes()),
    ]);
    for question in [
        message.to_owned(),
        format!("why does it say \"{message}\" at night?"),
    ] {
        let run = asked.run(&["query", &question, "--max-tokens", "300"]);
        assert!(run.ok().contains("refuse(\"MISCONF"), "{question}: {run:?}");
    }
}
