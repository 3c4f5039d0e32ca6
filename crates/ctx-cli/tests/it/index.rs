//! The index of a folder: its location, its content, who may write it, and how it handles damaged
//! or unusual folders, disks and files.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::query::{Asked, BUDGET, paths, setting};
use crate::run::{self, Folder, Ran};

/// Holds the right to write, as process 4711 would.
pub(crate) fn hold(folder: &Path) -> File {
    let mut lock = File::options()
        .create(true)
        .write(true)
        .truncate(true)
        .open(folder.join("writer.lock"))
        .unwrap();
    lock.lock().unwrap();
    lock.write_all(b"4711").unwrap();
    lock
}

/// A folder whose index has nothing yet.
fn not_indexed_yet() -> Asked {
    let asked = Asked::of([]);
    asked.run(&["index"]).ok();
    asked.root.write("src/budget.rs", BUDGET);
    asked
}

#[test]
fn a_first_question_waits_for_whoever_indexes_and_names_it() {
    let asked = not_indexed_yet();
    let lock = hold(&asked.folder());
    let mut child = asked.command(&["query", "budget"]).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.starts_with("waiting for process 4711"), "{line}");
    drop(lock);
    let mut answer = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut answer)
        .unwrap();
    said.read_to_string(&mut line).unwrap();
    assert!(child.wait().unwrap().success(), "{line}");
    assert!(answer.starts_with("### src/budget.rs"), "{answer}");
}

#[test]
fn whoever_does_not_wait_is_told_who_writes() {
    let asked = not_indexed_yet();
    let lock = hold(&asked.folder());
    for args in [
        &["query", "budget", "--wait", "0"][..],
        &["index", "--wait", "0.1"],
    ] {
        asked.run(args).fails(1, &["process 4711 is writing"]);
    }
    asked
        .run(&["index", "--rebuild", "--wait", "0"])
        .fails(1, &["process 4711"]);
    // There is nothing yet that could be asked as it is.
    let run = asked.run(&["query", "budget", "--wait", "0"]);
    assert!(!run.stderr.contains("--no-index-update"), "{run:?}");
    let run = asked.run(&["index", "--wait", "0"]);
    assert!(!run.stderr.contains("--no-index-update"), "{run:?}");
    drop(lock);
    asked.run(&["index"]).ok();
    let lock = hold(&asked.folder());
    asked.root.write("late.rs", b"pub fn budget_late() {}\n");
    let run = asked.run(&["index", "--wait", "0"]);
    run.fails(1, &["process 4711"]);
    assert!(
        run.stderr.contains("ctx query --no-index-update"),
        "{run:?}"
    );
    let run = asked.run(&["query", "budget", "--wait", "0"]);
    assert!(
        run.ok().contains("budget.rs") && !run.stdout.contains("late.rs"),
        "{run:?}"
    );
    for part in [
        "warning: process 4711 is writing the index",
        "s ago",
        "1 file is new or has changed",
    ] {
        assert!(run.stderr.contains(part), "{part:?} is not in {run:?}");
    }
    drop(lock);
    assert!(asked.run(&["query", "budget"]).ok().contains("late.rs"));
}

#[test]
fn first_questions_at_once_all_have_the_answer() {
    let asked = Asked::small();
    for file in 0..150 {
        let text = format!("/// Part {file}.\npub fn part_{file}() {{}}\n").repeat(20);
        asked.root.write(format!("many/{file}.rs"), text);
    }
    let children: Vec<Child> = (0..3)
        .map(|_| {
            asked
                .command(&["query", "does the cost fit the budget?"])
                .spawn()
                .unwrap()
        })
        .collect();
    let runs = children
        .into_iter()
        .map(|it| Ran::of(it.wait_with_output().unwrap()));
    let runs: Vec<Ran> = runs.collect();
    for run in &runs {
        assert!(run.ok().starts_with("### src/budget.rs"), "{run:?}");
        assert_eq!(run.stdout, runs[0].stdout);
        assert!(!run.stderr.contains("warning"), "{run:?}");
    }
    let status = asked.run(&["index", "--status", "--json"]).json();
    assert_eq!(status["files"], 153);
}

