//! Listing and removing the indexes in the cache folder.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::query::{Asked, BUDGET};
use crate::run::{self, Folder, Ran};

/// The index of another folder in the same cache, and that folder.
fn another(asked: &Asked) -> (Folder, PathBuf) {
    let root = Folder::of([("b.rs", BUDGET)]);
    let made = asked.run(&["index", root.path().to_str().unwrap(), "--json"]);
    let folder = made.json()["folder"].as_str().unwrap().into();
    (root, folder)
}

fn list(asked: &Asked) -> Vec<Value> {
    let told = asked.run(&["index", "--list", "--json"]).json();
    told["indexes"].as_array().unwrap().clone()
}

fn of<'l>(list: &'l [Value], folder: &Path) -> &'l Value {
    let folder = folder.to_str().unwrap();
    list.iter().find(|it| it["folder"] == folder).unwrap()
}

/// Has all files of the index say that they were written so many days ago.
fn age(folder: &Path, days: u64) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            age(&path, days);
        } else {
            let file = File::options().write(true).open(&path).unwrap();
            let before = SystemTime::now() - Duration::from_secs(days * 86_400);
            file.set_modified(before).unwrap();
        }
    }
}

/// Everything below it.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
fn the_cache_tells_of_each_index_what_it_is_of_and_whether_that_is_there() {
    let asked = Asked::small();
    assert_eq!(list(&asked), Vec::<Value>::new());
    asked.run(&["query", "budget"]).ok();
    let (gone, folder) = another(&asked);
    drop(gone);
    let before = contents(asked.cache.path());
    let list = list(&asked);
    assert_eq!(list.len(), 2);
    let (here, gone) = (of(&list, &asked.folder()), of(&list, &folder));
    let root = asked.root.path().canonicalize().unwrap();
    assert_eq!(here["root"], root.to_str().unwrap());
    assert_eq!(
        (&here["rootIs"], &gone["rootIs"]),
        (&"there".into(), &"gone".into())
    );
    let status = asked.run(&["index", "--status", "--json"]).json();
    for key in ["bytes", "writtenAt"] {
        assert_eq!(here[key], status[key]);
    }
    assert!(here["usedAt"].as_i64() >= here["writtenAt"].as_i64());
    assert_eq!(here.get("begunAnew"), None);

    let told = asked.run(&["index", "--list"]);
    let lines: Vec<_> = told.ok().lines().collect();
    assert_eq!(lines.len(), 3, "{told:?}");
    for word in [
        "bytes", "written", "used", "format", "is", "index", "folder",
    ] {
        assert!(lines[0].contains(word), "{told:?}");
    }
    assert!(told.stderr.starts_with("2 indexes in "), "{told:?}");
    assert!(contents(asked.cache.path()) == before);
}

#[test]
fn an_index_that_will_be_begun_anew_is_told_with_why() {
    let asked = Asked::small();
    asked.run(&["index"]).ok();
    fs::write(asked.folder().join("manifest.db"), "a sentence").unwrap();
    let told = &list(&asked)[0];
    let why = told["begunAnew"].as_str().unwrap();
    assert!(why.starts_with("failed to use a database"), "{told}");
    let told = asked.run(&["index", "--list"]);
    assert!(told.ok().contains(", to be rebuilt"), "{told:?}");
    assert!(
        told.stderr
            .contains("will be rebuilt when it is next opened: failed to"),
        "{told:?}"
    );
}

#[test]
fn indexes_of_folders_that_are_gone_are_removed() {
    let asked = Asked::small();
    asked.run(&["query", "budget"]).ok();
    let (gone, folder) = another(&asked);
    fs::write(folder.join("changes"), "of git").unwrap();
    let root = gone.path().canonicalize().unwrap();
    drop(gone);
    let before = contents(asked.cache.path());
    let bytes = of(&list(&asked), &folder)["bytes"].clone();
    let dry = asked.run(&["index", "--prune", "--dry-run"]);
    assert!(
        dry.ok()
            .starts_with(&format!("would remove the index of {}", root.display())),
        "{dry:?}"
    );
    assert!(dry.stdout.contains("1 index would be removed, "), "{dry:?}");
    let dry = asked
        .run(&["index", "--prune", "--dry-run", "--json"])
        .json();
    assert_eq!((&dry["bytes"], &dry["dryRun"]), (&bytes, &true.into()));
    assert!(contents(asked.cache.path()) == before);

    let pruned = asked.run(&["index", "--prune", "--json"]).json();
    assert_eq!(
        (&pruned["bytes"], &pruned["dryRun"]),
        (&bytes, &false.into())
    );
    assert_eq!(pruned["removed"][0]["root"], root.to_str().unwrap());
    assert_eq!(pruned["removed"][0]["reason"], "its folder is gone");
    assert!(!folder.exists() && asked.folder().exists());
    let none = asked.run(&["index", "--prune"]);
    assert_eq!(none.ok(), "0 indexes removed, 0 bytes\n");
    asked.run(&["query", "budget", "--no-index-update"]).ok();
}

