//! Folders that cannot be written, full disks, and files that cannot be read.

use std::error::Error;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ctx_index::{Index, IndexError, Options, Reason};
use ctx_model::UnixSeconds;
use ctx_retrieve::{References as _, Threads as _, Usage as _};
use ctx_testkit::disk::Disk;
use ctx_testkit::skip::skipped;

use crate::child::{command, command_without_room, said};
use crate::memory::{remember, remembered};
use crate::{
    Fixture, age, block_on, contents, definitions, function, rebuilt, try_update, update, write,
};

/// A user who may write nothing.
const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    let tried = tempfile::tempdir().unwrap();
    let path = tried.path().join("file");
    fs::write(&path, "").unwrap();
    mode(&path, 0);
    fs::read(&path).is_ok()
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// What a process says that must heed permissions; `None` if none can be started.
fn said_by_nobody(what: &str, root: &Path, folder: &Path) -> Option<Vec<String>> {
    let mut command = command(what, root, folder);
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    match command.spawn() {
        Ok(mut child) => {
            let said = said(&mut child).collect();
            child.wait().unwrap();
            Some(said)
        }
        Err(error) => {
            skipped(format_args!(
                "no process of another user can be started: {error}"
            ));
            None
        }
    }
}

fn for_each_below(folder: &Path, act: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            for_each_below(&path, act);
        }
        act(&path);
    }
    act(folder);
}

/// Others may look at everything, and nobody may write the index.
fn close(fixture: &Fixture) {
    for folder in [fixture.root.path(), fixture.store.path()] {
        for_each_below(folder, &mut |path| {
            mode(path, if path.is_dir() { 0o755 } else { 0o644 });
        });
    }
    for_each_below(&fixture.folder(), &mut |path| {
        mode(path, if path.is_dir() { 0o555 } else { 0o444 });
    });
}

#[test]
fn an_index_that_cannot_be_written_answers() {
    let fixture = Fixture::new(&[("a.rs", &function("one")), ("b.rs", &function("two"))]);
    let expected = contents(&fixture.updated());
    close(&fixture);
    let Some(said) = said_by_nobody("ask", fixture.root(), &fixture.folder()) else {
        return;
    };
    assert_eq!(said, expected);
    let said = said_by_nobody("update", fixture.root(), &fixture.folder()).unwrap();
    assert!(
        said[0].starts_with("Updated { files: 2, changed: 0"),
        "{said:?}"
    );
    fixture.write("a.rs", function("three"));
    mode(&fixture.path("a.rs"), 0o644);
    let said = said_by_nobody("update", fixture.root(), &fixture.folder()).unwrap();
    assert!(said[0].starts_with("use the index folder"), "{said:?}");
}

#[test]
fn a_file_that_cannot_be_read_is_told_and_the_rest_indexed() {
    let fixture = Fixture::new(&[("a.rs", &function("one")), ("b.rs", &function("two"))]);
    mode(fixture.root(), 0o755);
    mode(&fixture.path("a.rs"), 0);
    fs::create_dir(fixture.path("closed")).unwrap();
    mode(&fixture.path("closed"), 0);
    mode(fixture.store.path(), 0o777);
    let Some(said) = said_by_nobody("update", fixture.root(), &fixture.folder()) else {
        return;
    };
    assert!(
        said[0].starts_with("Updated { files: 1, changed: 1"),
        "{said:?}"
    );
    assert!(
        said[0].contains("a.rs") && said[0].contains("closed"),
        "{said:?}"
    );
    mode(&fixture.path("closed"), 0o755);
}