#[cfg(unix)]
#[test]
fn questions_beside_a_watch_have_what_changed() {
    let asked = Asked::small();
    let mut watch = asked.command(&["index", "--watch"]).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("3 files"));
    for round in 0..4 {
        let name = format!("late_{round}");
        asked
            .root
            .write(format!("{name}.rs"), format!("pub fn {name}() {{}}\n"));
        let run = asked.run(&["query", &name]);
        assert!(run.ok().contains(&format!("{name}.rs")), "{run:?}");
        assert!(!run.stderr.contains("warning"), "{run:?}");
    }
    interrupt(&watch);
    assert!(watch.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_watch_ends_when_its_folder_is_gone() {
    let asked = Asked::of([("inner/a.rs", BUDGET)]);
    let mut watch = asked.command(&["index", "inner", "--watch"]);
    let mut watch = watch.spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(
        first.starts_with("1 file ") && first.ends_with(" s"),
        "{first}"
    );
    asked.root.write("inner/b.rs", BUDGET);
    let second = lines.next().unwrap().unwrap();
    assert!(
        second.starts_with("2 files ") && second.ends_with(" bytes"),
        "{second}"
    );
    let inner = asked.root.path().join("inner");
    fs::rename(&inner, asked.root.path().join("away")).unwrap();
    let said = watch.wait_with_output().unwrap();
    let error = String::from_utf8(said.stderr).unwrap();
    assert_eq!(said.status.code(), Some(3), "{error}");
    let why = "cannot be opened: it was removed or replaced while it was watched";
    assert!(error.contains("error: the folder "), "{error}");
    assert!(error.contains(why), "{error}");
}

#[cfg(unix)]
fn interrupt(child: &Child) {
    run::signal(child.id(), "INT");
}

#[test]
fn generated_files_are_indexed_where_that_is_asked_for_and_go_on_to_be() {
    let asked = Asked::of([("a.rs", BUDGET), ("vendor/b.rs", BUDGET)]);
    let index = |args: &[&str]| asked.run(&[&["index", "--json"], args].concat()).json();
    assert_eq!(index(&[])["files"], 1);
    assert_eq!(index(&["--include-generated"])["files"], 2);
    // Neither a question nor an update forgets it.
    let question = asked.run(&["query", "budget", "--json"]).json();
    assert!(paths(&question).contains(&"vendor/b.rs"), "{question}");
    let (value, origin) = setting(&question, "include-generated");
    assert_eq!((value, origin), ("true", "the index, by an earlier flag"));
    assert_eq!(index(&[])["files"], 2);
    let status = asked.run(&["index", "--status", "--json"]).json();
    assert_eq!(status["includeGenerated"], true);
    let status = asked.run(&["index", "--status"]);
    assert!(
        status
            .ok()
            .contains("included (the index, by an earlier flag; --no-include-generated undoes it)"),
        "{status:?}"
    );
    assert_eq!(index(&["--rebuild"])["files"], 2, "nor does a new index");
    // Whoever forgets it says so.
    let without = asked.run(&["index", "--no-include-generated"]);
    assert!(without.ok().starts_with("1 file "), "{without:?}");
    for part in [
        "1 file of the folder is no longer indexed",
        "include-generated is set by the command line",
    ] {
        assert!(without.stderr.contains(part), "{without:?}");
    }
    assert_eq!(index(&[])["files"], 1);
}

#[test]
fn the_index_saves_after_all_output_is_written() {
    let asked = Asked::of([("a.rs", BUDGET), ("vendor/b.rs", BUDGET)]);
    let files = |variable: Option<&str>, flags: &[&str]| {
        let mut command = asked.command(&[&["index", "--json"], flags].concat());
        if let Some(value) = variable {
            command.env("CTX_INCLUDE_GENERATED", value);
        }
        let told = Ran::of(command.output().unwrap()).json();
        // The settings are a file of the folder too.
        told["files"].as_u64().unwrap() - u64::from(asked.root.path().join("ctx.toml").exists())
    };
    let set = |value: bool| format!("[index]\ninclude-generated = {value}\n");
    assert_eq!(files(None, &["--include-generated"]), 2);
    asked.config.write("ctx/ctx.toml", set(false));
    assert_eq!(files(None, &[]), 1, "the user's settings go before it");
    asked.root.write("ctx.toml", set(true));
    assert_eq!(files(None, &[]), 2, "the folder's before those");
    assert_eq!(files(Some("0"), &[]), 1, "the environment before those");
    assert_eq!(
        files(Some("0"), &["--include-generated"]),
        2,
        "and a flag before all"
    );
    asked.root.write("ctx.toml", "[index]\n");
    asked.config.write("ctx/ctx.toml", "");
    assert_eq!(files(Some("1"), &["--no-include-generated"]), 1);
    assert_eq!(files(Some("1"), &[]), 2);
    assert_eq!(files(None, &[]), 1, "what no flag said is not remembered");
}

#[test]
fn an_index_that_would_be_in_what_it_indexes_is_refused() {
    let asked = Asked::small();
    let run = asked
        .command(&["query", "budget"])
        .env("CTX_CACHE_DIR", asked.root.path().join("cache"))
        .output();
    Ran::of(run.unwrap()).fails(3, &["would be inside that folder"]);
    let relative = asked
        .command(&["query", "budget"])
        .env("CTX_CACHE_DIR", ".cache")
        .output();
    Ran::of(relative.unwrap()).ok();
    assert!(asked.root.path().join(".cache").is_dir());
}

#[test]
fn an_index_that_is_damaged_is_begun_anew_with_a_warning() {
    let asked = Asked::small();
    let first = asked.run(&["query", "budget"]);
    fs::write(
        asked.folder().join("manifest.db"),
        b"this is no database, it is a sentence",
    )
    .unwrap();
    let run = asked.run(&["query", "budget"]);
    assert_eq!(run.ok(), first.ok());
    assert!(run.stderr.contains("rebuilding the index of"), "{run:?}");
    let again = asked.run(&["query", "budget"]);
    assert!(!again.stderr.contains("rebuilding"), "{again:?}");
}

#[test]
fn to_look_at_a_damaged_index_changes_nothing() {
    let asked = Asked::small();
    asked.run(&["index"]).ok();
    let text = fs::read_dir(asked.folder().join("text")).unwrap();
    let mut files = text.map(|it| it.unwrap().path());
    let store = files.find(|it| it.extension().is_some_and(|it| it == "store"));
    let store = store.unwrap();
    let mut bytes = fs::read(&store).unwrap();
    bytes[0] ^= 1;
    fs::write(&store, &bytes).unwrap();
    for _ in 0..2 {
        let told = asked.run(&["index", "--status"]);
        for part in ["damaged", "checksum", "the next update rebuilds it"] {
            assert!(told.ok().contains(part), "{told:?}");
        }
    }
    let told = asked.run(&["index", "--status", "--json"]).json();
    assert!(told["damaged"].as_str().unwrap().contains("checksum"));
    assert_eq!(told["indexed"], false);
    assert!(fs::read(&store).unwrap() == bytes);
    let anew = asked.run(&["index"]);
    assert!(anew.stderr.contains("rebuilding the index"), "{anew:?}");
    let told = asked.run(&["index", "--status", "--json"]).json();
    assert_eq!(told.get("damaged"), None);
}

#[test]
fn files_to_index_are_not_listed_if_nothing_changed() {
    let asked = Asked::small();
    asked.run(&["index"]).ok();
    for flag in ["--include-generated", "--wait=1", "--max-file-size=1K"] {
        asked
            .run(&["index", "--status", flag])
            .fails(2, &["cannot be used with"]);
    }
}

#[test]
fn the_index_tells_what_there_is() {
    let asked = Asked::small();
    let none = asked.run(&["index", "--status"]);
    assert!(none.ok().contains("is not indexed"), "{none:?}");
    assert_eq!(fs::read_dir(asked.cache.path()).unwrap().count(), 0);
    let none = asked.run(&["index", "--status", "--json"]).json();
    assert_eq!(
        (&none["indexed"], &none["files"]),
        (&false.into(), &0.into())
    );
    assert_eq!(none["maxFileBytes"], 1 << 20, "as it would be indexed");
    let made = asked.run(&["index"]);
    assert!(
        made.ok()
            .starts_with("3 files (3 new or changed, 0 removed"),
        "{made:?}"
    );
    assert_eq!(made.stdout.lines().count(), 1);
    let status = asked.run(&["index", "--status", "--json"]).json();
    assert_eq!(
        (&status["files"], &status["generation"]),
        (&3.into(), &1.into())
    );
    let told = asked.run(&["index", "--status"]);
    assert!(told.ok().contains("index size  "), "{told:?}");
    assert!(status["lines"].as_u64() > Some(10) && status["bytes"].as_u64() > Some(0));
    let told = asked.run(&["index", "--status"]);
    assert!(told.ok().contains("files  3\n"), "{told:?}");
    let again = asked.run(&["index", "--json"]).json();
    assert_eq!(
        (&again["files"], &again["updated"]["changed"]),
        (&3.into(), &0.into())
    );
    let anew = asked.run(&["index", "--rebuild", "--json"]).json();
    assert_eq!(anew["updated"]["changed"], 3);
}

#[test]
fn a_folder_can_hold_its_own_index() {
    let asked = Asked::small();
    let own = asked.root.path().join(".ctx");
    fs::create_dir(&own).unwrap();
    asked.run(&["query", "budget"]).ok();
    assert!(own.join("manifest.db").is_file());
    assert_eq!(fs::read_dir(asked.cache.path()).unwrap().count(), 0);
    // It is for its owner, and for no repository, unless somebody says otherwise afterwards.
    assert_eq!(fs::read(own.join(".gitignore")).unwrap(), b"*\n");
    fs::write(own.join(".gitignore"), "").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = || fs::metadata(&own).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o700);
        fs::set_permissions(&own, fs::Permissions::from_mode(0o750)).unwrap();
        asked.run(&["index"]).ok();
        assert_eq!(mode(), 0o750);
    }
    assert_eq!(fs::read(own.join(".gitignore")).unwrap(), b"");
    let git = |args: &[&str]| run::git(asked.root.path(), args);
    if git(&["init", "-q"]).status().is_ok_and(|it| it.success()) {
        fs::remove_dir_all(&own).unwrap();
        fs::create_dir(&own).unwrap();
        asked.run(&["index"]).ok();
        let said = git(&["status", "--short"]).output().unwrap().stdout;
        let said = String::from_utf8(said).unwrap();
        assert!(
            said.contains("notes.md") && !said.contains(".ctx"),
            "{said}"
        );
    }
}