#[test]
fn flags_of_prune_are_refused_for_one_folder() {
    let asked = Asked::small();
    for flag in [&["--dry-run"][..], &["--unused-for", "3"]] {
        for of_one in [
            "src",
            "--rebuild",
            "--status",
            "--watch",
            "--include-generated",
            "--wait=1",
        ] {
            let run = asked.run(&[&["index", of_one], flag].concat());
            run.fails(2, &[flag[0], "cannot be used with"]);
        }
        asked
            .run(&[&["index"], flag].concat())
            .fails(2, &["required"]);
    }
    assert_eq!(contents(asked.cache.path()), []);
}

#[test]
fn indexes_that_were_not_used_for_so_long_are_removed_where_that_is_asked_for() {
    let asked = Asked::small();
    asked.run(&["index"]).ok();
    let (_there, folder) = another(&asked);
    age(&folder, 31);
    for args in [
        &["index", "--prune"][..],
        &["index", "--prune", "--unused-for", "32"],
    ] {
        assert_eq!(asked.run(args).ok(), "0 indexes removed, 0 bytes\n");
    }
    let pruned = asked.run(&["index", "--prune", "--unused-for", "30"]);
    assert!(
        pruned.ok().contains("it was last used 31 days ago"),
        "{pruned:?}"
    );
    assert!(!folder.exists() && asked.folder().exists());
}

#[test]
fn an_index_of_an_unknown_folder_is_removed_for_its_age_alone() {
    let asked = Asked::small();
    asked.run(&["index"]).ok();
    fs::remove_file(asked.folder().join("remembered.db")).unwrap();
    let told = &list(&asked)[0];
    assert_eq!(
        (told.get("root"), &told["rootIs"]),
        (None, &"unknown".into())
    );
    asked.run(&["index", "--prune"]).ok();
    assert!(asked.folder().exists());
    age(&asked.folder(), 2);
    asked.run(&["index", "--prune", "--unused-for", "1"]).ok();
    assert!(!asked.folder().exists());
}

#[test]
fn an_index_that_was_copied_is_of_an_unknown_folder() {
    let asked = Asked::small();
    asked.run(&["index"]).ok();
    let copy = asked.cache.path().join("0".repeat(32));
    fs::rename(asked.folder(), &copy).unwrap();
    assert_eq!(list(&asked)[0]["rootIs"], "unknown");
}

#[test]
fn an_index_that_another_process_writes_is_left_and_told() {
    let asked = Asked::small();
    let (gone, folder) = another(&asked);
    drop(gone);
    let mut lock = File::options()
        .write(true)
        .open(folder.join("writer.lock"))
        .unwrap();
    lock.lock().unwrap();
    lock.set_len(0).unwrap();
    std::io::Write::write_all(&mut lock, b"4711").unwrap();
    for args in [
        &["index", "--prune"][..],
        &["index", "--prune", "--dry-run"],
    ] {
        let pruned = asked.run(args);
        assert!(pruned.ok().starts_with("0 indexes"), "{pruned:?}");
        assert!(
            pruned.stderr.contains("process 4711 is writing it"),
            "{pruned:?}"
        );
    }
    drop(lock);
    asked.run(&["index", "--prune"]).ok();
    assert!(!folder.exists());
}

#[test]
fn files_that_are_not_of_an_index_are_left_and_reported() {
    let asked = Asked::small();
    let (gone, folder) = another(&asked);
    drop(gone);
    asked
        .cache
        .write(folder.join("novel.md"), "Call me Ishmael.");
    asked.cache.write("mine/manifest.db", "no database");
    asked
        .cache
        .write(format!("{}/novel.md", "1".repeat(32)), "Call me Ishmael.");
    asked.cache.write("2".repeat(32), "a file");
    let before = contents(asked.cache.path());
    let pruned = asked.run(&["index", "--prune", "--unused-for", "0"]);
    assert_eq!(pruned.code, 1, "{pruned:?}");
    assert_eq!(pruned.stdout, "0 indexes removed, 0 bytes\n");
    for part in [
        "novel.md in it does not belong to an index",
        "1111: there is no index in it",
        "2222: there is no index in it",
    ] {
        assert!(
            pruned.stderr.contains(part),
            "{part:?} is not in {pruned:?}"
        );
    }
    assert!(!pruned.stderr.contains("mine"), "{pruned:?}");
    let named = asked.run(&["index", "--list", "-v"]);
    assert!(
        named
            .stderr
            .contains("mine: its name is not that of an index"),
        "{named:?}"
    );
    assert!(contents(asked.cache.path()) == before);
}