#[test]
fn files_in_a_folder_that_cannot_be_listed_stay_indexed() {
    let fixture = Fixture::new(&[("a.rs", &function("one")), ("b/c/d.rs", &function("two"))]);
    mode(fixture.root(), 0o755);
    mode(fixture.store.path(), 0o777);
    let said = |what| said_by_nobody(what, fixture.root(), &fixture.folder());
    let Some(first) = said("update") else {
        return;
    };
    assert!(first[0].starts_with("Updated { files: 2,"), "{first:?}");
    let before = contents(&fixture.open());
    mode(&fixture.path("b/c"), 0);
    let nothing = ["Pending { changed: 0, removed: 0, generated: 0 }"];
    assert_eq!(said("pending").unwrap(), nothing);
    let second = said("update").unwrap();
    let counts = "Updated { files: 2, changed: 0, removed: 0, left_out: 0,";
    assert!(second[0].starts_with(counts), "{second:?}");
    let told = r#"faults: ["the folder \"b/c\" cannot be listed: Permission denied"#;
    assert!(second[0].contains(told), "{second:?}");
    assert!(second[0].contains(r#"unread: ["b/c"]"#), "{second:?}");
    assert_eq!(contents(&fixture.open()), before);
    mode(&fixture.path("b/c"), 0o755);
    fs::remove_dir_all(fixture.path("b/c")).unwrap();
    let third = said("update").unwrap();
    assert!(third[0].contains("removed: 1,"), "{third:?}");
    assert!(third[0].contains("unread: []"), "{third:?}");
}

#[test]
fn a_file_that_cannot_be_read_is_no_change_and_is_read_when_it_can_be() {
    let fixture = Fixture::new(&[("a.rs", &function("one")), ("b.rs", &function("two"))]);
    mode(fixture.root(), 0o755);
    mode(&fixture.path("a.rs"), 0);
    mode(fixture.store.path(), 0o777);
    let said = |what| said_by_nobody(what, fixture.root(), &fixture.folder());
    let Some(first) = said("update") else {
        return;
    };
    let why = r#"faults: ["\"a.rs\" cannot be read: Permission denied"#;
    let unread = r#"unread: ["a.rs"]"#;
    assert!(first[0].contains(why), "{first:?}");
    assert!(first[0].contains(unread), "{first:?}");
    assert!(first[0].contains("changed: 1,"), "{first:?}");
    let manifest = || fs::read(fixture.folder().join("manifest.db")).unwrap();
    let before = manifest();
    let second = said("update").unwrap();
    assert!(second[0].contains(why), "{second:?}");
    assert!(second[0].contains(unread), "{second:?}");
    assert!(second[0].contains("changed: 0,"), "{second:?}");
    assert!(second[0].contains("skipped: 1,"), "{second:?}");
    assert!(manifest() == before, "nothing is written");
    let nothing = ["Pending { changed: 0, removed: 0, generated: 0 }"];
    assert_eq!(said("pending").unwrap(), nothing);
    // The time of a file is no other when it may be read.
    mode(&fixture.path("a.rs"), 0o644);
    assert_ne!(said("pending").unwrap(), nothing);
    let third = said("update").unwrap();
    assert!(third[0].contains("changed: 1,"), "{third:?}");
    assert!(third[0].contains("faults: [],"), "{third:?}");
    assert_eq!(contents(&fixture.open()), fixture.fresh());
}

#[test]
fn a_file_that_vanishes_or_grows_meanwhile_is_told_and_the_rest_indexed() {
    let fixture = Fixture::new(&[
        ("a.rs", &function("one")),
        ("b.rs", &function("two")),
        ("c.rs", &function("three")),
    ]);
    let index = fixture.open();
    let updated = index
        .update(&mut |progress| {
            if progress.done == 0 {
                fs::remove_file(fixture.path("a.rs")).unwrap();
                fixture.write("b.rs", function("two").repeat(20_000));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!((updated.files, updated.changed), (1, 1));
    let expected = [
        r#""a.rs" does not exist"#,
        r#""b.rs" is larger than 1048576 bytes"#,
    ];
    assert_eq!(updated.faults, expected);
    assert_eq!(definitions(&index, "three"), ["c.rs:1"]);
    update(&index);
    assert_eq!(contents(&index), fixture.fresh());
}

#[test]
fn links_and_pipes_are_passed_over() {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    let outside = Fixture::new(&[("b.rs", &function("outside"))]);
    std::os::unix::fs::symlink(outside.root(), fixture.path("link")).unwrap();
    std::os::unix::fs::symlink(outside.path("b.rs"), fixture.path("b.rs")).unwrap();
    std::os::unix::fs::symlink(fixture.root(), fixture.path("loop")).unwrap();
    let made = Command::new("mkfifo").arg(fixture.path("pipe.rs")).status();
    assert!(made.is_ok_and(|it| it.success()));
    let index = fixture.open();
    let updated = update(&index);
    assert_eq!((updated.files, updated.faults.len()), (1, 0));
    assert!(definitions(&index, "outside").is_empty());
}

#[test]
fn a_full_disk_is_an_error_and_the_index_still_opens() {
    let Some(disk) = Disk::new(1 << 20) else {
        return;
    };
    let folder = disk.path().join("index");
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    let open = || Index::open(fixture.root(), &folder, Options::default()).unwrap();
    let index = open();
    update(&index);
    let (before, sums_before) = (contents(&index), sums(&index));
    // All that is indexed is to be indexed anew.
    fixture.write("a.rs", function("other").repeat(3));
    for file in 0..20_u64 {
        fixture.write(&format!("big/{file}.txt"), many_words(file));
    }
    let error = try_update(&index).unwrap_err();
    let IndexError::Folder { source, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull, "{error:?}");
    assert_eq!(contents(&index), before);
    drop(index);
    let index = open();
    assert_eq!(rebuilt(&index), None);
    assert_eq!(contents(&index), before);
    assert_eq!(sums(&index), sums_before);
    fs::remove_dir_all(fixture.path("big")).unwrap();
    write(&fixture.path("a.rs"), function("two"));
    assert_eq!(update(&index).files, 1);
    assert_eq!(contents(&index), fixture.fresh());
}

/// What an index says there is to be asked: files, parts and lines.
fn sums(index: &Index) -> (u64, u64, u64) {
    let status = index.status().unwrap();
    (status.files, status.parts, status.lines)
}

fn many_words(file: u64) -> String {
    let word = |it: u64| {
        let number = file * 4_000 + it;
        format!("w{:x} ", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    };
    (0..4_000).map(word).collect()
}

#[test]
fn a_file_that_cannot_grow_is_an_error_and_the_index_still_answers() {
    let fixture = Fixture::new(&[("a.rs", &function("one")), ("b.rs", &function("two"))]);
    let index = fixture.updated();
    let (before, sums_before) = (contents(&index), sums(&index));
    let written_at = index.status().unwrap().written_at;
    drop(index);
    // Times are told in seconds.
    std::thread::sleep(Duration::from_millis(1_100));
    // There is room for the marks of what changes, and not for the text. One has another time
    // alone.
    fixture.write("a.rs", function("other").repeat(3));
    age(&fixture.path("b.rs"), 30);
    for file in 0..8 {
        fixture.write(&format!("big/{file}.txt"), many_words(file));
    }
    let child = command_without_room("update", fixture.root(), &fixture.folder()).spawn();
    let Ok(mut child) = child else {
        skipped("there is no shell that limits files");
        return;
    };
    let said: Vec<String> = said(&mut child).collect();
    child.wait().unwrap();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("use the index folder"), "{said:?}");
    let index = fixture.open();
    assert_eq!(contents(&index), before);
    assert_eq!(sums(&index), sums_before);
    assert_eq!(index.status().unwrap().written_at, written_at);
    assert_eq!(index.pending().unwrap().changed, 9);
    assert_eq!(update(&index).changed, 9);
    assert_eq!(contents(&index), fixture.fresh());
}

#[test]
fn a_disk_that_cannot_be_written_answers_and_tells_how_far_it_is_behind() {
    let Some(disk) = Disk::new(2 << 20) else {
        return;
    };
    let folder = disk.path().join("index");
    let fixture = Fixture::new(&[("a.rs", &function("one")), ("b.rs", &function("two"))]);
    let open = || Index::open(fixture.root(), &folder, Options::default()).unwrap();
    let index = open();
    update(&index);
    remember(&index);
    let before = (contents(&index), remembered(&index));
    drop(index);
    disk.make_read_only();
    let index = open();
    assert_eq!((rebuilt(&index), index.loss()), (None, None));
    assert_eq!((contents(&index), remembered(&index)), before);
    assert_eq!(update(&index).files, 2);
    assert!(index.pending().unwrap().is_nothing());
    fixture.write("a.rs", function("three").repeat(2));
    let error = try_update(&index).unwrap_err();
    assert!(matches!(error, IndexError::Folder { .. }), "{error:?}");
    assert_eq!(index.pending().unwrap().changed, 1);
    assert_eq!(contents(&index), before.0);
    block_on(index.shown(&["a.rs".to_owned()], UnixSeconds::new(9))).unwrap();
    assert!(block_on(index.pin("thread", "a.rs")).is_err());
}

/// A process that ended in the middle of a change leaves a journal, which nobody can act on where
/// nothing can be written.
#[test]
fn a_journal_on_a_disk_that_cannot_be_written_is_no_reason_to_fail() {
    let Some(disk) = Disk::new(2 << 20) else {
        return;
    };
    let folder = disk.path().join("index");
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    let open = || Index::open(fixture.root(), &folder, Options::default()).unwrap();
    let index = open();
    update(&index);
    remember(&index);
    let before = (contents(&index), remembered(&index));
    drop(index);
    for (name, change) in [
        ("manifest.db", "UPDATE files SET size = 7"),
        ("remembered.db", "UPDATE usage SET uses = 7"),
    ] {
        let path = folder.join(name);
        let journal = folder.join(format!("{name}-journal"));
        let copy = folder.join("copy");
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        connection.execute(change, []).unwrap();
        fs::copy(&journal, &copy).unwrap();
        drop(connection);
        fs::rename(copy, journal).unwrap();
    }
    disk.make_read_only();
    let index = open();
    assert_eq!((rebuilt(&index), index.loss()), (None, None));
    assert_eq!((contents(&index), remembered(&index)), before);
}

#[test]
fn a_root_that_is_not_there_is_an_error() {
    let fixture = Fixture::new(&[]);
    let result = Index::open(&fixture.path("none"), &fixture.folder(), Options::default());
    let error = result.expect_err("opened");
    assert!(matches!(error, IndexError::Root(_)));
    assert_eq!(error.to_string(), "open the folder to index");
    let source = error.source().expect("it has a cause").to_string();
    let path = fixture.path("none");
    assert_eq!(source, format!("the folder {path:?} cannot be opened"));
    assert!(!fixture.folder().exists());
}

#[test]
fn secrets_are_not_indexed_and_files_of_them_passed_over() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let fixture = Fixture::new(&[
        (
            "a.rs",
            &format!("pub fn open() {{\n    connect(\"{token}\");\n}}\n"),
        ),
        ("keys/id_rsa", "some words\n"),
        ("keys/server.pem", "some words\n"),
    ]);
    let index = fixture.open();
    let updated = update(&index);
    let passed = updated.skipped_files.iter();
    let passed: Vec<_> = passed
        .map(|it| (it.path.to_str().unwrap(), it.reason))
        .collect();
    let expected = ["keys/id_rsa", "keys/server.pem"].map(|it| (it, Reason::Secret));
    assert_eq!(passed, expected);
    assert_eq!(updated.files, 1);
    assert_eq!(definitions(&index, "open").len(), 1);
    for entry in fs::read_dir(fixture.folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            let is_there = bytes.windows(token.len()).any(|it| it == token.as_bytes());
            assert!(!is_there, "{path:?}");
        }
    }
    assert!(contents(&index).iter().all(|it| !it.contains("ghp_")));
}

/// Takes a table from a database of the index, which is open meanwhile.
fn drop_table(fixture: &Fixture, database: &str, table: &str) {
    let connection = rusqlite::Connection::open(fixture.folder().join(database)).unwrap();
    let drop = format!("DROP TABLE {table}");
    connection.execute_batch(&drop).unwrap();
}

#[test]
fn errors_name_the_folder_of_the_index_and_no_foreign_type() {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    let index = fixture.open();
    drop_table(&fixture, "manifest.db", "files");
    let error = index.status().unwrap_err();
    let IndexError::Manifest { folder, source } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(*folder, fixture.folder());
    let source: &(dyn Error + Send + Sync) = &**source;
    assert!(source.to_string().contains("no such table"), "{source}");
    let folder = fixture.folder().display().to_string();
    assert!(error.to_string().ends_with(&folder), "{error}");
}

#[test]
fn the_error_of_a_port_is_that_of_the_index() {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    let index = fixture.open();
    drop_table(&fixture, "remembered.db", "pinned");
    let error = block_on(index.pinned("t")).unwrap_err();
    assert_eq!(error.to_string(), "the index failed");
    let source = error.source().and_then(|it| it.downcast_ref());
    let Some(IndexError::Manifest { folder, .. }) = source else {
        panic!("{error:?}");
    };
    assert_eq!(*folder, fixture.folder());
    assert!(error.on_one_line().contains("no such table"));
}