#[test]
fn skipped_files_are_named_on_request_and_large_ones_always_counted() {
    let asked = Asked::of([
        ("a.rs", BUDGET),
        ("vendor/b.rs", BUDGET),
        ("c.bin", b"\0\x01\x02"),
    ]);
    asked
        .root
        .write("huge_settings.txt", b"budget ".repeat(200_000));
    let large = "1 file too large to be indexed: max-file-size is 1048576 (the default)";
    for verb in [&["index"][..], &["query", "budget"], &["query", "budget"]] {
        let run = asked.run(verb);
        run.ok();
        assert!(run.stderr.contains(large), "{run:?}");
        assert!(!run.stderr.contains("c.bin"), "{run:?}");
        let run = asked.run(&[verb, &["-v"]].concat());
        for part in [
            "skipped huge_settings.txt: it is too large",
            "skipped vendor/b.rs: it is vendored, include-generated is false",
            "skipped c.bin: it holds no text",
        ] {
            assert!(run.stderr.contains(part), "{part:?} is not in {run:?}");
        }
    }
    let told = asked.run(&["index", "--json"]).json();
    let passed = told["updated"]["passed"].as_array().unwrap();
    let expected = serde_json::json!({"path": "huge_settings.txt", "reason": "too_large"});
    assert!(passed.len() == 3 && passed.contains(&expected), "{told}");
}

