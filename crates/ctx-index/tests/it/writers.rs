//! Concurrent readers and writers.

use std::fs;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ctx_index::{IndexError, Options};
use ctx_testkit::SetOnDrop;

use crate::child::{command, said};
use crate::{Fixture, contents, definitions, function, rebuilt, try_update, update};

#[test]
fn a_second_writer_is_told_who_writes() {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    let mut child = command("hold", fixture.root(), &fixture.folder())
        .spawn()
        .unwrap();
    let mut said = said(&mut child);
    assert_eq!(said.next().as_deref(), Some("holding"));
    let index = fixture.open();
    let error = try_update(&index).unwrap_err();
    match &error {
        IndexError::Busy { holder, .. } => assert_eq!(*holder, Some(child.id())),
        other => panic!("{other:?}"),
    }
    assert!(error.to_string().contains(&child.id().to_string()));
    assert!(contents(&index).is_empty());
    child.stdin.take().unwrap().write_all(b"\n\n").unwrap();
    assert!(said.any(|word| word == "true"));
    child.wait().unwrap();
    assert_eq!(update(&index).changed, 0);
    assert_eq!(definitions(&index, "one"), ["a.rs:1"]);
}

#[test]
fn a_second_writer_with_patience_waits_and_then_looks_again() {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    let mut child = command("hold", fixture.root(), &fixture.folder())
        .spawn()
        .unwrap();
    let mut said = said(&mut child);
    assert_eq!(said.next().as_deref(), Some("holding"));
    let options = Options::default().with_patience(Duration::from_mins(1));
    let index = fixture.open_with(options);
    let mut stdin = child.stdin.take();
    let mut told = Vec::new();
    let updated = index.update(&mut |progress| {
        if progress.is_waiting {
            told.push(progress.holder);
            if let Some(mut stdin) = stdin.take() {
                // What comes while it waits is seen when it goes on.
                fixture.write("b.rs", function("two"));
                stdin.write_all(b"\n\n").unwrap();
            }
        }
        ControlFlow::Continue(())
    });
    let updated = updated.unwrap();
    assert!(told.contains(&Some(child.id())), "{told:?}");
    assert_eq!((updated.files, updated.changed), (2, 1));
    assert!(said.any(|word| word == "true"));
    child.wait().unwrap();
    assert_eq!(contents(&index), fixture.fresh());
}

#[test]
fn whoever_waits_may_give_up() {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    let mut child = command("hold", fixture.root(), &fixture.folder())
        .spawn()
        .unwrap();
    assert_eq!(said(&mut child).next().as_deref(), Some("holding"));
    let options = Options::default().with_patience(Duration::from_mins(1));
    let result = fixture
        .open_with(options)
        .update(&mut |_| ControlFlow::Break(()));
    assert!(matches!(result, Err(IndexError::Cancelled)), "{result:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The next commit has the number that the one that came to no end had.
#[test]
fn a_list_of_what_is_gone_that_was_being_written_is_in_nobodys_way() {
    let fixture = Fixture::new(&[("a.rs", &function("one")), ("b.rs", &function("two"))]);
    let before = contents(&fixture.updated());
    let text = fixture.folder().join("text");
    let names = || -> Vec<String> {
        let entries = fs::read_dir(&text).unwrap();
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        names.collect()
    };
    let segments = names();
    let segment = segments.iter().find_map(|it| it.strip_suffix(".idx"));
    let left: Vec<String> = (1..100)
        .map(|number| format!("{}.{number}.del", segment.unwrap()))
        .collect();
    for name in &left {
        fs::write(text.join(name), b"").unwrap();
    }
    let index = fixture.reopen();
    assert_eq!(rebuilt(&index), None);
    assert_eq!(contents(&index), before);
    fixture.write("a.rs", function("three"));
    assert_eq!(update(&index).changed, 1);
    assert_eq!(contents(&fixture.open()), fixture.fresh());
    let is_empty = |name: &String| fs::metadata(text.join(name)).unwrap().len() == 0;
    let after = names();
    assert!(!after.iter().any(|it| left.contains(it) && is_empty(it)));
}

#[test]
fn a_writer_that_was_killed_holds_nothing() {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    let mut child = command("hold", fixture.root(), &fixture.folder())
        .spawn()
        .unwrap();
    assert_eq!(said(&mut child).next().as_deref(), Some("holding"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(update(&fixture.open()).changed, 1);
}

#[test]
fn readers_answer_while_a_writer_writes() {
    let fixture = Fixture::new(&[("steady.rs", &function("steady"))]);
    let first = fixture.updated();
    let is_done = AtomicBool::new(false);
    let (mut old, mut new) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _done = SetOnDrop(&is_done);
            let writer = fixture.open();
            for round in 0..15 {
                fixture.write("hot.rs", function(&format!("hot_{round}")));
                fixture.write(&format!("new_{round}.rs"), function("new"));
                update(&writer);
            }
        });
        while !is_done.load(Ordering::Acquire) || new == 0 {
            assert_eq!(definitions(&first, "steady"), ["steady.rs:1"]);
            old += 1;
            let opened = fixture.open();
            assert_eq!(definitions(&opened, "steady"), ["steady.rs:1"]);
            new += 1;
        }
    });
    assert!(old > 0 && new > 0);
    assert_eq!(contents(&fixture.open()), fixture.fresh());
}

#[test]
fn several_that_begin_at_once_have_one_index() {
    let fixture = Fixture::new(&[("a.rs", &function("one"))]);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let index = fixture.open();
                loop {
                    match index.update(&mut |_| ControlFlow::Continue(())) {
                        Err(IndexError::Busy { .. }) => thread::yield_now(),
                        result => {
                            result.unwrap();
                            break;
                        }
                    }
                }
                assert_eq!(definitions(&index, "one"), ["a.rs:1"]);
            });
        }
    });
    assert_eq!(contents(&fixture.open()), fixture.fresh());
}

#[test]
fn two_that_write_in_turn_come_to_the_same() {
    let fixture = Fixture::new(&[("a.rs", &function("one")), ("b.rs", &function("two"))]);
    let (first, second) = (fixture.updated(), fixture.open());
    for round in 0..6 {
        fixture.write("a.rs", function(&format!("one_{round}")));
        update(if round % 2 == 0 { &first } else { &second });
    }
    assert_eq!(update(&first).changed + update(&second).changed, 0);
    assert_eq!(contents(&first), contents(&second));
    assert_eq!(contents(&first), fixture.fresh());
}
