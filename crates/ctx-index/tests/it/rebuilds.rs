//! Rebuilding an index while others have it open.

use std::fs;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ctx_index::{Index, IndexError, Updated};
use ctx_testkit::SetOnDrop;

use crate::child::{command, said};
use crate::crash::{kill, kills};
use crate::{Fixture, contents, definitions, function, rebuilt, update};

pub(crate) fn rebuild(index: &Index) -> Result<Updated, IndexError> {
    index.rebuild(&mut |_| ControlFlow::Continue(()))
}

fn many() -> Fixture {
    let fixture = Fixture::new(&[("steady.rs", &function("steady"))]);
    for file in 0..100 {
        fixture.write(&format!("f{file}.rs"), function(&format!("f{file}")));
    }
    fixture
}

#[test]
fn every_file_is_indexed_again_and_what_is_gone_is_forgotten() {
    let fixture = many();
    let index = fixture.updated();
    let before = index.status().unwrap();
    fs::remove_file(fixture.path("f0.rs")).unwrap();
    let updated = rebuild(&index).unwrap();
    let counts = (updated.files, updated.changed, updated.removed);
    assert_eq!(counts, (100, 100, 1));
    let after = index.status().unwrap();
    assert!(after.generation > before.generation);
    assert!(after.bytes < before.bytes * 3 / 2, "{after:?} {before:?}");
    assert_eq!(contents(&index), fixture.fresh());
    assert_eq!(update(&index).changed, 0);
    assert_eq!(contents(&fixture.open()), fixture.fresh());
}

#[test]
fn nothing_can_be_indexed_again() {
    let fixture = Fixture::new(&[]);
    let index = fixture.updated();
    assert_eq!(rebuild(&index).unwrap().files, 0);
    fixture.write("a.rs", function("one"));
    update(&index);
    fs::remove_file(fixture.path("a.rs")).unwrap();
    update(&index);
    assert_eq!(rebuild(&index).unwrap().files, 0);
    assert!(contents(&fixture.open()).is_empty());
}

#[test]
fn whoever_asks_meanwhile_is_answered() {
    let fixture = many();
    let (first, is_done) = (fixture.updated(), AtomicBool::new(false));
    let mut asked = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            let _done = SetOnDrop(&is_done);
            let writer = fixture.open();
            for _ in 0..4 {
                rebuild(&writer).unwrap();
            }
        });
        while !is_done.load(Ordering::Acquire) || asked < 2 {
            for index in [&first, &fixture.open()] {
                assert_eq!(definitions(index, "steady"), ["steady.rs:1"]);
                assert_eq!(index.status().unwrap().root, fixture.root());
            }
            asked += 1;
        }
    });
    // And whoever had it open goes on with it.
    fixture.write("late.rs", function("late"));
    assert_eq!(update(&first).changed, 1);
    assert_eq!(contents(&first), fixture.fresh());
}

#[test]
fn one_that_comes_to_no_end_leaves_what_there_was() {
    let fixture = many();
    let index = fixture.updated();
    let before = contents(&index);
    let ended = index.rebuild(&mut |progress| match progress.done {
        0 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    assert!(matches!(ended, Err(IndexError::Cancelled)), "{ended:?}");
    assert_eq!(contents(&index), before);
    assert_eq!(contents(&fixture.open()), before);
    assert_eq!(update(&index).changed, 0);
}

#[test]
fn one_that_has_to_wait_too_long_leaves_what_there_was() {
    let fixture = many();
    let index = fixture.updated();
    let before = contents(&index);
    fixture.write("late.rs", function("late"));
    let mut child = command("hold", fixture.root(), &fixture.folder())
        .spawn()
        .unwrap();
    assert_eq!(said(&mut child).next().as_deref(), Some("holding"));
    let result = rebuild(&index);
    assert!(matches!(result, Err(IndexError::Busy { .. })), "{result:?}");
    assert_eq!(contents(&fixture.open()), before);
    child.stdin.take().unwrap().write_all(b"\n\n").unwrap();
    child.wait().unwrap();
}

#[test]
fn a_process_that_is_killed_meanwhile_takes_nothing_away() {
    let fixture = many();
    update(&fixture.open());
    let (fresh, mut random) = (fixture.fresh(), 0x3141_5926_u64);
    for number in 0..kills(5) {
        let child = command("rebuilds", fixture.root(), &fixture.folder()).spawn();
        kill(child.unwrap(), &mut random, 900);
        let index = fixture.reopen();
        assert_eq!(rebuilt(&index), None, "kill {number}");
        assert_eq!(contents(&index), fresh, "kill {number}");
        update(&index);
        assert_eq!(contents(&index), fresh, "kill {number}");
    }
}

#[test]
fn whoever_has_an_index_open_that_is_begun_anew_or_removed_follows() {
    let fixture = many();
    let first = fixture.updated();
    fs::write(fixture.folder().join("manifest.db"), b"no database").unwrap();
    let second = fixture.reopen();
    assert!(second.rebuilt().is_some());
    update(&second);
    fixture.write("late.rs", function("late"));
    assert_eq!(update(&first).changed, 1);
    assert_eq!(contents(&first), fixture.fresh());

    fs::remove_dir_all(fixture.folder()).unwrap();
    assert_eq!(update(&first).changed, 102);
    assert_eq!(contents(&first), fixture.fresh());
    assert_eq!(contents(&fixture.open()), fixture.fresh());

    fs::remove_dir_all(fixture.folder()).unwrap();
    assert_eq!(rebuild(&second).unwrap().changed, 102);
    assert_eq!(contents(&second), fixture.fresh());
}