/// macOS has no such names.
#[cfg(target_os = "linux")]
#[test]
fn a_name_that_no_index_can_hold_is_counted_always() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let asked = Asked::of([("a.rs", BUDGET)]);
    asked.root.write(OsStr::from_bytes(b"b\xff.rs"), BUDGET);
    let told = "1 file not indexed: names that are not UTF-8 (--verbose names them)";
    for verb in [&["index"][..], &["query", "budget"]] {
        let run = asked.run(verb);
        run.ok();
        assert!(run.stderr.contains(told), "{run:?}");
        let run = asked.run(&[verb, &["-v"]].concat());
        let named = r"skipped b\xff.rs: its name is not UTF-8";
        assert!(run.stderr.contains(named), "{run:?}");
    }
    let told = asked.run(&["index", "--json"]).json();
    let expected = serde_json::json!([{"path": r"b\xff.rs", "reason": "unnamed"}]);
    assert_eq!(told["updated"]["passed"], expected);
}

#[test]
fn generated_and_vendored_files_are_counted_with_the_flag_that_takes_them_in() {
    let generated = [&b"// @generated\n"[..], BUDGET].concat();
    let asked = Asked::of([("a.rs", BUDGET), ("vendor/b.rs", b"fn b() {}\n")]);
    asked.root.write("made.rs", generated);
    let note = "2 generated or vendored files are not indexed; --include-generated includes them";
    let run = asked.run(&["index"]);
    run.ok();
    assert!(run.stderr.contains(note), "{run:?}");
    let again = asked.run(&["index", "--json"]);
    assert_eq!(again.json()["passedGenerated"], 2);
    let status = asked.run(&["index", "--status"]);
    let row = "2 files skipped; --include-generated includes them (the default)";
    assert!(status.ok().contains(row), "{status:?}");
    let status = asked.run(&["index", "--status", "--json"]).json();
    assert_eq!(status["passedGenerated"], 2);
    let all = asked.run(&["index", "--include-generated", "--json"]);
    assert_eq!(all.json()["passedGenerated"], 0);
    assert!(!all.stderr.contains("vendored"), "{all:?}");
}