#[cfg(unix)]
#[test]
fn a_link_in_the_cache_is_left_with_what_it_leads_to() {
    let asked = Asked::small();
    let (gone, folder) = another(&asked);
    drop(gone);
    let elsewhere = Folder::new();
    let moved = elsewhere.path().join("index");
    fs::rename(&folder, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &folder).unwrap();
    let before = contents(&moved);
    let pruned = asked.run(&["index", "--prune", "--unused-for", "0"]);
    assert!(pruned.ok().starts_with("0 indexes"), "{pruned:?}");
    assert!(
        pruned
            .stderr
            .contains("it is a link, which is not followed"),
        "{pruned:?}"
    );
    let told = asked.run(&["index", "--list", "--json"]).json();
    assert_eq!(told["passed"][0]["path"], folder.to_str().unwrap());
    assert!(contents(&moved) == before);
    assert!(fs::symlink_metadata(&folder).unwrap().is_symlink());
}

#[test]
fn all_indexes_are_no_matter_of_one_folder() {
    let asked = Asked::small();
    for verb in ["--list", "--prune"] {
        for other in ["--status", "--watch", "--rebuild", "--wait=1", "."] {
            asked
                .run(&["index", verb, other])
                .fails(2, &["cannot be used with"]);
        }
    }
    asked
        .run(&["index", "--list", "--prune"])
        .fails(2, &["cannot be used with"]);
    for flag in ["--dry-run", "--unused-for=1"] {
        asked.run(&["index", flag]).fails(2, &["required"]);
        asked
            .run(&["index", "--list", flag])
            .fails(2, &["cannot be used with"]);
    }
}

#[test]
fn a_cache_that_is_not_there_has_no_index_and_one_that_is_a_file_is_an_error() {
    let asked = Asked::small();
    let at = |name: &str, args: &[&str]| {
        let mut command = asked.command(args);
        command.env("CTX_CACHE_DIR", asked.cache.path().join(name));
        Ran::of(command.output().unwrap())
    };
    let none = at("none", &["index", "--list"]);
    assert_eq!(none.ok(), "");
    assert!(none.stderr.starts_with("0 indexes in "), "{none:?}");
    at("none", &["index", "--prune"]).ok();
    asked.cache.write("file", "");
    at("file", &["index", "--list"]).fails(1, &["failed to read the cache folder"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_cache_that_is_read_only_is_told_and_loses_nothing() {
    use ctx_testkit::disk::Disk;

    let Some(disk) = Disk::new(1 << 20) else {
        return;
    };
    let asked = Asked::small();
    let on = |args: &[&str]| {
        let mut command = asked.command(args);
        command.env("CTX_CACHE_DIR", disk.path());
        Ran::of(command.output().unwrap())
    };
    let root = Folder::of([("b.rs", BUDGET)]);
    on(&["index", root.path().to_str().unwrap()]).ok();
    drop(root);
    disk.make_read_only();
    let before = contents(disk.path());
    let told = on(&["index", "--list", "--json"]).json();
    assert_eq!(told["indexes"][0]["rootIs"], "gone");
    let pruned = on(&["index", "--prune"]);
    assert_eq!(pruned.code, 1, "{pruned:?}");
    for part in [
        "is not removed: failed to use the index folder",
        "ead-only file system",
        "error: failed to remove 1 index",
    ] {
        assert!(
            pruned.stderr.contains(part),
            "{part:?} is not in {pruned:?}"
        );
    }
    assert!(contents(disk.path()) == before);
}

#[test]
fn all_that_is_to_go_goes_where_nobody_reads_of_it() {
    let asked = Asked::small();
    for _ in 0..3 {
        drop(another(&asked));
    }
    assert_eq!(list(&asked).len(), 3);
    let mut prune = asked.command(&["index", "--prune"]);
    let ended = prune.stdout(run::unread()).status().unwrap();
    assert_eq!(ended.code(), Some(0));
    assert_eq!(list(&asked), Vec::<Value>::new());
}
