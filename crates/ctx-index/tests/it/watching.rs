//! Updates as files change.

use std::fs;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use ctx_index::{Index, IndexError, Options, Updated};
use ctx_testkit::SetOnDrop;

use crate::{Fixture, definitions, function};

/// Updates until one of them leaves this behind.
#[track_caller]
fn until(told: &Receiver<Updated>, is_so: impl Fn() -> bool) -> Updated {
    let mut all = Updated::default();
    while !is_so() {
        let updated = told
            .recv_timeout(Duration::from_secs(20))
            .expect("the change is noticed");
        all.changed += updated.changed;
        all.removed += updated.removed;
        all.files = updated.files;
    }
    all
}

/// Does `work` while `index` is watched, with the updates.
fn watched(index: &Index, work: impl FnOnce(&Receiver<Updated>)) {
    let stop = AtomicBool::new(false);
    let (send, told) = channel();
    thread::scope(|scope| {
        let watching = scope.spawn(|| {
            index.watch(&stop, &mut |updated| {
                send.send(updated.unwrap()).unwrap();
                ControlFlow::Continue(())
            })
        });
        let stopping = SetOnDrop(&stop);
        work(&told);
        drop(stopping);
        watching.join().unwrap().unwrap();
    });
}

#[test]
fn changes_are_followed() {
    let fixture = Fixture::new(&[
        (".gitignore", "ignored/\n"),
        ("a.rs", &function("one")),
        ("ignored/b.rs", &function("ignored")),
        ("folder/c.rs", &function("three")),
    ]);
    let index = fixture.open();
    watched(&index, |told| {
        let is_at = |name: &str, places: &[&str]| definitions(&index, name) == places;
        let first = told.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!((first.files, first.changed), (2, 2));

        fs::write(fixture.path("a.rs"), function("two")).unwrap();
        until(told, || is_at("two", &["a.rs:1"]));

        // What is ignored is no reason to look.
        fs::write(fixture.path("ignored/b.rs"), function("more")).unwrap();
        fs::create_dir_all(fixture.path("new/deep")).unwrap();
        fs::write(fixture.path("new/deep/d.rs"), function("four")).unwrap();
        let updated = until(told, || is_at("four", &["new/deep/d.rs:1"]));
        assert_eq!(updated.files, 3);

        fs::write(fixture.path("new/deep/d.rs"), function("five")).unwrap();
        until(told, || is_at("five", &["new/deep/d.rs:1"]));

        fs::rename(fixture.path("folder"), fixture.path("moved")).unwrap();
        until(told, || is_at("three", &["moved/c.rs:1"]));
        fs::write(fixture.path("moved/c.rs"), function("six")).unwrap();
        until(told, || is_at("six", &["moved/c.rs:1"]));

        fs::remove_dir_all(fixture.path("moved")).unwrap();
        until(told, || is_at("six", &[]));
    });
    assert_eq!(index.status().unwrap().files, 2);
}

#[test]
fn rules_beside_the_watched_folders_are_followed() {
    let fixture = Fixture::new(&[
        ("inner/a.rs", &function("one")),
        ("inner/b.rs", &function("two")),
        ("inner/c.rs", &function("three")),
        (".git/info/exclude", ""),
    ]);
    let (root, folder) = (fixture.path("inner"), fixture.folder());
    let index = Index::open(&root, &folder, Options::default()).unwrap();
    watched(&index, |told| {
        let first = told.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(first.files, 3);
        for (rules, name) in [
            (".gitignore", "a.rs"),
            (".git/info/exclude", "b.rs"),
            (".ctxignore", "!a.rs"),
        ] {
            fs::write(fixture.path(rules), name).unwrap();
            let updated = told.recv_timeout(Duration::from_secs(20)).unwrap();
            assert_eq!(updated.changed + updated.removed, 1, "{rules}");
        }
    });
    assert_eq!(index.status().unwrap().files, 2);
}

#[test]
fn a_root_that_is_removed_or_replaced_ends_it() {
    for is_replaced in [false, true] {
        let fixture = Fixture::new(&[("inner/a.rs", &function("one"))]);
        let (root, folder) = (fixture.path("inner"), fixture.folder());
        let index = Index::open(&root, &folder, Options::default()).unwrap();
        let stop = AtomicBool::new(false);
        let (send, told) = channel();
        thread::scope(|scope| {
            let watching = scope.spawn(|| {
                index.watch(&stop, &mut |updated| {
                    let _ = send.send(updated);
                    ControlFlow::Continue(())
                })
            });
            let stopping = SetOnDrop(&stop);
            told.recv_timeout(Duration::from_secs(20)).unwrap().unwrap();
            fs::rename(&root, fixture.path("away")).unwrap();
            if is_replaced {
                fs::create_dir(&root).unwrap();
            }
            let end = Instant::now() + Duration::from_secs(20);
            while !watching.is_finished() && Instant::now() < end {
                thread::sleep(Duration::from_millis(20));
            }
            drop(stopping);
            let ended = watching.join().unwrap();
            assert!(matches!(ended, Err(IndexError::Root(_))), "{ended:?}");
        });
    }
}

#[test]
fn whoever_is_told_may_end_it() {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    let index = fixture.open();
    let mut told = 0;
    let ended = index.watch(&AtomicBool::new(false), &mut |_| {
        told += 1;
        ControlFlow::Break(())
    });
    assert!(ended.is_ok());
    assert_eq!(told, 1);
}