#[test]
fn a_question_for_a_generated_file_is_told_that_it_is_not_searched() {
    let asked = Asked::of([
        ("src/a.rs", BUDGET),
        ("vendor/wheel.rs", b"fn other() {}\n"),
    ]);
    let told = |args: &[&str], part: Option<&str>| {
        let run = asked.run(&[&["query", "--json"], args].concat());
        let result = run.json();
        let warnings = result["warnings"].as_array().into_iter().flatten();
        let mut warnings = warnings.filter(|it| it["code"] == "generated_not_searched");
        let detail = warnings.next().map(|it| it["detail"].as_str().unwrap());
        match part {
            Some(part) => {
                let is_told =
                    run.stderr.contains(part) && detail.is_some_and(|it| it.contains(part));
                assert!(is_told, "{args:?}: {run:?}");
            }
            None => assert!(
                detail.is_none() && !run.stderr.contains("vendored"),
                "{run:?}"
            ),
        }
    };
    let named =
        "vendor/wheel.rs is not searched, because it is generated or vendored; --include-generated";
    told(
        &["what does the budget do in vendor/wheel.rs?"],
        Some(named),
    );
    told(&["what does the budget do in wheel.rs:1?"], Some(named));
    told(&["does the cost fit the budget in src/a.rs?"], None);
    told(&["does the cost fit the budget?"], None);
    let all = "1 generated or vendored file is not indexed; --include-generated includes it";
    told(&["zebra crossings"], Some(all));
    // A file of that name that is searched is the one that is meant.
    asked.root.write("src/wheel.rs", BUDGET);
    told(&["what does the budget do in wheel.rs?"], None);
    told(
        &["what does the budget do in vendor/wheel.rs?"],
        Some(named),
    );
    told(
        &["zebra crossings in vendor/wheel.rs", "--include-generated"],
        None,
    );
}

#[test]
fn special_and_empty_files_are_named_as_by_pack() {
    let asked = Asked::of([("a.rs", BUDGET), ("empty.md", b"")]);
    let mut expected = vec![("empty.md", "empty")];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("a.rs", asked.root.path().join("link.rs")).unwrap();
        expected.push(("link.rs", "link"));
        let fifo = Command::new("mkfifo")
            .arg(asked.root.path().join("fifo"))
            .status();
        if fifo.is_ok_and(|it| it.success()) {
            expected.insert(1, ("fifo", "special"));
        }
    }
    let told = asked.run(&["index", "--json"]).json();
    let passed = told["updated"]["passed"].as_array().unwrap();
    let passed = passed.iter().map(|it| {
        let text = |key| it[key].as_str().unwrap();
        (text("path"), text("reason"))
    });
    assert_eq!(passed.collect::<Vec<_>>(), expected);
    let named = |verb: &[&str]| {
        let run = asked.run(&[verb, &["-v"]].concat());
        run.ok();
        let lines = run.stderr.lines().filter(|it| it.starts_with("skipped "));
        let mut lines: Vec<_> = lines.map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let packed = named(&["pack", "."]);
    assert_eq!(packed.len(), expected.len());
    assert_eq!(named(&["index"]), packed);
    assert_eq!(named(&["query", "budget"]), packed);
}

#[test]
fn folders_that_are_too_deep_are_reported_once() {
    let asked = Asked::small();
    let deep = asked.root.path().join("d/".repeat(130));
    fs::create_dir_all(deep).unwrap();
    let run = asked.run(&["index"]);
    let told: Vec<_> = run.stderr.lines().collect();
    let [told] = told[..] else {
        panic!("{run:?}");
    };
    assert!(told.starts_with("warning: not indexed: \"d/d/"), "{told}");
    let end = "/d\": it is more than 128 folders deep";
    assert!(told.ends_with(end), "{told}");
}

#[test]
fn where_nothing_is_indexed_the_settings_that_make_it_so_are_named() {
    let asked = Asked::small();
    asked.run(&["query", "budget", "--max-file-size", "1"]).ok();
    let run = asked.run(&["query", "budget"]);
    for part in [
        "there are no files with text",
        "skipped 3 files: it is too large, max-file-size is 1",
        "(the index, by an earlier flag; --max-file-size 1M undoes it)",
    ] {
        assert!(run.stderr.contains(part), "{part:?} is not in {run:?}");
    }
    let status = asked.run(&["index", "--status"]);
    let told = "1 bytes (the index, by an earlier flag; --max-file-size 1M undoes it)";
    assert!(status.ok().contains(told), "{status:?}");
    asked
        .run(&["query", "budget", "--max-file-size", "1M"])
        .ok();
    let status = asked.run(&["index", "--status"]);
    let told = "1,048,576 bytes (the index, by an earlier flag)";
    assert!(status.ok().contains(told), "{status:?}");
}

#[cfg(unix)]
#[test]
fn a_link_is_not_followed_to_an_index() {
    let asked = Asked::small();
    let elsewhere = Folder::new();
    std::os::unix::fs::symlink(elsewhere.path(), asked.root.path().join(".ctx")).unwrap();
    asked.run(&["query", "budget"]).ok();
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn an_index_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let asked = Asked::small();
    asked.run(&["index"]).ok();
    let mode = fs::metadata(asked.folder()).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_watched_is_indexed_again_until_interrupted() {
    let asked = Asked::small();
    let mut child = asked.command(&["index", "--watch"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.starts_with("3 files"), "{first}");
    asked.root.write("late.rs", BUDGET);
    let second = lines.next().unwrap().unwrap();
    assert!(second.starts_with("4 files (1 new or changed"), "{second}");
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[cfg(unix)]
#[test]
fn a_watch_heeds_settings_as_they_are_and_keeps_the_last_where_they_are_broken() {
    let asked = Asked::small();
    let settings = |size: &str| {
        let text = format!("[index]\nmax-file-size = {size}\n");
        // At once, as a watch looks at whatever there is.
        let beside = asked.root.path().with_extension("toml");
        fs::write(&beside, text).unwrap();
        fs::rename(beside, asked.root.path().join("ctx.toml")).unwrap();
    };
    let mut watch = asked.command(&["index", "--watch"]).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut said = BufReader::new(watch.stderr.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert!(next().starts_with("3 files"));
    settings("10");
    let told = next();
    assert!(
        told.starts_with("0 files (0 new or changed, 3 removed"),
        "{told}"
    );
    let query = asked.run(&["query", "budget"]);
    assert!(!query.stderr.contains("no longer indexed"), "{query:?}");
    settings("\"much\"");
    let fault = said.find(|it| it.as_ref().unwrap().starts_with("warning: "));
    let fault = fault.unwrap().unwrap();
    assert!(
        fault.contains("ctx.toml") && fault.contains("max-file-size"),
        "{fault}"
    );
    assert!(
        fault.ends_with("; the previous settings stay in effect"),
        "{fault}"
    );
    settings("100_000");
    let told = next();
    assert!(
        told.starts_with("4 files (4 new or changed, 0 removed"),
        "{told}"
    );
    interrupt(&watch);
    assert!(watch.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_watch_outlives_an_index_that_is_made_anew_or_removed() {
    let asked = Asked::small();
    let mut watch = asked.command(&["index", "--watch"]).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert!(next().starts_with("3 files"));
    asked.run(&["index", "--rebuild"]).ok();
    asked.root.write("late.rs", BUDGET);
    let told = next();
    assert!(told.starts_with("4 files (1 new or changed"), "{told}");
    fs::remove_dir_all(asked.folder()).unwrap();
    asked.root.write("later.rs", BUDGET);
    let told = next();
    assert!(told.starts_with("5 files (5 new or changed"), "{told}");
    interrupt(&watch);
    assert!(watch.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_watch_outlives_an_error_and_reports_it_once() {
    let asked = Asked::small();
    let mut watch = asked.command(&["index", "--watch"]).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut said = BufReader::new(watch.stderr.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert!(next().starts_with("3 files"));
    asked.root.write("late.rs", BUDGET);
    assert!(next().starts_with("4 files"));
    let folder = asked.folder();
    let mut warnings = Vec::new();
    for files in [6, 7] {
        fs::remove_dir_all(&folder).unwrap();
        fs::write(&folder, "in the way").unwrap();
        asked.root.write(format!("late_{files}.rs"), BUDGET);
        let warning = said.find(|it| it.as_ref().unwrap().starts_with("warning: "));
        warnings.extend(warning);
        // Each of these changes is a reason to try again, which fails again.
        for again in 0..3 {
            asked.root.write("again.rs", format!("// {again}\n"));
            thread::sleep(Duration::from_millis(300));
        }
        fs::remove_file(&folder).unwrap();
        let told = next();
        let all = format!("{files} files ({files} new or changed");
        assert!(told.starts_with(&all), "{told}");
    }
    interrupt(&watch);
    assert!(watch.wait().unwrap().success());
    warnings.extend(said.filter(|it| it.as_ref().unwrap().starts_with("warning: ")));
    let warnings: Vec<String> = warnings.into_iter().map(Result::unwrap).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    for warning in warnings {
        let why = format!(
            "warning: failed to use the index folder {}",
            folder.display()
        );
        assert!(warning.starts_with(&why), "{warning}");
        assert!(
            warning.ends_with("; the update will be tried again"),
            "{warning}"
        );
    }
}

#[test]
fn questions_beside_an_index_that_is_made_anew_are_answered() {
    let asked = Asked::small();
    for file in 0..100 {
        asked.root.write(format!("many/{file}.rs"), BUDGET);
    }
    let question = ["query", "does the cost fit the budget?", "--limit", "3"];
    let expected = asked.run(&question);
    for _ in 0..3 {
        let mut rebuild = asked.command(&["index", "--rebuild"]).spawn().unwrap();
        while rebuild.try_wait().unwrap().is_none() {
            let run = asked.run(&question);
            assert_eq!(run.ok(), expected.ok());
            assert!(!run.stderr.contains("warning"), "{run:?}");
        }
        assert!(rebuild.wait().unwrap().success());
    }
}

#[test]
fn remembered_data_outlives_a_damaged_index() {
    let asked = Asked::of([("a.rs", BUDGET), ("vendor/b.rs", BUDGET)]);
    asked.run(&["index", "--include-generated"]).ok();
    fs::write(asked.folder().join("manifest.db"), b"no database").unwrap();
    let run = asked.run(&["index"]);
    assert!(run.ok().starts_with("2 files"), "{run:?}");
    assert!(run.stderr.contains("rebuilding the index"), "{run:?}");
}

#[test]
fn damaged_remembered_data_is_set_aside_and_reported() {
    let asked = Asked::small();
    let first = asked.run(&["query", "budget"]);
    let folder = asked.folder();
    fs::write(folder.join("remembered.db"), b"this is no database").unwrap();
    let run = asked.run(&["query", "budget"]);
    assert_eq!(run.ok(), first.ok());
    let aside = folder.join("remembered.damaged-1.db");
    for part in [
        "warning: the remembered data is damaged",
        aside.to_str().unwrap(),
    ] {
        assert!(run.stderr.contains(part), "{run:?}");
    }
    assert_eq!(fs::read(aside).unwrap(), b"this is no database");
    let again = asked.run(&["query", "budget"]);
    assert!(!again.stderr.contains("warning"), "{again:?}");
}

#[cfg(unix)]
mod unix {
    use ctx_testkit::SetOnDrop;
    use ctx_testkit::disk::Disk;

    use super::*;
    use crate::run::{mode, run_bound};

    /// Gives all that is below `folder` to be read by others, and written by nobody.
    fn close(folder: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                close(&path);
            } else {
                mode(&path, 0o444);
            }
        }
        mode(folder, 0o555);
    }

    fn open(folder: &Path) {
        mode(folder, 0o755);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open(&path);
            }
        }
    }

    #[test]
    fn an_index_that_cannot_be_written_answers_and_tells_how_old_it_is() {
        let asked = Asked::small();
        let first = asked.run(&["query", "budget"]);
        close(asked.cache.path());
        let Some(same) = run_bound(asked.command(&["query", "budget"])) else {
            return;
        };
        assert_eq!(same.ok(), first.ok());
        assert!(!same.stderr.contains("warning"), "{same:?}");
        asked.root.write("late.rs", b"pub fn budget_late() {}\n");
        fs::remove_file(asked.root.path().join("notes.md")).unwrap();
        let late = run_bound(asked.command(&["query", "budget"])).unwrap();
        assert!(late.ok().starts_with("### src/budget.rs"), "{late:?}");
        assert!(!late.stdout.contains("late.rs"), "{late:?}");
        for part in [
            "ermission denied",
            "using the index as it was written",
            " s ago",
            "since then 1 file is new or has changed, 1 file is gone",
        ] {
            assert!(late.stderr.contains(part), "{part:?} is not in {late:?}");
        }
        let status = run_bound(asked.command(&["index", "--status", "--json"])).unwrap();
        assert_eq!(status.json()["pending"]["changed"], 1);
        run_bound(asked.command(&["index"]))
            .unwrap()
            .fails(1, &["ermission denied"]);
        open(asked.cache.path());
    }

    #[test]
    fn an_index_that_nobody_else_may_read_is_an_error_that_names_it() {
        let asked = Asked::small();
        asked.run(&["index"]).ok();
        let folder = asked.folder();
        if let Some(run) = run_bound(asked.command(&["query", "budget"])) {
            run.fails(1, &[folder.to_str().unwrap(), "ermission denied"]);
        }
    }

    #[test]
    fn an_index_that_cannot_be_begun_anew_is_an_error_that_says_why() {
        let asked = Asked::small();
        asked.run(&["index"]).ok();
        fs::write(asked.folder().join("manifest.db"), b"no database").unwrap();
        close(asked.cache.path());
        if let Some(run) = run_bound(asked.command(&["query", "budget"])) {
            run.fails(
                1,
                &["not a database", "cannot be rebuilt", "ermission denied"],
            );
        }
        open(asked.cache.path());
    }

    #[test]
    fn files_that_cannot_be_read_are_named_and_the_rest_answers() {
        let asked = Asked::small();
        asked.root.write("locked.rs", BUDGET);
        asked.root.write("closed/c.rs", BUDGET);
        mode(&asked.root.path().join("locked.rs"), 0);
        mode(&asked.root.path().join("closed"), 0);
        mode(asked.cache.path(), 0o777);
        if let Some(run) = run_bound(asked.command(&["query", "budget"])) {
            assert!(run.ok().starts_with("### src/budget.rs"), "{run:?}");
            for part in [
                "warning: not indexed:",
                "locked.rs",
                "closed",
                "ermission denied",
            ] {
                assert!(run.stderr.contains(part), "{part:?} is not in {run:?}");
            }
        }
        open(asked.root.path());
    }

    #[test]
    fn files_that_come_and_go_meanwhile_hold_nothing_up() {
        let asked = Asked::small();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let at = |n: u32| asked.root.path().join(format!("moving/{n}.rs"));
                let mut round = 0;
                while !stop.load(Ordering::Relaxed) {
                    asked.root.write(
                        at(round % 40),
                        b"pub fn moving() {}\n".repeat(round as usize % 90),
                    );
                    let _ = fs::remove_file(at((round * 7) % 40));
                    let _ = fs::rename(at((round * 3) % 40), at((round * 5) % 40));
                    round += 1;
                }
            });
            let _stop = SetOnDrop(&stop);
            for _ in 0..5 {
                let run = asked.run(&["query", "does the cost fit the budget?"]);
                assert!(
                    run.stdout.starts_with("### src/budget.rs") && run.code == 0,
                    "{run:?}"
                );
            }
        });
        fs::remove_dir_all(asked.root.path().join("moving")).unwrap();
        asked.run(&["query", "budget"]).ok();
        let status = asked.run(&["index", "--status", "--json"]).json();
        assert_eq!(status["files"], 3);
    }

    fn on(disk: &Disk, asked: &Asked, args: &[&str]) -> Ran {
        let mut command = asked.command(args);
        command.env("CTX_CACHE_DIR", disk.path());
        Ran::of(command.output().unwrap())
    }

    #[test]
    fn a_full_disk_is_told_and_what_was_indexed_answers() {
        let Some(disk) = Disk::new(512 << 10) else {
            return;
        };
        let asked = Asked::small();
        on(&disk, &asked, &["index"]).ok();
        for file in 0..12_u64 {
            let word = |it: u64| {
                format!(
                    "w{:x} ",
                    (file * 4_000 + it).wrapping_mul(0x9e37_79b9_7f4a_7c15)
                )
            };
            let words: String = (0..4_000).map(word).collect();
            asked.root.write(format!("big/{file}.txt"), words);
        }
        let run = on(&disk, &asked, &["query", "does the cost fit the budget?"]);
        assert!(run.ok().starts_with("### src/budget.rs"), "{run:?}");
        for part in [
            "warning: ",
            "o space left",
            "12 files are new or have changed",
        ] {
            assert!(run.stderr.contains(part), "{part:?} is not in {run:?}");
        }
        on(&disk, &asked, &["index"]).fails(1, &["o space left"]);
        fs::remove_dir_all(asked.root.path().join("big")).unwrap();
        let run = on(&disk, &asked, &["query", "does the cost fit the budget?"]);
        assert!(!run.stderr.contains("warning"), "{run:?}");
        // On a disk where nothing fits nothing is indexed, which is an error.
        let full = Disk::new(512 << 10).unwrap();
        fs::write(full.path().join("full"), vec![1; 512 << 10]).unwrap();
        on(&full, &asked, &["query", "budget"]).fails(1, &["o space left"]);
    }

    #[test]
    fn a_disk_that_is_read_only_answers_whoever_asks() {
        let Some(disk) = Disk::new(512 << 10) else {
            return;
        };
        let asked = Asked::small();
        let first = on(&disk, &asked, &["query", "budget"]);
        disk.make_read_only();
        let run = on(&disk, &asked, &["query", "budget"]);
        assert_eq!(run.ok(), first.ok());
        assert!(!run.stderr.contains("warning"), "{run:?}");
        asked.root.write("late.rs", BUDGET);
        let run = on(&disk, &asked, &["query", "budget", "--include-generated"]);
        assert!(run.ok().starts_with("### src/budget.rs"), "{run:?}");
        for part in [
            "ead-only file system",
            "1 file is new or has changed",
            "are not remembered",
        ] {
            assert!(run.stderr.contains(part), "{part:?} is not in {run:?}");
        }
    }
}
